// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <klu.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {
namespace {

/// KLU on a matrix in the given order. It works by columns and gets the transposed matrix by rows, so that
/// its order is that of the rows.
class KluGiven {
 public:
  explicit KluGiven(const Ordered& ordered)
      : m_map(ordered.host.row_map.begin(), ordered.host.row_map.end()),
        m_rows(ordered.host.entries.begin(), ordered.host.entries.end()),
        m_order(m_map.size() - 1) {
    for (std::size_t k = 0; k < m_order.size(); ++k) m_order[k] = static_cast<int>(k);
    klu_defaults(&m_common);
  }
  ~KluGiven() {
    free_numeric();
    free_symbolic();
  }
  KluGiven(const KluGiven&) = delete;
  KluGiven& operator=(const KluGiven&) = delete;

  /// @param matrix that of `ordered` before it was ordered
  void set_values(const HostMatrix<double>& matrix, const Ordered& ordered) {
    std::vector<int> position(m_order.size());
    for (std::size_t k = 0; k < position.size(); ++k)
      position[static_cast<std::size_t>(ordered.permutation[k])] = static_cast<int>(k);
    for (const int row : ordered.permutation) {
      std::map<int, double> sorted;
      for (auto p = matrix.row_map[static_cast<std::size_t>(row)];
           p < matrix.row_map[static_cast<std::size_t>(row) + 1]; ++p) {
        const auto at = static_cast<std::size_t>(p);
        sorted[position[static_cast<std::size_t>(matrix.entries[at])]] = matrix.values[at];
      }
      for (const auto& [column, value] : sorted) m_values.push_back(value);
    }
  }

  void free_symbolic() { klu_free_symbolic(&m_symbolic, &m_common); }
  void free_numeric() { klu_free_numeric(&m_numeric, &m_common); }
  void analyze() {
    m_symbolic = klu_analyze_given(static_cast<int>(m_order.size()), m_map.data(), m_rows.data(),
                                   m_order.data(), m_order.data(), &m_common);
    check(m_symbolic != nullptr, "klu_analyze_given");
  }
  void factorize() {
    m_numeric = klu_factor(m_map.data(), m_rows.data(), m_values.data(), m_symbolic, &m_common);
    check(m_numeric != nullptr, "klu_factor");
  }
  void refactorize() {
    check(klu_refactor(m_map.data(), m_rows.data(), m_values.data(), m_symbolic, m_numeric, &m_common) != 0,
          "klu_refactor");
  }
  double nnz_lu() const {  // L's diagonal is ones
    return static_cast<double>(m_numeric->lnz) + m_numeric->unz + m_numeric->nzoff -
           static_cast<double>(m_order.size());
  }
  int off_diagonal_pivots() const { return m_common.noffdiag; }

 private:
  void check(bool done, const char* step) const {
    if (!done || m_common.status != KLU_OK)
      throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(m_common.status));
  }

  std::vector<int> m_map, m_rows, m_order;
  std::vector<double> m_values;
  klu_common m_common{};
  klu_symbolic* m_symbolic = nullptr;
  klu_numeric* m_numeric = nullptr;
};

}  // namespace

/// The analysis of KLU in the given order: block triangular form, and bounds of the fill of each block.
Measurement measure_klu_symbolic(const PerfRun& run, const Ordered& ordered) {
  KluGiven klu(ordered);
  auto samples = measure(
      run.samples, [&] { klu.free_symbolic(); }, [&] { klu.analyze(); });
  Measurement result{std::move(samples), {}, "the same order, no pattern of L + U"};
  result.counters["n"] = ordered.host.n_rows;
  return result;
}

/// The cost of the pattern in KLU: its analysis, and the additional time of its first factorization, which
/// finds the pattern column by column, over one with a known pattern. This includes pivoting.
Measurement measure_klu_search(const PerfRun& run, const Ordered& ordered, const HostMatrix<double>& matrix) {
  KluGiven klu(ordered);
  klu.set_values(matrix, ordered);
  const double analysis = measure(
                              run.samples, [&] { klu.free_symbolic(); }, [&] { klu.analyze(); })
                              .median();
  const double first = measure(
                           run.samples, [&] { klu.free_numeric(); }, [&] { klu.factorize(); })
                           .median();
  const double again = measure(run.samples, [&] { klu.refactorize(); }).median();
  Measurement result{{{analysis + first - again}},
                     {},
                     "medians: klu_analyze_given + klu_factor - klu_refactor, with pivoting"};
  result.counters["n"] = ordered.host.n_rows;
  result.counters["nnz_lu"] = klu.nnz_lu();
  result.counters["analysis_s"] = analysis;
  result.counters["factor_s"] = first;
  result.counters["refactor_s"] = again;
  result.counters["off_diagonal_pivots"] = klu.off_diagonal_pivots();
  return result;
}

}  // namespace lutra::Perf

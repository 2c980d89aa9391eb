// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <klu.h>

#include <stdexcept>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

constexpr int max_refinement_steps = 10;

class KluSolver final : public Peer {
 public:
  /// @param order that of Lutra, used without block triangular form; null: the defaults of KLU, BTF and AMD
  KluSolver(const HostMatrix<double>& matrix, const std::vector<double>& b, const PivotSequence* order)
      : m_matrix(matrix), m_columns(to_columns(matrix)), m_b(b), m_x(b.size()) {
    klu_defaults(&m_common);
    if (order != nullptr) {
      m_order = *order;
      m_common.btf = 0;
    }
  }
  ~KluSolver() override {
    klu_free_numeric(&m_numeric, &m_common);
    klu_free_symbolic(&m_symbolic, &m_common);
  }
  KluSolver(const KluSolver&) = delete;
  KluSolver& operator=(const KluSolver&) = delete;

  void analyze() override;
  void prepare_factorization() override {
    if (m_symbolic == nullptr) analyze();
    klu_free_numeric(&m_numeric, &m_common);
  }
  void factorize() override {
    klu_free_numeric(&m_numeric, &m_common);
    m_numeric = klu_factor(m_columns.column_map.data(), m_columns.rows.data(), m_columns.values.data(),
                           m_symbolic, &m_common);
    check(m_numeric != nullptr, "klu_factor");
  }
  void refactorize() override {
    check(klu_refactor(m_columns.column_map.data(), m_columns.rows.data(), m_columns.values.data(),
                       m_symbolic, m_numeric, &m_common) != 0,
          "klu_refactor");
  }
  void solve_once() override {
    m_x = m_b;
    solve_in_place(m_x);
    m_refinement_steps = 0;
  }
  void solve() override;
  std::vector<double> solution() const override { return m_x; }
  SolverProperties properties() const override;

 private:
  void check(bool done, const char* step) const {
    if (!done || m_common.status != KLU_OK) {
      throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(m_common.status) +
                               (m_common.status == KLU_SINGULAR ? " (singular)" : ""));
    }
  }
  void solve_in_place(std::vector<double>& x) {
    check(klu_solve(m_symbolic, m_numeric, m_columns.n, 1, x.data(), &m_common) != 0, "klu_solve");
  }
  double residual(std::vector<double>& r) const;

  HostMatrix<double> m_matrix;  // for refinement, which KLU does not have
  ColumnMatrix m_columns;
  PivotSequence m_order;
  std::vector<double> m_b, m_x;
  int m_refinement_steps = 0;
  mutable klu_common m_common{};  // KLU counts flops in it
  klu_symbolic* m_symbolic = nullptr;
  klu_numeric* m_numeric = nullptr;
};

void KluSolver::analyze() {
  klu_free_numeric(&m_numeric, &m_common);
  klu_free_symbolic(&m_symbolic, &m_common);
  int* const map = m_columns.column_map.data();
  int* const rows = m_columns.rows.data();
  m_symbolic = m_order.rows.empty() ? klu_analyze(m_columns.n, map, rows, &m_common)
                                    : klu_analyze_given(m_columns.n, map, rows, m_order.rows.data(),
                                                        m_order.columns.data(), &m_common);
  check(m_symbolic != nullptr, "klu_analyze");
}

/// r = b − A·x; returns the componentwise backward error, in plain double as a user of KLU would.
double KluSolver::residual(std::vector<double>& r) const {
  double worst = 0;
  for (std::size_t i = 0; i < m_b.size(); ++i) {
    double sum = m_b[i], size = std::abs(m_b[i]);
    const auto end = static_cast<std::size_t>(m_matrix.row_map[i + 1]);
    for (auto p = static_cast<std::size_t>(m_matrix.row_map[i]); p < end; ++p) {
      const double product = m_matrix.values[p] * m_x[static_cast<std::size_t>(m_matrix.entries[p])];
      sum -= product;
      size += std::abs(product);
    }
    r[i] = sum;
    if (sum != 0) worst = std::max(worst, std::abs(sum) / size);
  }
  return worst;
}

void KluSolver::solve() {
  solve_once();
  std::vector<double> r(m_b.size());
  while (!(residual(r) <= tolerance) && m_refinement_steps < max_refinement_steps) {
    solve_in_place(r);
    for (std::size_t i = 0; i < r.size(); ++i) m_x[i] += r[i];
    ++m_refinement_steps;
  }
}

SolverProperties KluSolver::properties() const {
  SolverProperties properties;
  properties.label = m_order.rows.empty()
                         ? "btf " + std::to_string(m_symbolic->nblocks) + " blocks, ordering amd"
                         : "ordering of lutra";
  properties.counters["peak_bytes"] = static_cast<double>(m_common.mempeak);
  properties.counters["refinement_steps"] = m_refinement_steps;
  if (m_numeric == nullptr) return properties;
  klu_flops(m_symbolic, m_numeric, &m_common);
  properties.counters["flops"] = m_common.flops;
  properties.counters["nnz_lu"] = static_cast<double>(m_numeric->lnz) - m_columns.n + m_numeric->unz +
                                  m_numeric->nzoff;  // L's diagonal is ones
  properties.counters["off_diagonal_pivots"] = m_common.noffdiag;
  return properties;
}

std::unique_ptr<Peer> make_klu(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<KluSolver>(matrix, b, nullptr);
}

std::unique_ptr<Peer> make_klu_given(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  const PivotSequence order = lutra_pivot_sequence(matrix);
  return std::make_unique<KluSolver>(matrix, b, &order);
}

}  // namespace

std::vector<PeerKind> klu_kinds() {
  const std::string version = std::to_string(KLU_MAIN_VERSION) + "." + std::to_string(KLU_SUB_VERSION) + "." +
                              std::to_string(KLU_SUBSUB_VERSION);
  return {{"klu", version, make_klu}, {"klu-given", version, make_klu_given, true}};
}

}  // namespace lutra::Perf

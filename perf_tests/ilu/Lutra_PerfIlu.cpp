// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete factorizations: `ilu0-analyze`, `ilu0-factor`, `ilu1-…`. `parilut-N` is one of N steps of
// ParILUT from ILU(0) at its fill. `parilut-candidates`, `-sweep`, `-selection` and `-removal` are parts of
// one of three steps.
#include "Lutra_PerfIlu.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "Lutra_Matching.hpp"

#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {

HostFactors join_factors(int n, const std::vector<std::int64_t>& lower_map, const std::vector<int>& lower,
                         const std::vector<double>& lower_values, const std::vector<std::int64_t>& upper_map,
                         const std::vector<int>& upper, const std::vector<double>& upper_values) {
  HostFactors joined{n, n, {0}, {}, {}};
  std::vector<std::pair<int, double>> row;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    row.clear();
    for (auto p = static_cast<std::size_t>(lower_map[i]); p < static_cast<std::size_t>(lower_map[i + 1]); ++p)
      if (lower[p] < static_cast<int>(i)) row.emplace_back(lower[p], lower_values[p]);
    for (auto p = static_cast<std::size_t>(upper_map[i]); p < static_cast<std::size_t>(upper_map[i + 1]); ++p)
      row.emplace_back(upper[p], upper_values[p]);
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      joined.entries.push_back(column);
      joined.values.push_back(value);
    }
    joined.row_map.push_back(static_cast<std::int64_t>(joined.entries.size()));
  }
  return joined;
}

PatternErrors pattern_errors(const HostMatrix<double>& A, const HostFactors& LU) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<long double> sum(n, 0), magnitude(n, 0);
  std::vector<char> in_row(n, 0);
  const auto each_entry = [](const auto& matrix, std::size_t i, const auto& visit) {
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
         p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p)
      visit(static_cast<std::size_t>(matrix.entries[p]), static_cast<long double>(matrix.values[p]));
  };
  long double worst = 0, rest = 0, whole = 0;
  for (std::size_t i = 0; i < n; ++i) {
    each_entry(A, i, [&](std::size_t j, long double a) {
      in_row[j] = 1;
      sum[j] = a;
      magnitude[j] = std::fabs(a);
    });
    const auto subtract = [&](long double l, std::size_t k) {
      each_entry(LU, k, [&](std::size_t j, long double u) {
        if (j < k || !in_row[j]) return;
        sum[j] -= l * u;
        magnitude[j] += std::fabs(l * u);
      });
    };
    each_entry(LU, i, [&](std::size_t k, long double l) {
      if (k < i) subtract(l, k);
    });
    subtract(1, i);
    each_entry(A, i, [&](std::size_t j, long double a) {
      if (magnitude[j] > 0) worst = std::max(worst, std::fabs(sum[j]) / magnitude[j]);
      if (!std::isfinite(sum[j])) worst = std::numeric_limits<long double>::infinity();
      rest += sum[j] * sum[j];
      whole += a * a;
      in_row[j] = 0;
    });
  }
  return {static_cast<double>(worst), static_cast<double>(std::sqrt(rest / whole))};
}

namespace {

double n_products(const HostFactors& LU) {
  std::vector<double> upper(static_cast<std::size_t>(LU.n_rows), 0);
  double products = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < upper.size(); ++i)
      for (auto p = LU.row_map[i]; p < LU.row_map[i + 1]; ++p) {
        const int j = LU.entries[static_cast<std::size_t>(p)];
        if (pass == 0 && j > static_cast<int>(i)) ++upper[i];
        if (pass == 1 && j < static_cast<int>(i)) products += upper[static_cast<std::size_t>(j)];
      }
  return products;
}

Measurement describe(Samples&& samples, const HostMatrix<double>& A, const HostFactors& LU) {
  Measurement result{std::move(samples)};
  result.counters["n"] = A.n_rows;
  result.counters["nnz"] = static_cast<double>(A.nnz());
  result.counters["nnz_lu"] = static_cast<double>(LU.nnz());
  result.counters["flops"] = 2 * n_products(LU);
  if (A.n_rows <= 100000) result.counters["iterations"] = gmres_iterations(A, LU);
  return result;
}

/// Bytes that must move: matrix and pattern are read, values are written.
Measurement measure_ilu(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind, int fill_level,
                        bool analyze) {
  const auto solver = kind.make(A, {.fill_level = fill_level});
  if (!analyze) solver->analyze();
  auto samples = measure(run.samples, [&] { analyze ? solver->analyze() : solver->factorize(); });
  if (analyze) solver->factorize();
  const HostFactors LU = solver->factors();
  Measurement result = describe(std::move(samples), A, LU);
  result.counters["backward_componentwise"] = pattern_errors(A, LU).componentwise;
  result.add_limits(run.limits, csr_bytes(A.n_rows, static_cast<double>(A.nnz()), true) +
                                    csr_bytes(A.n_rows, static_cast<double>(LU.nnz()), true));
  return result;
}

/// The time of one of several steps.
Measurement measure_parilut(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind, int steps) {
  const auto solver = kind.make(A, {.parilut_steps = steps});
  solver->analyze();
  const double start = solver->start() ? measure(run.samples, [&] { solver->start(); }).median() : 0;
  auto samples = measure(run.samples, [&] { solver->factorize(); });
  const int made = std::max(1, solver->steps());
  for (double& seconds : samples.seconds) seconds = (seconds - start) / made;
  const HostFactors LU = solver->factors();
  Measurement result = describe(std::move(samples), A, LU);
  result.counters["steps"] = made;
  result.counters["residual_on_pattern"] = pattern_errors(A, LU).frobenius;
  return result;
}

/// Seconds in regions of one name that end during the lifetime of this object, from the callbacks of Kokkos
/// Tools. The callbacks make Kokkos fence at the begin and end of regions. Only one object may exist at a
/// time.
class RegionTime {
 public:
  explicit RegionTime(const std::string& region)
      : m_region(region), m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    s_this = this;
    Kokkos::Tools::Experimental::set_push_region_callback([](const char* name) {
      s_this->m_is_inside = s_this->m_region == name;
      s_this->m_timer.reset();
    });
    Kokkos::Tools::Experimental::set_pop_region_callback([] {
      if (s_this->m_is_inside) s_this->m_seconds += s_this->m_timer.seconds();
      s_this->m_is_inside = false;
    });
  }
  ~RegionTime() { Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before); }
  RegionTime(const RegionTime&) = delete;
  RegionTime& operator=(const RegionTime&) = delete;

  double seconds() const { return m_seconds; }

 private:
  static inline RegionTime* s_this = nullptr;
  std::string m_region;
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
  Kokkos::Timer m_timer;
  double m_seconds = 0;
  bool m_is_inside = false;
};

/// The time of one part of a step, without the others.
Measurement measure_part(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind,
                         const std::string& part) {
  const auto solver = kind.make(A, {.parilut_steps = 3});
  solver->analyze();
  solver->factorize();
  Samples samples;
  while (static_cast<int>(samples.seconds.size()) < run.samples) {
    const RegionTime time("lutra::ilu::parilut: " + part);
    solver->factorize();
    samples.seconds.push_back(time.seconds() / std::max(1, solver->steps()));
  }
  std::sort(samples.seconds.begin(), samples.seconds.end());
  return describe(std::move(samples), A, solver->factors());
}

using SharedMatrix = std::shared_ptr<const HostMatrix<double>>;

bool has_diagonal(const HostMatrix<double>& A) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    const auto begin = A.entries.begin() + A.row_map[i], end = A.entries.begin() + A.row_map[i + 1];
    const auto found = std::lower_bound(begin, end, static_cast<int>(i));
    if (found == end || *found != static_cast<int>(i) ||
        A.values[static_cast<std::size_t>(found - A.entries.begin())] == 0)
      return false;
  }
  return true;
}

/// The matrix for all solvers. Elimination on the pattern of A needs pivots in it, so this is A or, if a
/// diagonal entry is missing or zero, A with rows ordered and scaled by the exact matching; null if A is
/// singular.
SharedMatrix with_diagonal(const HostMatrix<double>& A) {
  if (A.n_rows != A.n_cols) return {};
  if (has_diagonal(A)) return std::make_shared<HostMatrix<double>>(A);
  const auto matching = match_exact(make_view(A));
  if (matching.numeric_rank_bound < A.n_rows) return {};
  auto matched = std::make_shared<HostMatrix<double>>();
  matched->n_rows = matched->n_cols = A.n_rows;
  matched->row_map.push_back(0);
  for (const int i : matching.row_of_column) {
    const auto row = static_cast<std::size_t>(i);
    for (auto p = static_cast<std::size_t>(A.row_map[row]); p < static_cast<std::size_t>(A.row_map[row + 1]);
         ++p) {
      const int j = A.entries[p];
      matched->entries.push_back(j);
      matched->values.push_back(matching.row_scale[row] * A.values[p] *
                                matching.col_scale[static_cast<std::size_t>(j)]);
    }
    matched->row_map.push_back(static_cast<std::int64_t>(matched->entries.size()));
  }
  return matched;
}

void register_matrix(const PerfRun& run, const std::string& name, const SharedMatrix& A,
                     const IluKind& kind) {
  for (const int level : {0, 1}) {
    if (!kind.has_ilu || (level > 0 && kind.name == "cusparse")) continue;
    for (const bool analyze : {true, false})
      add_benchmark(name, "ilu" + std::to_string(level) + (analyze ? "-analyze" : "-factor"), kind.name,
                    [&run, A, kind, level, analyze] { return measure_ilu(run, *A, kind, level, analyze); });
  }
  if (!kind.has_parilut) return;
  for (const int steps : {1, 3})
    add_benchmark(name, "parilut-" + std::to_string(steps), kind.name,
                  [&run, A, kind, steps] { return measure_parilut(run, *A, kind, steps); });
  for (const std::string part : {"candidates", "sweep", "selection", "removal"}) {
    if (kind.name.starts_with("lutra"))
      add_benchmark(name, "parilut-" + part, kind.name,
                    [&run, A, kind, part] { return measure_part(run, *A, kind, part); });
  }
}

std::vector<IluKind> all_kinds() {
  std::vector<IluKind> kinds = lutra_ilu_kinds();
  const auto add = [&](const std::vector<IluKind>& more) {
    kinds.insert(kinds.end(), more.begin(), more.end());
  };
  add(kokkos_kernels_ilu_kinds());
#ifdef LUTRA_PERF_CUSPARSE
  add(cusparse_ilu_kinds());
#endif
#ifdef LUTRA_PERF_GINKGO
  add(ginkgo_ilu_kinds());
#endif
  return kinds;
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values);
    const SharedMatrix A = values != nullptr ? with_diagonal(*values) : nullptr;
    if (A == nullptr) continue;
    for (const IluKind& kind : all_kinds()) register_matrix(run, matrix.name, A, kind);
  }
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels of the triangular solves, and the whole plan of the column factorization.
#include "Lutra_Levelization.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

using Graph = DependencyGraph<int, std::int64_t, MemorySpace>;

enum class Triangle { lower, upper };

/// Row i waits for the columns of its part of the factors, so a node's successors are a column's rows.
template <class Plan>
Graph solve_graph(const Plan& plan, Triangle triangle) {
  const auto& columns = plan.columns.pattern;
  const auto n = static_cast<std::size_t>(plan.n());
  if (triangle == Triangle::upper)
    return {plan.n(), {columns.row_map, plan.column_diagonal, columns.entries, 0}, {}};
  const auto end = Kokkos::subview(columns.row_map, Kokkos::make_pair(std::size_t(1), n + 1));
  return {plan.n(), {plan.column_diagonal, end, columns.entries, 1}, {}};
}

/// The part of the pattern is read, order and level of each node are written.
template <class Scalar>
Measurement measure_solve_levels(const PerfRun& run, const HostMatrix<Scalar>& matrix, Triangle triangle) {
  const Factored<Scalar> factored(matrix);
  const MemoryBudget budget;
  const auto plan = plan_column_lu(factored.exec, factored.analysis.plan.rows, MemoryBudget());
  const Graph graph = solve_graph(plan, triangle);
  std::size_t levels = 0;
  auto samples = measure(run.samples, [&] { levels = levelize(factored.exec, graph, budget).size(); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  const auto& rows = factored.analysis.plan.rows;
  const auto entries = static_cast<double>(triangle == Triangle::lower ? rows.nnz_l : rows.nnz_u - rows.n);
  const double n = matrix.n_rows;
  result.counters["levels"] = static_cast<double>(levels);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  result.bound(run.limits, csr_bytes(n, entries, false) + 2 * n * sizeof(int), 0,
               static_cast<double>(levels));
  return result;
}

/// The rows' pattern is read; its transpose, two maps between both, order and level of each column are
/// written.
template <class Scalar>
Measurement measure_plan(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  const Factored<Scalar> factored(matrix);
  const MemoryBudget budget;
  auto samples =
      measure(run.samples, [&] { plan_column_lu(factored.exec, factored.analysis.plan.rows, budget); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  const double n = matrix.n_rows, nnz_lu = result.counters["nnz_lu"];
  result.bound(run.limits,
               2 * csr_bytes(n, nnz_lu, false) + 2 * nnz_lu * sizeof(std::int64_t) + 2 * n * sizeof(int), 0,
               result.counters["levels"]);
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "plan", "lutra", [&] { return measure_plan(run, matrix); });
  add_benchmark(name, "lower", "lutra", [&] { return measure_solve_levels(run, matrix, Triangle::lower); });
  add_benchmark(name, "upper", "lutra", [&] { return measure_solve_levels(run, matrix, Triangle::upper); });
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf

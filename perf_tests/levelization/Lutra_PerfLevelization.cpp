// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels of the right-looking factorization and of the triangular solves, and the whole plan of the
// factorization. `portable` is one launch per level on every backend. `host` is one sequential pass over the
// nodes as in GLU 3.0, on patterns in host memory. `forest` computes levels of fronts from their parents with
// the host pass of the multifrontal plan.
#include <algorithm>

#include "Lutra_Forest.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

using Graph = DependencyGraph<MemorySpace>;

enum class Nodes { columns, lower, upper };

/// The successors of column i are row i of U and column i of L. In a solve row i depends on the columns of
/// its entries, so the successors of a node are the rows of a column.
template <class Plan>
Graph graph_of(const Plan& plan, Nodes nodes) {
  const auto& columns = plan.columns.pattern;
  const auto n = static_cast<std::size_t>(plan.n());
  const auto behind_first = Kokkos::make_pair(std::size_t(1), n + 1);
  if (nodes == Nodes::columns)
    return {plan.n(),
            {plan.rows.diagonal, Kokkos::subview(plan.rows.row_map, behind_first), plan.rows.entries, 1},
            {plan.column_diagonal, Kokkos::subview(columns.row_map, behind_first), columns.entries, 1}};
  if (nodes == Nodes::upper)
    return {plan.n(), {columns.row_map, plan.column_diagonal, columns.entries, 0}, {}};
  return {plan.n(),
          {plan.column_diagonal, Kokkos::subview(columns.row_map, behind_first), columns.entries, 1},
          {}};
}

/// A graph's edges in host memory.
struct HostGraph {
  struct Part {
    std::vector<std::int64_t> begin, end;
    std::vector<int> entries;
  };
  int n = 0;
  bool descending = false;  ///< edges lead to smaller nodes
  Part parts[2];

  HostGraph(const Graph& graph, bool down) : n(graph.n), descending(down) {
    const auto copy = [](const auto& view) {
      using T = typename std::decay_t<decltype(view)>::non_const_value_type;
      const Kokkos::View<T*, MemorySpace> dense("lutra::perf::edges", view.extent(0));
      Kokkos::deep_copy(dense, view);
      return to_host(dense);
    };
    int p = 0;
    for (const auto& part : {graph.first, graph.second}) {
      Part& own = parts[p++];
      if (part.entries.extent(0) == 0) continue;
      own = {copy(part.begin), copy(part.end), copy(part.entries)};
      for (auto& begin : own.begin) begin += part.skip;
    }
  }

  /// Levels by one pass in the order of the nodes, then nodes sorted by them.
  std::size_t levelize() const {
    std::vector<int> level(static_cast<std::size_t>(n), 0), order(level.size());
    for (int i = 0; i < n; ++i) {
      const auto v = static_cast<std::size_t>(descending ? n - 1 - i : i);
      for (const Part& part : parts) {
        if (part.entries.empty()) continue;
        for (auto e = part.begin[v]; e < part.end[v]; ++e) {
          const auto w = static_cast<std::size_t>(part.entries[static_cast<std::size_t>(e)]);
          if (w != v) level[w] = std::max(level[w], level[v] + 1);
        }
      }
    }
    const auto levels =
        static_cast<std::size_t>(n == 0 ? 0 : *std::max_element(level.begin(), level.end()) + 1);
    std::vector<int> begin(levels + 1, 0);
    for (const int l : level) ++begin[static_cast<std::size_t>(l) + 1];
    for (std::size_t l = 0; l < levels; ++l) begin[l + 1] += begin[l];
    for (int v = 0; v < n; ++v)
      order[static_cast<std::size_t>(begin[static_cast<std::size_t>(level[static_cast<std::size_t>(v)])]++)] =
          v;
    return levels;
  }
};

enum class Way { chosen, portable, host };

/// Bytes that must move: the pattern of the triangle is read; order and level of each node are written.
template <class Scalar>
Measurement measure_levels(const PerfRun& run, const HostMatrix<Scalar>& matrix, Nodes nodes, Way way) {
  const Factored<Scalar> factored(matrix);
  const MemoryBudget budget;
  const auto plan =
      plan_right_looking_lu(factored.exec, factored.simplicial().plan().lu.rows, MemoryBudget());
  const Graph graph = graph_of(plan, nodes);
  const HostGraph host(graph, nodes == Nodes::upper);
  std::size_t levels = 0;
  auto samples = measure(run.samples, [&] {
    levels = way == Way::host ? host.levelize()
                              : levelize(factored.exec, graph, budget,
                                         {way == Way::portable ? LevelizationMethod::portable
                                                               : LevelizationMethod::cooperative})
                                    .size();
  });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  const auto& rows = factored.simplicial().plan().lu.rows;
  const double lower = static_cast<double>(rows.nnz_l), upper = static_cast<double>(rows.nnz_u - rows.n);
  const double entries = (nodes != Nodes::upper ? lower : 0) + (nodes != Nodes::lower ? upper : 0);
  const double n = matrix.n_rows;
  result.counters["levels"] = static_cast<double>(levels);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  result.add_limits(run.limits, csr_bytes(n, entries, false) + 2 * n * sizeof(int), 0,
                    static_cast<double>(levels));
  return result;
}

/// Bytes that must move: parents are read; order and level of each front are written.
template <class Scalar>
Measurement measure_forest(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  const Factored<Scalar> factored(matrix, options_for(Engine::multifrontal));
  std::vector<int> parent;
  for (const auto& front : factored.multifrontal().plan().fronts.layout.fronts)
    parent.push_back(front.parent);
  std::vector<int> order(parent.size()), level_of(parent.size());
  std::size_t levels = 0;
  auto samples =
      measure(run.samples, [&] { levels = Impl::levelize_in_order(parent, order, level_of).size() - 1; });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  const auto fronts = static_cast<double>(parent.size());
  result.counters["fronts"] = fronts;
  result.counters["levels"] = static_cast<double>(levels);
  result.add_limits(run.limits, 3 * fronts * sizeof(int), 0, static_cast<double>(levels));
  return result;
}

/// Bytes that must move: the pattern by rows is read; its transpose, two maps, order and level of each column
/// are written.
template <class Scalar>
Measurement measure_plan(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  const Factored<Scalar> factored(matrix);
  const MemoryBudget budget;
  auto samples = measure(run.samples, [&] {
    plan_right_looking_lu(factored.exec, factored.simplicial().plan().lu.rows, budget);
  });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  const double n = matrix.n_rows, nnz_lu = result.counters["nnz_lu"];
  result.add_limits(run.limits,
                    2 * csr_bytes(n, nnz_lu, false) + 2 * nnz_lu * sizeof(std::int64_t) + 2 * n * sizeof(int),
                    0, result.counters["levels"]);
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "plan", "lutra", [&] { return measure_plan(run, matrix); });
  const std::pair<const char*, Nodes> graphs[] = {
      {"levels", Nodes::columns}, {"lower", Nodes::lower}, {"upper", Nodes::upper}};
  const std::pair<const char*, Way> ways[] = {
      {"lutra", Way::chosen}, {"portable", Way::portable}, {"host", Way::host}};
  add_benchmark(name, "forest", "host", [&] { return measure_forest(run, matrix); });
  for (const auto& [graph, nodes] : graphs) {
    for (const auto& [label, way] : ways) {
      add_benchmark(name, graph, label, [&run, &matrix, graph_nodes = nodes, own_way = way] {
        return measure_levels(run, matrix, graph_nodes, own_way);
      });
    }
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf

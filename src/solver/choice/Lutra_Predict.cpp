// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Predict.hpp"

#include <algorithm>

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_At.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_TrisolveModel.hpp"

namespace lutra {
namespace {

using Impl::at;
using Impl::formatted;

/// Returns the number of vertices on the longest path of the elimination tree; the pivots of a front form a
/// path.
double longest_path(const AssemblyTree& tree) {
  std::vector<double> height(tree.parent.size(), 0);
  double longest = 0;
  for (std::size_t f = 0; f < height.size(); ++f) {
    height[f] += static_cast<double>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    longest = std::max(longest, height[f]);
    if (tree.parent[f] >= 0) at(height, tree.parent[f]) = std::max(at(height, tree.parent[f]), height[f]);
  }
  return longest;
}

/// Computes the levels of the rows of A's lower triangle, which is the pattern of L in ILU(0).
TriangleProperties lower_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  TriangleProperties properties;
  properties.rows = static_cast<double>(A.n_rows);
  std::vector<double> level(static_cast<std::size_t>(A.n_rows), 1);
  for (std::size_t i = 0; i < level.size(); ++i) {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const auto j = static_cast<std::size_t>(A.entries(static_cast<std::size_t>(p)));
      if (j >= i) continue;
      properties.entries += 1;
      level[i] = std::max(level[i], level[j] + 1);
    }
    properties.levels = std::max(properties.levels, level[i]);
  }
  return properties;
}

void add_methods(const char* what, const TriangleProperties& properties, const TrisolveCosts& costs,
                 Prediction& result) {
  for (const TrisolveMethod method : {TrisolveMethod::levels, TrisolveMethod::syncfree})
    result.one_device.push_back(
        {what, std::string(name_of(method)), predict_seconds(properties, method, costs)});
}

std::string describe(const NodeLinks& nodes) {
  if (nodes.ranks_per_node == 0) return "the same link between any two ranks";
  return formatted("%d ranks a node; a message between nodes takes %.3g us and its bytes at %.3g GB/s",
                   nodes.ranks_per_node, 1e6 * nodes.latency_seconds, 1e-9 * nodes.bandwidth);
}

std::vector<std::string> assumptions(const DistributedCosts& costs, const NodeLinks& nodes) {
  return {"one value of 8 bytes an entry; pivots as matched and ordered, none delayed or interchanged",
          "fronts are cut into blocks of up to 64 rows, which are dealt cyclically to the grid; x goes down "
          "binary "
          "trees of ranks, sums go up",
          formatted("a sweep takes %.3g us to begin, a block waits %.3g us for what it depends on",
                    1e6 * costs.start_seconds, 1e6 * costs.dependency_seconds),
          formatted("a device reads %.4g GB/s, the team of a block %.3g to %.3g GB/s", 1e-9 * costs.bandwidth,
                    1e-9 * costs.min_block_bandwidth, 1e-9 * costs.max_block_bandwidth),
          formatted("a message takes %.3g us and its bytes at %.3g GB/s; a rank sends one after the other",
                    1e6 * costs.latency_seconds, 1e-9 * costs.link_bandwidth),
          describe(nodes),
          "nothing else uses devices and links; times by ranks are simulated, block by block"};
}

void predict_grids(const BlockTriangle& lower, const PredictOptions& options, const RunControl& run,
                   Prediction& result) {
  const DistributedCosts& costs = options.costs.distributed;
  if (options.grid) {
    result.grids = scale_grids(lower, 1, costs, options.n_rhs, options.nodes, run);
    if (options.grid->size() > 1)
      result.grids.push_back({*options.grid,
                              simulate_solve(lower, *options.grid, costs, options.n_rhs, options.nodes, run),
                              simulate_solve(reversed_transpose(lower), *options.grid, costs, options.n_rhs,
                                             options.nodes, run)});
  } else {
    result.grids = scale_grids(lower, options.ranks, costs, options.n_rhs, options.nodes, run);
  }
  for (const GridTimes& times : result.grids) {
    run.poll();
    result.paths.push_back(predict_critical_path(lower, times.grid, costs, options.n_rhs, options.nodes));
  }
  const auto best =
      std::min_element(result.grids.begin(), result.grids.end(),
                       [](const GridTimes& a, const GridTimes& b) { return a.seconds() < b.seconds(); });
  result.best = static_cast<std::size_t>(best - result.grids.begin());
}

/// Returns the seconds of one sweep, half of a solve.
double front_sweep_seconds(const StageCosts& solve, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
                           const TriangleProperties& L) {
  OrderingProperties properties;
  properties.rows = A.n_rows;
  properties.edges = static_cast<std::int64_t>(A.nnz()) - A.n_rows;
  FillForecast forecast;
  forecast.nnz_l = static_cast<std::int64_t>(L.entries);
  forecast.height = static_cast<std::int64_t>(L.levels);
  return predicted_seconds(solve, properties, forecast) / 2;
}

FactorCounts count_factors(const AssemblyTree& tree, double nnz) {
  double stored = 0;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    const auto pivots = static_cast<double>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    stored += pivots * (pivots + 2 * static_cast<double>(tree.row_begin[f + 1] - tree.row_begin[f]));
  }
  FactorCounts counts;
  counts.nnz_l = static_cast<std::int64_t>((stored - static_cast<double>(tree.n)) / 2);
  counts.nnz_u = static_cast<std::int64_t>((stored + static_cast<double>(tree.n)) / 2);
  counts.flops = tree.flops;
  counts.supernodes = static_cast<std::int64_t>(tree.count());
  counts.fill_ratio = nnz > 0 ? stored / nnz : 0;
  return counts;
}

void check_options(const PredictOptions& options) {
  constexpr int most_ranks = 1 << 20;
  const int ranks = options.grid ? options.grid->size() : options.ranks;
  if (options.grid && (options.grid->rows < 1 || options.grid->columns < 1))
    throw InputError("grid: it needs a row and a column at least");
  if (ranks < 1 || ranks > most_ranks)
    throw InputError("ranks: " + std::to_string(ranks) + " is not between 1 and " +
                     std::to_string(most_ranks));
  if (options.n_rhs < 1) throw InputError("n_rhs: there has to be one right-hand side at least");
  const DistributedCosts& costs = options.costs.distributed;
  if (options.nodes.ranks_per_node < 0 || !(options.nodes.latency_seconds >= 0) ||
      !(options.nodes.bandwidth > 0))
    throw InputError("nodes: a number of ranks or a latency below 0, or a bandwidth that is not above 0");
  if (!(costs.latency_seconds >= 0) || !(costs.link_bandwidth > 0))
    throw InputError("costs: a latency below 0, or a bandwidth that is not above 0");
}

template <class Scalar>
Prediction predict(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                   const PredictOptions& options, const MemoryBudget& budget) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  const Exec exec;
  check_square_matrix(exec, A, MatrixCheckWorkspace<Exec>(exec, budget));
  Prediction result;
  result.report.choice.method = "lu";
  result.assumptions = assumptions(options.costs.distributed, options.nodes);
  auto pivots = choose_pivots(exec, A, A, options.lu, budget, result.report);
  if (!pivots) return result;  // structurally singular
  auto tree = Impl::build_tree(exec, A.pattern(), A.pattern(), *pivots, budget);
  Impl::collect_rows(*pivots, tree);
  result.report.factors = count_factors(tree, static_cast<double>(A.nnz()));
  predict_grids(block_triangle(tree), options, budget.run(), result);
  TriangleProperties by_rows;  // properties of L; the solve with U takes equally long
  by_rows.rows = static_cast<double>(tree.n);
  by_rows.entries = static_cast<double>(*result.report.factors.nnz_l);
  by_rows.levels = longest_path(tree);
  result.one_device.push_back({"L of complete factors", "fronts",
                               options.front_solve
                                   ? front_sweep_seconds(*options.front_solve, A.pattern(), by_rows)
                                   : result.grids.front().lower.seconds});
  add_methods("L of complete factors", by_rows, options.costs.methods, result);
  add_methods("L of ILU(0)", lower_triangle(A.pattern()), options.costs.methods, result);
  return result;
}

}  // namespace

template <class Scalar>
Prediction predict_solves(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                          const PredictOptions& options) {
  check_options(options);
  const MemoryBudget budget = MemoryBudget().with_control();
  Prediction result;
  const auto call = [&] {
    result = predict(A, options, budget);
    return Status::success;
  };
  if (stoppable(Kokkos::DefaultHostExecutionSpace(), budget.run(), options.lu, "predict", call) ==
      Status::cancelled) {
    result.report.choice.method = "lu";
    result.report.status = Status::cancelled;
  }
  return result;
}

#define LUTRA_PREDICT(Scalar)                                                                    \
  template Prediction predict_solves(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, \
                                     const PredictOptions&);
LUTRA_FOR_EACH_SCALAR(LUTRA_PREDICT)

}  // namespace lutra

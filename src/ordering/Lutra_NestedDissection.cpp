// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NestedDissection.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "Lutra_DissectionHost.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

/// Sorts nodes by their columns, children before parents, and computes parents.
template <class Index>
void build_tree(std::vector<Impl::DissectionNode<Index>> nodes, Dissection<Index>& result) {
  std::ranges::sort(nodes, {}, &Impl::DissectionNode<Index>::own_begin);
  const std::size_t count = nodes.size();
  result.parent.assign(count, Index(-1));
  result.first_column.reserve(count + 1);
  std::vector<std::size_t> roots;  // roots of the subtrees so far
  for (std::size_t k = 0; k < count; ++k) {
    while (!roots.empty() && nodes[roots.back()].begin >= nodes[k].begin) {
      result.parent[roots.back()] = static_cast<Index>(k);
      roots.pop_back();
    }
    roots.push_back(k);
    result.first_column.push_back(nodes[k].own_begin);
    result.n_leaves += nodes[k].leaf ? 1 : 0;
  }
  result.first_column.push_back(count == 0 ? Index(0) : nodes.back().end);
  std::vector<Index> depth(count, 1);
  for (std::size_t k = count; k-- > 0;) {
    if (result.parent[k] >= 0) depth[k] = depth[static_cast<std::size_t>(result.parent[k])] + 1;
    result.depth = std::max(result.depth, depth[k]);
  }
}

/// Maps columns of the reduced graph's vertices to columns of the original ones.
template <class Index>
void expand_columns(const ReducedGraph<Index>& reduced, const std::vector<Index>& order,
                    Dissection<Index>& result) {
  std::vector<Index> column(order.size() + 1, static_cast<Index>(reduced.eliminated.size()));
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto v = static_cast<std::size_t>(order[k]);
    column[k + 1] = column[k] + reduced.first_member[v + 1] - reduced.first_member[v];
  }
  for (Index& first : result.first_column) first = column[static_cast<std::size_t>(first)];
  if (reduced.dense.empty()) return;
  const auto root = static_cast<Index>(result.parent.size());
  std::ranges::replace(result.parent, Index(-1), root);
  result.parent.push_back(-1);
  result.first_column.push_back(static_cast<Index>(result.permutation.size()));
  ++result.depth;
}

/// Matching uses 32 bits per vertex; contraction by hashing needs an index type for twice the entries.
template <class Index>
void require_countable(const SymmetricGraph<Index>& graph) {
  const auto n = static_cast<std::int64_t>(graph.size()),
             entries = static_cast<std::int64_t>(graph.neighbours.size());
  if (n < std::numeric_limits<std::int32_t>::max() && entries <= std::numeric_limits<Index>::max() / 2)
    return;
  throw InputError("graph: " + std::to_string(n) + " vertices and " + std::to_string(entries) +
                   " entries are more than nested dissection counts with this index type");
}

template <class Index>
struct DissectedGraph {
  std::vector<Index> order;  ///< [n] empty if stopped
  std::vector<Impl::DissectionNode<Index>> nodes;
  Index n_degenerate = 0;
};

template <class Index>
DissectedGraph<Index> dissect(int concurrency, const ReducedGraph<Index>& reduced,
                              const DissectionOptions& options, const MemoryBudget& budget,
                              const DissectionControl& control = {}) {
  require_countable(reduced.graph);
  std::vector<Index> order(static_cast<std::size_t>(reduced.graph.size()));
  const auto first = Impl::join_components(Impl::list_components(reduced.graph, order),
                                           static_cast<Index>(options.leaf_vertices), order);
  const auto n_threads = static_cast<std::size_t>(std::max(1, concurrency));
  Impl::DissectionHost<Index> dissection(reduced.graph, reduced.weights, options, budget, n_threads);
  if (!dissection.run(first, order, control)) order.clear();
  return {std::move(order), std::move(dissection.nodes), dissection.n_degenerate.load()};
}

}  // namespace

template <Impl::HostExecution ExecutionSpace, class Index>
Dissection<Index> nested_dissection(const ExecutionSpace& exec, const SymmetricGraph<Index>& graph,
                                    const DissectionOptions& options, const MemoryBudget& budget,
                                    const std::vector<Index>& weights) {
  const ReducedGraph<Index> reduced = reduce_graph(graph, options.reduction, weights);
  auto dissected = dissect(exec.concurrency(), reduced, options, budget);
  Dissection<Index> result;
  result.n_degenerate = dissected.n_degenerate;
  result.permutation = expand_order(reduced, dissected.order);
  build_tree(std::move(dissected.nodes), result);
  expand_columns(reduced, dissected.order, result);
  return result;
}

template <Impl::HostExecution ExecutionSpace, class Index>
std::vector<Index> dissect_reduced(const ExecutionSpace& exec, const ReducedGraph<Index>& reduced,
                                   const MemoryBudget& budget) {
  return dissect(exec.concurrency(), reduced, {}, budget).order;
}

template <class Index>
std::vector<Index> dissect_reduced(const ReducedGraph<Index>& reduced, const DissectionControl& control,
                                   const MemoryBudget& budget) {
  return dissect(Kokkos::DefaultHostExecutionSpace().concurrency(), reduced, {}, budget, control).order;
}

template std::vector<int> dissect_reduced(const ReducedGraph<int>&, const DissectionControl&,
                                          const MemoryBudget&);
template std::vector<std::int64_t> dissect_reduced(const ReducedGraph<std::int64_t>&,
                                                   const DissectionControl&, const MemoryBudget&);

#define LUTRA_DISSECTION(Space)                                                                           \
  template std::vector<int> dissect_reduced(const Space&, const ReducedGraph<int>&, const MemoryBudget&); \
  template std::vector<std::int64_t> dissect_reduced(const Space&, const ReducedGraph<std::int64_t>&,     \
                                                     const MemoryBudget&);                                \
  template Dissection<int> nested_dissection(const Space&, const SymmetricGraph<int>&,                    \
                                             const DissectionOptions&, const MemoryBudget&,               \
                                             const std::vector<int>&);                                    \
  template Dissection<std::int64_t> nested_dissection(const Space&, const SymmetricGraph<std::int64_t>&,  \
                                                      const DissectionOptions&, const MemoryBudget&,      \
                                                      const std::vector<std::int64_t>&);
LUTRA_FOR_EACH_HOST_SPACE(LUTRA_DISSECTION)
#undef LUTRA_DISSECTION

}  // namespace lutra

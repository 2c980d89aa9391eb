// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ColumnCounts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "Lutra_TreeSums.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Root of j's set in a forest of links, −1 at a root. Path compression links every visited vertex to the
/// root.
template <class Index>
Index find_root(std::vector<Index>& link, Index j) {
  Index root = j;
  while (at(link, root) >= 0) root = at(link, root);
  while (j != root) {
    const Index next = at(link, j);
    at(link, j) = root;
    j = next;
  }
  return root;
}

/// Column counts for an elimination order that is a postorder. L(i, j) is nonzero if and only if j is in the
/// row subtree of i, so counts are sums over subtrees of: +1 at each leaf of a row subtree, −1 where two of
/// its branches meet, −1 at the parent of its root.
template <class Index>
std::vector<Index> counts_in_postorder(const SymmetricGraph<Index>& graph,
                                       const std::vector<Index>& permutation,
                                       const std::vector<Index>& parent) {
  const Index n = graph.size();
  const std::vector<Index> position = Impl::inverse_of(permutation);
  const std::vector<Index> size = Impl::subtree_sums(parent, std::vector<Index>(parent.size(), 1));
  std::vector<Index> count(static_cast<std::size_t>(n), 0);
  // Last processed column with an entry in each row; compressed parents of the processed columns.
  std::vector<Index> last_entry(count.size(), Index(-1)), link(count.size(), Index(-1));
  for (Index j = 0; j < n; ++j) {
    const Index first_below = j - at(size, j) + 1;
    if (first_below == j) ++at(count, j);
    if (at(parent, j) >= 0) --at(count, at(parent, j));
    const Index v = at(permutation, j);
    for (Index k = at(graph.row_map, v); k < at(graph.row_map, v + 1); ++k) {
      const Index i = at(position, at(graph.neighbours, k));
      if (i < j) continue;
      const Index last = at(last_entry, i);
      at(last_entry, i) = j;
      if (last >= first_below) continue;  // row i has an entry in the subtree of j, so j is no leaf
      ++at(count, j);
      if (last >= 0) --at(count, find_root(link, last));
    }
    at(link, j) = at(parent, j);
  }
  count = Impl::subtree_sums(parent, std::move(count));
  for (Index& c : count) --c;  // excludes the diagonal
  return count;
}

}  // namespace

template <class Index>
std::vector<Index> column_counts(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation,
                                 const EliminationTree<Index>& tree) {
  const std::vector<Index>& parent = tree.parent;
  const std::vector<Index> position = postorder(parent);
  std::vector<Index> permutation_in_postorder(parent.size()), parent_in_postorder(parent.size());
  for (std::size_t j = 0; j < parent.size(); ++j) {
    at(permutation_in_postorder, position[j]) = permutation[j];
    at(parent_in_postorder, position[j]) = parent[j] < 0 ? Index(-1) : at(position, parent[j]);
  }
  const std::vector<Index> in_postorder =
      counts_in_postorder(graph, permutation_in_postorder, parent_in_postorder);
  std::vector<Index> count(parent.size());
  for (std::size_t j = 0; j < parent.size(); ++j) count[j] = at(in_postorder, position[j]);
  return count;
}

template <class Index>
Elimination<Index> eliminate(const SymmetricGraph<Index>& graph, std::vector<Index> permutation) {
  EliminationTree<Index> tree = elimination_tree(graph, permutation);
  std::vector<Index> count = column_counts(graph, permutation, tree);
  return {std::move(permutation), std::move(tree), std::move(count)};
}

template <class Index>
FillForecast forecast_fill(const Elimination<Index>& elimination) {
  const std::vector<Index>& parent = elimination.tree.parent;
  const std::vector<Index>& count = elimination.count;
  std::vector<Index> height(parent.size(), 1);  // height of each column's subtree
  std::vector<Index> supernodes(parent.size(), 0), children(parent.size(), 0);  // supernodes on the longest
                                                                                // path in it
  for (const Index p : parent)
    if (p >= 0) ++at(children, p);
  FillForecast forecast;
  for (std::size_t j = 0; j < parent.size(); ++j) {
    const auto lower = static_cast<double>(count[j]);
    forecast.nnz_l += count[j];
    forecast.flops += lower + 2 * lower * lower;
    forecast.height = std::max(forecast.height, static_cast<std::int64_t>(height[j]));
    if (parent[j] < 0) {
      forecast.supernode_height =
          std::max(forecast.supernode_height, static_cast<std::int64_t>(supernodes[j]) + 1);
      continue;
    }
    at(height, parent[j]) = std::max(at(height, parent[j]), height[j] + 1);
    const bool goes_on = at(children, parent[j]) == 1 && at(count, parent[j]) == count[j] - 1;
    at(supernodes, parent[j]) =
        std::max(at(supernodes, parent[j]), supernodes[j] + static_cast<Index>(goes_on ? 0 : 1));
  }
  return forecast;
}

#define LUTRA_COLUMN_COUNTS(Index)                                                                   \
  template std::vector<Index> column_counts(const SymmetricGraph<Index>&, const std::vector<Index>&, \
                                            const EliminationTree<Index>&);                          \
  template Elimination<Index> eliminate(const SymmetricGraph<Index>&, std::vector<Index>);           \
  template FillForecast forecast_fill(const Elimination<Index>&);
LUTRA_COLUMN_COUNTS(int)
LUTRA_COLUMN_COUNTS(std::int64_t)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ColumnCounts.hpp"

#include <algorithm>
#include <cstddef>

namespace lutra::Impl {
namespace {

template <class Index>
Index& at(std::vector<Index>& array, Index i) {
  return array[static_cast<std::size_t>(i)];
}

template <class Index>
Index at(const std::vector<Index>& array, Index i) {
  return array[static_cast<std::size_t>(i)];
}

template <class Index>
std::vector<Index> inverse(const std::vector<Index>& permutation) {
  std::vector<Index> place(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) at(place, permutation[k]) = static_cast<Index>(k);
  return place;
}

// Vertices of the subtree below and with each column; a parent has a greater number than its children.
template <class Index>
std::vector<Index> subtree_sizes(const std::vector<Index>& parent) {
  std::vector<Index> size(parent.size(), 1);
  for (std::size_t j = 0; j < parent.size(); ++j) {
    if (parent[j] >= 0) at(size, parent[j]) += size[j];
  }
  return size;
}

// Climbs from j over `link`, -1 at the top, and lets every vertex passed point to the top.
template <class Index>
Index find_top(std::vector<Index>& link, Index j) {
  Index top = j;
  while (at(link, top) >= 0) top = at(link, top);
  while (j != top) {
    const Index next = at(link, j);
    at(link, j) = top;
    j = next;
  }
  return top;
}

// Column counts for an elimination order that is a postorder. Column j of L has an entry in row i when j lies
// on the row subtree of i, so counts are sums over subtrees of: +1 at each leaf of a row subtree, −1 where
// two of its branches meet, −1 at the parent of its root.
template <class Index>
std::vector<Index> counts_in_postorder(const SymmetricGraph<Index>& graph,
                                       const std::vector<Index>& permutation,
                                       const std::vector<Index>& parent) {
  const Index n = graph.size();
  const std::vector<Index> place = inverse(permutation), size = subtree_sizes(parent);
  std::vector<Index> count(static_cast<std::size_t>(n), 0);
  std::vector<Index> last_entry(static_cast<std::size_t>(n),
                                Index(-1));  // last column seen with an entry in each row
  std::vector<Index> link(static_cast<std::size_t>(n), Index(-1));  // parents of the columns done, compressed
  for (Index j = 0; j < n; ++j) {
    const Index first_below = j - at(size, j) + 1;
    if (first_below == j) ++at(count, j);
    if (at(parent, j) >= 0) --at(count, at(parent, j));
    const Index v = at(permutation, j);
    for (Index k = at(graph.row_map, v); k < at(graph.row_map, v + 1); ++k) {
      const Index i = at(place, at(graph.neighbours, k));
      if (i < j) continue;
      const Index last = at(last_entry, i);
      at(last_entry, i) = j;
      if (last >= first_below) continue;  // row i has an entry in the subtree of j: not a leaf
      ++at(count, j);
      if (last >= 0) --at(count, find_top(link, last));
    }
    at(link, j) = at(parent, j);
  }
  for (Index j = 0; j < n; ++j) {
    if (at(parent, j) >= 0) at(count, at(parent, j)) += at(count, j);
  }
  for (Index& c : count) --c;  // the diagonal
  return count;
}

}  // namespace

template <class Index>
std::vector<Index> elimination_tree(const SymmetricGraph<Index>& graph,
                                    const std::vector<Index>& permutation) {
  const Index n = graph.size();
  const std::vector<Index> place = inverse(permutation);
  std::vector<Index> parent(static_cast<std::size_t>(n), Index(-1));
  std::vector<Index> link(static_cast<std::size_t>(n), Index(-1));  // shortcuts to ancestors
  for (Index i = 0; i < n; ++i) {
    const Index v = at(permutation, i);
    for (Index k = at(graph.row_map, v); k < at(graph.row_map, v + 1); ++k) {
      Index j = at(place, at(graph.neighbours, k));
      while (j >= 0 && j < i) {
        const Index next = at(link, j);
        at(link, j) = i;
        if (next < 0) at(parent, j) = i;
        j = next;
      }
    }
  }
  return parent;
}

template <class Index>
std::vector<Index> postorder(const std::vector<Index>& parent) {
  // From the last column down, each subtree takes the end of what is still free of its parent's part of the
  // order.
  std::vector<Index> place(parent.size());
  std::vector<Index> free_end(parent.size());  // end of the part still free for further children
  const std::vector<Index> size = subtree_sizes(parent);
  auto roots_end = static_cast<Index>(parent.size());
  for (std::size_t j = parent.size(); j-- > 0;) {
    Index& end = parent[j] < 0 ? roots_end : at(free_end, parent[j]);
    place[j] = end - 1;
    free_end[j] = end - 1;
    end -= size[j];
  }
  return place;
}

template <class Index>
std::vector<Index> column_counts(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation,
                                 const std::vector<Index>& parent) {
  const std::vector<Index> place = postorder(parent);
  std::vector<Index> permutation_in_postorder(parent.size()), parent_in_postorder(parent.size());
  for (std::size_t j = 0; j < parent.size(); ++j) {
    at(permutation_in_postorder, place[j]) = permutation[j];
    at(parent_in_postorder, place[j]) = parent[j] < 0 ? Index(-1) : at(place, parent[j]);
  }
  const std::vector<Index> in_postorder =
      counts_in_postorder(graph, permutation_in_postorder, parent_in_postorder);
  std::vector<Index> count(parent.size());
  for (std::size_t j = 0; j < parent.size(); ++j) count[j] = at(in_postorder, place[j]);
  return count;
}

template <class Index>
FillForecast forecast_fill(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation) {
  const std::vector<Index> parent = elimination_tree(graph, permutation);
  const std::vector<Index> count = column_counts(graph, permutation, parent);
  std::vector<Index> height(parent.size(), 1);  // of the subtree of each column
  FillForecast forecast;
  for (std::size_t j = 0; j < parent.size(); ++j) {
    const auto below = static_cast<double>(count[j]);
    forecast.nnz_l += count[j];
    forecast.flops += below + 2 * below * below;
    forecast.height = std::max(forecast.height, static_cast<std::int64_t>(height[j]));
    if (parent[j] >= 0) at(height, parent[j]) = std::max(at(height, parent[j]), height[j] + 1);
  }
  return forecast;
}

#define LUTRA_INSTANTIATE(Index)                                                                         \
  template std::vector<Index> elimination_tree(const SymmetricGraph<Index>&, const std::vector<Index>&); \
  template std::vector<Index> postorder(const std::vector<Index>&);                                      \
  template std::vector<Index> column_counts(const SymmetricGraph<Index>&, const std::vector<Index>&,     \
                                            const std::vector<Index>&);                                  \
  template FillForecast forecast_fill(const SymmetricGraph<Index>&, const std::vector<Index>&);
LUTRA_INSTANTIATE(int)
LUTRA_INSTANTIATE(std::int64_t)
#undef LUTRA_INSTANTIATE

}  // namespace lutra::Impl

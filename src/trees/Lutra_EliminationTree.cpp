// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_EliminationTree.hpp"

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LiuTree.hpp"
#include "Lutra_TreeSums.hpp"

namespace lutra {

using Impl::at;

template <class Index>
EliminationTree<Index> elimination_tree(const SymmetricGraph<Index>& graph,
                                        const std::vector<Index>& permutation) {
  const std::vector<Index> position = Impl::inverse_of(permutation);
  EliminationTree<Index> tree;
  tree.parent.resize(permutation.size());
  std::vector<Index> ancestor(permutation.size());
  Impl::grow_liu_tree(graph.size(), Index(-1), tree.parent.data(), ancestor.data(),
                      [&](Index i, const auto& visit) {
                        const Index v = at(permutation, i);
                        for (Index k = at(graph.row_map, v); k < at(graph.row_map, v + 1); ++k)
                          visit(at(position, at(graph.neighbours, k)));
                      });
  return tree;
}

EliminationTree<Ordinal> elimination_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const MemoryBudget& budget) {
  EliminationTree<Ordinal> tree;
  tree.parent.resize(static_cast<std::size_t>(pattern.n_rows));
  Impl::grow_liu_tree(pattern, Ordinal(-1), tree.parent.data(), budget);
  return tree;
}

template <class Index>
std::vector<Index> postorder(const std::vector<Index>& parent) {
  // From the last column down, each subtree takes the end of the positions still free in its parent's range,
  // or in that of the roots.
  std::vector<Index> position(parent.size());
  std::vector<Index> free_end(parent.size());  // end of the positions still free for each column's children
  const std::vector<Index> size = Impl::subtree_sums(parent, std::vector<Index>(parent.size(), 1));
  auto roots_end = static_cast<Index>(parent.size());
  for (std::size_t j = parent.size(); j-- > 0;) {
    Index& end = parent[j] < 0 ? roots_end : at(free_end, parent[j]);
    position[j] = free_end[j] = end - 1;
    end -= size[j];
  }
  return position;
}

#define LUTRA_ELIMINATION_TREE(Index)                                                                        \
  template EliminationTree<Index> elimination_tree(const SymmetricGraph<Index>&, const std::vector<Index>&); \
  template std::vector<Index> postorder(const std::vector<Index>&);
LUTRA_ELIMINATION_TREE(int)
LUTRA_ELIMINATION_TREE(std::int64_t)
#undef LUTRA_ELIMINATION_TREE

#undef LUTRA_ELIMINATION_TREE

}  // namespace lutra

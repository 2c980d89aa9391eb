// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LIUTREE_HPP
#define LUTRA_LIUTREE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Elimination tree on one thread: J. W. H. Liu, ACM Trans. Math. Software 12 (1986), with path compression
/// (Davis, Direct Methods for Sparse Linear Systems, section 4.1). Row i becomes the parent of the root of
/// each subtree that contains one of its neighbours; `ancestor` holds shortcuts towards these roots. O(nnz
/// log n), nearly linear in practice.
/// @param root       value of `parent` and `ancestor` for "none": −1 or n
/// @param parent     [n] out @param ancestor [n] workspace
/// @param neighbours neighbours(i, visit) calls visit(j) for the neighbours j of i in the graph of A + Aᵀ, in
/// any order; j ≥ i is ignored
template <class Index, class Neighbours>
void grow_liu_tree(Index n, Index root, Index* parent, Index* ancestor, const Neighbours& neighbours) {
  for (Index i = 0; i < n; ++i) {
    parent[i] = ancestor[i] = root;
    neighbours(i, [=](Index j) {
      while (j < i) {
        const Index above = ancestor[j];
        ancestor[j] = i;
        if (above == root) {
          parent[j] = i;
          return;
        }
        j = above;
      }
    });
  }
}

/// Overload for a pattern in compressed rows. Transposes its entries right of the diagonal first, since Liu's
/// algorithm reads the graph of A + Aᵀ row by row.
/// @param pattern square, in host-accessible memory; rows need not be sorted
/// @throws OutOfMemoryError
template <class Memory>
void grow_liu_tree(const CsrPattern<Ordinal, Offset, Memory>& pattern, Ordinal root, Ordinal* parent,
                   const MemoryBudget& budget) {
  const Kokkos::DefaultHostExecutionSpace exec;
  const Ordinal n = pattern.n_rows;
  MemoryReservation scratch(budget);
  const auto upper_map =
      scratch.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::trees::upper_map", n + 2);
  const auto ancestor = scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::trees::ancestors", n);
  for (Ordinal v = 0; v < n + 2; ++v) upper_map(v) = 0;
  const auto for_upper = [&](const auto& visit) {
    for (Ordinal r = 0; r < n; ++r) {
      for (Offset p = pattern.row_map(r); p < pattern.row_map(r + 1); ++p) {
        if (pattern.entries(p) > r) visit(r, pattern.entries(p));
      }
    }
  };
  for_upper([&](Ordinal, Ordinal c) { ++upper_map(c + 2); });
  for (Ordinal v = 0; v < n; ++v) upper_map(v + 2) += upper_map(v + 1);
  const auto upper =
      scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::trees::upper", upper_map(n + 1));
  // Column c is filled from upper_map(c + 1), which thereby advances to the start of column c + 1.
  for_upper([&](Ordinal r, Ordinal c) { upper(upper_map(c + 1)++) = r; });
  grow_liu_tree(n, root, parent, ancestor.data(), [&](Ordinal i, const auto& visit) {
    for (Offset p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p) visit(pattern.entries(p));
    for (Offset p = upper_map(i); p < upper_map(i + 1); ++p) visit(upper(p));
  });
}

}  // namespace lutra::Impl

#endif

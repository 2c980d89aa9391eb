// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODES_HPP
#define LUTRA_SUPERNODES_HPP

#include "Lutra_Symbolic.hpp"

namespace lutra {

/// Options of `find_supernodes`.
struct SupernodeOptions {
  int max_size = 128;  ///< most rows of a supernode, at least 1
  double relaxation =
      0;  ///< most zeros amalgamation may add to U, as a share of what a supernode stores then
  bool portable = false;  ///< the kernel for all execution spaces also where there is one made for the space
};

/// A partition of the rows of L + U into supernodes, and the tree they form.
template <class Ordinal, class Offset, class MemorySpace>
struct Supernodes {
  Ordinal n = 0;                                     ///< rows
  Ordinal count = 0;                                 ///< supernodes
  Kokkos::View<const Ordinal*, MemorySpace> begin;   ///< [count + 1] first row of each; n at the end
  Kokkos::View<const Ordinal*, MemorySpace> of_row;  ///< [n] supernode of each row
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [count] supernode of the first column that its last
                                                     ///< row of U has beyond it; -1 where there is none
  Kokkos::View<const Ordinal*, MemorySpace> lower;   ///< [n] entries of each row of L
  Kokkos::View<const Ordinal*, MemorySpace> upper;  ///< [n] entries of each row of U, the diagonal among them
  Offset zeros = 0;                                 ///< entries amalgamation adds to U
  MemoryReservation reservation;
};

/// Supernodes of type T3: one that begins at row r and extends through row s - 1 takes row s as well if and
/// only if nnz(U(s, :)) = nnz(U(s - 1, :)) - 1 and L(s, r) is an entry, so that rows of U differ by their
/// first entry alone.
///
/// The two phases of GSoFa, section 5: all rows are compared with the one before at once, into a bit set;
/// then the ranges between rows that cannot but lead are worked on their own, several rows of a range at a
/// time. Where `relaxation` is above 0, a supernode then joins the one before it, on the host, if L(s, s - 1)
/// and U(s - 1, s) are entries for its first row s — its row then holds all that the other's have beyond it —
/// and the zeros stay within the limit. Cost: nnz(L + U) is not read, only a binary search in L for each row
/// that passes the first phase.
///
/// @param filled rows sorted, as `factorize_symbolic` returns it
/// @throws InputError for a maximum size below 1 or a negative relaxation; OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
Supernodes<Ordinal, Offset, typename ExecutionSpace::memory_space> find_supernodes(
    const ExecutionSpace& exec,
    const LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& filled,
    const MemoryBudget& budget, const SupernodeOptions& options = {});

}  // namespace lutra

#endif

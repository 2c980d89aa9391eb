// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIMBEDROWS_HPP
#define LUTRA_CLIMBEDROWS_HPP

#include <optional>

#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// The pattern of L + U on the host, by one thread, for matrices with little fill and nearly symmetric
/// patterns, as circuits and power flow have them: up to twice as fast as fill1, whose pattern it is.
///
/// Let F be the elimination forest of A + Aᵀ. Where all entries of A that vertices of a subtree of F have
/// with greater ones are there in both directions, the columns of L and rows of U of that subtree are the
/// same lists, those of A + Aᵀ. Row i of L is then what lies on the ways up F from the entries of row i to i,
/// and the forest itself is found on the way (Liu, SIAM J. Matrix Anal. Appl. 11, 1990; Davis, ACM Trans.
/// Math. Softw. 31, 2005). Two transpositions sort the rows. What lies above an entry without its mirror
/// image is *doubtful*. That is closed upwards, so what is left there is a matrix of its own, of A's entries
/// and those the others pass on, and fill1 finds its pattern.
///
/// Work: nnz(A) + 3 nnz(L of A + Aᵀ) numbers touched, in any order. Memory beside the result: up to 32
/// ordinals a row.
///
/// @param pattern square, rows sorted or not
/// @return nothing where the rows are not sorted, or too many to fit in cache, where many entries have no
///         mirror image, rows are expected to become long, or the budget is short
/// @throws OutOfMemoryError
template <class Ordinal, class Offset>
std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif

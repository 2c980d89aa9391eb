// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIMBEDROWS_HPP
#define LUTRA_CLIMBEDROWS_HPP

#include <optional>

#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// The pattern of L + U on the host, by one thread, for matrices with little fill and nearly symmetric
/// patterns, as circuits and power flow have them: up to three times as fast as fill1, whose pattern it is.
///
/// Rows next to each other with the same columns are one vertex (Supervariables). Let S be a pattern that
/// holds the entries of A whose mirror images are there too, and F its elimination forest. An entry without
/// its mirror image makes both its vertices *doubtful*, and what lies above them in F. Elsewhere columns of L
/// and rows of U are the same lists, and those of S: no way through smaller vertices leads to a doubtful one
/// but as its end. Row i of L is what lies on the ways up F from the entries of row i to i, and F itself is
/// found on the way (RowClimber). The doubtful are a matrix of their own, of A's entries and those the others
/// pass on, and fill1 finds its pattern. Rows are sorted by counting.
///
/// Work: nnz(A) + 4 nnz(L of S) numbers touched, of supervariables, and each entry of the result written
/// once. Memory beside the result: up to 48 numbers of 32 bits a row, and A's pattern once more where there
/// are supervariables.
///
/// @param pattern square, rows sorted or not; where they are not, more of them are doubtful
/// @return nothing where rows are too many to be counted in 16 bits, where many entries have no mirror image,
///         rows are expected to become long, or the budget is short
template <class Ordinal, class Offset>
std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1_HPP
#define LUTRA_FILL1_HPP

#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// The pattern of L + U on the host, row after row: row i is what A(i, :) reaches through the rows of U above
/// it.
///
/// fill1 of Rose and Tarjan (GSoFa, Figure 3a), the row-wise twin of Gilbert and Peierls' search, with the
/// symmetric pruning of Eisenstat and Liu (SIAM J. Matrix Anal. Appl. 13, 1992): of U(k, :) only entries up
/// to the first i with (k, i) in U and (i, k) in L are walked, since row i of U holds all the others. A row
/// is swept in ascending order over a bit set, so it comes out sorted without being sorted. Rows done are
/// kept as words of 64 columns, merged as such, and written out as entries once all are there. Work: nnz(L +
/// U) and the pruned edges of U met from each row, both by words; for a symmetric pattern that is nnz(L + U)
/// itself. Memory beside the result: two machine words for each 64 columns that a row has entries in, and 4 a
/// row.
///
/// Threads share the work by subtrees of the elimination forest of A + Aᵀ (Fill1Threads); the pattern is the
/// same whatever their number. They need n bits each.
///
/// @param pattern square, rows sorted or not
/// @param threads of the default host space that work
/// @throws OutOfMemoryError
template <class Ordinal, class Offset>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill1(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget, int threads);

}  // namespace lutra::Impl

#endif

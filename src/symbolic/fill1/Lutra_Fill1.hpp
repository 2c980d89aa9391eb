// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1_HPP
#define LUTRA_FILL1_HPP

#include "Lutra_Index.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// The pattern of L + U on the host, row by row: row i is the set of columns that A(i, :) reaches through the
/// rows of U above it.
///
/// fill1 of Rose and Tarjan (GSoFa, Figure 3a), the row-wise form of Gilbert and Peierls' search, with the
/// symmetric pruning of Eisenstat and Liu (SIAM J. Matrix Anal. Appl. 13, 1992): of U(k, :) only entries up
/// to the first i with (k, i) in U and (i, k) in L are visited, since row i of U contains all later ones. A
/// row is swept in ascending order over a bit set, which yields it sorted. Rows are kept and merged as words
/// of 64 columns, and written as entries at the end. Work: nnz(L + U) and the pruned edges of U followed from
/// each row, both in words; for a symmetric pattern nnz(L + U). Memory besides the result: two machine words
/// for each 64 columns in which a row has entries, and 4 per row.
///
/// Threads share the work by subtrees of the elimination tree of A + Aᵀ (`Fill1Threads`); the pattern does
/// not depend on their number. Each needs n bits.
///
/// @param pattern square, rows sorted or not
/// @param threads number of threads of the default host space to use
/// @throws OutOfMemoryError
LuPattern<Kokkos::HostSpace> fill1(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                   const MemoryBudget& budget, int threads);

}  // namespace lutra::Impl

#endif

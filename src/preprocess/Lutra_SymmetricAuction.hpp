// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICAUCTION_HPP
#define LUTRA_SYMMETRICAUCTION_HPP

#include "Lutra_Auction.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SymmetricMatching.hpp"

namespace lutra {

/// Symmetric scaling found by auction, and how near it came.
struct SymmetricAuction {
  SymmetricMatching matching;    ///< −1 also for rows that the auction has left unmatched
  AuctionStatistics statistics;  ///< of matched rows
};

/// One scaling for rows and columns of a symmetric matrix, and a matching of most rows, by auction.
///
/// Prices and bids are those of `match_auction` with epsilon = 0.05, but the auction ends where most rows are
/// matched: the last ones would take most of its time, and a scaling does not need them. Prices start at the
/// rows' largest entries, which are the columns'. The scale of a row is the geometric mean of the two that
/// its price and its best choice give, so that |scale(i)·a(i, j)·scale(j)| ≤ 1 (to 10⁻⁴) whether i and j
/// are matched or not; the geometric mean of the matched entries is at least e^−epsilon.
///
/// On hosts one thread bids for one row after the other on the present prices (Gauss-Seidel), with logarithms
/// to 10⁻⁵, and reads the entries four times at most. On devices the kernels of `match_auction` are used.
/// Where rows are left over, a maximum transversal that starts from the others finds the structural rank; of
/// a structurally singular matrix the result is that of `symmetrize` and the exact matching.
///
/// @param A       both triangles, in the execution space's memory; values finite
/// @param on_host the same on the host
/// @throws as `match_auction`
template <class Scalar, class ExecutionSpace>
SymmetricAuction match_symmetric_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const MemoryBudget& budget);

}  // namespace lutra

#endif

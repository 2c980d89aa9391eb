// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICAUCTION_HPP
#define LUTRA_SYMMETRICAUCTION_HPP

#include "Lutra_Auction.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SymmetricMatching.hpp"

namespace lutra {

/// Symmetric scaling found by auction, with its accuracy.
struct SymmetricAuction {
  SymmetricMatching matching;    ///< −1 also for rows left unmatched by the auction
  AuctionStatistics statistics;  ///< for matched rows
};

/// Symmetric scaling of a symmetric matrix, and a matching of most rows, by auction.
///
/// Prices and bids are those of `match_auction` with epsilon = 0.05, but the auction ends when most rows are
/// matched: the last ones would take most of its time, and the scaling does not need them. Prices start at
/// the largest entries of the rows, which are those of the columns. The scale of a row is the geometric mean
/// of the scales by its price and by its best choice, so that |scale(i)·a(i, j)·scale(j)| ≤ 1 (to 10⁻⁴)
/// whether or not i and j are matched; the geometric mean of the matched entries is at least e^−epsilon.
///
/// On hosts, one thread bids for the rows sequentially at current prices (Gauss-Seidel), with logarithms to
/// 10⁻⁵, and reads the entries at most four times. Devices use the kernels of `match_auction`. If rows remain
/// unmatched, a maximum transversal that starts from the matched ones gives the structural rank; for a
/// structurally singular matrix the result is that of `symmetrize` with the exact matching.
///
/// @param A       both triangles, in the execution space's memory; values finite
/// @param on_host the same matrix on the host
/// @throws as `match_auction`
template <class Scalar, class ExecutionSpace>
SymmetricAuction match_symmetric_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const MemoryBudget& budget);

}  // namespace lutra

#endif

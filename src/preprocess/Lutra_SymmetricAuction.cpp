// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SymmetricAuction.hpp"

#include <limits>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SequentialAuction.hpp"
#include "Lutra_SymmetricAuctionRounds.hpp"

namespace lutra {
namespace {

/// Structural rank of the nonzero entries. The search starts from the auction's matching only if few rows
/// remain unmatched: many path searches are slower than a matching from scratch.
template <class Scalar>
Ordinal rank_of_nonzeros(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                         const SymmetricAuction& auction, const RunControl& run) {
  // Otherwise a transversal from the beginning is faster: with 230 rows left, 0.5 instead of 20 ms for
  // cvxqp1.
  constexpr std::int64_t few = 256;  // at most n / few rows
  std::vector<double> cost;
  for (std::size_t k = 0; k < A.values.extent(0); ++k) {
    if (A.values(k) != Scalar(0)) continue;
    cost.resize(A.values.extent(0), 0.0);
    cost[k] = std::numeric_limits<double>::infinity();
  }
  return maximum_transversal(A.pattern(), cost,
                             auction.statistics.left_to_paths <= A.n_rows / few
                                 ? auction.matching.row_of_column
                                 : std::vector<Ordinal>(),
                             run)
      .rank;
}

/// The auction in rounds of all rows.
template <class ExecutionSpace, class Matrix, class HostMatrix>
SymmetricAuction run_auction(const ExecutionSpace& exec, const Matrix& A, const HostMatrix&,
                             const MemoryBudget& budget, double epsilon) {
  return Impl::symmetric_auction_by_rounds(exec, A, budget, epsilon);
}
/// Hosts take one row after the other.
template <Impl::HostExecution ExecutionSpace, class Matrix, class HostMatrix>
SymmetricAuction run_auction(const ExecutionSpace&, const Matrix&, const HostMatrix& on_host,
                             const MemoryBudget& budget, double epsilon) {
  return Impl::SequentialAuction(on_host).run(epsilon, budget.run());
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SymmetricAuction match_symmetric_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const MemoryBudget& budget) {
  constexpr double epsilon = AuctionOptions().epsilon;
  Impl::require_square(A.n_rows, A.n_cols);
  SymmetricAuction result;
  if (A.n_rows == 0) return result;
  result = run_auction(exec, A, on_host, budget, epsilon);
  auto& rank = result.matching.structural_rank = A.n_rows;
  if (result.statistics.left_to_paths > 0) rank = rank_of_nonzeros(on_host, result, budget.run());
  if (rank < A.n_rows) result.matching = symmetrize(on_host, match_exact(on_host, budget.run()));
  return result;
}

#define LUTRA_MATCH_SYMMETRIC_AUCTION(Scalar, Space)                                       \
  template SymmetricAuction match_symmetric_auction(                                       \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&, \
      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_MATCH_SYMMETRIC_AUCTION)

}  // namespace lutra

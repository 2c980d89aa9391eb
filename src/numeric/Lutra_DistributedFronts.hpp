// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFRONTS_HPP
#define LUTRA_DISTRIBUTEDFRONTS_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_FrontLu.hpp"

namespace lutra {

/// Which rank works each front: subtrees of the assembly tree are worked by a rank each, several by one where
/// there are more of them, and what is above all of them, the top, by rank 0.
struct FrontRanks {
  static constexpr int top = -1;
  std::vector<int> rank;        ///< [fronts] of the rank, or `top`
  std::vector<double> entries;  ///< [ranks] of panels and contributions
};

/// Balances memory: beginning with whole trees, the largest subtree is replaced by its children, its root
/// front going to the top, and the division kept whose fullest rank has least; subtrees are dealt out in
/// falling order, each to the rank with least (G. A. Geist and E. Ng, Int. J. Parallel Programming 18, 1989,
/// with the top as a load of rank 0). With one rank all fronts are one subtree.
FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks);

/// Multifrontal LU on several ranks, each with an execution space of its own: the parts are factorized by
/// `factorize_fronts` there. On hosts the bits are those of one rank.
///
///         top          rank 0    ▲ sums of contributions, extend-add as ever
///       ╱   │  ╲                 │
///     ▲     ▲    ▲               │ one dense block for each subtree, once it is complete
///     1     2    0     ranks ────┘
///
/// In the top's tree a subtree is a leaf without pivots whose contribution block comes from its rank. Ranks
/// work their subtrees without messages. Rank 0 needs memory for the top, for a subtree where balance gives
/// it one, and for A; others for their subtrees and the entries of A in them. On devices the memory of each
/// takes panels and contributions, and for a while 12 bytes an entry of L + U while plans are made; A, blocks
/// on their way and the factors as `values` has them pass through host memory.
///
/// Calls are collective, errors included. Instantiated for all scalars where ordinals of 32 bits are built,
/// for the default execution spaces of hosts and devices.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
class DistributedFronts {
 public:
  /// @param tree    on rank 0, as what follows; ignored on others
  /// @param entries A, and its orders, which already follow `tree.order`; the Views of A live as long as this
  /// @param budget  of each rank: plan, panels, contributions
  /// @throws OutOfMemoryError on all ranks, naming the rank
  DistributedFronts(Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
                    const MemoryBudget& budget = {});
  ~DistributedFronts();

  /// @param A on rank 0; ignored on others
  /// @param perturbation as in `factorize_fronts`
  /// @returns what happened on all ranks, on all ranks
  FrontLuOutcome factorize(const ScaledValues<Scalar, Kokkos::HostSpace>& A, double perturbation);

  /// Permuted rows and columns of the entries of L + U that this rank has, by the numbers of F.
  const std::vector<std::int64_t>& rows() const noexcept;
  const std::vector<std::int64_t>& columns() const noexcept;
  /// L\U at these, of the last factorization.
  const std::vector<Scalar>& values() const noexcept;
  /// On rank 0; empty on others.
  const FrontRanks& ranks() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif

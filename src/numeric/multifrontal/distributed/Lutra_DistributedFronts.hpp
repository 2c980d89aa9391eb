// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFRONTS_HPP
#define LUTRA_DISTRIBUTEDFRONTS_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_FrontLu.hpp"

namespace lutra {

/// Mapping of fronts to ranks. Each subtree of the assembly tree belongs to one rank, which may own several;
/// the fronts above all subtrees, the top, belong to rank 0.
struct FrontRanks {
  static constexpr int top = -1;
  std::vector<int> rank;        ///< [fronts] rank of each front, or `top`
  std::vector<double> entries;  ///< [ranks] entries of panels and contributions
};

/// Balances memory. Starting with whole trees, it replaces the largest subtree by its children, whose parent
/// front moves to the top, and keeps the division with the smallest maximum per rank. Subtrees go in
/// descending order to the least loaded rank (G. A. Geist and E. Ng, Int. J. Parallel Programming 18, 1989,
/// with the top as a load of rank 0). With one rank all fronts are one subtree.
FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks);

/// Multifrontal LU on several ranks, each with its own execution space: each rank factorizes its fronts with
/// `factorize_fronts`. On hosts the result is bitwise that of one rank.
///
///          top          rank 0    ▲ extend-add within the top
///        ╱   │  ╲                 │
///      ▲     ▲    ▲               │ one dense block per subtree, once it is complete
///      1     2    0     ranks ────┘
///
/// In the top's tree a subtree is a leaf without pivots whose contribution block comes from its rank. Ranks
/// factorize their subtrees without messages. Rank 0 needs memory for A, the top, and any subtree it owns;
/// other ranks for their subtrees and the entries of A in them. On devices each rank's memory holds panels
/// and contributions, and temporarily 12 bytes per entry of L + U while plans are made; A, blocks in transit
/// and the factors in `values` pass through host memory.
///
/// Calls are collective, errors included. Instantiated for all scalars where 32-bit ordinals are built, for
/// the default execution spaces of hosts and devices.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
class DistributedFronts {
 public:
  /// @param tree    on rank 0, like `entries`; ignored on other ranks
  /// @param entries A and its orders, which already follow `tree.order`; A's Views must outlive this object
  /// @param budget  of each rank: plan, panels, contributions
  /// @throws OutOfMemoryError on all ranks, naming the rank
  DistributedFronts(Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
                    const MemoryBudget& budget = {});
  ~DistributedFronts();

  /// @param A on rank 0; ignored on others
  /// @param perturbation as in `factorize_fronts`
  /// @returns the combined outcome of all ranks, on all ranks
  FrontLuOutcome factorize(const ScaledValues<Scalar, Kokkos::HostSpace>& A, double perturbation);

  /// Permuted rows and columns of this rank's entries of L + U, as indices of F.
  const std::vector<std::int64_t>& rows() const noexcept;
  const std::vector<std::int64_t>& columns() const noexcept;
  /// L\U at these positions, from the last factorization.
  const std::vector<Scalar>& values() const noexcept;
  /// On rank 0; empty on others.
  const FrontRanks& ranks() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKDIVISION_HPP
#define LUTRA_RANKDIVISION_HPP

#include <string>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontRanks.hpp"

namespace lutra::Impl {

/// A division of a tree among ranks for time, and whether it pays.
struct RankDivision {
  FrontRanks ranks;
  std::string why_one_rank;  ///< why rank 0 should factorize alone; empty if ranks are predicted to pay
};

/// Costs of fronts of LU on the ranks' devices or host threads. Collective.
template <class ExecutionSpace>
DivisionCosts division_costs([[maybe_unused]] Communicator& comm) {
  if constexpr (is_host_space<ExecutionSpace>) {
    DivisionCosts costs;
    costs.flops_per_second *= ExecutionSpace().concurrency();
    costs.divides_fronts = true;
    return costs;
  } else {
    return DivisionCosts::of_devices(can_use(comm, CommBackend::peer));
  }
}

/// Ranks pay if what they spare in all factorizations, by simulation, is more than what their plans take.
/// Rank 0 alone would gather values and vectors each time.
/// @param nnz            entries of A
/// @param factorizations expected number of them
/// @param alone          time of rank 0 alone relative to that of the parts' kernels
RankDivision divide_among_ranks(const AssemblyTree& tree, int ranks, const DivisionCosts& costs, double nnz,
                                int factorizations, double alone = 1);

}  // namespace lutra::Impl

#endif

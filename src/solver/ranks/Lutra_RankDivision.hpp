// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKDIVISION_HPP
#define LUTRA_RANKDIVISION_HPP

#include <string>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_FrontRanks.hpp"

namespace lutra::Impl {

/// A division of a tree among ranks for time, and whether it pays.
struct RankDivision {
  FrontRanks ranks;
  std::string why_one_rank;  ///< why rank 0 should factorize alone; empty if ranks are predicted to pay
};

/// Ranks pay if what they spare in all factorizations, by simulation, is more than what their plans take.
/// Rank 0 alone would gather values and vectors each time.
/// @param nnz            entries of A
/// @param factorizations expected number of them
RankDivision divide_among_ranks(const AssemblyTree& tree, int ranks, const DivisionCosts& costs, double nnz,
                                int factorizations);

}  // namespace lutra::Impl

#endif

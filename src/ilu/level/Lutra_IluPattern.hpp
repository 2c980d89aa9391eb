// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUPATTERN_HPP
#define LUTRA_ILUPATTERN_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Pattern of ILU(k). A's entries and all diagonals have level 0. Fill at (i, j) has the level min over m <
/// min(i, j) of level(i, m) + level(m, j) + 1. Entries of levels up to k are kept. k = n gives the pattern of
/// L + U.
///
/// Computed in k passes over the rows on the device. Pass m adds level m, from pairs of entries whose levels
/// sum to m − 1, by row accumulators (Hysom and Pothen, "A Scalable Parallel Algorithm for Incomplete Factor
/// Preconditioning", 2001: fill paths of length m + 1). Cost per pass: two traversals of the products of L
/// and U, and one wait. Memory: two patterns with levels.
///
/// @param A       square, by rows, columns ascending
/// @param fill_level k
/// @returns factors without values, charged to the budget
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
IncompleteFactors<Scalar, typename ExecutionSpace::memory_space> make_incomplete_pattern(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    int fill_level, const MemoryBudget& budget);

/// Like make_incomplete_pattern, with values allocated but not set.
template <class Scalar, class ExecutionSpace>
IncompleteFactors<Scalar, typename ExecutionSpace::memory_space> make_incomplete_factors(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    int fill_level, const MemoryBudget& budget);

/// The first entry (i, j) by rows without an entry (j, i), as i·n + j; −1 for a symmetric pattern. Waits.
/// Cost: a binary search for each entry.
/// @param A square, by rows, columns ascending
template <class ExecutionSpace>
std::int64_t find_unpaired_entry(const ExecutionSpace& exec,
                                 const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRIDCHOICE_HPP
#define LUTRA_GRIDCHOICE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_DistributedTriangles.hpp"

namespace lutra::Impl {

/// @throws InputError if the grid is not one of the ranks
void check_grid(const Communicator& comm, const ProcessGrid& grid);
/// @throws InputError naming an index out of range
void check_pattern(const DistributedPattern& pattern);

/// Collective. First row of each block, and n: blocks from the entries of all ranks, identical on all ranks.
std::vector<std::int64_t> partition_blocks(Communicator& comm, const DistributedPattern& pattern,
                                           int max_width);
/// [n] block of each row
std::vector<std::size_t> blocks_of_rows(const std::vector<std::int64_t>& begin);
/// Whether a sweep uses an entry.
bool belongs(const TriangleSweep& sweep, std::int64_t row, std::int64_t column);

/// Collective. Predicted seconds of a solve on each grid.
/// @param begin first row of each block
std::vector<GridPrediction> predict_on_grids(Communicator& comm, const DistributedPattern& pattern,
                                             const DistributedCosts& costs,
                                             const std::vector<std::int64_t>& begin,
                                             const std::vector<ProcessGrid>& grids);
/// Grids of 1, 2, 4, … and all ranks: P × 1, 1 × P, and the most nearly square one.
std::vector<ProcessGrid> candidate_grids(int ranks);

}  // namespace lutra::Impl

#endif

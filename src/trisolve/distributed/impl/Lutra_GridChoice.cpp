// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_GridChoice.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "Lutra_DistributedModel.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_SweepPlan.hpp"

namespace lutra {
namespace Impl {

void check_grid(const Communicator& comm, const ProcessGrid& grid) {
  if (grid.rows < 1 || grid.columns < 1 || grid.size() > comm.size())
    throw InputError("a grid of " + name_of(grid) + " is not one of " + std::to_string(comm.size()) +
                     " ranks");
}

void check_pattern(const DistributedPattern& pattern) {
  if (pattern.rows.size() != pattern.columns.size())
    throw InputError("rows: " + std::to_string(pattern.rows.size()) + " for " +
                     std::to_string(pattern.columns.size()) + " columns of entries");
  if (pattern.sweeps.empty()) throw InputError("sweeps: there is none");
  for (const auto& [name, indices] :
       {std::pair{"rows", pattern.rows}, std::pair{"columns", pattern.columns},
        std::pair{"rhs_rows", pattern.rhs_rows}, std::pair{"solution_rows", pattern.solution_rows}}) {
    for (std::size_t e = 0; e < indices.size(); ++e) {
      if (indices[e] < 0 || indices[e] >= pattern.n)
        throw InputError(std::string(name) + "[" + std::to_string(e) + "] = " + std::to_string(indices[e]) +
                         " is not in a matrix of " + std::to_string(pattern.n) + " rows");
    }
  }
}

std::vector<std::int64_t> partition_blocks(Communicator& comm, const DistributedPattern& pattern,
                                           int max_width) {
  std::vector<std::int64_t> link(static_cast<std::size_t>(pattern.n), -1);
  for (std::size_t e = 0; e < pattern.rows.size(); ++e) {
    const auto [low, high] = std::minmax(pattern.rows[e], pattern.columns[e]);
    auto& largest = link[static_cast<std::size_t>(high)];
    if (low != high) largest = std::max(largest, low);
  }
  constexpr int tag = 31001;  // used by no other exchange
  std::vector<std::int64_t> begin;
  if (comm.rank() == 0) {
    for (int from = 1; from < comm.size(); ++from) {
      const auto other = comm.receive<std::int64_t>(from, tag);
      for (std::size_t i = 0; i < link.size(); ++i) link[i] = std::max(link[i], other[i]);
    }
    begin = partition_rows(link, max_width);
  } else {
    comm.send(0, tag, link);
  }
  comm.broadcast(begin);
  return begin;
}

std::vector<std::size_t> blocks_of_rows(const std::vector<std::int64_t>& begin) {
  std::vector<std::size_t> block(begin.empty() ? 0 : static_cast<std::size_t>(begin.back()));
  for (std::size_t k = 0; k + 1 < begin.size(); ++k)
    std::fill(block.begin() + begin[k], block.begin() + begin[k + 1], k);
  return block;
}

bool belongs(const TriangleSweep& sweep, std::int64_t row, std::int64_t column) {
  if (row == column) return sweep.diagonal == DiagonalKind::stored;
  return (row > column) == (sweep.side == TriangleSide::lower);
}

namespace {

/// Entries of one block on one rank.
struct BlockCount {
  std::int64_t row, column;  ///< in the order of the solve
  double entries;
  bool operator<(const BlockCount& other) const {
    return column != other.column ? column < other.column : row < other.row;
  }
};

std::vector<BlockCount> count_blocks(const DistributedPattern& pattern, const TriangleSweep& sweep,
                                     const std::vector<std::size_t>& block_of, std::size_t n_blocks) {
  const auto step_of = [&](std::int64_t row) {
    const std::size_t block = block_of[static_cast<std::size_t>(row)];
    return static_cast<std::int64_t>(sweep.side == TriangleSide::lower ? block : n_blocks - 1 - block);
  };
  std::unordered_map<std::int64_t, double> counts;
  for (std::size_t e = 0; e < pattern.rows.size(); ++e)
    if (belongs(sweep, pattern.rows[e], pattern.columns[e]))
      counts[step_of(pattern.columns[e]) * static_cast<std::int64_t>(n_blocks) + step_of(pattern.rows[e])] +=
          1;
  std::vector<BlockCount> blocks;
  for (const auto& [at, entries] : counts)
    blocks.push_back(
        {at % static_cast<std::int64_t>(n_blocks), at / static_cast<std::int64_t>(n_blocks), entries});
  return blocks;
}

/// Collective. Blocks of a sweep from the entries of all ranks; the result is on rank 0.
BlockTriangle gather_blocks(Communicator& comm, const DistributedPattern& pattern, const TriangleSweep& sweep,
                            const std::vector<std::int64_t>& begin,
                            const std::vector<std::size_t>& block_of) {
  const std::size_t n = begin.empty() ? 0 : begin.size() - 1;
  std::vector<BlockCount> all;
  for (const auto& part : comm.gather(count_blocks(pattern, sweep, block_of, n)))
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  BlockTriangle triangle;
  triangle.reversed = sweep.side == TriangleSide::upper;
  if (comm.rank() != 0) return triangle;
  const auto add = [&](std::size_t I, double entries) {
    const bool stands = triangle.row.size() > triangle.column_begin.back() && triangle.row.back() == I;
    if (!stands) {
      triangle.row.push_back(I);
      triangle.entries.push_back(0);
    }
    triangle.entries.back() += entries;
  };
  auto next = all.begin();
  for (std::size_t K = 0; K < n; ++K) {
    const std::size_t block = triangle.reversed ? n - 1 - K : K;
    triangle.width.push_back(static_cast<std::size_t>(begin[block + 1] - begin[block]));
    triangle.column_begin.push_back(triangle.row.size());
    add(K, 0);
    for (; next != all.end() && next->column == static_cast<std::int64_t>(K); ++next)
      add(static_cast<std::size_t>(next->row), next->entries);
  }
  triangle.column_begin.push_back(triangle.row.size());
  return triangle;
}

}  // namespace

std::vector<GridPrediction> predict_on_grids(Communicator& comm, const DistributedPattern& pattern,
                                             const DistributedCosts& costs,
                                             const std::vector<std::int64_t>& begin,
                                             const std::vector<ProcessGrid>& grids) {
  const std::vector<std::size_t> block_of = blocks_of_rows(begin);
  std::vector<BlockTriangle> triangles;
  for (const TriangleSweep& sweep : pattern.sweeps)
    triangles.push_back(gather_blocks(comm, pattern, sweep, begin, block_of));
  std::vector<GridPrediction> predictions;
  comm.agree("prediction of solves on grids", [&] {
    if (comm.rank() != 0) return;
    for (const ProcessGrid& grid : grids) {
      GridPrediction prediction{grid, exchange_seconds(pattern.n, comm.size(), costs)};
      for (const BlockTriangle& triangle : triangles)
        prediction.seconds += simulate_solve(triangle, grid, costs).seconds;
      predictions.push_back(prediction);
    }
  });
  comm.broadcast(predictions);
  return predictions;
}

std::vector<ProcessGrid> candidate_grids(int ranks) {
  std::vector<ProcessGrid> all;
  for (int count = 1;; count = std::min(2 * count, ranks)) {
    const auto grids = grids_of(count);
    for (std::size_t g = 0; g < grids.size(); ++g)
      if (g == 0 || g + 1 == grids.size() || g == (grids.size() - 1) / 2) all.push_back(grids[g]);
    if (count == ranks) return all;
  }
}

}  // namespace Impl

std::vector<GridPrediction> predict_grids(Communicator& comm, const DistributedPattern& pattern,
                                          const DistributedOptions& options,
                                          const std::vector<ProcessGrid>& grids) {
  const Communicator::Work work(comm);
  comm.agree("prediction of solves on grids", [&] {
    Impl::check_pattern(pattern);
    for (const ProcessGrid& grid : grids) Impl::check_grid(comm, grid);
  });
  const auto begin = Impl::partition_blocks(comm, pattern, std::max(options.max_width, 1));
  return Impl::predict_on_grids(comm, pattern, options.costs, begin, grids);
}

}  // namespace lutra

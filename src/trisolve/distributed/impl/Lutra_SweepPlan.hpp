// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPPLAN_HPP
#define LUTRA_SWEEPPLAN_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Impl {

/// Row and column of an entry of the matrix.
struct Position {
  std::int64_t row, column;
};

/// A slot in the symmetric memory of another rank or this one: its offset, in rows of right-hand sides, and
/// the signal raised when it is full.
struct Slot {
  int rank = -1;
  std::size_t offset = 0, signal = 0;
};

/// Blocks of a triangle on one rank of a grid, and the rank's messages. Blocks are numbered in the order of
/// their solve, last block first for an upper triangle, so that every triangle is a lower one.
///
///     block column K:  owner of (K, K) ──► x(K) ──► 2 children ──► their children          (broadcast)
///     block row I:     children ──► partial sums ──► parent ──► … ──► owner of (I, I)      (reduction)
struct SweepPlan {
  /// Nonzero rows of block (I, K), each with its entries.
  struct Block {
    std::size_t row, column;         ///< indices in `columns` and `rows` of this plan
    std::size_t first_row, end_row;  ///< offsets in row_in_block and row_begin
    bool dense;                      ///< every row has all columns
  };
  /// A block row with blocks or its diagonal block on this rank.
  struct Row {
    std::size_t block, width;
    bool diagonal;       ///< the diagonal block is local …
    std::size_t column;  ///< … in this column
    std::size_t first_block,
        end_block;  ///< offsets in `blocks`, in the order of the solve, without the diagonal block
    std::size_t diagonal_block;  ///< index in `blocks`
    std::size_t sum_offset;      ///< offset, in rows of right-hand sides
    std::vector<Slot> children;  ///< local slots for the partial sums of other ranks
    Slot parent;                 ///< remote slot, unless the diagonal block is local
  };
  /// A block column with blocks or its diagonal block on this rank.
  struct Column {
    std::size_t block, width;
    Slot x;                           ///< local slot; of this rank itself if the diagonal block is local
    std::vector<Slot> children;       ///< remote slots to which x is forwarded
    std::vector<std::size_t> blocks;  ///< off-diagonal blocks, indices in SweepPlan::blocks
  };
  TriangleSide side;
  DiagonalKind diagonal;
  std::vector<Row> rows;        ///< ascending
  std::vector<Column> columns;  ///< ascending
  std::vector<Block> blocks;    ///< by rows, then by columns
  std::vector<int> row_in_block;
  std::vector<std::size_t> row_begin;  ///< [rows of blocks + 1] offsets in `column_in_block`
  std::vector<int> column_in_block;    ///< column of each entry
  std::size_t sum_rows = 0;            ///< rows of right-hand sides occupied by partial sums

  std::size_t count_entries() const { return column_in_block.size(); }
};

/// Meaning of a signal: x of a column has arrived, or a child's partial sum of a row.
struct SlotEvent {
  std::size_t sweep;
  bool is_sum;
  std::size_t index;  ///< column or row
  std::size_t child;  ///< child of the row
};

/// Slots and signals of this rank, counted during planning.
struct SlotCounter {
  std::size_t rows = 0;
  std::vector<SlotEvent> events;  ///< in the order of signals
};

/// Collective. Builds the blocks of this rank from entries sent by all ranks.
/// @param begin   [blocks + 1] first row of each block
/// @param entries of the triangle in blocks of this rank; position `order[e]` of the plan's values is entry e
/// @throws InputError on all ranks for duplicate entries, or rows without a stored diagonal entry
SweepPlan plan_sweep(Communicator& comm, const ProcessGrid& grid, const std::vector<std::int64_t>& begin,
                     TriangleSide side, DiagonalKind diagonal, const std::vector<Position>& entries,
                     std::vector<std::size_t>& order);

/// Collective. Builds the trees of broadcasts and reductions, and assigns slots to their messages.
void plan_messages(Communicator& comm, const ProcessGrid& grid, std::size_t n_blocks, std::size_t sweep,
                   SweepPlan& plan, SlotCounter& slots);

/// Partitions rows into blocks of consecutive rows: a row joins the preceding rows if it has an entry in one
/// of their columns, or if they are few.
/// @param link [n] largest index below i of an entry in row or column i; −1 for none
std::vector<std::int64_t> partition_rows(const std::vector<std::int64_t>& link, std::int64_t max_width);

}  // namespace lutra::Impl

#endif

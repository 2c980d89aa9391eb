// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPPLAN_HPP
#define LUTRA_SWEEPPLAN_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_ProcessGrid.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra::Impl {

/// An entry by row and column of the matrix.
struct Position {
  std::int64_t row, column;
};

/// A slot of another rank's symmetric memory, or of this one: where it begins, in rows of right-hand sides,
/// and the signal that says that it is full.
struct Slot {
  int rank = -1;
  std::size_t offset = 0, signal = 0;
};

/// The blocks of a triangle on one rank of a grid, and whom the rank tells what. Blocks count in the order of
/// their solve, last block first for an upper triangle, so that every triangle is a lower one.
///
///     block column K:  owner of (K, K) ──► x(K) ──► 2 children ──► their children          (broadcast)
///     block row I:     children ──► partial sums ──► parent ──► … ──► owner of (I, I)      (reduction)
struct SweepPlan {
  /// Nonzero rows of block (I, K), one after another, of which each has its entries.
  struct Block {
    std::size_t row, column;         ///< among this rank's rows and columns of blocks
    std::size_t first_row, end_row;  ///< in row_in_block and row_begin
    bool dense;                      ///< each of its rows has all columns
  };
  /// A block row with blocks on this rank, or whose diagonal block is here.
  struct Row {
    std::size_t block, width;
    bool diagonal;       ///< x is found here, …
    std::size_t column;  ///< … as that of this column
    std::size_t first_block,
        end_block;               ///< in `blocks`, in the order of the solve, without the diagonal block
    std::size_t diagonal_block;  ///< in `blocks`
    std::size_t sum_offset;      ///< in rows of right-hand sides
    std::vector<Slot> children;  ///< slots here of the partial sums of other ranks
    Slot parent;                 ///< slot there, unless the diagonal block is here
  };
  /// A block column with blocks on this rank, or whose diagonal block is here.
  struct Column {
    std::size_t block, width;
    Slot x;                           ///< slot here; of this rank itself where the diagonal block is here
    std::vector<Slot> children;       ///< slots there to which x is sent on
    std::vector<std::size_t> blocks;  ///< below the diagonal block
  };
  TriangleSide side;
  DiagonalKind diagonal;
  std::vector<Row> rows;        ///< ascending
  std::vector<Column> columns;  ///< ascending
  std::vector<Block> blocks;    ///< by rows, in each by columns
  std::vector<int> row_in_block;
  std::vector<std::size_t> row_begin;  ///< [rows of blocks + 1] in `column_in_block`
  std::vector<int> column_in_block;    ///< of each entry
  std::size_t sum_rows = 0;            ///< rows of right-hand sides that partial sums take

  std::size_t count_entries() const { return column_in_block.size(); }
};

/// What a signal of the symmetric memory says: x of a column has come, or a child's partial sum of a row.
struct SlotEvent {
  std::size_t sweep;
  bool is_sum;
  std::size_t index;  ///< of the column or row
  std::size_t child;  ///< of the row
};

/// Slots and signals of this rank, counted while plans are made.
struct SlotCounter {
  std::size_t rows = 0;
  std::vector<SlotEvent> events;  ///< by signal
};

/// Collective. The blocks of this rank, from entries that other ranks have sent.
/// @param begin   [blocks + 1] first row of each block
/// @param entries of the triangle in blocks of this rank; position `order[e]` of the plan's values is entry e
/// @throws InputError on all ranks for entries that stand twice, or rows without a stored diagonal entry
SweepPlan plan_sweep(Communicator& comm, const ProcessGrid& grid, const std::vector<std::int64_t>& begin,
                     TriangleSide side, DiagonalKind diagonal, const std::vector<Position>& entries,
                     std::vector<std::size_t>& order);

/// Collective. Trees of broadcasts and reductions, and slots for their messages.
void plan_messages(Communicator& comm, const ProcessGrid& grid, std::size_t n_blocks, std::size_t sweep,
                   SweepPlan& plan, SlotCounter& slots);

/// Blocks of consecutive rows: a row joins the rows before it if it has an entry in one of their columns, or
/// if they are few.
/// @param link [n] largest index below i of an entry in row or column i; −1 for none
std::vector<std::int64_t> partition_rows(const std::vector<std::int64_t>& link, std::int64_t max_width);

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEPLAN_HPP
#define LUTRA_TRIANGLEPLAN_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_TriangleRowsView.hpp"

namespace lutra::Impl {

/// Shape of the blocks of a task: each has up to `rows` rows with `lanes` lanes per row.
struct BlockShape {
  std::uint8_t log_rows = 0;
  std::uint8_t log_lanes = 0;

  KOKKOS_FORCEINLINE_FUNCTION int rows() const { return 1 << log_rows; }
  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << log_lanes; }
  KOKKOS_FORCEINLINE_FUNCTION int block_lanes() const { return 1 << (log_rows + log_lanes); }
  KOKKOS_FORCEINLINE_FUNCTION bool is_wide() const { return log_rows + log_lanes > 5; }
  /// Entries of the inverted diagonal block per lane.
  KOKKOS_FORCEINLINE_FUNCTION int inverse_entries() const {
    return log_rows > log_lanes ? 1 << (log_rows - log_lanes) : 1;
  }
};

inline constexpr int max_block_rows = 32;      ///< rows of the largest block
inline constexpr int max_inverse_entries = 4;  ///< entries of an inverse that a lane holds in registers
inline constexpr int narrow_lanes = 32;        ///< lanes of a task processed by a warp
inline constexpr int wide_lanes = 512;         ///< lanes of a task processed by a whole team

/// A warp takes a block of more than eight rows only if its longest row has at most this many entries outside
/// the block.
inline constexpr std::int64_t max_warp_row = 16;
/// Mean number of blocks per level from which on such blocks go to warps. A team finishes a block earlier
/// than a warp, but there are fewer teams.
inline constexpr std::int64_t many_blocks_per_level = 32;

/// Shape for a block of `rows` rows whose longest has `length` entries outside the block. With about four
/// entries per lane, all loads of a lane are in flight together. A warp is divided among as many blocks as
/// fit, or takes a whole block of many short rows if levels have many blocks; other blocks of many rows go to
/// a team.
KOKKOS_INLINE_FUNCTION BlockShape shape_for(int rows, std::int64_t length, bool many_blocks) {
  int log_rows = 0;
  while ((1 << log_rows) < rows) ++log_rows;
  if (many_blocks && log_rows > 3 && length <= max_warp_row)
    return {static_cast<std::uint8_t>(log_rows), static_cast<std::uint8_t>(5 - log_rows)};
  int wanted = 0;
  while (wanted < 5 && (std::int64_t(4) << wanted) < length) ++wanted;
  const int least = log_rows > 2 ? log_rows - 2 : 0;  // at most four entries of the inverse per lane
  if (wanted < least) wanted = least;
  const bool wide = log_rows > 3 || (log_rows > 0 && log_rows + wanted > 5 && length > 64);
  if (wide) {
    if (log_rows < 4) log_rows = 4;
    return {static_cast<std::uint8_t>(log_rows), static_cast<std::uint8_t>(9 - log_rows)};
  }
  if (log_rows + wanted > 5) wanted = 5 - log_rows;
  return {static_cast<std::uint8_t>(log_rows), static_cast<std::uint8_t>(wanted)};
}

/// Blocks of equal shape and level that a warp (narrow) or a team (wide) solves together. Lanes are ordered
/// by block, row, and lane of the row:
///
///   lane    0 .. l-1 | l .. 2l-1 | ...          l = shape.lanes(), r = shape.rows()
///   row     0        | 1         | ... r-1      of block 0, then of block 1, ...
///
/// Entry s of lane l is stored at `entries + s·lanes() + l`, so that loads are coalesced. Entries of a row
/// are distributed cyclically over its lanes in the order of the steps they depend on, and end with the last
/// step of the task: rows of different lengths wait for the latest values at the same time. Entry e of lane l
/// of the inverses is stored at `inverses + e·lanes() + l`.
struct BlockTask {
  Offset entries = 0;          ///< first packed entry
  Offset inverses = 0;         ///< first packed entry of the inverted diagonal blocks
  Ordinal first_block = 0;     ///< first block, in the order of the plan
  Ordinal first_position = 0;  ///< position of the first block's first row
  Ordinal level = 0;
  std::int32_t steps = 0;  ///< entries per lane
  std::int16_t blocks = 0;
  BlockShape shape;

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return shape.is_wide() ? wide_lanes : narrow_lanes; }
  /// Packed entries of the task's inverses: one per block if blocks are single rows.
  KOKKOS_FORCEINLINE_FUNCTION int inverse_size() const {
    return shape.log_rows == 0 ? blocks : shape.inverse_entries() * lanes();
  }
  /// Position of entry (i, j) of the inverse of block `b`.
  KOKKOS_FORCEINLINE_FUNCTION Offset inverse_position(int b, int i, int j) const {
    if (shape.log_rows == 0) return inverses + b;
    const int lane =
        (b << (shape.log_rows + shape.log_lanes)) + (i << shape.log_lanes) + (j & (shape.lanes() - 1));
    return inverses + static_cast<Offset>(j >> shape.log_lanes) * lanes() + lane;
  }
};

/// Arrays of a TrianglePlan, for kernels.
struct TrianglePlanArrays {
  ArrayRef<Ordinal> row_of, position_of, block_begin, by_level, columns;
  ArrayRef<BlockTask> tasks;
};

/// Rows grouped in blocks and blocks in tasks: narrow tasks by level, then wide ones by level. The `position`
/// of a row is its permuted index in that order; solutions are stored by position.
template <class Memory>
struct TrianglePlan {
  Ordinal n = 0;
  Ordinal blocks = 0;
  Ordinal levels = 0;                          ///< of the blocks
  Kokkos::View<Ordinal*, Memory> row_of;       ///< [n] user's row at each position
  Kokkos::View<Ordinal*, Memory> position_of;  ///< [n] position of each user's row
  Kokkos::View<Ordinal*, Memory> block_begin;  ///< [blocks + 1] first position of each block
  Kokkos::View<BlockTask*, Memory> tasks;      ///< [tasks]
  Ordinal narrow_tasks = 0;                    ///< number of narrow tasks
  Kokkos::View<Ordinal*, Memory> by_level;     ///< [tasks] all tasks in the order of levels
  Kokkos::View<Ordinal*, Memory> columns;  ///< [packed entries] position of the solution needed; −1: padding
  Offset inverse_entries = 0;              ///< packed entries of all inverses
  MemoryReservation reservation;

  std::int64_t n_tasks() const { return static_cast<std::int64_t>(tasks.extent(0)); }
  TrianglePlanArrays arrays() const {
    return {{row_of.data()},   {position_of.data()}, {block_begin.data()},
            {by_level.data()}, {columns.data()},     {tasks.data()}};
  }
};

/// Levels of a plan with narrow tasks only, on the host.
struct PlanLevels {
  std::vector<Ordinal> begin;  ///< [levels + 1] first task of each level
  std::vector<Ordinal> steps;  ///< [levels] most steps of a task of each level
};

/// Use of the inverse V of a diagonal block T, depending on its accuracy.
enum class BlockUse : unsigned char {
  inverse,    ///< x = V·s
  refined,    ///< x = V·s, then x + V·(s − T·x)
  substitute  ///< substitution
};

/// Arrays of TriangleValues, for kernels.
template <class Value>
struct TriangleValueArrays {
  using value_type = Value;
  ArrayRef<Value> entries, inverses;
  ArrayRef<BlockUse> use;
};

/// Values of a triangle, packed for a plan. A diagonal block is stored as one square: V on and below the
/// diagonal, the strict lower part of T transposed above it.
template <class Value, class Memory>
struct TriangleValues {
  Kokkos::View<Value*, Memory> entries;         ///< [packed entries]
  Kokkos::View<Value*, Memory> inverses;        ///< [inverse entries]
  Kokkos::View<BlockUse*, Memory> use;          ///< [blocks] use of each block's inverse
  Kokkos::View<std::int64_t, Memory> inverted;  ///< blocks applied by their inverses
  MemoryReservation reservation;

  TriangleValueArrays<Value> arrays() const { return {{entries.data()}, {inverses.data()}, {use.data()}}; }
};

}  // namespace lutra::Impl

#endif

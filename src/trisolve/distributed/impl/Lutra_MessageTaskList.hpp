// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MESSAGETASKLIST_HPP
#define LUTRA_MESSAGETASKLIST_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_DistributedState.hpp"
#include "Lutra_MessageTasks.hpp"

namespace lutra::Impl {

/// Columns and rows of a rank's sweeps for the kernels WAIT and SOLVE, in the order of the solve. Host code.
/// Offsets in arrays of entries, triangles and sums are those of a RowTaskList of the same sweeps.
template <class Scalar>
struct MessageTaskList {
  std::vector<MessageColumn> columns;
  std::vector<MessagePiece> pieces;
  std::vector<MessageRow> rows;
  std::vector<MessageArrival> x_arrivals, sum_arrivals;
  std::vector<RowSlot> targets;

  /// @param b_offset for rows of the first sweep
  MessageTaskList(const std::vector<Sweep<Scalar>>& sweeps, const std::vector<std::size_t>& b_offset) {
    for (std::size_t s = 0; s < sweeps.size(); ++s) {
      const SweepPlan& plan = sweeps[s].plan;
      const auto first_row = rows.size();
      add_rows(plan, s > 0);
      const std::size_t next_sweep = s + 1 < sweeps.size() ? rows.size() : 0;
      add_columns(sweeps[s], first_row, next_sweep, s == 0 ? &b_offset : nullptr);
      m_first_entry += static_cast<std::int64_t>(plan.row_begin.size());
    }
  }

  /// Contributions that each row waits for, as counters are set before a solve.
  std::vector<int> contributions() const {
    std::vector<int> result;
    for (const MessageRow& row : rows) result.push_back(row.contributions);
    return result;
  }

 private:
  /// Rows of entries in a piece: a warp multiplies it, and a block column has as many as it has warps or
  /// more.
  static constexpr std::size_t piece_rows = 16;

  static RowSlot to_slot(const Slot& slot) {
    return {slot.rank, static_cast<std::int64_t>(slot.offset), static_cast<std::int64_t>(slot.signal)};
  }

  void add_rows(const SweepPlan& plan, bool has_previous) {
    for (const SweepPlan::Row& from : plan.rows) {
      MessageRow row;
      row.width = static_cast<int>(from.width);
      row.sum = m_sum_rows;
      m_sum_rows += static_cast<std::int64_t>(from.width);
      row.contributions = static_cast<int>(from.children.size()) + (from.diagonal && has_previous ? 1 : 0);
      if (!from.diagonal) row.parent = to_slot(from.parent);
      for (const Slot& child : from.children)
        sum_arrivals.push_back({static_cast<std::int64_t>(child.signal), static_cast<int>(rows.size()),
                                static_cast<std::int64_t>(child.offset)});
      rows.push_back(row);
    }
  }

  /// @param first_row  of this sweep in `rows` @param next_sweep that of the next sweep, or 0
  void add_columns(const Sweep<Scalar>& sweep, std::size_t first_row, std::size_t next_sweep,
                   const std::vector<std::size_t>* b_offset) {
    const SweepPlan& plan = sweep.plan;
    const auto first_column = columns.size();
    for (const SweepPlan::Column& from : plan.columns) {
      MessageColumn column;
      RowTask& task = column.task;
      task.width = static_cast<int>(from.width);
      task.is_lower = plan.side == TriangleSide::lower;
      task.is_stored = plan.diagonal == DiagonalKind::stored;
      task.x = to_slot(from.x);
      task.first_target = static_cast<std::int64_t>(targets.size());
      for (const Slot& child : from.children) targets.push_back(to_slot(child));
      task.end_target = static_cast<std::int64_t>(targets.size());
      task.first_block = static_cast<std::int64_t>(pieces.size());
      for (const std::size_t block : from.blocks) add_pieces(plan.blocks[block], first_row);
      task.end_block = static_cast<std::int64_t>(pieces.size());
      columns.push_back(column);
    }
    for (std::size_t r = 0; r < plan.rows.size(); ++r) {
      const SweepPlan::Row& row = plan.rows[r];
      if (!row.diagonal) continue;
      MessageColumn& column = columns[first_column + row.column];
      column.task.has_diagonal = true;
      column.row = static_cast<int>(first_row + r);
      column.task.triangle = m_triangle_entries;
      m_triangle_entries += static_cast<std::int64_t>(row.width * row.width);
      if (b_offset != nullptr) column.task.b = static_cast<std::int64_t>((*b_offset)[r]);
      column.takes_b = b_offset != nullptr;
      if (next_sweep > 0) column.next_row = static_cast<int>(next_sweep + sweep.row_after[r]);
    }
    for (std::size_t c = first_column; c < columns.size(); ++c)
      if (!columns[c].task.has_diagonal)
        x_arrivals.push_back({columns[c].task.x.signal, static_cast<int>(c), columns[c].task.x.offset});
  }

  void add_pieces(const SweepPlan::Block& block, std::size_t first_row) {
    const auto row = first_row + block.row;
    for (std::size_t begin = block.first_row; begin < block.end_row; begin += piece_rows) {
      const std::size_t end = std::min(begin + piece_rows, block.end_row);
      pieces.push_back({m_first_entry + static_cast<std::int64_t>(begin),
                        m_first_entry + static_cast<std::int64_t>(end), static_cast<int>(row), block.dense});
      ++rows[row].contributions;
    }
  }

  std::int64_t m_first_entry = 0;  ///< rows of entries of the sweeps before
  std::int64_t m_sum_rows = 0, m_triangle_entries = 0;
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWTASKLIST_HPP
#define LUTRA_ROWTASKLIST_HPP

#include <algorithm>
#include <vector>

#include "Lutra_DistributedState.hpp"
#include "Lutra_RowTasks.hpp"

namespace lutra::Impl {

/// Tasks of a rank's sweeps, in order, with the data they refer to. Host code. Signals are those of the
/// plan's messages, then one for each x computed on this rank.
template <class Scalar>
struct RowTaskList {
  std::vector<RowTask> tasks;
  std::vector<RowBlock> blocks;
  std::vector<RowSlot> children, targets;
  std::vector<int> row_in_block, column_in_block;
  std::vector<std::int64_t> row_begin;
  std::size_t sum_rows = 0, triangle_entries = 0, signals;
  int max_width = 1;

  /// @param events   signals of messages
  /// @param b_offset for rows of the first sweep
  RowTaskList(const std::vector<Sweep<Scalar>>& sweeps, std::size_t events,
              const std::vector<std::size_t>& b_offset)
      : signals(events), m_messages(events) {
    std::int64_t entries = 0;
    std::vector<RowSlot> before;  // x of the columns of the previous sweep
    for (std::size_t s = 0; s < sweeps.size(); ++s) {
      const Sweep<Scalar>& sweep = sweeps[s];
      const SweepPlan& plan = sweep.plan;
      const std::vector<RowSlot> x = list_x(plan);
      std::size_t c = 0;
      for (std::size_t r = 0; r < plan.rows.size(); ++r) {
        for (; c < plan.columns.size() && plan.columns[c].block < plan.rows[r].block; ++c)
          pass_on(plan.columns[c], x[c]);
        add_row(sweep, r, x);
        RowTask& task = tasks.back();
        if (!task.has_diagonal) continue;
        if (s == 0) {
          task.b = static_cast<std::int64_t>(b_offset[r]);
        } else {
          task.b = before[sweep.column_before[r]].offset;
          task.b_signal = before[sweep.column_before[r]].signal;
        }
      }
      for (; c < plan.columns.size(); ++c) pass_on(plan.columns[c], x[c]);
      for (const std::size_t begin : plan.row_begin)
        row_begin.push_back(entries + static_cast<std::int64_t>(begin));
      row_in_block.insert(row_in_block.end(), plan.row_in_block.begin(), plan.row_in_block.end());
      row_in_block.resize(row_begin.size());
      column_in_block.insert(column_in_block.end(), plan.column_in_block.begin(), plan.column_in_block.end());
      entries += static_cast<std::int64_t>(plan.count_entries());
      before = x;
    }
  }

  /// Collects the values of all sweeps, and their diagonal blocks, dense by columns.
  void collect_values(const std::vector<Sweep<Scalar>>& sweeps, std::vector<Scalar>& values,
                      std::vector<Scalar>& triangles) const {
    values.clear();
    triangles.assign(triangle_entries, Scalar(0));
    std::size_t at = 0;
    for (const Sweep<Scalar>& sweep : sweeps) {
      const SweepPlan& plan = sweep.plan;
      values.insert(values.end(), sweep.values.begin(), sweep.values.end());
      for (const SweepPlan::Row& row : plan.rows) {
        if (!row.diagonal) continue;
        const SweepPlan::Block& block = plan.blocks[row.diagonal_block];
        for (std::size_t r = block.first_row; r < block.end_row; ++r)
          for (std::size_t e = plan.row_begin[r]; e < plan.row_begin[r + 1]; ++e)
            triangles[at + static_cast<std::size_t>(plan.column_in_block[e]) * row.width +
                      static_cast<std::size_t>(plan.row_in_block[r])] = sweep.values[e];
        at += row.width * row.width;
      }
    }
  }

  /// Calls visit(signal) for each signal that a task waits for.
  template <class Visit>
  void for_each_wait(const RowTask& task, const Visit& visit) const {
    if (task.passes_on) visit(task.x.signal);
    for (auto b = task.first_block; b < task.end_block; ++b)
      visit(blocks[static_cast<std::size_t>(b)].x.signal);
    for (auto c = task.first_child; c < task.end_child; ++c)
      visit(children[static_cast<std::size_t>(c)].signal);
    if (task.b_signal >= 0) visit(task.b_signal);
  }

 private:
  static RowSlot to_slot(const Slot& slot) {
    return {slot.rank, static_cast<std::int64_t>(slot.offset), static_cast<std::int64_t>(slot.signal)};
  }

  std::vector<RowSlot> list_x(const SweepPlan& plan) {
    std::vector<RowSlot> x;
    for (const SweepPlan::Column& column : plan.columns) x.push_back(to_slot(column.x));
    for (const SweepPlan::Row& row : plan.rows)
      if (row.diagonal) x[row.column].signal = static_cast<std::int64_t>(signals++);
    return x;
  }

  void add_targets(const std::vector<Slot>& slots, RowTask& task) {
    task.first_target = static_cast<std::int64_t>(targets.size());
    for (const Slot& slot : slots) targets.push_back(to_slot(slot));
    task.end_target = static_cast<std::int64_t>(targets.size());
  }

  /// Forwards x of a column whose diagonal block is on another rank, if further ranks receive it from this
  /// one.
  void pass_on(const SweepPlan::Column& column, const RowSlot& x) {
    if (column.children.empty() || static_cast<std::size_t>(x.signal) >= m_messages) return;
    RowTask task;
    task.passes_on = true;
    task.width = static_cast<int>(column.width);
    task.x = x;
    add_targets(column.children, task);
    tasks.push_back(task);
  }

  void add_row(const Sweep<Scalar>& sweep, std::size_t r, const std::vector<RowSlot>& x) {
    const SweepPlan& plan = sweep.plan;
    const SweepPlan::Row& row = plan.rows[r];
    RowTask task;
    task.has_diagonal = row.diagonal;
    task.is_lower = plan.side == TriangleSide::lower;
    task.is_stored = plan.diagonal == DiagonalKind::stored;
    task.width = static_cast<int>(row.width);
    max_width = std::max(max_width, task.width);
    task.first_block = static_cast<std::int64_t>(blocks.size());
    for (std::size_t b = row.first_block; b < row.end_block; ++b) {
      const auto first = static_cast<std::int64_t>(row_begin.size());
      blocks.push_back({first + static_cast<std::int64_t>(plan.blocks[b].first_row),
                        first + static_cast<std::int64_t>(plan.blocks[b].end_row), x[plan.blocks[b].column],
                        plan.blocks[b].dense});
    }
    task.end_block = static_cast<std::int64_t>(blocks.size());
    task.first_child = static_cast<std::int64_t>(children.size());
    for (const Slot& child : row.children) children.push_back(to_slot(child));
    task.end_child = static_cast<std::int64_t>(children.size());
    task.sum = static_cast<std::int64_t>(sum_rows);
    sum_rows += row.width;
    if (row.diagonal) {
      task.x = x[row.column];
      task.triangle = static_cast<std::int64_t>(triangle_entries);
      triangle_entries += row.width * row.width;
      add_targets(plan.columns[row.column].children, task);
    } else {
      add_targets({row.parent}, task);
    }
    tasks.push_back(task);
  }

  std::size_t m_messages;  ///< signals of messages
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWTASKS_HPP
#define LUTRA_ROWTASKS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

// Device work of a distributed triangular solve: one task for each block row of a rank, processed by one
// team. Sums are left-looking and follow one order, so that results are the same bit for bit from run to run.
//
//     for each block (I, K) of the row, by columns    wait for x(K), subtract T(I, K)·x(K)
//     for each child of the reduction tree            wait for its sum, add it
//     diagonal block is local                         add b, solve, x(I) to the own slot and to children
//     otherwise                                       sum to the parent
//
// A rank that only forwards x(K) has a task for that. Tasks are ordered by sweep, then in the order of the
// solve, with a forwarding task after the row of the same number. Each task waits only for preceding tasks in
// this order, on whatever rank. So if each rank takes its tasks in this order, the first incomplete task of
// all can always run.

/// Rows of right-hand sides in the symmetric memory, and the signal raised when they are complete.
struct RowSlot {
  int rank = -1;
  std::int64_t offset = 0, signal = 0;
};

/// An off-diagonal block (I, K): nonzero rows, and x(K).
struct RowBlock {
  std::int64_t first_row = 0, end_row = 0;  ///< offsets in `row_in_block` and `row_begin`
  RowSlot x;
  bool dense = false;
};

struct RowTask {
  bool has_diagonal = false;  ///< x is computed here
  bool passes_on = false;     ///< only forwards x
  bool is_lower = false, is_stored = false;
  int width = 0;
  std::int64_t first_block = 0, end_block = 0;
  std::int64_t first_child = 0, end_child = 0;  ///< offsets in `children`: sums of other ranks
  std::int64_t first_target = 0,
               end_target = 0;  ///< offsets in `targets`: slots on other ranks for x or for the sum
  RowSlot x;                    ///< of this row
  std::int64_t b = 0;          ///< offset in `b` for the first sweep, then in the slots of the previous sweep
  std::int64_t b_signal = -1;  ///< signal of the previous sweep
  std::int64_t sum = 0;        ///< offset in `sums`
  std::int64_t triangle = 0;   ///< offset in `triangles`
};

/// All sweeps of a rank, in the memory of the execution space that processes them.
template <class Scalar>
struct RowTaskArrays {
  const RowTask* tasks;
  const RowBlock* blocks;
  const RowSlot *children, *targets;
  const int* row_in_block;
  const std::int64_t* row_begin;  ///< offsets in `values`
  const int* column_in_block;
  const Scalar* values;
  const Scalar* triangles;  ///< diagonal blocks, dense by columns
  const Scalar* b;          ///< [rows × k]
  Scalar* sums;             ///< [rows × k]
  Scalar* slots;            ///< [rows × k]
  std::int64_t k;
  int max_width;  ///< of the rows
};

/// A Kokkos team in the form that tasks require.
template <class Member>
struct RowTeam {
  const Member& member;
  static constexpr int lanes = 1;
  KOKKOS_FUNCTION int rank() const { return member.team_rank(); }
  KOKKOS_FUNCTION int size() const { return member.team_size(); }
  KOKKOS_FUNCTION void sync() const { member.team_barrier(); }
  KOKKOS_FUNCTION void sync_lanes() const {}
  /// Fetches a diagonal block before it is needed.
  template <class Scalar>
  KOKKOS_FUNCTION void prefetch(const RowTaskArrays<Scalar>&, const RowTask&) const {}
  /// Sum over lanes whose numbers are congruent modulo `stride`.
  template <class Scalar>
  KOKKOS_FUNCTION Scalar sum_lanes(const Scalar& value, int) const {
    return value;
  }
};

/// sum −= T(I, K)·x(K). The lanes of a row share its entries and the right-hand sides.
template <class Team, class Scalar>
KOKKOS_INLINE_FUNCTION void subtract_row_block(const Team& team, const RowTaskArrays<Scalar>& data,
                                               const RowBlock& block, Scalar* sum) {
  const auto k = static_cast<int>(data.k);
  int columns = 1;  // columns at a time
  while (columns < k && columns < Team::lanes) columns *= 2;
  const int lane = team.rank() % Team::lanes, part = lane / columns, parts = Team::lanes / columns;
  const Scalar* const x = data.slots + block.x.offset * k;
  const int group = team.rank() / Team::lanes, groups = team.size() / Team::lanes;
  for (std::int64_t r = block.first_row + group; r < block.end_row; r += groups) {
    const std::int64_t begin = data.row_begin[r], end = data.row_begin[r + 1];
    for (int first = 0; first < k; first += columns) {
      const int c = first + lane % columns;
      Scalar dot(0);
      for (std::int64_t e = begin + part; e < end && c < k; e += parts) {
        const std::int64_t column = block.dense ? e - begin : data.column_in_block[e];
        dot += data.values[e] * x[column * k + c];
      }
      dot = team.sum_lanes(dot, columns);
      if (part == 0 && c < k) sum[data.row_in_block[r] * k + c] -= dot;
    }
  }
}

/// x = T(I, I)⁻¹·sum by substitution, which overwrites the sum; each lane of a group takes a right-hand side.
template <class Team, class Scalar>
KOKKOS_INLINE_FUNCTION void solve_row_triangle(const Team& team, const RowTaskArrays<Scalar>& data,
                                               const RowTask& task, Scalar* sum) {
  const auto k = static_cast<int>(data.k);
  const int width = task.width, lane = team.rank() % Team::lanes;
  Scalar* const x = data.slots + task.x.offset * k;
  for (int c = team.rank() / Team::lanes; c < k; c += team.size() / Team::lanes) {
    for (int step = 0; step < width; ++step) {
      const int j = task.is_lower ? step : width - 1 - step;
      const Scalar* const column = data.triangles + task.triangle + static_cast<std::int64_t>(j) * width;
      Scalar value = sum[j * k + c];
      if (task.is_stored) value /= column[j];
      if (lane == 0) x[j * k + c] = value;
      const int end = task.is_lower ? width : j;
      for (int i = (task.is_lower ? j + 1 : 0) + lane; i < end; i += Team::lanes)
        sum[i * k + c] -= column[i] * value;
      team.sync_lanes();
    }
  }
}

/// Processes a task except for its sends. Called by all threads of a team.
/// @param wait wait(signal) returns on all threads once the signal has arrived, with the team's earlier
///             writes visible to all of them; false if the solve has timed out
/// @returns false if wait did
template <class Team, class Scalar, class Wait>
KOKKOS_INLINE_FUNCTION bool work_row(const Team& team, const RowTaskArrays<Scalar>& data, const RowTask& task,
                                     Scalar* sum, const Wait& wait) {
  const std::int64_t n = task.width * data.k;
  if (task.has_diagonal) team.prefetch(data, task);
  for (std::int64_t i = team.rank(); i < n; i += team.size()) sum[i] = Scalar(0);
  for (std::int64_t b = task.first_block; b < task.end_block; ++b) {
    if (!wait(data.blocks[b].x.signal)) return false;
    subtract_row_block(team, data, data.blocks[b], sum);
  }
  for (std::int64_t c = task.first_child; c < task.end_child; ++c) {
    if (!wait(data.children[c].signal)) return false;
    const Scalar* const from = data.slots + data.children[c].offset * data.k;
    for (std::int64_t i = team.rank(); i < n; i += team.size()) sum[i] += from[i];
  }
  team.sync();  // the rows of the last block and of b are distributed differently over threads
  if (!task.has_diagonal) return true;
  if (task.b_signal >= 0 && !wait(task.b_signal)) return false;
  const Scalar* const b = (task.b_signal >= 0 ? data.slots : data.b) + task.b * data.k;
  for (std::int64_t i = team.rank(); i < n; i += team.size()) sum[i] += b[i];
  team.sync();
  solve_row_triangle(team, data, task, sum);
  team.sync();
  return true;
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWTASKS_HPP
#define LUTRA_ROWTASKS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

// What kernels do of a distributed triangular solve: a task for each block row of a rank, by one team. Sums
// are left-looking, contributions in one order, so that results are the same bit by bit from run to run.
//
//     for each block (I, K) of the row, by columns    wait for x(K), subtract T(I, K)·x(K)
//     for each child of the reduction tree            wait for its sum, add it
//     diagonal block here                             add b, solve, x(I) to the own slot and to children
//     otherwise                                       sum to the parent
//
// A rank that only passes x(K) on has a task for that. Tasks stand by sweeps, then in the order of the solve,
// what is passed on behind the row of the same number; each task waits only for tasks that are before it in
// this order, on whatever rank. So where each rank takes its tasks in this order, the first task of all that
// is not complete always runs.

/// Rows of right-hand sides in the symmetric memory, and the signal that says that they are there.
struct RowSlot {
  int rank = -1;
  std::int64_t offset = 0, signal = 0;
};

/// A block (I, K) beside the diagonal: nonzero rows, and x(K).
struct RowBlock {
  std::int64_t first_row = 0, end_row = 0;  ///< in `row_in_block` and `row_begin`
  RowSlot x;
  bool dense = false;
};

struct RowTask {
  bool has_diagonal = false;  ///< x is found here
  bool passes_on = false;     ///< nothing is found: x has come and goes on
  bool is_lower = false, is_stored = false;
  int width = 0;
  std::int64_t first_block = 0, end_block = 0;
  std::int64_t first_child = 0, end_child = 0;    ///< in `children`: sums of other ranks
  std::int64_t first_target = 0, end_target = 0;  ///< in `targets`: slots on other ranks of x, or of the sum
  RowSlot x;                                      ///< of this row
  std::int64_t b = 0;          ///< of the first sweep in `b`, then of the sweep before in the slots
  std::int64_t b_signal = -1;  ///< of the sweep before
  std::int64_t sum = 0;        ///< in `sums`
  std::int64_t triangle = 0;   ///< in `triangles`
};

/// All sweeps of a rank, in memory of the space that works them.
template <class Scalar>
struct RowTaskArrays {
  const RowTask* tasks;
  const RowBlock* blocks;
  const RowSlot *children, *targets;
  const int* row_in_block;
  const std::int64_t* row_begin;  ///< in `values`
  const int* column_in_block;
  const Scalar* values;
  const Scalar* triangles;  ///< diagonal blocks, dense by columns
  const Scalar* b;          ///< [rows × k]
  Scalar* sums;             ///< [rows × k]
  Scalar* slots;            ///< [rows × k]
  std::int64_t k;
};

/// A team of Kokkos as the tasks see it.
template <class Member>
struct RowTeam {
  const Member& member;
  static constexpr int lanes = 1;
  KOKKOS_FUNCTION int rank() const { return member.team_rank(); }
  KOKKOS_FUNCTION int size() const { return member.team_size(); }
  KOKKOS_FUNCTION void sync() const { member.team_barrier(); }
  KOKKOS_FUNCTION void sync_lanes() const {}
  /// Sum over lanes whose numbers are equal modulo `stride`.
  template <class Scalar>
  KOKKOS_FUNCTION Scalar sum_lanes(const Scalar& value, int) const {
    return value;
  }
};

/// sum −= T(I, K)·x(K). Lanes of a row share its entries, and the right-hand sides.
template <class Team, class Scalar>
KOKKOS_INLINE_FUNCTION void subtract_row_block(const Team& team, const RowTaskArrays<Scalar>& data,
                                               const RowBlock& block, Scalar* sum) {
  const auto k = static_cast<int>(data.k);
  int columns = 1;  // at a time
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

/// x = T(I, I)⁻¹·sum by substitution, which overwrites the sum; the lanes of a group take a right-hand side.
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

/// A task but for what it sends. All threads of a team.
/// @param wait wait(signal): returns on all threads, with what the team has written before visible to all of
///             them, once the signal is there; false where the solve has been given up
/// @returns false then
template <class Team, class Scalar, class Wait>
KOKKOS_INLINE_FUNCTION bool work_row(const Team& team, const RowTaskArrays<Scalar>& data, const RowTask& task,
                                     Scalar* sum, const Wait& wait) {
  const std::int64_t n = task.width * data.k;
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
  team.sync();  // the last block's rows are other threads' than those of b
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELRUNS_HPP
#define LUTRA_LEVELRUNS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"

// The level-set method: rows of one level depend only on rows of earlier levels, so that all rows of a level
// are solved in parallel and a barrier separates levels (section 2 of "A Message-Driven, Multi-GPU Parallel
// Sparse Triangular Solver"). Small levels are not worth a launch: one team solves a run of them, separated
// by its barrier. A large level has a launch that uses the whole device.
//
//   levels     0 1 2 3 | 4 | 5 | 6 7 8 9 10
//   launches   one team|all|all| one team            '|': the order of launches is the barrier
//
// Every row of the plan is its own block, so that all tasks are narrow and in the order of levels. The
// reciprocal diagonal of a row is stored at the row's position.

namespace lutra::Impl {

/// Most tasks of a level that one team solves: the window of latest solutions in shared memory holds three
/// such levels.
inline constexpr std::int64_t max_small_tasks = 32;

/// Consecutive levels solved by one team, or each by a separate launch.
struct LevelRun {
  Ordinal first_level = 0;
  Ordinal end_level = 0;
  bool small = false;
};

/// Levels divided into runs, in the order of solving.
struct LevelRuns {
  std::vector<LevelRun> runs;
  PlanLevels of_plan;
  double bytes_per_task = 0;  ///< bytes moved

  Ordinal first_task(Ordinal level) const { return of_plan.begin[at(level)]; }
  Ordinal first_task(const LevelRun& run) const { return of_plan.begin[at(run.first_level)]; }
  Ordinal end_task(const LevelRun& run) const { return of_plan.begin[at(run.end_level)]; }
  Ordinal tasks(Ordinal level) const { return of_plan.begin[at(level) + 1] - of_plan.begin[at(level)]; }
  /// Tasks of the largest level of a run.
  Ordinal max_tasks(const LevelRun& run) const {
    Ordinal most = 0;
    for (Ordinal level = run.first_level; level < run.end_level; ++level) most = std::max(most, tasks(level));
    return most;
  }

 private:
  static std::size_t at(Ordinal level) { return static_cast<std::size_t>(level); }
};

/// Steps of a task whose loads are in flight together: `level_entries_ahead` for real numbers.
inline constexpr double batched_steps = 4;

inline double small_level_seconds(const LevelSetCosts& costs, double bytes, double steps) {
  return std::max(costs.barrier_seconds, bytes / costs.team_bandwidth) +
         std::max(0.0, steps - batched_steps) * costs.step_seconds;
}
inline double large_level_seconds(const LevelSetCosts& costs, double bytes, double steps) {
  return costs.launch_seconds + bytes / costs.bandwidth +
         std::max(0.0, steps - batched_steps) * costs.step_seconds;
}

/// Bytes that a task moves: its share of the packed entries, and the right-hand side, solution and reciprocal
/// diagonal of each row. Solutions of other rows are mostly cached.
template <class Plan>
double level_task_bytes(const Plan& plan, std::size_t scalar_bytes, std::size_t value_bytes) {
  const auto tasks = static_cast<double>(plan.n_tasks());
  const auto entries = static_cast<double>(plan.columns.extent(0)) / tasks;
  const auto rows = static_cast<double>(plan.n) / tasks;
  return entries * static_cast<double>(value_bytes + sizeof(Ordinal)) +
         rows * static_cast<double>(2 * scalar_bytes + value_bytes);
}

/// Partitions levels into runs of least predicted cost, by dynamic programming: the cheapest way to the end
/// of a level, with that level small or large, follows from the two of the previous level. `bytes_per_task`
/// is the result of level_task_bytes.
inline LevelRuns cut_levels(const PlanLevels& plan_levels, double bytes_per_task,
                            const LevelSetCosts& costs) {
  LevelRuns result{{}, plan_levels, bytes_per_task};
  const std::size_t levels = plan_levels.steps.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<unsigned char> stays_small(levels), small(levels);
  std::vector<unsigned char> comes_from_small(levels);
  double best_small = never, best_large = 0;
  for (std::size_t l = 0; l < levels; ++l) {
    const auto tasks = static_cast<std::int64_t>(result.tasks(static_cast<Ordinal>(l)));
    const double bytes = static_cast<double>(tasks) * bytes_per_task;
    const auto steps = static_cast<double>(plan_levels.steps[l]);
    const double begins = best_large + costs.launch_seconds;
    stays_small[l] = best_small <= begins;
    comes_from_small[l] = best_small < best_large;
    const double before = std::min(best_small, best_large);
    best_small = tasks > max_small_tasks
                     ? never
                     : std::min(best_small, begins) + small_level_seconds(costs, bytes, steps);
    best_large = before + large_level_seconds(costs, bytes, steps);
  }
  bool is_small = best_small < best_large;
  for (std::size_t l = levels; l-- > 0;) {
    small[l] = is_small;
    is_small = is_small ? stays_small[l] != 0 : comes_from_small[l] != 0;
  }
  for (std::size_t l = 0; l < levels; ++l) {
    const auto level = static_cast<Ordinal>(l);
    if (l == 0 || small[l] != small[l - 1]) result.runs.push_back({level, level, small[l] != 0});
    result.runs.back().end_level = level + 1;
  }
  return result;
}

/// Predicted seconds of a solve with the number of right-hand sides for which the levels were partitioned.
inline double predict_levels_seconds(const LevelRuns& levels, const LevelSetCosts& costs) {
  double seconds = costs.start_seconds;
  for (const auto& run : levels.runs) {
    if (run.small) seconds += costs.launch_seconds;
    for (Ordinal level = run.first_level; level < run.end_level; ++level) {
      const double bytes = static_cast<double>(levels.tasks(level)) * levels.bytes_per_task;
      const auto steps = static_cast<double>(levels.of_plan.steps[static_cast<std::size_t>(level)]);
      seconds +=
          run.small ? small_level_seconds(costs, bytes, steps) : large_level_seconds(costs, bytes, steps);
    }
  }
  return seconds;
}

/// Solves rows whose dependencies are all computed.
template <class Data>
struct SettledRows {
  Data data;

  /// Adds the product of entry t of row b of a task and its solution; entries of a row are distributed
  /// cyclically over its lanes.
  template <class Scalar, class Task>
  KOKKOS_FUNCTION void add_entry(const Task& task, int b, int t, Scalar& sum) const {
    const int lane = (b << task.shape.log_lanes) + (t & (task.shape.lanes() - 1));
    const auto p = task.entries + (t >> task.shape.log_lanes) * narrow_lanes + lane;
    const auto needed = static_cast<std::int64_t>(data.columns[p]);
    if (needed >= 0) sum += Scalar(data.value(data.entries + p)) * data.current[needed];
  }

  template <class Scalar, class Task>
  KOKKOS_FUNCTION void finish_row(const Task& task, int b, const Scalar& sum) const {
    const auto position = static_cast<std::int64_t>(task.first_position) + b;
    const auto in_row = static_cast<std::int64_t>(data.in_row[position]);
    const auto out_row = static_cast<std::int64_t>(data.out_row[position]);
    const Scalar x = Scalar(data.value(data.inverses + task.inverses + b)) *
                     (data.in.scaled(in_row, data.in.at(in_row, 0)) - sum);
    data.current[position] = x;
    data.out.at(out_row, 0) = data.out.scaled(out_row, x);
  }

  /// Solves one task in a thread of a team: each lane of its vector takes a short row; all lanes share a long
  /// one.
  template <class Member, class Task>
  KOKKOS_FUNCTION void solve_task(const Member& team, const Task& task) const {
    using Scalar = std::remove_pointer_t<decltype(data.current)>;
    const int entries = task.steps << task.shape.log_lanes;
    if (task.shape.log_lanes <= 2) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(task.blocks)), [&](const int b) {
        Scalar sum(0);
        for (int t = 0; t < entries; ++t) add_entry(task, b, t, sum);
        finish_row(task, b, sum);
      });
      return;
    }
    for (int b = 0; b < task.blocks; ++b) {
      Scalar sum(0);
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, entries),
          [&](const int t, Scalar& partial) { add_entry(task, b, t, partial); }, sum);
      Kokkos::single(Kokkos::PerThread(team), [&]() { finish_row(task, b, sum); });
    }
  }
};

/// Solves a run of small levels in one team. The barrier after a level orders its solutions before their use
/// in the next.
template <class ExecutionSpace, class Data>
void solve_small_run(const ExecutionSpace& exec, const Data& data, Ordinal first_task, Ordinal end_task,
                     Ordinal max_tasks) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  constexpr int max_threads = 16;  // of 32 lanes; larger: more tasks at a time, slower barriers
  const auto threads = static_cast<int>(std::min<std::int64_t>(max_threads, max_tasks));
  const SettledRows<Data> rows{data};
  Kokkos::parallel_for(
      "lutra::trisolve::small_levels", Policy(exec, 1, threads, narrow_lanes),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const auto* tasks = rows.data.tasks;
        for (Ordinal begin = first_task, end = begin; begin < end_task; begin = end) {
          while (end < end_task && tasks[end].level == tasks[begin].level) ++end;
          Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                               [&](const Ordinal t) { rows.solve_task(team, tasks[t]); });
          team.team_barrier();
        }
      });
}

/// Solves a large level, one task per thread of a team.
template <class ExecutionSpace, class Data>
void solve_large_level(const ExecutionSpace& exec, const Data& data, Ordinal first_task, Ordinal end_task) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  constexpr int threads = 4;  // of 32 lanes; small teams end, and start the next tasks, independently
  const auto teams = static_cast<int>((end_task - first_task + threads - 1) / threads);
  const SettledRows<Data> rows{data};
  Kokkos::parallel_for(
      "lutra::trisolve::large_level", Policy(exec, teams, threads, narrow_lanes),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const Ordinal first = first_task + static_cast<Ordinal>(team.league_rank()) * threads;
        const Ordinal last = first + threads < end_task ? first + threads : end_task;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last),
                             [&](const Ordinal t) { rows.solve_task(team, rows.data.tasks[t]); });
      });
}

/// Portable level-set method. Writes data.current and data.out. Does not fence.
template <class Scalar, class Value, class ExecutionSpace>
void solve_levels_portable(const ExecutionSpace& exec, const BlockSolveData<Scalar, Value>& data,
                           const LevelRuns& levels) {
  for (const auto& run : levels.runs) {
    if (run.small) {
      solve_small_run(exec, data, levels.first_task(run), levels.end_task(run), levels.max_tasks(run));
      continue;
    }
    for (Ordinal level = run.first_level; level < run.end_level; ++level)
      solve_large_level(exec, data, levels.first_task(level), levels.first_task(level + 1));
  }
}

}  // namespace lutra::Impl

#endif

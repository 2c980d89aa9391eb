// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLESCHEDULE_HPP
#define LUTRA_TRIANGLESCHEDULE_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <string>
#include <type_traits>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_TrianglePlan.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_SortBlocksCuda.hpp"
#endif

namespace lutra::Impl {

/// A block's place in the schedule: narrow ones before wide ones, then by level, then by shape, so that
/// sorting puts blocks that can share a task side by side.
///
/// Keys are as wide as ordinals, and have no more bits than levels need: sorting is a large part of an
/// analysis.
template <class Ordinal>
using ScheduleKey = std::make_unsigned_t<Ordinal>;

inline constexpr int shape_bits = 6;

/// How keys are made up: from the lowest bits on, shape, level, and whether the block is wide.
template <class Key>
struct KeyFormat {
  int level_bits = 0;

  /// Levels a key has room for.
  static constexpr Key most_levels = Key(1) << (8 * sizeof(Key) - 1 - shape_bits);
  explicit KeyFormat(Key levels) {
    while (Key(1) << level_bits < levels) ++level_bits;
  }
  int bits() const { return shape_bits + level_bits + 1; }

  template <class Ordinal>
  KOKKOS_INLINE_FUNCTION Key key(Ordinal level, BlockShape shape) const {
    return (static_cast<Key>(shape.is_wide() ? 1 : 0) << (shape_bits + level_bits)) |
           (static_cast<Key>(level) << shape_bits) | static_cast<Key>(shape.log_rows << 3) |
           static_cast<Key>(shape.log_lanes);
  }
  template <class Ordinal>
  KOKKOS_INLINE_FUNCTION Ordinal level(Key key) const {
    return static_cast<Ordinal>((key >> shape_bits) & ((Key(1) << level_bits) - 1));
  }
};
template <class Key>
KOKKOS_INLINE_FUNCTION BlockShape shape_of_key(Key key) {
  return {static_cast<std::uint8_t>((key >> 3) & 7), static_cast<std::uint8_t>(key & 7)};
}
/// Blocks of a shape that share a task.
KOKKOS_INLINE_FUNCTION int blocks_in_task(BlockShape shape) {
  return shape.is_wide() ? 1 : narrow_lanes / shape.block_lanes();
}

/// Arrays of making a schedule, freed with it.
template <class Ordinal, class Memory>
struct ScheduleScratch {
  Kokkos::View<ScheduleKey<Ordinal>*, Memory> keys;  ///< [blocks] ascending
  Kokkos::View<Ordinal*, Memory> block_at;    ///< [blocks] block of the steps at each place of the schedule
  Kokkos::View<Ordinal*, Memory> run;         ///< [blocks] first block, later first task, of the run it is in
  Kokkos::View<Ordinal*, Memory> task_block;  ///< [blocks + 1] first block of each task
};

/// Entries of a block's longest row that lie outside of the block.
template <class Rows, class Blocks, class Ordinal>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t longest_row(const Rows& rows, const Blocks& blocks, Ordinal b) {
  return static_cast<std::int64_t>(blocks.longest.extent(0) == 0
                                       ? rows.length(rows.mirrored(b))
                                       : typename Rows::offset_type(blocks.longest(b)));
}

/// Sorts blocks by level and shape.
template <class ExecutionSpace, class Rows, class Blocks, class LevelView, class Format, class Scratch>
void sort_blocks(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocks, const LevelView& level,
                 typename Rows::ordinal_type levels, const Format& format, Scratch& scratch,
                 [[maybe_unused]] Charge& charge) {
  using Ordinal = typename Rows::ordinal_type;
  const auto keys = scratch.keys;
  const auto block_at = scratch.block_at;
  const bool crowded = static_cast<std::int64_t>(blocks.count) >= crowd * static_cast<std::int64_t>(levels);
  Kokkos::parallel_for(
      "lutra::trisolve::keys", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b) {
        const auto size = static_cast<int>(blocks.first_step(b + 1) - blocks.first_step(b));
        keys(b) = format.key(level(b), shape_for(size, longest_row(rows, blocks, b), crowded));
        block_at(b) = b;
      });
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    return sort_pairs_cuda(exec, scratch.keys, scratch.block_at, format.bits(), charge);
  }
#endif
  Kokkos::Experimental::sort_by_key(exec, scratch.keys, scratch.block_at);
}

/// Scan whose sum is the latest place at which a run began.
template <class Ordinal, class StartsRun, class View>
struct LatestStart {
  using value_type = Ordinal;
  StartsRun starts_run;
  View run;
  KOKKOS_FUNCTION void init(Ordinal& latest) const { latest = 0; }
  KOKKOS_FUNCTION void join(Ordinal& latest, const Ordinal& other) const {
    if (other > latest) latest = other;
  }
  KOKKOS_FUNCTION void operator()(const Ordinal s, Ordinal& latest, const bool final) const {
    if (starts_run(s)) latest = s;
    if (final) run(s) = latest;
  }
};

/// run(s) is the first place of the run that place s belongs to.
template <class Ordinal, class ExecutionSpace, class StartsRun, class View>
void find_runs(const ExecutionSpace& exec, Ordinal count, const StartsRun& starts_run, const View& run) {
  Kokkos::parallel_scan("lutra::trisolve::runs", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, count),
                        LatestStart<Ordinal, StartsRun, View>{starts_run, run});
}

/// Cuts each run into groups of `size(s)` places. Writes the first place of each group, then `count`, to
/// `begin`; run(s) becomes the group of place s. Returns how many groups there are. Fences.
template <class Ordinal, class ExecutionSpace, class Size, class RunView, class BeginView>
Ordinal group_runs(const ExecutionSpace& exec, Ordinal count, const RunView& run, const Size& size,
                   const BeginView& begin) {
  Ordinal groups = 0;
  Kokkos::parallel_scan(
      "lutra::trisolve::groups", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, count),
      KOKKOS_LAMBDA(const Ordinal s, Ordinal& sum, const bool final) {
        const bool starts = (s - run(s)) % size(s) == 0;
        if (starts && final) begin(sum) = s;
        sum += starts ? 1 : 0;
        if (!final) return;
        run(s) = sum - 1;
        if (s == count - 1) begin(sum) = count;
      },
      groups);
  return groups;
}

/// Tasks of the sorted blocks: shape, blocks, and the steps of the longest row. Entries and inverses get
/// their places by a scan each.
template <class ExecutionSpace, class Rows, class Blocks, class Format, class Scratch, class Plan>
void make_tasks(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocks, const Format& format,
                const Scratch& scratch, const Plan& plan) {
  using Ordinal = typename Rows::ordinal_type;
  const auto tasks = plan.tasks;
  const auto n_tasks = static_cast<Ordinal>(tasks.extent(0));
  Kokkos::parallel_for(
      "lutra::trisolve::tasks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n_tasks),
      KOKKOS_LAMBDA(const Ordinal t) {
        auto& task = tasks(t);
        task.first_block = scratch.task_block(t);
        task.blocks = static_cast<std::int16_t>(scratch.task_block(t + 1) - scratch.task_block(t));
        task.shape = shape_of_key(scratch.keys(scratch.task_block(t)));
        task.steps = 0;
        task.level = format.template level<Ordinal>(scratch.keys(scratch.task_block(t)));
      });
  Kokkos::parallel_for(
      "lutra::trisolve::steps", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal s) {
        auto& task = tasks(scratch.run(s));
        const std::int64_t longest = longest_row(rows, blocks, scratch.block_at(s));
        const int lanes = task.shape.lanes();
        const auto steps = static_cast<std::int32_t>((longest + lanes - 1) / lanes);
        if (steps > 0) Kokkos::atomic_max(&task.steps, steps);
      });
}

/// What the tasks of a plan take together.
template <class Ordinal, class Offset>
struct TaskTotals {
  Offset entries = 0, inverses = 0;
  Ordinal narrow = 0;  ///< tasks that are narrow

  KOKKOS_FUNCTION TaskTotals& operator+=(const TaskTotals& other) {
    entries += other.entries;
    inverses += other.inverses;
    narrow += other.narrow;
    return *this;
  }
};

/// Scan that gives packed entries and inverses of tasks their places.
template <class Ordinal, class Offset, class TaskView>
struct PlaceEntries {
  using value_type = TaskTotals<Ordinal, Offset>;
  TaskView tasks;
  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(const Ordinal t, value_type& sum, const bool final) const {
    auto& task = tasks(t);
    if (final) {
      task.entries = sum.entries;
      task.inverses = sum.inverses;
    }
    sum.entries += static_cast<Offset>(task.steps) * task.lanes();
    sum.inverses += static_cast<Offset>(task.inverse_size());
    sum.narrow += task.shape.is_wide() ? 0 : 1;
  }
};

/// Places of packed entries and inverses; returns how many there are of each. Fences.
template <class Ordinal, class Offset, class ExecutionSpace, class TaskView>
TaskTotals<Ordinal, Offset> place_entries(const ExecutionSpace& exec, const TaskView& tasks) {
  TaskTotals<Ordinal, Offset> totals;
  Kokkos::parallel_scan("lutra::trisolve::place_entries",
                        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Ordinal>>(
                            exec, 0, static_cast<Ordinal>(tasks.extent(0))),
                        PlaceEntries<Ordinal, Offset, TaskView>{tasks}, totals);
  return totals;
}

/// Places of rows: blocks in the order of the schedule, rows of a block in the order of their steps.
template <class ExecutionSpace, class Rows, class Blocks, class Scratch, class Plan>
void place_rows(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocks, const Scratch& scratch,
                const Plan& whole_plan) {
  using Ordinal = typename Rows::ordinal_type;
  const auto plan = whole_plan.views();
  Kokkos::parallel_scan(
      "lutra::trisolve::place_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal s, Ordinal& sum, const bool final) {
        const Ordinal b = scratch.block_at(s);
        const Ordinal first = blocks.first_step(b), last = blocks.first_step(b + 1);
        if (final) {
          plan.block_begin(s) = sum;
          if (s == blocks.count - 1) plan.block_begin(s + 1) = rows.n;
          for (Ordinal step = first; step < last; ++step) {
            const Ordinal place = sum + (step - first), row = rows.mirrored(step);
            plan.row_of(place) = row;
            plan.place_of(row) = place;
          }
        }
        sum += last - first;
      });
}

/// Where a lane of a task works.
template <class Ordinal>
struct LanePosition {
  Ordinal place = 0;    ///< of its row
  Ordinal first = 0;    ///< first place of its block
  int block = 0;        ///< in the task
  int row = 0;          ///< in the block
  int lane = 0;         ///< among the lanes of the row
  bool active = false;  ///< there is such a row
};

template <class Ordinal, class Offset, class BlockBegin>
KOKKOS_FORCEINLINE_FUNCTION LanePosition<Ordinal> position_of_lane(const BlockTask<Ordinal, Offset>& task,
                                                                   const BlockBegin& block_begin, int lane) {
  LanePosition<Ordinal> at;
  at.block = lane >> (task.shape.log_rows + task.shape.log_lanes);
  at.row = (lane >> task.shape.log_lanes) & (task.shape.rows() - 1);
  at.lane = lane & (task.shape.lanes() - 1);
  if (at.block >= task.blocks) return at;
  if (task.shape.log_rows == 0) {
    at.first = at.place = task.first_place + at.block;
    at.active = true;
    return at;
  }
  at.first = block_begin[task.first_block + at.block];
  at.place = at.first + at.row;
  at.active = at.place < block_begin[task.first_block + at.block + 1];
  return at;
}

/// The packed entries one lane of a task walks along: steps first, first + stride, … below `end`.
template <class Ordinal, class Offset>
struct LaneWalk {
  LanePosition<Ordinal> at;
  Ordinal row = 0;  ///< 0 where no row is
  int first = 0, stride = 1, end = 0;
  Offset entries = 0;  ///< packed position of step 0
  int lanes = 1;       ///< of the task
  int row_lanes = 1;
  Offset length = 0;  ///< entries of the row that lie outside of its block
  Offset absent = 0;  ///< padding before the row's first entry

  KOKKOS_FORCEINLINE_FUNCTION Offset packed(int step) const {
    return entries + static_cast<Offset>(step) * lanes;
  }
  /// Number of a step's entry in the row, in the order of the steps they belong to; below 0: padding.
  KOKKOS_FORCEINLINE_FUNCTION Offset entry(int step) const {
    return static_cast<Offset>(step) * row_lanes + at.lane - absent;
  }
};

/// Calls visit(walk) for all lanes of a task. Where the team has more threads than the task lanes, several
/// share a lane's steps.
template <class Ordinal, class Offset, class Member, class Rows, class Plan, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void walk_lanes(const Member& team, const Rows& rows, const Plan& plan,
                                            int threads, const Visit& visit) {
  const auto task = plan.tasks(team.league_rank());
  const int lanes = task.lanes(), sharing = threads > lanes ? threads / lanes : 1;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lanes * sharing), [&](const int e) {
    LaneWalk<Ordinal, Offset> walk;
    const int lane = e & (lanes - 1);  // lanes are a power of two
    walk.at = position_of_lane<Ordinal>(task, plan.block_begin, lane);
    walk.row = walk.at.active ? plan.row_of(walk.at.place) : 0;
    walk.first = e / lanes;
    walk.stride = sharing;
    walk.end = task.steps;
    walk.entries = task.entries + lane;
    walk.lanes = lanes;
    walk.row_lanes = task.shape.lanes();
    if (walk.at.active) {
      walk.length =
          task.shape.log_rows == 0
              ? rows.length(walk.row)
              : rows.length_before(walk.row, rows.mirrored(plan.row_of(walk.at.first)), most_block_rows);
    }
    walk.absent = static_cast<Offset>(task.steps) * walk.row_lanes - walk.length;
    visit(walk);
  });
}

/// Threads of a team that works on the packed entries of a task.
template <class ExecutionSpace>
constexpr int packing_threads(const ExecutionSpace&) {
  return is_host_space<ExecutionSpace> ? 1 : 8 * narrow_lanes;
}

/// Teams for tasks, one each.
template <class ExecutionSpace, class Plan>
Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> task_teams(const ExecutionSpace& exec,
                                                                               const Plan& plan) {
  const int tasks = static_cast<int>(plan.tasks.extent(0));
  if (is_host_space<ExecutionSpace>) return {exec, tasks, 1, 1};
  return {exec, tasks, packing_threads(exec) / narrow_lanes, narrow_lanes};
}

/// Writes the places that packed entries wait for.
template <class Ordinal, class Offset, class ExecutionSpace, class Rows, class Plan>
void fill_columns(const ExecutionSpace& exec, const Rows& rows, const Plan& whole_plan) {
  const auto plan = whole_plan.views();
  const auto policy = task_teams(exec, plan);
  using Member = typename decltype(policy)::member_type;
  const int threads = packing_threads(exec);
  Kokkos::parallel_for(
      "lutra::trisolve::fill_columns", policy, KOKKOS_LAMBDA(const Member& team) {
        walk_lanes<Ordinal, Offset>(team, rows, plan, threads, [&](const LaneWalk<Ordinal, Offset>& walk) {
          for (int step = walk.first; step < walk.end; step += walk.stride) {
            const Offset t = walk.entry(step);
            plan.columns(walk.packed(step)) =
                t >= 0 ? plan.place_of(rows.mirrored(rows.dependency(walk.row, t))) : Ordinal(-1);
          }
        });
      });
}

/// First places of the tasks, and all tasks in the order of their levels, from the narrow ones and the wide
/// ones, each in that order already; wide ones of a level come first.
template <class Ordinal, class ExecutionSpace, class Plan>
void finish_tasks(const ExecutionSpace& exec, const Plan& plan) {
  const auto tasks = plan.tasks;
  const auto by_level = plan.by_level, block_begin = plan.block_begin;
  const Ordinal narrow = plan.narrow_tasks;
  const auto n_tasks = static_cast<Ordinal>(tasks.extent(0));
  Kokkos::parallel_for(
      "lutra::trisolve::finish_tasks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n_tasks),
      KOKKOS_LAMBDA(const Ordinal t) {
        tasks(t).first_place = block_begin(tasks(t).first_block);
        const bool wide = t >= narrow;
        const Ordinal level = tasks(t).level;
        Ordinal low = wide ? 0 : narrow, high = wide ? narrow : n_tasks;  // the tasks of the other kind
        const Ordinal begin = low;
        while (low < high) {
          const Ordinal middle = low + (high - low) / 2;
          const bool earlier = tasks(middle).level < level || (!wide && tasks(middle).level == level);
          (earlier ? low : high) = earlier ? middle + 1 : middle;
        }
        by_level((wide ? t - narrow : t) + (low - begin)) = t;
      });
}

/// First task of each level where all are narrow, and the most steps of its tasks, on the host. Fences.
template <class ExecutionSpace, class Scratch, class Plan>
void describe_levels(const ExecutionSpace& exec, const Scratch& scratch, Plan& plan) {
  using Ordinal = typename decltype(plan.columns)::non_const_value_type;
  const auto tasks = plan.tasks;
  const auto n_tasks = static_cast<Ordinal>(tasks.extent(0));
  const auto levels = static_cast<std::size_t>(plan.levels);
  // Runs and first blocks lie side by side and are no longer needed; levels are no more than blocks.
  using View = decltype(scratch.run);
  const View numbers(scratch.run.data(), 2 * levels);
  const View begin = Kokkos::subview(numbers, Kokkos::make_pair(std::size_t(0), levels));
  const View steps = Kokkos::subview(numbers, Kokkos::make_pair(levels, 2 * levels));
  Kokkos::deep_copy(exec, steps, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::trisolve::describe_levels", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n_tasks),
      KOKKOS_LAMBDA(const Ordinal t) {
        const Ordinal level = tasks(t).level;
        if (t == 0 || tasks(t - 1).level != level) begin(level) = t;
        if (tasks(t).steps > 1) Kokkos::atomic_max(&steps(level), static_cast<Ordinal>(tasks(t).steps));
      });
  std::vector<Ordinal> read(2 * levels);
  Kokkos::deep_copy(exec, Kokkos::View<Ordinal*, Kokkos::HostSpace>(read.data(), read.size()), numbers);
  exec.fence("lutra::trisolve: levels are needed on the host");
  const auto middle = read.begin() + static_cast<std::ptrdiff_t>(levels);
  plan.level_begin.assign(read.begin(), middle);
  plan.level_begin.push_back(n_tasks);
  plan.level_steps.assign(middle, read.end());
}

/// Whether a block starts a run of blocks that can share tasks.
template <class KeyView>
struct StartsShape {
  KeyView keys;
  template <class Ordinal>
  KOKKOS_FUNCTION bool operator()(const Ordinal s) const {
    return s == 0 || keys(s) != keys(s - 1);
  }
};

/// How many blocks of the shape of block s share a task.
template <class KeyView>
struct TaskSize {
  KeyView keys;
  template <class Ordinal>
  KOKKOS_FUNCTION int operator()(const Ordinal s) const {
    return blocks_in_task(shape_of_key(keys(s)));
  }
};

/// Makes the plan of blocks whose levels are known.
/// @param with_levels      also describe the levels to the host
/// @param scratch_charge   of arrays that are not needed afterwards
template <class Ordinal, class Offset, class ExecutionSpace, class LevelView>
TrianglePlan<Ordinal, Offset, typename ExecutionSpace::memory_space> make_plan(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows,
    const StepBlocks<Ordinal, typename ExecutionSpace::memory_space>& blocks, const LevelView& level,
    Ordinal levels, bool with_levels, Charge& scratch_charge, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = Kokkos::View<Ordinal*, Memory>;
  TrianglePlan<Ordinal, Offset, Memory> plan;
  plan.n = rows.n;
  plan.blocks = blocks.count;
  plan.levels = levels;
  plan.charge = Charge(budget);
  using Format = KeyFormat<ScheduleKey<Ordinal>>;
  const Format format(static_cast<ScheduleKey<Ordinal>>(levels));
  if (static_cast<ScheduleKey<Ordinal>>(levels) > Format::most_levels) {
    throw InputError("triangle: it has " + std::to_string(levels) +
                     " levels; more than 2^25 need 64-bit ordinals");
  }
  const auto n = static_cast<std::size_t>(rows.n), count = static_cast<std::size_t>(blocks.count);
  // Few allocations: on a GPU each may cost more than the kernels that use it.
  const auto pool = scratch_charge.allocate<View>(exec, "lutra::trisolve::schedule", 3 * count + 1);
  const auto part = [](const View& of, std::size_t begin, std::size_t size) {
    return View(Kokkos::subview(of, Kokkos::make_pair(begin, begin + size)));
  };
  ScheduleScratch<Ordinal, Memory> scratch;
  scratch.keys = scratch_charge.allocate<Kokkos::View<ScheduleKey<Ordinal>*, Memory>>(
      exec, "lutra::trisolve::keys", count);
  scratch.block_at = part(pool, 0, count);
  scratch.run = part(pool, count, count);
  scratch.task_block = part(pool, 2 * count, count + 1);

  sort_blocks(exec, rows, blocks, level, levels, format, scratch, scratch_charge);
  using Keys = decltype(scratch.keys);
  find_runs(exec, blocks.count, StartsShape<Keys>{scratch.keys}, scratch.run);
  const Ordinal n_tasks =
      group_runs(exec, blocks.count, scratch.run, TaskSize<Keys>{scratch.keys}, scratch.task_block);
  plan.tasks = plan.charge.template allocate<decltype(plan.tasks)>(exec, "lutra::trisolve::tasks", n_tasks);
  make_tasks(exec, rows, blocks, format, scratch, plan);

  const auto totals = place_entries<Ordinal, Offset>(exec, plan.tasks);
  plan.narrow_tasks = totals.narrow;
  plan.inverse_entries = totals.inverses;

  const auto tasks = static_cast<std::size_t>(n_tasks), packed = static_cast<std::size_t>(totals.entries);
  const std::size_t columns_at = (2 * n + count + 1 + tasks + 63) / 64 * 64;  // they are read by vectors
  const auto kept = plan.charge.template allocate<View>(exec, "lutra::trisolve::places", columns_at + packed);
  plan.row_of = part(kept, 0, n);
  plan.place_of = part(kept, n, n);
  plan.block_begin = part(kept, 2 * n, count + 1);
  plan.by_level = part(kept, 2 * n + count + 1, tasks);
  plan.columns = part(kept, columns_at, packed);
  place_rows(exec, rows, blocks, scratch, plan);
  finish_tasks<Ordinal>(exec, plan);
  fill_columns<Ordinal, Offset>(exec, rows, plan);
  if (with_levels) describe_levels(exec, scratch, plan);
  exec.fence("lutra::trisolve: scratch of the schedule is freed");
  return plan;
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLESCHEDULE_HPP
#define LUTRA_TRIANGLESCHEDULE_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <string>
#include <type_traits>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TaskLanes.hpp"
#include "Lutra_TrianglePlan.hpp"

namespace lutra::Impl {

/// Sort key of a block: narrow before wide, then by level, then by shape, so that blocks that may share a
/// task become neighbours. Keys are as wide as ordinals and have no more bits than levels require, because
/// sorting is a large part of an analysis.
using ScheduleKey = std::make_unsigned_t<Ordinal>;

inline constexpr int shape_bits = 6;  ///< three each for the logarithms of rows and lanes

/// Layout of a key, from the lowest bits: shape, level, whether the block is wide.
template <class Key>
struct KeyFormat {
  int level_bits = 0;

  /// Most levels that a key can hold.
  static constexpr Key max_levels = Key(1) << (8 * sizeof(Key) - 1 - shape_bits);
  explicit KeyFormat(Key levels) {
    while (Key(1) << level_bits < levels) ++level_bits;
  }
  int bits() const { return shape_bits + level_bits + 1; }

  KOKKOS_INLINE_FUNCTION Key key(Ordinal level, BlockShape shape) const {
    return (static_cast<Key>(shape.is_wide() ? 1 : 0) << (shape_bits + level_bits)) |
           (static_cast<Key>(level) << shape_bits) | static_cast<Key>(shape.log_rows << 3) |
           static_cast<Key>(shape.log_lanes);
  }
  KOKKOS_INLINE_FUNCTION Ordinal level(Key key) const {
    return static_cast<Ordinal>((key >> shape_bits) & ((Key(1) << level_bits) - 1));
  }
};
template <class Key>
KOKKOS_INLINE_FUNCTION BlockShape shape_of_key(Key key) {
  return {static_cast<std::uint8_t>((key >> 3) & 7), static_cast<std::uint8_t>(key & 7)};
}
/// Most blocks of a shape in a task.
KOKKOS_INLINE_FUNCTION int blocks_in_task(BlockShape shape) {
  return shape.is_wide() ? 1 : narrow_lanes / shape.block_lanes();
}

/// Sums over tasks of a plan.
struct TaskTotals {
  Offset entries = 0, inverses = 0;
  Ordinal narrow = 0;  ///< narrow tasks
  Ordinal tasks = 0;

  KOKKOS_FUNCTION TaskTotals& operator+=(const TaskTotals& other) {
    entries += other.entries;
    inverses += other.inverses;
    narrow += other.narrow;
    tasks += other.tasks;
    return *this;
  }
};

/// Arrays of a ScheduleScratch, for kernels.
struct ScheduleArrays {
  ArrayRef<ScheduleKey> keys;
  ArrayRef<Ordinal> block_at, task_block, longest;
  ArrayRef<BlockTask> tasks;
  TaskTotals* totals;
};

/// Scratch arrays of an analysis.
template <class Memory>
struct ScheduleScratch {
  Kokkos::View<ScheduleKey*, Memory> keys;  ///< [blocks] ascending
  Kokkos::View<Ordinal*, Memory> block_at;  ///< [blocks] block of the steps at each position of the schedule
  Kokkos::View<Ordinal*, Memory> task_block;  ///< [blocks + 1] first block of each task
  Kokkos::View<Ordinal*, Memory> longest;     ///< [blocks] entries outside blocks in each task's longest row
  Kokkos::View<BlockTask*, Memory> tasks;     ///< [blocks] upper bound on the number of tasks
  Kokkos::View<TaskTotals, Memory> totals;

  ScheduleArrays arrays() const {
    return {{keys.data()},    {block_at.data()}, {task_block.data()},
            {longest.data()}, {tasks.data()},    totals.data()};
  }
};

/// Entries outside the block in a block's longest row.
template <class Rows, class Blocks>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t longest_row(const Rows& rows, const Blocks& blocks, Ordinal b) {
  return static_cast<std::int64_t>(blocks.longest.extent(0) == 0 ? rows.length(rows.mirrored(b))
                                                                 : Offset(blocks.longest(b)));
}

/// Sorts the keys of a schedule together with its blocks. Portable overload.
template <class ExecutionSpace, class Scratch>
void sort_schedule(const ExecutionSpace& exec, Scratch& scratch, int, MemoryReservation&) {
  check_launches_on<ExecutionSpace>();  // CUB would name another error
  Kokkos::Experimental::sort_by_key(exec, scratch.keys, scratch.block_at);
}

/// Sorts blocks by level and shape, and zeroes `longest` of the scratch.
template <class ExecutionSpace, class Rows, class Blocks, class LevelView, class Format, class Scratch>
void sort_blocks(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocks, const LevelView& level,
                 Ordinal levels, const Format& format, Scratch& scratch, MemoryReservation& reservation) {
  const auto arrays = scratch.arrays();
  const bool many_blocks =
      static_cast<std::int64_t>(blocks.count) >= many_blocks_per_level * static_cast<std::int64_t>(levels);
  Kokkos::parallel_for(
      "lutra::trisolve::keys", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b) {
        const auto size = static_cast<int>(blocks.first_step(b + 1) - blocks.first_step(b));
        arrays.keys(b) = format.key(level(b), shape_for(size, longest_row(rows, blocks, b), many_blocks));
        arrays.block_at(b) = b;
        arrays.longest(b) = 0;
      });
  sort_schedule(exec, scratch, format.bits(), reservation);
}

/// First position with the key of position s in ascending keys: doubling steps back, then bisection between
/// the last two.
template <class Keys>
KOKKOS_FUNCTION Ordinal first_of_key(const Keys& keys, Ordinal s) {
  const auto key = keys(s);
  Ordinal high = s, step = 1;  // `high` has that key
  while (high >= step && keys(high - step) == key) {
    high -= step;
    step *= 2;
  }
  return first_not_before(high >= step ? high - step + 1 : Ordinal(0), high,
                          [&](Ordinal k) { return keys(k) != key; });
}

/// Prefix sums over blocks: tasks and rows.
struct BlockSums {
  Ordinal tasks = 0, rows = 0;
};

/// Scan over sorted blocks: partitions blocks of equal key into tasks, and assigns positions to rows, within
/// a block in the order of their steps.
template <class Rows, class Blocks, class Scratch, class PlanArrays>
struct LayOutBlocks {
  using value_type = BlockSums;
  Rows rows;
  Blocks blocks;
  Scratch scratch;
  PlanArrays plan;

  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const {
    sum.tasks += other.tasks;
    sum.rows += other.rows;
  }
  KOKKOS_FUNCTION void operator()(const Ordinal s, value_type& sum, const bool final) const {
    const int size = blocks_in_task(shape_of_key(scratch.keys(s)));
    const bool starts = size == 1 || (s - first_of_key(scratch.keys, s)) % size == 0;
    const Ordinal b = scratch.block_at(s), first = blocks.first_step(b), last = blocks.first_step(b + 1);
    if (final) position(s, sum, starts, first, last);
    sum.tasks += starts ? 1 : 0;
    sum.rows += last - first;
  }

 private:
  KOKKOS_FUNCTION void position(Ordinal s, const value_type& sum, bool starts, Ordinal first,
                                Ordinal last) const {
    plan.block_begin(s) = sum.rows;
    for (Ordinal step = first; step < last; ++step) {
      const Ordinal at = sum.rows + (step - first), row = rows.mirrored(step);
      plan.row_of(at) = row;
      plan.position_of(row) = at;
    }
    if (starts) scratch.task_block(sum.tasks) = s;
    const Ordinal tasks = sum.tasks + (starts ? 1 : 0);
    const auto length = static_cast<Ordinal>(longest_row(rows, blocks, scratch.block_at(s)));
    if (length > scratch.longest(tasks - 1)) Kokkos::atomic_max(&scratch.longest(tasks - 1), length);
    if (s < blocks.count - 1) return;
    plan.block_begin(s + 1) = rows.n;
    scratch.task_block(tasks) = blocks.count;
    scratch.totals->tasks = tasks;
  }
};

/// Scan over tasks, `totals` in number: shape, blocks, steps of the longest row, and offsets of entries and
/// inverses. Stores the sums in `totals`.
template <class Format>
struct LayOutTasks {
  using value_type = TaskTotals;
  Format format;
  ScheduleArrays scratch;
  ArrayRef<Ordinal> block_begin;

  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(const Ordinal t, value_type& sum, const bool final) const {
    const Ordinal tasks = scratch.totals->tasks;
    if (t >= tasks) return;
    const auto task = make_task(t);
    if (final) {
      scratch.tasks(t) = task;
      scratch.tasks(t).entries = sum.entries;
      scratch.tasks(t).inverses = sum.inverses;
    }
    sum.entries += static_cast<Offset>(task.steps) * task.lanes();
    sum.inverses += static_cast<Offset>(task.inverse_size());
    sum.narrow += task.shape.is_wide() ? 0 : 1;
    if (!final || t < tasks - 1) return;
    scratch.totals->entries = sum.entries;
    scratch.totals->inverses = sum.inverses;
    scratch.totals->narrow = sum.narrow;
  }

 private:
  KOKKOS_FUNCTION BlockTask make_task(Ordinal t) const {
    BlockTask task;
    const Ordinal first = scratch.task_block(t), last = scratch.task_block(t + 1);
    task.first_block = first;
    task.first_position = block_begin(first);
    task.blocks = static_cast<std::int16_t>(last - first);
    task.shape = shape_of_key(scratch.keys(first));
    task.level = format.level(scratch.keys(first));
    const auto lanes = static_cast<Ordinal>(task.shape.lanes());
    task.steps = static_cast<std::int32_t>((scratch.longest(t) + lanes - 1) / lanes);
    return task;
  }
};

/// Creates the tasks of the sorted blocks, and assigns positions to their rows. Fences.
/// @returns sums over the tasks
template <class ExecutionSpace, class Rows, class Blocks, class Format, class Scratch, class Plan>
auto lay_out_tasks(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocks, const Format& format,
                   const Scratch& scratch, const Plan& plan) {
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Ordinal>>;
  const auto arrays = scratch.arrays();
  const auto positions = plan.arrays();
  Kokkos::parallel_scan("lutra::trisolve::lay_out_blocks", Range(exec, 0, blocks.count),
                        LayOutBlocks<Rows, Blocks, decltype(scratch.arrays()), decltype(plan.arrays())>{
                            rows, blocks, arrays, positions});
  check_launches_on<ExecutionSpace>();  // before the positions are used
  Kokkos::parallel_scan("lutra::trisolve::lay_out_tasks", Range(exec, 0, blocks.count),
                        LayOutTasks<Format>{format, arrays, positions.block_begin});
  return read_back(exec, scratch.totals);
}

/// Index of task t in the order of levels, from the narrow and the wide tasks, each already in that order;
/// wide tasks of a level come first.
template <class Tasks>
KOKKOS_FUNCTION Ordinal number_by_level(const Tasks& tasks, Ordinal n_tasks, Ordinal narrow, Ordinal t) {
  const bool wide = t >= narrow;
  const Ordinal level = tasks(t).level;
  const Ordinal begin = wide ? 0 : narrow, end = wide ? narrow : n_tasks;  // tasks of the other kind
  const Ordinal first_later = first_not_before(
      begin, end, [&](Ordinal k) { return tasks(k).level < level || (!wide && tasks(k).level == level); });
  return (wide ? t - narrow : t) + (first_later - begin);
}

/// Writes the tasks of the plan, their order by level, and the positions of the solutions that packed entries
/// need.
template <class ExecutionSpace, class Rows, class TaskView, class Plan>
void fill_plan(const ExecutionSpace& exec, const Rows& rows, const TaskView& tasks, const Plan& whole_plan) {
  const auto plan = whole_plan.arrays();
  const Ordinal narrow = whole_plan.narrow_tasks;
  const auto n_tasks = static_cast<Ordinal>(whole_plan.tasks.extent(0));
  const auto policy = task_teams(exec, whole_plan);
  using Member = typename decltype(policy)::member_type;
  const int threads = packing_threads(exec);
  Kokkos::parallel_for(
      "lutra::trisolve::fill_plan", policy, KOKKOS_LAMBDA(const Member& team) {
        const auto t = static_cast<Ordinal>(team.league_rank());
        const BlockTask task = tasks(t);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          plan.tasks(t) = task;
          plan.by_level(number_by_level(tasks, n_tasks, narrow, t)) = t;
        });
        for_each_lane(team, task, rows, plan, threads, [&](const LaneSteps& lane_steps) {
          for (int step = lane_steps.first; step < lane_steps.end; step += lane_steps.stride) {
            const Offset e = lane_steps.entry(step);
            plan.columns(lane_steps.packed(step)) =
                e >= 0 ? plan.position_of(rows.mirrored(rows.dependency(lane_steps.row, e))) : Ordinal(-1);
          }
        });
      });
}

/// Levels of a plan of narrow tasks. Fences.
template <class ExecutionSpace>
PlanLevels describe_levels(const ExecutionSpace& exec,
                           const TrianglePlan<typename ExecutionSpace::memory_space>& plan,
                           MemoryReservation& reservation) {
  using View = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  const auto tasks = plan.tasks;
  const auto n_tasks = static_cast<Ordinal>(tasks.extent(0));
  const auto levels = static_cast<std::size_t>(plan.levels);
  const auto statistics = reservation.allocate<View>(exec, "lutra::trisolve::levels of the plan", 2 * levels);
  const View begin = Kokkos::subview(statistics, Kokkos::make_pair(std::size_t(0), levels));
  const View steps = Kokkos::subview(statistics, Kokkos::make_pair(levels, 2 * levels));
  Kokkos::deep_copy(exec, steps, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::trisolve::describe_levels", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n_tasks),
      KOKKOS_LAMBDA(const Ordinal t) {
        const Ordinal level = tasks(t).level;
        if (t == 0 || tasks(t - 1).level != level) begin(level) = t;
        if (tasks(t).steps > 1) Kokkos::atomic_max(&steps(level), static_cast<Ordinal>(tasks(t).steps));
      });
  std::vector<Ordinal> read(2 * levels);
  Kokkos::deep_copy(exec, Kokkos::View<Ordinal*, Kokkos::HostSpace>(read.data(), read.size()), statistics);
  exec.fence("lutra::trisolve: levels are needed on the host");
  const auto middle = read.begin() + static_cast<std::ptrdiff_t>(levels);
  PlanLevels result{{read.begin(), middle}, {middle, read.end()}};
  result.begin.push_back(n_tasks);
  return result;
}

/// Scratch for a schedule of this many blocks.
template <class ExecutionSpace>
ScheduleScratch<typename ExecutionSpace::memory_space> allocate_schedule(const ExecutionSpace& exec,
                                                                         std::size_t count,
                                                                         MemoryReservation& reservation) {
  ScheduleScratch<typename ExecutionSpace::memory_space> scratch;
  const auto allocate = [&](auto& view, const char* label, auto... extent) {
    view = reservation.template allocate<std::remove_reference_t<decltype(view)>>(exec, label, extent...);
  };
  allocate(scratch.keys, "lutra::trisolve::keys", count);
  allocate(scratch.block_at, "lutra::trisolve::blocks in order", count);
  allocate(scratch.task_block, "lutra::trisolve::blocks of tasks", count + 1);
  allocate(scratch.longest, "lutra::trisolve::longest rows of tasks", count);
  allocate(scratch.tasks, "lutra::trisolve::tasks in the making", count);
  allocate(scratch.totals, "lutra::trisolve::totals");
  return scratch;
}

/// Creates the plan of blocks whose levels are known. Fences.
/// @param scratch_reservation holds arrays that are not needed afterwards
template <class ExecutionSpace, class LevelView>
TrianglePlan<typename ExecutionSpace::memory_space> make_plan(
    const ExecutionSpace& exec, const RowAccess& rows,
    const StepBlocks<typename ExecutionSpace::memory_space>& blocks, const LevelView& level, Ordinal levels,
    MemoryReservation& scratch_reservation, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = Kokkos::View<Ordinal*, Memory>;
  TrianglePlan<Memory> plan;
  plan.n = rows.n;
  plan.blocks = blocks.count;
  plan.levels = levels;
  plan.reservation = MemoryReservation(budget);
  using Format = KeyFormat<ScheduleKey>;
  const Format format(static_cast<ScheduleKey>(levels));
  if (static_cast<ScheduleKey>(levels) > Format::max_levels) {
    throw InputError("triangle: it has " + std::to_string(levels) +
                     " levels; more than 2^25 need 64-bit ordinals");
  }
  const auto n = static_cast<std::size_t>(rows.n), count = static_cast<std::size_t>(blocks.count);
  const auto part = [](const View& of, std::size_t begin, std::size_t size) {
    return View(Kokkos::subview(of, Kokkos::make_pair(begin, begin + size)));
  };
  auto scratch = allocate_schedule(exec, count, scratch_reservation);
  sort_blocks(exec, rows, blocks, level, levels, format, scratch, scratch_reservation);

  // Few allocations: on a GPU each may cost more than the kernels that use it.
  const auto positions =
      plan.reservation.template allocate<View>(exec, "lutra::trisolve::positions", 2 * n + count + 1);
  plan.row_of = part(positions, 0, n);
  plan.position_of = part(positions, n, n);
  plan.block_begin = part(positions, 2 * n, count + 1);
  const TaskTotals totals = lay_out_tasks(exec, rows, blocks, format, scratch, plan);
  plan.narrow_tasks = totals.narrow;
  plan.inverse_entries = totals.inverses;

  const auto tasks = static_cast<std::size_t>(totals.tasks),
             packed = static_cast<std::size_t>(totals.entries);
  plan.tasks =
      plan.reservation.template allocate<decltype(plan.tasks)>(exec, "lutra::trisolve::tasks", tasks);
  const std::size_t columns_at = (tasks + 63) / 64 * 64;  // columns are read by vector loads
  const auto kept =
      plan.reservation.template allocate<View>(exec, "lutra::trisolve::columns", columns_at + packed);
  plan.by_level = part(kept, 0, tasks);
  plan.columns = part(kept, columns_at, packed);
  fill_plan(exec, rows, scratch.arrays().tasks, plan);
  return plan;
}

}  // namespace lutra::Impl

#endif

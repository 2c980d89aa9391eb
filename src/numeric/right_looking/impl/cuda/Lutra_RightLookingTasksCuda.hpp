// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGTASKSCUDA_HPP
#define LUTRA_RIGHTLOOKINGTASKSCUDA_HPP

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"
#include "Lutra_RightLookingCuda.hpp"
#include "Lutra_RightLookingKernels.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Divides columns into tasks, and counts the pairs of entries of L(:, j) and U(j, :). A column with few
/// pairs is one task; others are divided into tiles with about equal work per warp. (GLU 3.0 selects the
/// kernel type per level, which was not faster.)
struct ColumnCutter {
  using Memory = Kokkos::CudaSpace;
  Kokkos::View<const Offset*, Memory> row_map, row_diagonal, column_map, column_diagonal;
  Kokkos::View<const Ordinal*, Memory> order;

  KOKKOS_FUNCTION Offset rows(Ordinal j) const { return column_map(j + 1) - column_diagonal(j) - 1; }
  KOKKOS_FUNCTION Offset updates(Ordinal j) const { return row_map(j + 1) - row_diagonal(j) - 1; }

  KOKKOS_FUNCTION ColumnParts parts(Ordinal j) const {
    constexpr Offset min_pairs = 512;  // least size of a divided column; smaller: more and smaller tasks
    if (rows(j) * updates(j) <= min_pairs) return {1, 1};
    return {static_cast<int>((rows(j) + tile_rows - 1) / tile_rows),
            static_cast<int>((updates(j) + tile_updates - 1) / tile_updates)};
  }
};

/// Exclusive prefix sum of a functor's counts over [0, n) into begin [n + 1]. @returns the total
template <class Count>
Offset sum_up(const Kokkos::Cuda& exec, const char* label, std::int64_t n, const Count& count,
              const Kokkos::View<Offset*, Kokkos::CudaSpace>& begin) {
  Offset total = 0;
  Kokkos::parallel_scan(
      label, Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, n + 1),
      KOKKOS_LAMBDA(const std::int64_t i, Offset& sum, const bool final) {
        if (final) begin(i) = sum;
        if (i < n) sum += count(i);
      },
      total);
  exec.fence("lutra::numeric: a sum is needed on the host");
  return total;
}

struct CountTasks {
  ColumnCutter cutter;
  KOKKOS_FUNCTION Offset operator()(std::int64_t i) const {
    const ColumnParts parts = cutter.parts(cutter.order(i));
    return static_cast<Offset>(parts.rows) * parts.updates;
  }
};

struct CountPairs {
  ColumnCutter cutter;
  KOKKOS_FUNCTION Offset operator()(std::int64_t j) const {
    return cutter.rows(static_cast<Ordinal>(j)) * cutter.updates(static_cast<Ordinal>(j));
  }
};

struct ListTasks {
  ColumnCutter cutter;
  Kokkos::View<const Offset*, Kokkos::CudaSpace> begin;
  Kokkos::View<ColumnTask*, Kokkos::CudaSpace> tasks;
  Kokkos::View<ColumnParts*, Kokkos::CudaSpace> parts;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const Ordinal j = cutter.order(i);
    parts(j) = cutter.parts(j);
    for (Offset t = begin(i); t < begin(i + 1); ++t) tasks(t) = {j, static_cast<int>(t - begin(i))};
  }
};

/// Tasks and maps of the CUDA column factorization, made once per pattern and shared by all factorizations on
/// it.
template <>
struct ColumnTaskPlan<Kokkos::CudaSpace> {
  using Memory = Kokkos::CudaSpace;
  using Plan = RightLookingLuPlan<Memory>;
  template <class T>
  using Array = Kokkos::View<T*, Memory>;

  ColumnTaskPlan(const Kokkos::Cuda& exec, const Plan& plan, const MemoryBudget& memory,
                 const ColumnAblation& switches)
      : ablation(switches), budget(memory), reservation(memory) {
    const ColumnFormat format = plan.options.format;
    const bool flow = plan.options.mode == ColumnMode::flow;
    if (!flow && format != ColumnFormat::map) return;
    levels = static_cast<int>(plan.levels.size());
    const ColumnCutter cutter{plan.rows.row_map, plan.rows.diagonal, plan.columns.pattern.row_map,
                              plan.column_diagonal, plan.levels.order};
    list_tasks(exec, plan, cutter);
    needed = reservation.template allocate<Array<unsigned>>(exec, "lutra::numeric::needed_tasks", plan.n());
    Kokkos::deep_copy(exec, needed, 0u);
    if (format != ColumnFormat::search) make_maps(exec, plan, cutter);
    if (format == ColumnFormat::map && map_begin.extent(0) == 0)
      throw OutOfMemoryError("columns: format map needs 4 bytes for each update, which do not fit", 0);
    survey(exec, plan);
    exec.fence("lutra::numeric: scratch of the plan is freed");
  }

  /// Implements `factorize_right_looking`.
  /// @param launch_updates launch_updates(launch) queues all updates, with L undivided
  template <class Scalar, class LaunchUpdates>
  RightLookingLuOutcome factorize(const Kokkos::Cuda& exec, const Plan& plan,
                                  RightLookingLuWorkspace<Memory>& work, const Array<Scalar>& values,
                                  const PivotThreshold& threshold, const Array<unsigned char>& perturbed,
                                  const LaunchUpdates& launch_updates) const {
    auto launch = launch_of<Scalar>(plan);
    launch.values = values.data();
    launch.perturbed = perturbed.data();
    launch.threshold = threshold;
    launch.arrived = work.arrived.data();
    launch.state = work.state.device().data();
    launch.watchdog.stopped = &launch.state->stopped;
    if (work.is_pending) {
      work.run = 0;  // counts as before the first factorization
      Kokkos::deep_copy(exec, work.arrived, 0u);
    }
    work.is_pending = true;
    launch.run = ++work.run;
    check_cuda(cudaMemsetAsync(launch.state, 0, sizeof(ColumnState), exec.cuda_stream()),
               "starting a factorization");
    if (plan.n() > 0) {
      launch_updates(launch);
      launch_division(exec, plan, launch);
    }
    work.is_pending = false;
    const ColumnState& met = work.state.fetch(exec)(0);
    if (met.stopped != 0) {
      work.run = 0;  // counts as before the first factorization
      Kokkos::deep_copy(exec, work.arrived, 0u);
      throw TimeoutError("factorize: column " + std::to_string(met.stopped - 1) +
                         " waited too long for others, and the factorization was given up");
    }
    RightLookingLuOutcome outcome;
    static_assert(sizeof(double) == sizeof(met.largest));
    std::memcpy(&outcome.largest, &met.largest, sizeof(double));
    outcome.perturbed = static_cast<std::int64_t>(met.perturbed);
    outcome.finite = Kokkos::isfinite(outcome.largest);
    return outcome;
  }

  ColumnAblation ablation;
  MemoryBudget budget;
  MemoryReservation reservation;
  int levels = 0;
  Array<ColumnTask> tasks;   ///< in level order
  Array<ColumnParts> parts;  ///< [n]
  Array<Offset> map_begin;   ///< [n + 1] offsets into `map`; empty: rows are searched for
  Array<unsigned> map;       ///< see ColumnLaunch
  Array<unsigned> needed;    ///< [n] tasks that signal a column

  // ---- for the constructor and factorize; public because CUDA's extended lambdas require it

  void list_tasks(const Kokkos::Cuda& exec, const Plan& plan, const ColumnCutter& cutter) {
    MemoryReservation scratch(budget);
    const auto begin =
        scratch.template allocate<Array<Offset>>(exec, "lutra::numeric::task_begin", plan.n() + 1);
    const Offset total = sum_up(exec, "lutra::numeric::count_tasks", plan.n(), CountTasks{cutter}, begin);
    if (total > std::numeric_limits<int>::max() / 2)
      throw InputError("pattern: its columns make " + std::to_string(total) +
                       " tasks, more than fit in an int");
    tasks = reservation.template allocate<Array<ColumnTask>>(exec, "lutra::numeric::column_tasks", total);
    parts = reservation.template allocate<Array<ColumnParts>>(exec, "lutra::numeric::column_parts", plan.n());
    Kokkos::parallel_for("lutra::numeric::list_tasks",
                         Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<std::int64_t>(plan.n())),
                         ListTasks{cutter, begin, tasks, parts});
    exec.fence("lutra::numeric: counts of tasks are freed");
  }

  /// Makes the maps, if they fit.
  void make_maps(const Kokkos::Cuda& exec, const Plan& plan, const ColumnCutter& cutter) {
    MemoryReservation own(budget);
    auto begin = own.template allocate<Array<Offset>>(exec, "lutra::numeric::map_begin", plan.n() + 1);
    const Offset pairs = sum_up(exec, "lutra::numeric::count_pairs", plan.n(), CountPairs{cutter}, begin);
    const std::size_t bytes = static_cast<std::size_t>(pairs) * sizeof(unsigned);
    if (bytes > max_map_bytes()) return;
    try {
      map = own.template allocate<Array<unsigned>>(exec, "lutra::numeric::update_positions",
                                                   static_cast<std::size_t>(pairs));
    } catch (const OutOfMemoryError&) {
      return;  // fall back to searching rows
    }
    map_begin = begin;
    map_reservation = own;
  }

  /// Fills `needed`, and the map if there is one.
  void survey(const Kokkos::Cuda& exec, const Plan& plan) const {
    if (tasks.extent(0) == 0) return;
    const auto kernel = survey_columns_kernel<double>;
    kernel<<<blocks(exec, kernel), column_threads, 0, exec.cuda_stream()>>>(
        launch_of<double>(plan), needed.data(), map_begin.extent(0) > 0 ? map.data() : nullptr,
        static_cast<int>(tasks.extent(0)));
    check_cuda(cudaGetLastError(), "mapping updates");
  }

  /// Limit on maps: an eighth of the free memory, half of the remaining budget.
  std::size_t max_map_bytes() const {
    std::size_t free = 0, all = 0;
    check_cuda(cudaMemGetInfo(&free, &all), "asking for free memory");
    return std::min({ablation.max_map_bytes, free / 8, budget.available_bytes() / 2});
  }

  template <class Scalar>
  ColumnLaunch<Scalar> launch_of(const Plan& plan) const {
    ColumnLaunch<Scalar> launch{};
    launch.tasks = tasks.data();
    launch.parts = parts.data();
    launch.row_map = plan.rows.row_map.data();
    launch.row_diagonal = plan.rows.diagonal.data();
    launch.row_to_column = plan.row_to_column.data();
    launch.row_entries = plan.rows.entries.data();
    launch.column_map = plan.columns.pattern.row_map.data();
    launch.column_diagonal = plan.column_diagonal.data();
    launch.column_entries = plan.columns.pattern.entries.data();
    launch.map_begin = map_begin.data();
    launch.map = map.data();
    launch.needed = needed.data();
    launch.n = plan.n();
    launch.watchdog.limit = watchdog_ticks<Kokkos::Cuda>(ablation.watchdog_seconds);
    return launch;
  }

  /// Number of resident blocks, at most the number of tasks.
  template <class Kernel>
  int blocks(const Kokkos::Cuda& exec, Kernel kernel) const {
    const int most = std::max(resident_blocks(exec, kernel, column_threads, 0),
                              exec.cuda_device_prop().multiProcessorCount);
    return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(most),
                                                  (tasks.extent(0) + column_warps - 1) / column_warps));
  }

  /// Data flow.
  template <class Scalar>
  void launch_flow(const Kokkos::Cuda& exec, const ColumnLaunch<Scalar>& launch) const {
    if (map_begin.extent(0) > 0) {
      launch_tasks<ColumnFormat::map>(exec, launch);
    } else {
      launch_tasks<ColumnFormat::search>(exec, launch);
    }
  }

  /// Divides L by its pivots.
  template <class Scalar>
  void launch_division(const Kokkos::Cuda& exec, const Plan& plan, const ColumnLaunch<Scalar>& launch) const {
    const auto kernel = finish_columns_kernel<Scalar>;
    const auto wanted = (static_cast<std::int64_t>(plan.n()) + column_warps - 1) / column_warps;
    const auto most = static_cast<std::int64_t>(8) * exec.cuda_device_prop().multiProcessorCount;
    kernel<<<static_cast<unsigned>(std::min(wanted, most)), column_threads, 0, exec.cuda_stream()>>>(launch);
    check_cuda(cudaGetLastError(), "dividing columns by pivots");
  }

  template <ColumnFormat by, class Scalar>
  void launch_tasks(const Kokkos::Cuda& exec, const ColumnLaunch<Scalar>& launch) const {
    const auto kernel = column_tasks_kernel<by, Scalar>;
    const int processors = exec.cuda_device_prop().multiProcessorCount;
    const int n = static_cast<int>(tasks.extent(0));
    const int wanted = (n + column_warps - 1) / column_warps;
    const int grid = std::min({blocks(exec, kernel), processors * blocks_at_once(processors), wanted});
    kernel<<<grid, column_threads, 0, exec.cuda_stream()>>>(launch, n);
    check_cuda(cudaGetLastError(), "launching columns");
  }

  /// Blocks per multiprocessor: as many warps as about eight levels have tasks. More warps would take tasks
  /// still further ahead, and poll for them.
  int blocks_at_once(int processors) const {
    if (ablation.blocks > 0) return ablation.blocks;
    const double a_level = static_cast<double>(tasks.extent(0)) / static_cast<double>(std::max(1, levels));
    const double wanted = std::round(8 * a_level / (processors * column_warps));
    return static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(column_blocks)));
  }

  MemoryReservation map_reservation;
};

}  // namespace lutra::Impl

#endif

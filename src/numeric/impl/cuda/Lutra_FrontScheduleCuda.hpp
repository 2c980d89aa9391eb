// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULECUDA_HPP
#define LUTRA_FRONTSCHEDULECUDA_HPP

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_SmallFrontsCuda.hpp"
#include "Lutra_TileFrontsCuda.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar>
struct FrontCutting<Scalar, Kokkos::Cuda> {
  static FrontPlanOptions options() { return {front_tile<Scalar>, 16 * most_register_parts<Scalar>}; }
};

// Microseconds that steps take about, by which tasks are put in order; only their ratios matter.
struct FrontTimes {
  static constexpr double start = 6, pivot = 0.25, child = 0.3, step = 18, product = 1.2;
};

/// Fronts of so many tiles along an edge have tasks of two tiles; in narrower ones there are too few of them.
inline constexpr int least_paired_tiles = 24;

/// Which tiles of a front are worked two at a time: neighbours in a column, in U neighbours in a row, neither
/// of them next to the diagonal, whose tiles are waited for, and both of pivots or both of further rows.
class TilePairs {
 public:
  explicit TilePairs(const FrontTiles& tiles) : m_tiles(tiles), m_any(tiles.count() >= least_paired_tiles) {}

  bool in_upper(int i, int j) const { return i < j && i < m_tiles.pivot_tiles(); }
  bool is_first(int i, int j) const { return m_any && (in_upper(i, j) ? starts(j, i) : starts(i, j)); }
  bool is_second(int i, int j) const {
    return m_any && (in_upper(i, j) ? starts(j - 1, i) : starts(i - 1, j));
  }

 private:
  /// A pair starts at tile `place` of column, or in U row, `line`.
  bool starts(int place, int line) const {
    const int pivots = m_tiles.pivot_tiles(), begin = place < pivots ? 0 : pivots;
    const int end = place < pivots ? pivots : m_tiles.count();
    const bool aligned = place >= 0 && (place - begin) % 2 == 0 && place + 1 < end;
    return aligned && (line >= pivots || place > line + 1);
  }

  FrontTiles m_tiles;
  bool m_any;
};

/// The order of tasks: tasks on long paths to a root come first, and so each comes behind all it needs.
template <class Ordinal, class Offset>
class FrontTaskOrder {
 public:
  using Plan = FrontPlan<Ordinal, Offset, Kokkos::CudaSpace>;
  using Task = FrontTask<Ordinal, Offset>;
  using Small = SmallTask<Ordinal, Offset>;

  /// @param children of the plan, wide ones of each front first
  FrontTaskOrder(const Plan& plan, const std::vector<Ordinal>& children, const std::vector<int>& places)
      : m_plan(plan), m_children(children), m_places(places), m_is_narrow(plan.host_fronts) {
    find_small();
    measure_paths();
    for (Ordinal f = 0; f < m_plan.count; ++f) add_tasks(f);
    std::stable_sort(small_tasks.begin(), small_tasks.end(), [&](const Small& a, const Small& b) {
      return m_start[index(a.front)] > m_start[index(b.front)];
    });
    std::vector<std::size_t> order(m_tasks.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return m_priority[a] > m_priority[b]; });
    tasks.reserve(order.size());
    for (const std::size_t t : order) tasks.push_back(m_tasks[t]);
  }

  std::vector<Small> small_tasks;  ///< in order
  GatherListMaker<Ordinal, Offset> lists;
  std::vector<Task> tasks;  ///< in order
  Offset flags = 0;         ///< of tiles
  Offset pivot_tiles = 0;   ///< in all tiled fronts

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }
  const Front<Ordinal, Offset>& front(Ordinal f) const { return m_plan.host_fronts[index(f)]; }
  bool is_tiled(Ordinal f) const { return front(f).size() > m_plan.options.most_whole; }
  FrontTiles tiles_of(Ordinal f) const { return {front(f).pivots, front(f).below, m_plan.options.tile}; }

  void find_small() {
    m_small.assign(index(m_plan.count), 1);
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (front(f).size() > small_front_size) m_small[index(f)] = 0;
      if (!m_small[index(f)] && front(f).parent >= 0) m_small[index(front(f).parent)] = 0;
    }
  }

  double corner_time(Ordinal f) const {
    const FrontTiles tiles = tiles_of(f);
    const double edge = tiles.count() - tiles.pivot_tiles();
    return FrontTimes::start + FrontTimes::product * tiles.pivot_tiles() * (1 + edge * edge / 256);
  }

  void measure_paths() {
    m_start.assign(index(m_plan.count), 0);
    for (Ordinal f = m_plan.count; f-- > 0;) {
      const double after = front(f).parent < 0 ? 0 : m_start[index(front(f).parent)];
      const double own = is_tiled(f) ? tiles_of(f).pivot_tiles() * FrontTimes::step + corner_time(f)
                                     : FrontTimes::start + FrontTimes::pivot * front(f).pivots +
                                           FrontTimes::child *
                                               static_cast<double>(front(f).children_end - front(f).children);
      m_start[index(f)] = after + own;
    }
  }

  /// Lists of a front's narrow children. @returns the end of its wide ones
  Offset list_narrow(Ordinal f) {
    std::vector<const Front<Ordinal, Offset>*> narrow;
    Offset wide_end = front(f).children;
    for (Offset c = front(f).children; c < front(f).children_end; ++c) {
      const auto& child = front(m_children[static_cast<std::size_t>(c)]);
      if (m_is_narrow(child)) {
        narrow.push_back(&child);
      } else {
        ++wide_end;
      }
    }
    lists.add_front(narrow, m_places, tiles_of(f), is_tiled(f));
    return wide_end;
  }

  void add_tasks(Ordinal f) {
    Offset targets = static_cast<Offset>(lists.place.size());
    const Offset wide_end = list_narrow(f);
    if (m_small[index(f)]) {
      small_tasks.push_back({f, wide_end, targets, static_cast<Offset>(lists.place.size())});
      return;
    }
    if (!is_tiled(f)) {
      Task task;
      task.front = f;
      task.wide_end = wide_end;
      task.parts[0].targets = targets;
      task.parts[0].targets_end = static_cast<Offset>(lists.place.size());
      add(task, m_start[index(f)]);
      return;
    }
    add_tiles(f, wide_end, targets);
  }

  void add_tiles(Ordinal f, Offset wide_end, Offset targets) {
    const FrontTiles tiles = tiles_of(f);
    const int count = tiles.count(), pivots = tiles.pivot_tiles();
    const TilePairs pairs(tiles);
    const auto parts = parts_of_tiles(f, targets);
    const double end = (front(f).parent < 0 ? 0 : m_start[index(front(f).parent)]) + corner_time(f);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) {
        if (pairs.is_second(i, j)) continue;
        Task task;
        task.front = f;
        task.row = i;
        task.column = j;
        if (pairs.is_first(i, j)) (pairs.in_upper(i, j) ? task.columns : task.rows) = 2;
        task.flags = flags;
        task.inverses = pivot_tiles * 2 * static_cast<Offset>(tiles.edge) * tiles.edge;
        task.wide_end = wide_end;
        task.parts[0] = parts[static_cast<std::size_t>(i * count + j)];
        if (task.rows + task.columns > 2)
          task.parts[1] = parts[static_cast<std::size_t>((i + task.rows - 1) * count + j + task.columns - 1)];
        const int step = std::min({i, j, pivots});
        // a tile starts before its turn by the time it needs for the products before that; next to the
        // diagonal it is wanted first
        const double within = i == j ? 0 : std::abs(i - j) == 1 ? FrontTimes::step / 4 : FrontTimes::step / 3;
        add(task, step == pivots
                      ? end
                      : end + (pivots - step) * FrontTimes::step - within + step * FrontTimes::product);
      }
    }
    flags += static_cast<Offset>(count) * count;
    pivot_tiles += pivots;
  }

  /// By rows of tiles.
  std::vector<FrontTaskPart<Offset>> parts_of_tiles(Ordinal f, Offset targets) const {
    const FrontTiles tiles = tiles_of(f);
    std::vector<FrontTaskPart<Offset>> parts(lists.tile_targets.size());
    Offset entries = front(f).entries;
    for (int i = 0, t = 0; i < tiles.count(); ++i) {
      for (int j = 0; j < tiles.count(); ++j, ++t) {
        auto& part = parts[static_cast<std::size_t>(t)];
        part.targets = targets;
        part.targets_end = targets += lists.tile_targets[static_cast<std::size_t>(t)];
        part.entries = entries;
        while (entries < front(f).entries_end && in_tile(tiles, entries, i, j)) ++entries;
        part.entries_end = entries;
      }
    }
    return parts;
  }

  bool in_tile(const FrontTiles& tiles, Offset entry, int i, int j) const {
    const FrontPlace place = m_plan.host_entry_place[static_cast<std::size_t>(entry)];
    return tiles.of(place.row) == i && tiles.of(place.column) == j;
  }

  void add(const Task& task, double priority) {
    m_tasks.push_back(task);
    m_priority.push_back(priority);
  }

  const Plan& m_plan;
  const std::vector<Ordinal>& m_children;
  const std::vector<int>& m_places;
  const NarrowChildren<Offset> m_is_narrow;
  std::vector<char> m_small;
  std::vector<double> m_start;  ///< [count] time from a front's first task to the end of its root
  std::vector<Task> m_tasks;
  std::vector<double> m_priority;
};

/// Children by parents, and the cuts of those whose parents are tiled.
template <class Ordinal, class Offset>
void list_child_refs(const FrontPlan<Ordinal, Offset, Kokkos::CudaSpace>& plan,
                     const std::vector<Ordinal>& children, const std::vector<int>& places,
                     std::vector<ChildRef<Offset>>& refs, std::vector<int>& cuts) {
  refs.reserve(children.size());
  for (const Ordinal c : children) {
    const auto& child = plan.host_fronts[static_cast<std::size_t>(c)];
    const auto& parent = plan.host_fronts[static_cast<std::size_t>(child.parent)];
    refs.push_back(
        {child.corner, child.rows, static_cast<Offset>(cuts.size()), child.below, static_cast<int>(c)});
    if (parent.size() <= plan.options.most_whole) continue;
    const FrontTiles tiles(parent.pivots, parent.below, plan.options.tile);
    const int* const place = places.data() + child.rows;
    for (int t = 0; t < tiles.count(); ++t)
      cuts.push_back(static_cast<int>(std::lower_bound(place, place + child.below, tiles.begin(t)) - place));
    cuts.push_back(child.below);
  }
}

/// Launches on CUDA: one over the fronts of small subtrees, one over all other fronts and tiles of fronts.
template <class Scalar, class Ordinal, class Offset>
struct FrontSchedule<Scalar, Ordinal, Offset, Kokkos::Cuda> {
  using Memory = Kokkos::CudaSpace;
  using Plan = FrontPlan<Ordinal, Offset, Memory>;
  using Data = FrontLuData<Scalar, Ordinal, Offset>;

  FrontSchedule(const Kokkos::Cuda& exec, const Plan& plan, Charge& charge) {
    std::vector<ChildRef<Offset>> refs;
    std::vector<int> cuts;
    const auto to_host = [](const auto& view) {
      const auto mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
      return std::vector<typename std::decay_t<decltype(view)>::non_const_value_type>(
          mirror.data(), mirror.data() + mirror.extent(0));
    };
    auto children = to_host(plan.children);
    const NarrowChildren<Offset> is_narrow(plan.host_fronts);
    for (const auto& front : plan.host_fronts) {
      std::stable_partition(
          children.begin() + static_cast<std::ptrdiff_t>(front.children),
          children.begin() + static_cast<std::ptrdiff_t>(front.children_end),
          [&](Ordinal c) { return !is_narrow(plan.host_fronts[static_cast<std::size_t>(c)]); });
    }
    const auto places = to_host(plan.places);
    const FrontTaskOrder<Ordinal, Offset> order(plan, children, places);
    list_child_refs(plan, children, places, refs, cuts);
    m_target_first = upload(exec, charge, "lutra::numeric::target_first", order.lists.first);
    m_target_place = upload(exec, charge, "lutra::numeric::target_place", order.lists.place);
    m_target_source = upload(exec, charge, "lutra::numeric::target_source", order.lists.source);
    m_lists = upload(
        exec, charge, "lutra::numeric::gather_lists",
        std::vector<GatherLists>{{m_target_first.data(), m_target_place.data(), m_target_source.data()}});
    m_small = upload(exec, charge, "lutra::numeric::small_fronts", order.small_tasks);
    m_tasks = upload(exec, charge, "lutra::numeric::front_tasks", order.tasks);
    m_children = upload(exec, charge, "lutra::numeric::child_refs", refs);
    m_cuts = upload(exec, charge, "lutra::numeric::child_cuts", cuts);
    const auto flags = [&](const char* label, std::size_t length) {
      auto view = charge.template allocate<Kokkos::View<int*, Memory>>(exec, label, length);
      Kokkos::deep_copy(exec, view, 0);
      return view;
    };
    m_done = flags("lutra::numeric::front_flags", static_cast<std::size_t>(plan.count));
    m_tile_done = flags("lutra::numeric::tile_flags", static_cast<std::size_t>(order.flags));
    m_arrived = flags("lutra::numeric::arrived_tiles", static_cast<std::size_t>(plan.count));
    m_tickets = flags("lutra::numeric::tickets", 2);
    constexpr std::size_t inverse = 2 * static_cast<std::size_t>(front_tile<Scalar>) * front_tile<Scalar>;
    m_inverses = charge.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::numeric::tile_inverses", static_cast<std::size_t>(order.pivot_tiles) * inverse);
    Kokkos::deep_copy(exec, m_inverses, Scalar(0));  // the halves that are never written
    size_launches<false>(exec);
  }

  void run(const Kokkos::Cuda& exec, const Plan&, const Data& data) {
    FrontLaunch<Scalar, Ordinal, Offset> launch;
    launch.data = data;
    launch.children = m_children.data();
    launch.lists = m_lists.data();
    launch.cuts = m_cuts.data();
    launch.done = m_done.data();
    launch.tile_done = m_tile_done.data();
    launch.arrived = m_arrived.data();
    launch.inverses = m_inverses.data();
    launch.watchdog_seconds = m_watchdog_seconds;
    launch.run = m_run = m_run < std::numeric_limits<int>::max() ? m_run + 1 : 1;
    const auto stream = exec.cuda_stream();
    check_cuda(cudaMemsetAsync(m_tickets.data(), 0, 2 * sizeof(int), stream), "starting a factorization");
    if (data.pivot_threshold > 0) {
      run_launches<true>(exec, launch);
    } else {
      run_launches<false>(exec, launch);
    }
    m_has_inverses = true;
  }

  /// Of the diagonal tiles of all tiled fronts in postorder: of L by columns, then of U by rows. Null where
  /// other kernels have factorized last.
  const Scalar* inverses() const { return m_has_inverses ? m_inverses.data() : nullptr; }
  void forget_inverses() { m_has_inverses = false; }
  /// Most that one front waits before the factorization is given up.
  void set_watchdog(double seconds) { m_watchdog_seconds = seconds; }

 private:
  static constexpr std::size_t small_bytes() {
    return small_front_warps * small_front_words<Scalar> * sizeof(Scalar);
  }
  static constexpr std::size_t task_bytes() {
    constexpr std::size_t edge = 16 * most_register_parts<Scalar>;
    return std::max(sizeof(TileMemory<Scalar>), edge * (edge + 1) * sizeof(Scalar));
  }

  template <bool interchanges>
  void run_launches(const Kokkos::Cuda& exec, const FrontLaunch<Scalar, Ordinal, Offset>& launch) {
    if (m_sizes[interchanges].small < 0) size_launches<interchanges>(exec);
    const LaunchSizes blocks = m_sizes[interchanges];
    const auto stream = exec.cuda_stream();
    if (blocks.small > 0) {
      small_fronts_kernel<interchanges><<<blocks.small, small_front_warps * 32, small_bytes(), stream>>>(
          launch, m_small.data(), static_cast<int>(m_small.extent(0)), m_tickets.data());
      check_cuda(cudaGetLastError(), "launching small fronts");
    }
    if (blocks.tasks > 0) {
      front_tasks_kernel<interchanges><<<blocks.tasks, front_threads, task_bytes(), stream>>>(
          launch, m_tasks.data(), static_cast<int>(m_tasks.extent(0)), m_tickets.data() + 1);
      check_cuda(cudaGetLastError(), "launching fronts");
    }
  }

  /// As many blocks as run at once, no more than there is work for.
  template <class Kernel>
  int blocks(const Kokkos::Cuda& exec, Kernel kernel, int threads, std::size_t bytes, std::size_t work) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
    int per_processor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, bytes),
               "asking how many blocks run at once");
    const auto most = static_cast<std::size_t>(std::max(1, per_processor)) *
                      static_cast<std::size_t>(exec.cuda_device_prop().multiProcessorCount);
    return static_cast<int>(std::min(most, work));
  }

  /// Blocks of the two launches; −1 until they are known.
  struct LaunchSizes {
    int small = -1, tasks = -1;
  };

  template <bool interchanges>
  void size_launches(const Kokkos::Cuda& exec) {
    m_sizes[interchanges] = {
        blocks(exec, small_fronts_kernel<interchanges, Scalar, Ordinal, Offset>, small_front_warps * 32,
               small_bytes(), (m_small.extent(0) + small_front_warps - 1) / small_front_warps),
        blocks(exec, front_tasks_kernel<interchanges, Scalar, Ordinal, Offset>, front_threads, task_bytes(),
               m_tasks.extent(0))};
  }

  Kokkos::View<const SmallTask<Ordinal, Offset>*, Memory> m_small;
  Kokkos::View<const std::uint32_t*, Memory> m_target_first, m_target_source;
  Kokkos::View<const unsigned short*, Memory> m_target_place;
  Kokkos::View<const GatherLists*, Memory> m_lists;
  Kokkos::View<const FrontTask<Ordinal, Offset>*, Memory> m_tasks;
  Kokkos::View<const ChildRef<Offset>*, Memory> m_children;
  Kokkos::View<const int*, Memory> m_cuts;
  Kokkos::View<int*, Memory> m_done, m_tile_done, m_arrived, m_tickets;
  Kokkos::View<Scalar*, Memory> m_inverses;
  LaunchSizes m_sizes[2];  ///< without and with interchanges
  double m_watchdog_seconds = front_watchdog_seconds;
  int m_run = 0;
  bool m_has_inverses = false;
};

}  // namespace lutra::Impl

#endif

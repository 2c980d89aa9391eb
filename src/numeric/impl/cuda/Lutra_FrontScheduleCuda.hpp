// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULECUDA_HPP
#define LUTRA_FRONTSCHEDULECUDA_HPP

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_FrontTaskOrderCuda.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar>
struct FrontCutting<Scalar, Kokkos::Cuda> {
  static FrontPlanOptions options() { return {front_tile<Scalar>, 16 * max_register_parts<Scalar>}; }
};

/// Children by parents, and the cuts of those whose parents are tiled.
template <class Ordinal, class Offset>
void list_child_refs(const FrontTaskOrder<Ordinal, Offset>& order, const FrontPlanOptions& options,
                     const std::vector<int>& places, std::vector<ChildRef<Offset>>& refs,
                     std::vector<int>& cuts) {
  refs.reserve(order.children().size());
  for (const Ordinal c : order.children()) {
    const auto& child = order.fronts[static_cast<std::size_t>(c)];
    const auto& parent = order.fronts[static_cast<std::size_t>(child.parent)];
    const int passed = order.contributions[static_cast<std::size_t>(c)].passed;
    refs.push_back({child.contribution - passed - static_cast<Offset>(passed) * (child.below - passed),
                    child.rows, static_cast<Offset>(cuts.size()), child.below, passed, static_cast<int>(c)});
    if (parent.size() <= options.max_whole) continue;
    const FrontTiles tiles(parent.pivots, parent.below, options.tile);
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

  FrontSchedule(const Kokkos::Cuda& exec, const Plan& plan, const MemoryBudget& budget,
                MemoryReservation& reservation) {
    std::vector<ChildRef<Offset>> refs;
    std::vector<int> cuts;
    const auto to_host = [](const auto& view) {
      const auto mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
      return std::vector<typename std::decay_t<decltype(view)>::non_const_value_type>(
          mirror.data(), mirror.data() + mirror.extent(0));
    };
    const auto places = to_host(plan.places);
    FrontTaskOrder<Ordinal, Offset> order(plan, to_host(plan.children), places, teams(exec));
    order.list_children();
    m_contributions = order.contributions;
    list_child_refs(order, plan.options, places, refs, cuts);
    m_target_place = upload(exec, reservation, "lutra::numeric::target_place", order.lists.place);
    m_target_source = upload(exec, reservation, "lutra::numeric::target_source", order.lists.source);
    m_lists = upload(exec, reservation, "lutra::numeric::gather_lists",
                     std::vector<GatherLists>{{m_target_place.data(), m_target_source.data()}});
    m_small = upload(exec, reservation, "lutra::numeric::small_fronts", order.small_tasks);
    m_tasks = put_in_order(exec, budget, reservation, order);
    m_contributions = upload(exec, reservation, "lutra::numeric::contributions", order.contributions);
    m_children = upload(exec, reservation, "lutra::numeric::child_refs", refs);
    m_cuts = upload(exec, reservation, "lutra::numeric::child_cuts", cuts);
    const auto flags = [&](const char* label, std::size_t length) {
      auto view = reservation.template allocate<Kokkos::View<int*, Memory>>(exec, label, length);
      Kokkos::deep_copy(exec, view, 0);
      return view;
    };
    m_done = flags("lutra::numeric::front_flags", static_cast<std::size_t>(plan.count));
    m_tile_done = flags("lutra::numeric::tile_flags", static_cast<std::size_t>(order.flags));
    m_arrived = flags("lutra::numeric::arrived_tiles", static_cast<std::size_t>(plan.count));
    m_chunks = order.order().size() / tasks_a_chunk;
    m_tickets = flags("lutra::numeric::tickets", 3 + m_chunks + multiprocessors(exec));
    m_inverses = order.inverses;
    m_inverse_blocks = order.inverse_blocks;
    m_links = reservation.template allocate<Kokkos::View<Scalar*, Memory>>(exec, "lutra::numeric::tile_links",
                                                                           order.links);
    size_launches<false>(exec);
  }

  /// Tasks in their order, in device memory.
  static Kokkos::View<const FrontTask<Ordinal, Offset>*, Memory> put_in_order(
      const Kokkos::Cuda& exec, const MemoryBudget& budget, MemoryReservation& reservation,
      const FrontTaskOrder<Ordinal, Offset>& order) {
    MemoryReservation scratch(budget);
    const auto result = reservation.template allocate<Kokkos::View<FrontTask<Ordinal, Offset>*, Memory>>(
        exec, "lutra::numeric::front_tasks", order.order().size());
    const auto by_front = upload(exec, scratch, "lutra::numeric::tasks_by_fronts", order.tasks());
    const auto source = upload(exec, scratch, "lutra::numeric::task_order", order.order());
    Kokkos::parallel_for(
        "lutra::numeric::order_tasks",
        Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<std::int64_t>(order.order().size())),
        KOKKOS_LAMBDA(const std::int64_t t) { result(t) = by_front(source(t)); });
    exec.fence("lutra::numeric: tasks are in order");
    return result;
  }

  /// What it would take, without anything on the device.
  static FrontSizes sizes(const Kokkos::Cuda& exec, const FrontOutline<Ordinal, Offset, Memory>& outline) {
    const FrontTaskOrder<Ordinal, Offset> order(outline.plan, outline.children, outline.places, teams(exec));
    return {outline.plan.panels, order.contributions, 2 * static_cast<std::int64_t>(order.inverses)};
  }

  void run(const Kokkos::Cuda& exec, const Plan&, const Data& data) {
    FrontLaunch<Scalar, Ordinal, Offset> launch;
    launch.data = data;
    launch.data.contributions = data.panels;  // contributions may stand in panels of fronts to come
    launch.children = m_children.data();
    launch.contributions = m_contributions.data();
    launch.lists = m_lists.data();
    launch.cuts = m_cuts.data();
    launch.done = m_done.data();
    launch.tile_done = m_tile_done.data();
    launch.arrived = m_arrived.data();
    launch.lower_inverses = data.inverses + lower_inverses();
    launch.links = m_links.data();
    launch.watchdog_seconds = m_watchdog_seconds;
    launch.run = m_run = m_run < std::numeric_limits<int>::max() ? m_run + 1 : 1;
    const auto stream = exec.cuda_stream();
    launch.progress = {m_tickets.data() + 2, m_tickets.data() + 3};
    launch.walkers = m_tickets.data() + 3 + m_chunks;
    launch.multiprocessors = static_cast<int>(multiprocessors(exec));
    check_cuda(cudaMemsetAsync(m_tickets.data(), 0, m_tickets.extent(0) * sizeof(int), stream),
               "starting a factorization");
    if (data.pivot_threshold > 0) {
      run_launches<true>(exec, launch);
    } else {
      run_launches<false>(exec, launch);
    }
    m_has_inverses = true;
    m_scratch_user = nullptr;
  }

  /// Numbers contributions take behind the panels.
  Offset contributions(const Plan&) const { return m_contributions; }

  /// Numbers of the inverses of the diagonal tiles of all tiled fronts in postorder: all of U by rows, then
  /// all of L by columns, each an `InverseTile`.
  std::size_t inverse_numbers(bool interchanges) const {
    constexpr auto whole_block = static_cast<std::size_t>(InverseTile::block) * front_tile<Scalar>;
    return lower_inverses() +
           (interchanges ? static_cast<std::size_t>(m_inverse_blocks) * whole_block : lower_inverses());
  }
  /// Where those of L begin.
  std::size_t lower_inverses() const { return static_cast<std::size_t>(m_inverses); }
  /// False where other kernels have factorized last.
  bool has_inverses() const { return m_has_inverses; }
  /// Tells that other kernels have factorized.
  void forget_inverses() {
    m_has_inverses = false;
    m_scratch_user = nullptr;
  }
  /// Notes who uses the scratch memory of the factors between factorizations. @returns whether nobody else
  /// has used it since they did
  bool claim_scratch(const void* user) {
    const bool untouched = m_scratch_user == user;
    m_scratch_user = user;
    return untouched;
  }
  /// Most that one front waits before the factorization is given up.
  void set_watchdog(double seconds) { m_watchdog_seconds = seconds; }

 private:
  static constexpr std::size_t small_bytes() {
    return small_front_warps * small_front_words<Scalar> * sizeof(Scalar);
  }
  static constexpr std::size_t task_bytes() {
    constexpr std::size_t edge = 16 * max_register_parts<Scalar>;
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

  static std::size_t multiprocessors(const Kokkos::Cuda& exec) {
    return static_cast<std::size_t>(exec.cuda_device_prop().multiProcessorCount);
  }

  /// As many blocks as run at once, no more than there is work for.
  template <class Kernel>
  static int blocks(const Kokkos::Cuda& exec, Kernel kernel, int threads, std::size_t bytes,
                    std::size_t work) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
    int per_processor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, bytes),
               "asking how many blocks run at once");
    const auto most = static_cast<std::size_t>(std::max(1, per_processor)) * multiprocessors(exec);
    return static_cast<int>(std::min(most, work));
  }

  /// Blocks that work tasks at once.
  static int teams(const Kokkos::Cuda& exec) {
    return blocks(exec, front_tasks_kernel<false, Scalar, Ordinal, Offset>, front_threads, task_bytes(),
                  std::numeric_limits<std::size_t>::max());
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
  Kokkos::View<const std::uint32_t*, Memory> m_target_source;
  Kokkos::View<const unsigned short*, Memory> m_target_place;
  Kokkos::View<const GatherLists*, Memory> m_lists;
  Kokkos::View<const FrontTask<Ordinal, Offset>*, Memory> m_tasks;
  Kokkos::View<const ChildRef<Offset>*, Memory> m_children;
  Kokkos::View<const Contribution<Offset>*, Memory> m_contributions;
  Kokkos::View<const int*, Memory> m_cuts;
  Kokkos::View<int*, Memory> m_done, m_tile_done, m_arrived;
  Kokkos::View<int*, Memory> m_tickets;  ///< of the two launches, chunks known to be complete, tasks of each,
                                         ///< walkers of multiprocessors
  std::size_t m_chunks = 0;
  LaunchSizes m_sizes[2];  ///< without and with interchanges
  double m_watchdog_seconds = front_watchdog_seconds;
  Offset m_contributions = 0;
  Offset m_inverses = 0;     ///< numbers of inverses of one triangle, without interchanges
  int m_inverse_blocks = 0;  ///< blocks of their lines
  int m_run = 0;
  const void* m_scratch_user = nullptr;
  bool m_has_inverses = false;
  Kokkos::View<Scalar*, Memory> m_links;  ///< tiles on their way to diagonal ones
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULECUDA_HPP
#define LUTRA_FRONTSCHEDULECUDA_HPP

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_EarlySumsCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"
#include "Lutra_SmallChildLists.hpp"
#include "Lutra_SmallFrontsCuda.hpp"
#include "Lutra_TileFrontsCuda.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar>
struct FrontCutting<Scalar, Kokkos::Cuda> {
  static FrontPlanOptions options() { return {front_tile<Scalar>, 16 * max_register_parts<Scalar>}; }
};

/// Launches on CUDA: one for the fronts of small subtrees, one for early sums if there are any, and one for
/// all other fronts and tiles of fronts.
template <class Scalar>
struct FrontSchedule<Scalar, Kokkos::Cuda> {
  using Memory = Kokkos::CudaSpace;
  using Plan = LuPlan<Memory>;
  using Data = FrontLuData<Scalar>;
  using State = FrontRunState<Scalar, Kokkos::Cuda>;
  using List = FrontTaskList;
  using Placement = FrontTaskPlacement;
  using Chunk = SmallChildLists::Chunk;

  FrontSchedule(const Kokkos::Cuda& exec, const Plan& plan, const MemoryBudget& budget,
                const NumericDeviceModel& model, const std::optional<Symmetry>& symmetry)
      : m_symmetry(symmetry), m_reservation(budget) {
    const auto mirror = mirror_in<Kokkos::HostSpace>(plan.relative);
    const std::span<const int> relative(mirror.data(), mirror.extent(0));
    const auto& layout = plan.layout;
    FrontTaskOptions options = task_options(exec, plan.options, model);
    options.symmetric = symmetry.has_value();
    List list(layout.fronts, options);
    const Placement placement(list, layout.children, relative, plan.panel_layout);
    const SmallChildLists children(list, placement.contributions, layout.children, relative,
                                   layout.tile_entries, plan.panel_layout.entries() + placement.extra);
    m_contribution_entries = placement.extra + children.n_sums;
    m_first_sum = plan.panel_layout.entries() + placement.extra;
    m_sum_end =
        upload_parts(exec, m_reservation, "lutra::numeric::sum_ends", children.parts(&Chunk::sum_end));
    m_sum_source =
        upload_parts(exec, m_reservation, "lutra::numeric::sum_sources", children.parts(&Chunk::sum_source));
    n_fronts = layout.fronts.size();
    n_flags = static_cast<std::size_t>(list.flags);
    n_chunks = list.order.size() / tasks_a_chunk;
    n_links = static_cast<std::size_t>(list.links);
    n_multiprocessors = multiprocessors(exec);
    m_inverses = list.inverses;
    m_inverse_blocks = list.inverse_blocks;
    m_target_position = upload_parts(exec, m_reservation, "lutra::numeric::target_position",
                                     children.parts(&Chunk::position));
    m_target_source =
        upload_parts(exec, m_reservation, "lutra::numeric::target_source", children.parts(&Chunk::source));
    m_lists = upload(exec, m_reservation, "lutra::numeric::gather_lists",
                     std::vector<SmallChildArrays>{{m_target_position.data(), m_target_source.data()}});
    m_small = upload(exec, m_reservation, "lutra::numeric::small_fronts", list.small_tasks);
    m_tasks = put_in_order(exec, budget, list);
    m_contributions = upload(exec, m_reservation, "lutra::numeric::contributions", placement.contributions);
    std::vector<Ordinal> given_fronts;
    for (std::size_t f = 0; f < n_fronts; ++f)
      if (layout.fronts[f].pivots == 0) given_fronts.push_back(static_cast<Ordinal>(f));
    given = upload(exec, m_reservation, "lutra::numeric::given_fronts", given_fronts);
    m_children =
        upload_parts(exec, m_reservation, "lutra::numeric::child_refs", children.parts(&Chunk::refs));
    m_cuts = upload_parts(exec, m_reservation, "lutra::numeric::child_cuts", children.parts(&Chunk::cuts));
  }

  /// Sizes of a schedule, computed without device allocations.
  static FrontSizes sizes(const Kokkos::Cuda& exec, const AssemblyTree& tree, const FrontLayout& layout,
                          const NumericDeviceModel& model) {
    List list(layout.fronts, task_options(exec, FrontCutting<Scalar, Kokkos::Cuda>::options(), model));
    const auto relative = relative_indices(layout, tree);
    const LuFrontLayout panels(layout.fronts);
    const Placement placement(list, layout.children, relative, panels);
    return {panels.entries(), placement.extra, 2 * static_cast<std::int64_t>(list.inverses)};
  }

  void run(const Kokkos::Cuda& exec, const Plan& plan, const Data& data, State& state) const {
    if (data.complement != nullptr) return run_portable(exec, plan, data, state);
    FrontLaunch<Scalar> launch;
    launch.data = data;
    launch.data.contributions = data.panels;  // contributions may lie in panels of later fronts
    launch.children = m_children.data();
    launch.contributions = m_contributions.data();
    launch.lists = m_lists.data();
    launch.cuts = m_cuts.data();
    launch.upper_inverses = state.inverses.data();
    const bool interchanges = data.pivot_threshold > 0;
    state.lower_inverses = inverses_of_upper(interchanges && m_symmetry);
    launch.lower_inverses = launch.upper_inverses + state.lower_inverses;
    launch.hermitian = m_symmetry == Symmetry::hermitian;
    state.begin(exec, launch, given);
    if (m_symmetry && interchanges) {
      run_launches<true, true>(exec, launch, state);
    } else if (m_symmetry) {
      run_launches<false, true>(exec, launch, state);
    } else if (interchanges) {
      run_launches<true, false>(exec, launch, state);
    } else {
      run_launches<false, false>(exec, launch, state);
    }
  }

  /// Runs the portable kernels, with contributions where the plan places them.
  void run_portable(const Kokkos::Cuda& exec, const Plan& plan, Data data, State& state) const {
    state.forget_inverses();
    MemoryReservation room{MemoryBudget()};
    Kokkos::View<Scalar*, Memory> contributions;  // alive until the fence
    if (m_contribution_entries < plan.contributions) {
      contributions = room.allocate<Kokkos::View<Scalar*, Memory>>(
          exec, "lutra::numeric::portable_contributions", plan.contributions);
      data.contributions = contributions.data();
    }
    work_by_levels<Scalar>(exec, plan, LuWorker<Scalar>{data});
    if (room.bytes() > 0) exec.fence("lutra::numeric: contributions are no longer needed");
  }
  /// Rows are interchanged among the pivots of a tile.
  static int interchanged_pivots(const Plan& plan) { return plan.options.tile; }

  /// Contribution entries after the panels.
  Offset contributions(const Plan&) const { return m_contribution_entries; }
  /// Start of a root's or a given contribution, relative to the first entry of the panels.
  Offset contribution_begin(const Plan&, Ordinal f) const {
    const auto found =
        make_uncounted<Kokkos::View<Contribution, Kokkos::HostSpace>>("lutra::numeric::contribution");
    Kokkos::deep_copy(found, Kokkos::subview(m_contributions, static_cast<std::size_t>(f)));
    return found().contribution;
  }

  /// Entries of the inverses of the diagonal tiles of all tiled fronts in postorder: all of U by rows, then
  /// all of L by columns, each an `InverseTile`.
  /// @param symmetric whether interchanges are
  std::size_t inverse_entries(bool interchanges, bool symmetric) const {
    return inverses_of_upper(symmetric) + inverses_of_upper(interchanges);
  }
  /// Entries of the inverses of U, which those of L follow.
  /// @param whole whether all positions are stored
  std::size_t inverses_of_upper(bool whole) const {
    constexpr auto whole_block = static_cast<std::size_t>(InverseTile::block) * front_tile<Scalar>;
    return whole ? static_cast<std::size_t>(m_inverse_blocks) * whole_block
                 : static_cast<std::size_t>(m_inverses);
  }

  static std::size_t multiprocessors(const Kokkos::Cuda& exec) {
    return static_cast<std::size_t>(exec.cuda_device_prop().multiProcessorCount);
  }

  // sizes for the run state
  std::size_t n_fronts = 0, n_flags = 0, n_chunks = 0, n_links = 0, n_multiprocessors = 0;
  Kokkos::View<const Ordinal*, Memory> given;  ///< fronts with given contributions

  /// Tasks in execution order, in device memory; public because CUDA's extended lambdas require it.
  Kokkos::View<const FrontTask*, Memory> put_in_order(const Kokkos::Cuda& exec, const MemoryBudget& budget,
                                                      const List& list) {
    MemoryReservation scratch(budget);
    const auto result = m_reservation.template allocate<Kokkos::View<FrontTask*, Memory>>(
        exec, "lutra::numeric::front_tasks", list.order.size());
    const auto by_front = upload(exec, scratch, "lutra::numeric::tasks_by_fronts", list.tasks);
    const auto source = upload(exec, scratch, "lutra::numeric::task_order", list.order);
    Kokkos::parallel_for(
        "lutra::numeric::order_tasks",
        Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<std::int64_t>(list.order.size())),
        KOKKOS_LAMBDA(const std::int64_t t) { result(t) = by_front(source(t)); });
    exec.fence("lutra::numeric: tasks are in order");
    return result;
  }

 private:
  static FrontTaskOptions task_options(const Kokkos::Cuda& exec, const FrontPlanOptions& cut,
                                       const NumericDeviceModel& model) {
    const int at_once = blocks(exec, front_tasks_kernel<false, false, Scalar>, front_threads, task_bytes(),
                               std::numeric_limits<std::size_t>::max());
    return {cut, small_front_size, at_once, model.tasks};
  }

  static constexpr std::size_t small_bytes() {
    return small_front_warps * small_front_words<Scalar> * sizeof(Scalar);
  }
  static constexpr std::size_t task_bytes() {
    constexpr std::size_t edge = 16 * max_register_parts<Scalar>;
    return std::max(sizeof(TileMemory<Scalar>), edge * (edge + 1) * sizeof(Scalar));
  }

  template <bool interchanges, bool symmetric>
  void run_launches(const Kokkos::Cuda& exec, const FrontLaunch<Scalar>& launch, State& state) const {
    auto& grid = state.grids[interchanges];
    if (grid.small < 0) grid = grids<interchanges, symmetric>(exec);
    const auto stream = exec.cuda_stream();
    if (grid.small > 0) {
      small_fronts_kernel<interchanges, interchanges && symmetric>
          <<<grid.small, small_front_warps * 32, small_bytes(), stream>>>(
              launch, m_small.data(), static_cast<int>(m_small.extent(0)), state.tickets.data());
      check_cuda(cudaGetLastError(), "launching small fronts");
    }
    if (const auto sums = static_cast<unsigned>(m_sum_end.extent(0)); sums > 0) {
      early_sums_kernel<<<(sums + early_sum_warps - 1) / early_sum_warps, early_sum_warps * 32, 0, stream>>>(
          launch.data.contributions, m_sum_end.data(), m_sum_source.data(), sums,
          launch.data.contributions + m_first_sum);
      check_cuda(cudaGetLastError(), "launching early sums");
    }
    if (grid.tasks > 0) {
      front_tasks_kernel<interchanges, symmetric><<<grid.tasks, front_threads, task_bytes(), stream>>>(
          launch, m_tasks.data(), static_cast<int>(m_tasks.extent(0)), state.tickets.data() + 1);
      check_cuda(cudaGetLastError(), "launching fronts");
    }
  }

  /// Number of resident blocks, at most the amount of work.
  template <class Kernel>
  static int blocks(const Kokkos::Cuda& exec, Kernel kernel, int threads, std::size_t bytes,
                    std::size_t work) {
    const auto most = static_cast<std::size_t>(resident_blocks(exec, kernel, threads, bytes));
    return static_cast<int>(std::min(std::max(most, multiprocessors(exec)), work));
  }

  template <bool interchanges, bool symmetric>
  typename State::Grids grids(const Kokkos::Cuda& exec) const {
    return {blocks(exec, small_fronts_kernel < interchanges, interchanges && symmetric, Scalar >,
                   small_front_warps * 32, small_bytes(),
                   (m_small.extent(0) + small_front_warps - 1) / small_front_warps),
            blocks(exec, front_tasks_kernel<interchanges, symmetric, Scalar>, front_threads, task_bytes(),
                   m_tasks.extent(0))};
  }

  std::optional<Symmetry> m_symmetry;  ///< if set, tiles of L represent those of U
  MemoryReservation m_reservation;
  Kokkos::View<const SmallTask*, Memory> m_small;
  Kokkos::View<const std::uint32_t*, Memory> m_target_source;
  Kokkos::View<const unsigned short*, Memory> m_target_position;
  Kokkos::View<const SmallChildArrays*, Memory> m_lists;
  Kokkos::View<const FrontTask*, Memory> m_tasks;
  Kokkos::View<const ChildRef*, Memory> m_children;
  Kokkos::View<const Contribution*, Memory> m_contributions;
  Kokkos::View<const int*, Memory> m_cuts;
  Kokkos::View<const std::uint32_t*, Memory> m_sum_end, m_sum_source;  ///< see SmallChildListMaker
  Offset m_first_sum = 0;  ///< address of the first early sum, relative to the first entry of the panels
  Offset m_contribution_entries = 0;
  Offset m_inverses = 0;     ///< entries of one triangle's inverses, without interchanges
  int m_inverse_blocks = 0;  ///< blocks of lines in the inverses
};

/// Flags, hand-off buffers and the current contents of the factors' memory.
template <class Scalar>
struct FrontRunState<Scalar, Kokkos::Cuda> {
  using Memory = Kokkos::CudaSpace;
  using Flags = Kokkos::View<int*, Memory>;
  /// Grid sizes of the two launches; −1 until they are known.
  struct Grids {
    int small = -1, tasks = -1;
  };

  FrontRunState(const Kokkos::Cuda& exec, const FrontSchedule<Scalar, Kokkos::Cuda>& schedule,
                const MemoryBudget& budget)
      : m_reservation(budget), m_chunks(schedule.n_chunks) {
    const auto flags = [&](const char* label, std::size_t length) {
      auto view = m_reservation.template allocate<Flags>(exec, label, length);
      Kokkos::deep_copy(exec, view, 0);
      return view;
    };
    m_done = flags("lutra::numeric::front_flags", schedule.n_fronts);
    m_tile_done = flags("lutra::numeric::tile_flags", schedule.n_flags);
    m_arrived = flags("lutra::numeric::arrived_tiles", schedule.n_fronts);
    tickets = flags("lutra::numeric::tickets", 3 + m_chunks + schedule.n_multiprocessors);
    m_links = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::numeric::tile_links", schedule.n_links);
  }

  /// Bytes that the constructor allocates for a schedule.
  static std::size_t bytes(const FrontSchedule<Scalar, Kokkos::Cuda>& schedule) {
    const std::size_t flags = 2 * schedule.n_fronts + schedule.n_flags + 3 + schedule.n_chunks;
    return (flags + schedule.n_multiprocessors) * sizeof(int) + schedule.n_links * sizeof(Scalar);
  }

  /// Starts another factorization, which invalidates all earlier flags.
  /// @param given fronts that are complete from the start
  void begin(const Kokkos::Cuda& exec, FrontLaunch<Scalar>& launch,
             const Kokkos::View<const Ordinal*, Memory>& given) {
    launch.done = m_done.data();
    launch.tile_done = m_tile_done.data();
    launch.arrived = m_arrived.data();
    launch.links = m_links.data();
    launch.watchdog = {&launch.data.outcome->stopped_front, watchdog_ticks<Kokkos::Cuda>(m_watchdog_seconds)};
    launch.run = m_run = m_run < std::numeric_limits<int>::max() ? m_run + 1 : 1;
    launch.progress = {tickets.data() + 2, tickets.data() + 3};
    launch.sweeps = tickets.data() + 3 + m_chunks;
    launch.multiprocessors = exec.cuda_device_prop().multiProcessorCount;
    check_cuda(cudaMemsetAsync(tickets.data(), 0, tickets.extent(0) * sizeof(int), exec.cuda_stream()),
               "starting a factorization");
    const Flags done = m_done;
    const int number = m_run;
    if (given.extent(0) > 0)
      Kokkos::parallel_for(
          "lutra::numeric::given_contributions",
          Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<std::int64_t>(given.extent(0))),
          KOKKOS_LAMBDA(const std::int64_t i) { done(given(i)) = number; });
    m_has_inverses = true;
  }

  /// False if other kernels performed the last factorization.
  bool has_inverses() const { return m_has_inverses; }
  /// To be called after a factorization by other kernels.
  void forget_inverses() { m_has_inverses = false; }
  /// Time one front may wait before the factorization is aborted.
  void set_watchdog(double seconds) { m_watchdog_seconds = seconds; }

  Kokkos::View<Scalar*, Memory> inverses;  ///< of diagonal tiles: U's, then L's
  std::size_t lower_inverses = 0;          ///< offset of L's
  Grids grids[2];                          ///< without and with interchanges
  Flags tickets;  ///< task counters of the two launches, chunks known to be complete, completed tasks of
                  ///< each chunk, sweeps per multiprocessor

 private:
  MemoryReservation m_reservation;
  std::size_t m_chunks;
  Flags m_done, m_tile_done, m_arrived;
  Kokkos::View<Scalar*, Memory> m_links;  ///< hand-off buffers of diagonal tiles
  double m_watchdog_seconds = front_watchdog_seconds;
  int m_run = 0;
  bool m_has_inverses = false;
};

template <class Scalar>
FrontInverses<Scalar> inverses_of(const FrontSchedule<Scalar, Kokkos::Cuda>&,
                                  const FrontRunState<Scalar, Kokkos::Cuda>& state) {
  if (!state.has_inverses()) return {};
  return {state.inverses.data(), state.inverses.data() + state.lower_inverses};
}

}  // namespace lutra::Impl

#endif

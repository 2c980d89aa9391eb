// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSWEEPSCUDA_HPP
#define LUTRA_FRONTSWEEPSCUDA_HPP

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_EarlySourcesCuda.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_PortableFrontSweeps.hpp"
#include "Lutra_SmallFrontSolveCuda.hpp"
#include "Lutra_TileFrontSolveCuda.hpp"

namespace lutra::Impl {

/// Copies values of other parts of a tree to a vector of self-flagged values if they are constant, else from
/// it.
template <int Width, class Scalar, class Value>
struct CrossingValues {
  const Offset* rows;
  Value* values;  ///< [rows × n_columns]
  int n_columns, groups;
  std::int64_t length;  ///< of the vector for one group
  Scalar* vector;
  bool resets;

  KOKKOS_FUNCTION void operator()(const std::int64_t r) const {
    for (int g = 0; g < groups; ++g) {
      Scalar* const inside = vector + (g * length + rows[r]) * Width;
      for (int w = 0; w < Width; ++w) {
        const int c = g * Width + w;
        Value* const outside = values + r * n_columns + c;
        if constexpr (std::is_const_v<Value>) {
          inside[w] = c < n_columns ? storable(*outside) : Scalar(0);
        } else if (c < n_columns) {
          *outside = inside[w];
        }
        if (resets) inside[w] = sentinel_value<Scalar>();
      }
    }
  }
};

/// Six launches per solve: up the small fronts, the middle ones and all others, and down in the reverse
/// order. Another one sums the contributions to fronts with many children, if there are any. A launch
/// processes its fronts as data flow; nothing returns to the host.
template <class Scalar>
class FrontSweeps<FrontFactors<Scalar, Kokkos::Cuda>> {
 public:
  using Portable = PortableFrontSweeps<Scalar, Kokkos::Cuda>;
  using Memory = Kokkos::CudaSpace;
  using Plan = typename Portable::Plan;
  using Data = typename Portable::Data;
  using Factors = typename Portable::Factors;
  using System = typename Portable::System;
  using Tasks = FrontSolveTasks;
  using Launch = FrontSweepLaunch<Scalar>;

  /// Data of a plan that sweeps read, with the tasks. No solve changes it.
  struct Lists : FrontSolveLists<Memory> {
    FrontSolverOptions options;
    Kokkos::View<const typename Tasks::WarpTask*, Memory> warp_tasks[Tasks::tiled][2];  ///< up and down
    Kokkos::View<const typename Tasks::Task*, Memory> tile_tasks[2];
    std::int64_t partial_sums = 0;
    Kokkos::View<const std::uint32_t*, Memory> sum_end, sum_source;  ///< see EarlySources
    std::int64_t n_sums() const { return static_cast<std::int64_t>(sum_end.extent(0)); }
  };

  static std::shared_ptr<const Lists> make_lists(const Kokkos::Cuda& exec, const Plan& plan,
                                                 const MemoryBudget& budget,
                                                 const FrontSolverOptions& options) {
    auto lists = std::make_shared<Lists>();
    static_cast<FrontSolveLists<Memory>&>(*lists) = make_front_solve_lists(exec, plan, budget);
    lists->options = options;
    if (options.portable) return lists;
    const auto model = options.device_model.value_or(default_device_model<Kokkos::Cuda>());
    const Tasks tasks(plan.layout.fronts, plan.options, options.interchanges, model.trisolve.fronts);
    sum_early(exec, plan, budget, tasks, *lists);
    for (int c = 0; c < Tasks::tiled; ++c) {
      lists->warp_tasks[c][0] =
          upload(exec, lists->reservation, "lutra::trisolve::tasks_up", tasks.warps_up[c]);
      lists->warp_tasks[c][1] =
          upload(exec, lists->reservation, "lutra::trisolve::tasks_down", tasks.warps_down[c]);
    }
    lists->tile_tasks[0] = upload(exec, lists->reservation, "lutra::trisolve::tiles_up", tasks.tiles_up);
    lists->tile_tasks[1] = upload(exec, lists->reservation, "lutra::trisolve::tiles_down", tasks.tiles_down);
    lists->partial_sums = static_cast<std::int64_t>(tasks.partial_sums);
    return lists;
  }

  FrontSweeps(const Kokkos::Cuda& exec, std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)),
        m_reservation(budget),
        m_watchdog_ticks(watchdog_ticks<Kokkos::Cuda>(m_lists->options.watchdog_seconds)),
        m_vectors(budget) {
    if (m_lists->options.portable) {
      m_portable = std::make_unique<Portable>(exec, m_lists, budget);
      return;
    }
    m_tickets = m_reservation.template allocate<Kokkos::View<int*, Memory>>(exec, "lutra::trisolve::tickets",
                                                                            n_tickets);
    m_stopped =
        m_reservation.template allocate<Kokkos::View<std::int64_t, Memory>>(exec, "lutra::trisolve::stopped");
    Kokkos::deep_copy(exec, m_tickets, 0);
    Kokkos::deep_copy(exec, m_stopped, 0);
  }

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }
  /// Bytes of the vectors of `run`.
  std::size_t predict_bytes(const Plan& plan, bool interchanges, int n_columns) const {
    if (m_portable) return m_portable->predict_bytes(plan, interchanges, n_columns);
    const auto width =
        static_cast<std::size_t>(n_columns == 1 ? 1 : (std::min(n_columns, max_columns) + 3) / 4 * 4);
    const auto sums = static_cast<std::size_t>(m_lists->n_sums() + m_lists->partial_sums);
    return (2 * static_cast<std::size_t>(plan.n) + plan.rows.extent(0) + sums) * width * sizeof(Scalar);
  }

  void run(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, const System& system,
           const LuParts&) {
    const FrontInverses<Scalar> inverses = inverses_of(factors);
    if (m_portable) {
      if (factors.row_of_pivot().data() != nullptr && inverses.upper != nullptr)
        throw InputError("FrontSolver: portable kernels do not read interchanges inside tiles");
      return m_portable->run(exec, plan, factors, system);
    }
    Data data = data_of(plan, factors, system);
    const Triangles triangles = triangles_of(factors);
    launching(exec, [&] {
      for_column_groups(data.in, data.out, data.n_columns, max_columns,
                        [&](const auto& in, const auto& out, int columns) {
                          data.in = in;
                          data.out = out;
                          data.n_columns = columns;
                          if (columns == 1) return solve_group<1>(exec, data, triangles);
                          solve_group<4>(exec, data, triangles);
                        });
    });
  }

  // The halves of a solve, between which the vectors keep what has been computed. Values that cross the
  // boundary of a part are put where their readers wait for them. Sums, which no front reads, are reset: with
  // other widths their places are those of other rows.

  FrontSweeps& halves() { return *this; }
  void reserve_halves(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, int n_columns) {
    if (m_portable) return m_portable->reserve_halves(exec, plan, factors, n_columns);
    Data data;
    data.n = plan.n;
    data.n_contributions = static_cast<std::int64_t>(plan.rows.extent(0)) + m_lists->n_sums();
    reserve(exec, data, n_columns == 1 ? 1 : (n_columns + 3) / 4 * 4);
  }
  void sweep_up(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, const System& system,
                const FrontValues<const Scalar, Memory>& given, const FrontValues<Scalar, Memory>& sums) {
    if (m_portable) return m_portable->sweep_up(exec, plan, factors, system, given, sums);
    launching(exec, [&] {
      system.n_columns == 1 ? half_up<1>(exec, plan, factors, system, given, sums)
                            : half_up<4>(exec, plan, factors, system, given, sums);
    });
  }
  void sweep_down(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, const System& system,
                  const FrontValues<const Scalar, Memory>& solved, const FrontValues<Scalar, Memory>& read) {
    if (m_portable) return m_portable->sweep_down(exec, plan, factors, system, solved, read);
    launching(exec, [&] {
      system.n_columns == 1 ? half_down<1>(exec, plan, factors, system, solved, read)
                            : half_down<4>(exec, plan, factors, system, solved, read);
    });
  }

  std::int64_t consume_timeout(const Kokkos::Cuda& exec, const Plan&) {
    if (*static_cast<const volatile std::int64_t*>(&m_timeout(0).position_plus_one) == 0) return -1;
    exec.fence("lutra::trisolve: the solve that was given up has ended");
    const std::int64_t index = m_timeout(0).position_plus_one - 1;
    m_timeout(0).position_plus_one = 0;
    start_anew(exec);
    return index;
  }

 private:
  /// Calls launch(). Where not all sweeps are launched, vectors keep what the next call's sweeps would take
  /// for theirs: it clears them.
  template <class Launches>
  void launching(const Kokkos::Cuda& exec, const Launches& launch) {
    if (m_is_pending) start_anew(exec);
    m_is_pending = true;
    launch();
    check_launches();
    m_is_pending = false;
  }
  void start_anew(const Kokkos::Cuda& exec) {
    Kokkos::deep_copy(exec, m_tickets, 0);
    Kokkos::deep_copy(exec, m_stopped, 0);
    clear_vectors(exec);
    exec.fence("lutra::trisolve: the vectors hold sentinels again");
  }

  /// Cuts long lists of sources into early sums if a front has many children. Comes before all else is
  /// uploaded.
  static void sum_early(const Kokkos::Cuda& exec, const Plan& plan, const MemoryBudget& budget,
                        const Tasks& tasks, Lists& lists) {
    const auto is_cut = [&](Ordinal f) { return tasks.sums_early(f); };
    bool any = false;
    for (Ordinal f = 0; f < static_cast<Ordinal>(plan.layout.fronts.size()) && !any; ++f) any = is_cut(f);
    if (!any) return;
    const FrontSources all{to_host(exec, lists.source_begin), to_host(exec, lists.source)};
    const EarlySources early = sum_early_sources(plan.layout.fronts, all, plan.rows.extent(0), is_cut,
                                                 [&](Ordinal c) { return tasks.is_small(c); });
    lists.reservation = MemoryReservation(budget);  // without the lists that are replaced
    lists.source_begin =
        upload(exec, lists.reservation, "lutra::trisolve::source_begin", early.sources.begin);
    lists.source = upload(exec, lists.reservation, "lutra::trisolve::sources", early.sources.source);
    lists.sum_end = upload(exec, lists.reservation, "lutra::trisolve::sum_ends", early.sum_end);
    lists.sum_source = upload(exec, lists.reservation, "lutra::trisolve::sum_sources", early.sum_source);
  }

  static constexpr int max_columns = 16;  ///< columns of a sweep; larger: fewer launches, more memory
  static constexpr int n_tickets = 2 * Tasks::classes;  // up and down, by classes of fronts
  static constexpr int edge = front_tile<Scalar>;

  /// What sweeps read of the current factors besides the panels.
  struct Triangles {
    struct {
      const Ordinal* order_of_pivots;
      const Scalar* inverses;
    } lower, upper;
  };

  Data data_of(const Plan& plan, const Factors& factors, const System& system) const {
    Data data = front_solve_data(plan, *m_lists, factors, system);
    data.n_contributions += m_lists->n_sums();
    return data;
  }
  static Triangles triangles_of(const Factors& factors) {
    const FrontInverses<Scalar> inverses = inverses_of(factors);
    return {{factors.row_of_pivot().data(), inverses.lower},
            {factors.column_of_pivot().data(), inverses.upper}};
  }

  template <int Width>
  void solve_group(const Kokkos::Cuda& exec, const Data& data, const Triangles& triangles) {
    Launch launch = launch_for<Width>(exec, data);
    all_up<Width>(exec, triangles, launch);
    all_down<Width>(exec, triangles, launch);
  }

  template <int Width>
  void half_up(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, const System& system,
               const FrontValues<const Scalar, Memory>& given, const FrontValues<Scalar, Memory>& sums) {
    Launch launch = launch_for<Width>(exec, data_of(plan, factors, system));
    cross<Width>(exec, launch, given, launch.data.contributions, launch.data.n_contributions, false);
    all_up<Width>(exec, triangles_of(factors), launch);
    cross<Width>(exec, launch, sums, launch.data.contributions, launch.data.n_contributions, true);
  }
  template <int Width>
  void half_down(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, const System& system,
                 const FrontValues<const Scalar, Memory>& solved, const FrontValues<Scalar, Memory>& read) {
    Launch launch = launch_for<Width>(exec, data_of(plan, factors, system));
    cross<Width>(exec, launch, solved, launch.data.by_index, launch.data.n, false);
    all_down<Width>(exec, triangles_of(factors), launch);
    cross<Width>(exec, launch, read, launch.data.by_index, launch.data.n, false);
  }

  /// Copies values at some rows to a vector, or if they are not constant from it, and may reset its rows.
  template <int Width, class Value>
  static void cross(const Kokkos::Cuda& exec, const Launch& launch, const FrontValues<Value, Memory>& of,
                    Scalar* vector, std::int64_t length, bool resets) {
    if (of.rows.extent(0) == 0) return;
    Kokkos::parallel_for(
        "lutra::trisolve::values of other parts",
        Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(
            exec, 0, static_cast<std::int64_t>(of.rows.extent(0))),
        CrossingValues<Width, Scalar, Value>{of.rows.data(), of.values.data(), launch.data.n_columns,
                                             launch.groups, length, vector, resets});
  }

  template <int Width>
  Launch launch_for(const Kokkos::Cuda& exec, const Data& data) {
    Launch launch;
    launch.groups = (data.n_columns + Width - 1) / Width;
    reserve(exec, data, launch.groups * Width);
    launch.data = data;
    launch.data.solved = m_vectors[0];
    launch.data.by_index = m_vectors[1];
    launch.data.contributions = m_vectors[2];
    launch.partial_sums = m_vectors[3];
    launch.n_parts = m_lists->partial_sums;
    launch.watchdog = {{m_stopped.data(), m_watchdog_ticks}, m_timeout.data()};
    return launch;
  }

  template <int Width>
  void all_up(const Kokkos::Cuda& exec, const Triangles& triangles, Launch& launch) {
    choose_triangle(true, triangles, launch);
    sweep_by_warps<true, Tasks::small, Width>(exec, launch);
    if (m_lists->n_sums() > 0) launch_early_sums<Width>(exec, launch);
    sweep_by_warps<true, Tasks::middle, Width>(exec, launch);
    sweep_tiles<true, Width>(exec, launch);
  }
  template <int Width>
  void all_down(const Kokkos::Cuda& exec, const Triangles& triangles, Launch& launch) {
    choose_triangle(false, triangles, launch);
    sweep_tiles<false, Width>(exec, launch);
    sweep_by_warps<false, Tasks::middle, Width>(exec, launch);
    sweep_by_warps<false, Tasks::small, Width>(exec, launch);
  }

  static void choose_triangle(bool forward, const Triangles& triangles, Launch& launch) {
    launch.data.sweep.forward = forward;
    const auto& triangle = launch.data.sweep.unit() ? triangles.lower : triangles.upper;
    launch.data.order_of_pivots = triangle.order_of_pivots;
    launch.inverses = triangle.inverses;
  }

  template <bool Up, int Class, int Width>
  void sweep_by_warps(const Kokkos::Cuda& exec, const Launch& launch) {
    constexpr int parts = (Class == Tasks::small ? small_solve_size : middle_solve_size) / 32;
    sweep<Up>(exec, launch, Class, m_lists->warp_tasks[Class][Up ? 0 : 1],
              warp_sweep_kernel<Up, parts, Width, Scalar>, {0, small_solve_warps * 32, 0}, small_solve_warps);
  }
  template <int Width>
  void launch_early_sums(const Kokkos::Cuda& exec, const Launch& launch) const {
    const auto sums = static_cast<int>(m_lists->n_sums());
    const int blocks = (sums * launch.groups + early_source_warps - 1) / early_source_warps;
    early_sources_kernel<Width>
        <<<static_cast<unsigned>(blocks), early_source_warps * 32, 0, exec.cuda_stream()>>>(
            launch, m_lists->sum_end.data(), m_lists->sum_source.data(), sums,
            launch.data.n_contributions - m_lists->n_sums());
    check_cuda(cudaGetLastError(), "launching early sums");
  }
  template <bool Up, int Width>
  void sweep_tiles(const Kokkos::Cuda& exec, const Launch& launch) {
    constexpr std::size_t bytes = sizeof(TileSolveMemory<edge, Width, Scalar>);
    sweep<Up>(exec, launch, Tasks::tiled, m_lists->tile_tasks[Up ? 0 : 1],
              tile_sweep_kernel<Up, edge, Width, Scalar>, {0, tile_solve_threads, bytes}, 1);
  }

  /// Launches a sweep through the fronts of a class by as many thread blocks as run concurrently, at most as
  /// many as there is work for.
  template <bool Up, class TaskView, class Kernel>
  void sweep(const Kokkos::Cuda& exec, Launch launch, int front_class, const TaskView& tasks, Kernel kernel,
             const KernelGraphs::Shape& shape, int tasks_a_team) {
    if (tasks.extent(0) == 0) return;
    // the tickets of this launch and of the same fronts' other sweep
    launch.ticket = m_tickets.data() + 2 * front_class + (Up ? 0 : 1);
    launch.next_ticket = m_tickets.data() + 2 * front_class + (Up ? 1 : 0);
    const auto per_team = static_cast<std::size_t>(tasks_a_team);
    const auto wanted = (tasks.extent(0) * static_cast<std::size_t>(launch.groups) + per_team - 1) / per_team;
    const auto at_once = static_cast<std::size_t>(std::max(1, m_kernels.teams_at_once(exec, kernel, shape)));
    kernel<<<static_cast<unsigned>(std::min(wanted, at_once)), shape.threads, shape.shared_bytes,
             exec.cuda_stream()>>>(launch, tasks.data(), static_cast<int>(tasks.extent(0)));
    check_cuda(cudaGetLastError(), "launching a sweep through fronts");
  }

  /// Provides vectors for `width` values per index, all sentinels if they are new.
  void reserve(const Kokkos::Cuda& exec, const Data& data, int width) {
    if (m_vectors.reserve(exec,
                          {{{"lutra::trisolve::solved", data.n},
                            {"lutra::trisolve::solution", data.n},
                            {"lutra::trisolve::contributions", data.n_contributions},
                            {"lutra::trisolve::partial_sums", m_lists->partial_sums}}},
                          width))
      clear_vectors(exec);
  }
  void clear_vectors(const Kokkos::Cuda& exec) const {
    m_vectors.for_each(
        [&](const auto& vector) { Kokkos::deep_copy(exec, vector, sentinel_value<Scalar>()); });
  }

  std::shared_ptr<const Lists> m_lists;
  MemoryReservation m_reservation;
  std::uint64_t m_watchdog_ticks;
  std::unique_ptr<Portable> m_portable;  ///< set if the portable kernels are requested
  Kokkos::View<int*, Memory> m_tickets;
  Kokkos::View<std::int64_t, Memory> m_stopped;  ///< of the watchdog
  TimeoutFlag m_timeout = make_uncounted<TimeoutFlag>("lutra::trisolve::timeout");
  SolveVectors<Scalar, Memory, 4> m_vectors;  ///< see reserve
  bool m_is_pending = false;                  ///< whether sweeps of the last call were not launched
  KernelGraphs m_kernels;                     ///< caches how many blocks of each kernel run concurrently
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVEFLOWCUDA_HPP
#define LUTRA_LDLTSOLVEFLOWCUDA_HPP

#include <algorithm>
#include <utility>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_LdltSolveFlow.hpp"
#include "Lutra_LdltSweeps.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"
#include "Lutra_ShufflesCuda.hpp"
#include "Lutra_SolveVectors.hpp"
#include "Lutra_Upload.hpp"
#include "Lutra_WorkersCuda.hpp"

namespace lutra::Impl {

// Data-flow sweeps with L·D·Lᵀ, two launches each: forward, fronts of small subtrees in warps, then all
// others in blocks; backward in reverse.

inline constexpr int ldlt_solve_threads = 256;  ///< threads of a block that processes other fronts

/// A warp, or a block of `threads` threads.
template <class Worker, int threads>
struct LdltSolveWorkerCuda : Worker {
  static constexpr int size = threads;
  template <class Scalar>
  static constexpr int solve_edge = threads == 32 ? 32 : front_tile<Scalar>;
  template <class Scalar>
  __device__ __forceinline__ Scalar sum_group(const Scalar& value) const {
    return sum_over_lanes(value, 32);
  }
};
using LdltSolveWarpCuda = LdltSolveWorkerCuda<WarpWorkerCuda, 32>;
using LdltSolveBlockCuda = LdltSolveWorkerCuda<BlockWorkerCuda<ldlt_solve_threads>, ldlt_solve_threads>;

inline constexpr int ldlt_solve_warps = 4;  ///< warps of a block that processes small fronts

template <bool Forward, int Width, class Scalar>
__global__ void __launch_bounds__(ldlt_solve_warps * 32)
    ldlt_small_sweep_kernel(LdltSolveLaunch<Width, Scalar> launch) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  constexpr int bytes = sizeof(LdltSolveSpace<LdltSolveWarpCuda, Width, Scalar>);
  unsigned char* const own = shared_memory + static_cast<int>(threadIdx.x) / 32 * bytes;
  sweep_tasks<Forward>(LdltSolveWarpCuda{{{}, own, bytes}}, launch);
}

template <bool Forward, int Width, class Scalar>
__global__ void __launch_bounds__(ldlt_solve_threads, 2)
    ldlt_sweep_kernel(LdltSolveLaunch<Width, Scalar> launch) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ LdltSolveBlockCuda::Exchange exchange;
  constexpr int bytes = sizeof(LdltSolveSpace<LdltSolveBlockCuda, Width, Scalar>);
  sweep_tasks<Forward>(LdltSolveBlockCuda{{{}, shared_memory, bytes, exchange}}, launch);
}

/// Tasks of a plan, besides the lists that all sweeps read.
struct LdltSolveListsCuda : FrontSolveLists<Kokkos::CudaSpace> {
  Kokkos::View<const LdltSolveTask*, Kokkos::CudaSpace> small, large;
  std::uint64_t watchdog_ticks = 0;  ///< longest wait of a front
};

/// Flags and partial sums of sweeps. All flags are initially zero; each sweep raises them to a different
/// number.
template <class Scalar>
class LdltSweepFlow<Scalar, Kokkos::Cuda> {
 public:
  using Memory = Kokkos::CudaSpace;
  using Plan = LdltPlan<Memory>;
  using Lists = LdltSolveListsCuda;
  template <int Width>
  using Launch = LdltSolveLaunch<Width, Scalar>;

  static std::shared_ptr<const Lists> make_lists(const Kokkos::Cuda& exec, const Plan& plan,
                                                 const MemoryBudget& budget,
                                                 const FrontSolverOptions& options) {
    auto lists = std::make_shared<Lists>();
    static_cast<FrontSolveLists<Memory>&>(*lists) = make_front_solve_lists(exec, plan.base, budget);
    lists->watchdog_ticks = watchdog_ticks<Kokkos::Cuda>(options.watchdog_seconds);
    // a gang has at most as many members as there are multiprocessors: so many blocks of every kernel run
    const LdltSolveTasks tasks(plan.base.layout.fronts, edge, exec.cuda_device_prop().multiProcessorCount);
    lists->small = upload(exec, lists->reservation, "lutra::trisolve::ldlt_small_tasks", tasks.small);
    lists->large = upload(exec, lists->reservation, "lutra::trisolve::ldlt_tasks", tasks.large);
    return lists;
  }

  explicit LdltSweepFlow(const MemoryBudget& budget) : m_flags(budget), m_partial_sums(budget) {}

  /// Prepares the first sweep of a solve. A solve ended by the watchdog remains so until it is consumed.
  template <class Factors>
  void begin(const Kokkos::Cuda& exec, const Plan& plan, const Factors& factors, int width) {
    const auto count = static_cast<std::int64_t>(plan.base.count);
    const std::int64_t tiles = factors.room.slots / edge + count + 1;
    m_partial_sums.reserve(
        exec, {{{"lutra::trisolve::ldlt_partial_sums", factors.room.panels / (2 * edge) + 1}}}, width);
    if (m_flags.reserve(exec, {{{"lutra::trisolve::ldlt_flags", words + 3 * count + tiles}}}, 1)) {
      m_n_flags = words + 3 * count + tiles;
      m_is_pending = true;
    }
    if (m_is_pending) clear(exec);
    Kokkos::deep_copy(exec, part(1, words), -1);
  }

  /// The front at which the watchdog has ended a sweep since the last call, or −1. Fences.
  int consume_stop(const Kokkos::Cuda& exec) {
    if (m_flags[0] == nullptr) return -1;
    int front = -1;
    Kokkos::deep_copy(exec, front, Kokkos::View<const int, Memory>(m_flags[0]));
    exec.fence("lutra::trisolve: whether the watchdog has ended a sweep is known");
    if (front >= 0) clear(exec);
    return front;
  }

  template <int Width>
  void sweep(const Kokkos::Cuda& exec, const Plan& plan, const Lists& lists,
             const FrontSolveWorker<Width, LdltSolveData<Scalar>>& worker) {
    if (worker.data.loads && !worker.data.sweep.forward) load(exec, plan, worker);
    Launch<Width> launch;
    launch.worker = worker;
    launch.worker.data.loads = worker.data.loads && worker.data.sweep.forward;
    launch.watchdog = {m_flags[0], lists.watchdog_ticks};
    launch.children = plan.base.children.data();
    launch.done = m_flags[0] + words;
    launch.finished = launch.done + plan.base.count;
    launch.arrived = launch.finished + plan.base.count;
    launch.tiles = launch.arrived + plan.base.count;
    launch.partial_sums = m_partial_sums[0];
    launch.run = ++m_run;
    m_is_pending = true;
    if (worker.data.sweep.forward) {
      work_small<true>(exec, lists, launch);
      work_large<true>(exec, lists, launch);
    } else {
      work_large<false>(exec, lists, launch);
      work_small<false>(exec, lists, launch);
    }
    m_is_pending = false;
  }

 private:
  static constexpr int edge = front_tile<Scalar>;
  static constexpr std::int64_t words = 8;  ///< stop, four tickets

  /// Loads right-hand sides into slots by portable kernels, before a sweep that begins with D or Lᵀ.
  template <int Width>
  static void load(const Kokkos::Cuda& exec, const Plan& plan,
                   FrontSolveWorker<Width, LdltSolveData<Scalar>> worker) {
    worker.data.parts = {false, false, false};
    worker.data.stores = false;
    sweep_all(exec, plan, true, worker);
  }

  template <bool Forward, int Width>
  void work_small(const Kokkos::Cuda& exec, const Lists& lists, Launch<Width> launch) {
    constexpr int bytes =
        ldlt_solve_warps * static_cast<int>(sizeof(LdltSolveSpace<LdltSolveWarpCuda, Width, Scalar>));
    launch.tasks = lists.small.data();
    launch.n_tasks = static_cast<int>(lists.small.extent(0));
    launch.ticket = m_flags[0] + (Forward ? 1 : 4);
    run<Width>(exec, ldlt_small_sweep_kernel<Forward, Width, Scalar>, ldlt_solve_warps * 32, bytes,
               (launch.n_tasks + ldlt_solve_warps - 1) / ldlt_solve_warps, m_resident[0][Forward ? 1 : 0],
               launch);
  }
  template <bool Forward, int Width>
  void work_large(const Kokkos::Cuda& exec, const Lists& lists, Launch<Width> launch) {
    constexpr int bytes = static_cast<int>(sizeof(LdltSolveSpace<LdltSolveBlockCuda, Width, Scalar>));
    launch.tasks = lists.large.data();
    launch.n_tasks = static_cast<int>(lists.large.extent(0));
    launch.ticket = m_flags[0] + (Forward ? 2 : 3);
    run<Width>(exec, ldlt_sweep_kernel<Forward, Width, Scalar>, ldlt_solve_threads, bytes, launch.n_tasks,
               m_resident[1][Forward ? 1 : 0], launch);
  }
  /// Launched cooperatively: all blocks run concurrently, even beside a solve in another stream.
  /// @param resident blocks that run concurrently, for one right-hand side and for four; queried if 0
  template <int Width, class Kernel>
  static void run(const Kokkos::Cuda& exec, Kernel kernel, int threads, int bytes, int wanted,
                  int (&resident)[2], Launch<Width> launch) {
    if (wanted == 0) return;
    int& at_once = resident[Width == 1 ? 0 : 1];
    if (at_once == 0) at_once = resident_blocks(exec, kernel, threads, static_cast<std::size_t>(bytes));
    void* arguments[] = {&launch};
    check_launches();  // its blocks poll what earlier kernels set
    check_cuda(
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), std::min(at_once, wanted), threads,
                                    arguments, static_cast<std::size_t>(bytes), exec.cuda_stream()),
        "launching a sweep with L·D·Lᵀ");
  }

  Kokkos::View<int*, Memory> part(std::int64_t first, std::int64_t last) const {
    return Kokkos::View<int*, Memory>(m_flags[0] + first, static_cast<std::size_t>(last - first));
  }
  void clear(const Kokkos::Cuda& exec) {
    Kokkos::deep_copy(exec, part(0, m_n_flags), 0);
    Kokkos::deep_copy(exec, part(0, words), -1);
    m_run = 0;
    m_is_pending = false;
  }

  SolveVectors<int, Memory, 1> m_flags;  ///< words, flags of fronts, members finished, sums, flags of tiles
  SolveVectors<Scalar, Memory, 1> m_partial_sums;
  std::int64_t m_n_flags = 0;
  int m_resident[2][2][2] = {};
  int m_run = 0;
  bool m_is_pending = false;  ///< whether flags are new, or a sweep was not launched
};

}  // namespace lutra::Impl

#endif

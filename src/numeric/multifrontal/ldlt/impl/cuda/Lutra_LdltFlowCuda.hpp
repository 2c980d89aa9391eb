// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFLOWCUDA_HPP
#define LUTRA_LDLTFLOWCUDA_HPP

#include <algorithm>
#include <optional>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_LdltBlockCuda.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"

namespace lutra::Impl {

// Two launches: fronts of small subtrees by warps, then all others by blocks.

inline constexpr int ldlt_small_warps = 4;  ///< warps per block of the first launch

/// Shared memory of a warp: a front of 32 rows, and one of its columns.
template <class Scalar>
inline constexpr int ldlt_warp_bytes = 32 * (33 * static_cast<int>(sizeof(Scalar)) + 16);
/// Shared memory of a block: a diagonal block and the slabs of a product, or a front.
template <class Scalar>
inline constexpr int ldlt_block_bytes = static_cast<int>(sizeof(LdltDiagonal<Scalar>) +
                                                         ProductSlabs<Scalar, 1>::stages *
                                                             ProductSlabs<Scalar, 1>::words * sizeof(Scalar));

template <class Scalar>
__global__ void __launch_bounds__(ldlt_small_warps * 32) ldlt_small_fronts_kernel(LdltLaunch<Scalar> launch) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  work_small_fronts(
      WarpWorkerCuda{{}, shared_memory + warp * ldlt_warp_bytes<Scalar>, ldlt_warp_bytes<Scalar>}, launch);
}

template <class Scalar>
__global__ void __launch_bounds__(front_threads, 2) ldlt_tasks_kernel(LdltLaunch<Scalar> launch) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ LdltBlockCuda::Exchange exchange;
  work_tasks(LdltBlockCuda{{{}, shared_memory, ldlt_block_bytes<Scalar>, exchange}}, launch);
}

/// Upper bound on the resident blocks of the second kernel, which form gangs.
inline int ldlt_gang_blocks(const Kokkos::Cuda& exec) {
  return 2 * exec.cuda_device_prop().multiProcessorCount;
}

/// @param resident resident blocks of both kernels; queried if −1
/// @returns false, with nothing done, if fewer blocks are resident than a gang has members
template <class Scalar>
bool run_ldlt_flow(const Kokkos::Cuda& exec, const LdltFlowLists<Kokkos::CudaSpace>& lists,
                   const LdltLaunch<Scalar>& launch, int (&resident)[2]) {
  constexpr int small_threads = ldlt_small_warps * 32;
  constexpr int small_bytes = ldlt_small_warps * ldlt_warp_bytes<Scalar>;
  constexpr int bytes = ldlt_block_bytes<Scalar>;
  const auto small_kernel = ldlt_small_fronts_kernel<Scalar>;
  const auto kernel = ldlt_tasks_kernel<Scalar>;
  if (resident[0] < 0) resident[0] = resident_blocks(exec, small_kernel, small_threads, small_bytes);
  if (resident[1] < 0) resident[1] = resident_blocks(exec, kernel, front_threads, bytes);
  if (resident[1] < lists.max_members()) return false;
  const auto stream = exec.cuda_stream();
  if (launch.n_small > 0) {
    const int blocks = std::min(resident[0], (launch.n_small + ldlt_small_warps - 1) / ldlt_small_warps);
    small_kernel<<<blocks, small_threads, small_bytes, stream>>>(launch);
    check_cuda(cudaGetLastError(), "launching small fronts");
  }
  if (launch.n_tasks > 0) {
    kernel<<<std::min(resident[1], launch.n_tasks), front_threads, bytes, stream>>>(launch);
    check_cuda(cudaGetLastError(), "launching fronts");
  }
  return true;
}

/// Fronts as data flow, if the plan has it, else level by level.
template <>
struct LdltSchedule<Kokkos::CudaSpace> {
  using Plan = LdltPlan<Kokkos::CudaSpace>;
  std::optional<LdltFlowLists<Kokkos::CudaSpace>> flow;

  LdltSchedule(const Kokkos::Cuda& exec, const Plan& plan, const MemoryBudget& budget) {
    const int blocks = plan.options.blocks > 0 ? plan.options.blocks : ldlt_gang_blocks(exec);
    if (plan.data_flow) flow.emplace(exec, plan.base, blocks, budget);
  }

  /// A single block assembles the children of a front successively.
  static bool has_data_flow(const std::vector<Front>& fronts, const LdltPlanOptions& options) {
    return std::ranges::all_of(
        fronts, [&](const Front& f) { return f.children_end - f.children <= options.max_children; });
  }
  template <class Scalar>
  void run(const Kokkos::Cuda& exec, const Plan& plan, const LdltData<Scalar>& data,
           LdltFactors<Scalar, Kokkos::Cuda>& factors) const {
    auto& state = *factors.state;
    if (flow) {
      Kokkos::deep_copy(exec, state.flags, 0);
      const auto launch = flow->launch(data, state.flags.data());
      if (run_ldlt_flow(exec, *flow, launch, state.resident_blocks)) return;
    }
    work_by_levels<Scalar>(exec, plan.base, LdltWorker<Scalar>{data});
  }
};

template <class Scalar>
struct LdltRunState<Scalar, Kokkos::Cuda> {
  LdltRunState(const Kokkos::Cuda& exec, const LdltSchedule<Kokkos::CudaSpace>& schedule,
               const MemoryBudget& budget)
      : reservation(budget) {
    if (schedule.flow)
      flags = reservation.template allocate<decltype(flags)>(exec, "lutra::numeric::ldlt_flags",
                                                             schedule.flow->flag_words());
  }
  static std::size_t bytes(const LdltSchedule<Kokkos::CudaSpace>& schedule) {
    return schedule.flow ? schedule.flow->flag_words() * sizeof(std::uint64_t) : 0;
  }
  static Offset workspace(const LdltSchedule<Kokkos::CudaSpace>&,
                          const LdltFrontLayout<Kokkos::CudaSpace>& room) {
    return room.workspace;
  }

  MemoryReservation reservation;
  Kokkos::View<std::uint64_t*, Kokkos::CudaSpace> flags;  ///< of data flow
  int resident_blocks[2] = {-1, -1};                      ///< of the two launches; −1: not queried yet
};

}  // namespace lutra::Impl

#endif

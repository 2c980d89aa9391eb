// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KAHNCUDA_HPP
#define LUTRA_KAHNCUDA_HPP

#include <cooperative_groups.h>

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <numeric>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Kahn.hpp"
#include "Lutra_KahnLaunchCuda.hpp"

namespace lutra::Impl {

// Algorithm 5 of "End-to-End LU Factorization of Large Matrices on GPUs" as one persistent kernel. The
// paper's parent kernel launches child kernels for each level; here all blocks stay resident, which a
// cooperative launch guarantees, and synchronize by a grid barrier.
//
//   block 0       large level │ small level, small level, … │ large level │
//   other blocks  large level │ wait                        │ large level │
//                        grid barrier                  grid barrier
//
// All blocks process a large level. While levels are small, only block 0 advances from level to level, with
// its own barrier, and publishes the level it stopped at before the grid barrier releases the others.

inline constexpr int kahn_threads = 1024;    ///< the largest block, since block 0 works on small levels alone
inline constexpr int max_small_level = 128;  ///< largest level that fits in one block's shared memory

/// Appends a node to a level. Threads of a warp that append together share one atomic addition.
__device__ __forceinline__ void append(Ordinal* width, Ordinal* level_begin, Ordinal node) {
  const auto together = cooperative_groups::coalesced_threads();
  Ordinal position = 0;
  if (together.thread_rank() == 0)
    position = Kokkos::atomic_fetch_add(width, static_cast<Ordinal>(together.num_threads()));
  level_begin[together.shfl(position, 0) + static_cast<Ordinal>(together.thread_rank())] = node;
}

/// Counts in-degrees ("cnt_indegree") with all blocks.
inline __device__ void count_all_degrees(const KahnLaunch& launch) {
  const Ordinal thread = static_cast<Ordinal>(blockIdx.x) * kahn_threads + static_cast<Ordinal>(threadIdx.x);
  const Ordinal groups = static_cast<Ordinal>(gridDim.x) * kahn_threads / launch.lanes;
  for (Ordinal v = thread / launch.lanes; v < launch.n; v += groups) {
    launch.for_successors(v, thread % launch.lanes, launch.lanes,
                          [&](Ordinal w) { Kokkos::atomic_add(launch.degrees + w, Ordinal(1)); });
  }
}

/// Finds the first level: nodes without predecessors.
inline __device__ void start_levels(const KahnLaunch& launch) {
  const Ordinal thread = static_cast<Ordinal>(blockIdx.x) * kahn_threads + static_cast<Ordinal>(threadIdx.x);
  for (Ordinal v = thread; v < launch.n; v += static_cast<Ordinal>(gridDim.x) * kahn_threads) {
    if (launch.degrees[v] != 0) continue;
    launch.level_of[v] = 0;
    append(launch.widths, launch.queue, v);
  }
}

/// Processes one level with all blocks ("update" and "cons_queue").
inline __device__ void process_large_level(const KahnLaunch& launch, Ordinal begin, Ordinal end,
                                           Ordinal level) {
  const Ordinal thread = static_cast<Ordinal>(blockIdx.x) * kahn_threads + static_cast<Ordinal>(threadIdx.x);
  const Ordinal groups = static_cast<Ordinal>(gridDim.x) * kahn_threads / launch.lanes;
  for (Ordinal q = begin + thread / launch.lanes; q < end; q += groups) {
    launch.for_successors(launch.queue[q], thread % launch.lanes, launch.lanes, [&](Ordinal w) {
      if (Kokkos::atomic_fetch_add(launch.degrees + w, Ordinal(-1)) != 1) return;
      launch.level_of[w] = level + 1;
      append(launch.widths + level + 1, launch.queue + end, w);
    });
  }
}

/// Processes successive levels with this block only, until one is large or none is left.
inline __device__ KahnProgress process_small_levels(const KahnLaunch& launch, Ordinal begin, Ordinal end,
                                                    Ordinal level) {
  __shared__ Ordinal nodes[2][max_small_level];  // of this level and the next
  __shared__ int counts[3];                      // number of nodes, by level modulo 3
  const int thread = static_cast<int>(threadIdx.x);
  int count = static_cast<int>(end - begin);
  if (thread < count) nodes[level % 2][thread] = launch.queue[begin + thread];
  if (thread < 3) counts[thread] = 0;
  __syncthreads();
  while (count > 0 && count <= launch.small) {
    int lanes = kahn_threads;
    while (lanes * count > kahn_threads) lanes /= 2;
    const int next = static_cast<int>((level + 1) % 3);
    Ordinal* const next_nodes = nodes[(level + 1) % 2];
    if (thread / lanes < count) {
      launch.for_successors(nodes[level % 2][thread / lanes], thread % lanes, lanes, [&](Ordinal w) {
        if (Kokkos::atomic_fetch_add(launch.degrees + w, Ordinal(-1)) != 1) return;
        launch.level_of[w] = level + 1;
        const int position = atomicAdd(&counts[next], 1);
        launch.queue[end + position] = w;
        if (position < max_small_level) next_nodes[position] = w;
      });
    }
    __syncthreads();
    count = counts[next];
    if (thread == 0) {
      launch.widths[level + 1] = count;
      counts[(level + 3) % 3] = 0;  // this level's; the barrier above follows every read of it
    }
    begin = end;
    end += count;
    ++level;
  }
  return {begin, end, level};
}

inline __global__ void __launch_bounds__(kahn_threads, 1) kahn_kernel(KahnLaunch launch) {
  const auto grid = cooperative_groups::this_grid();
  count_all_degrees(launch);
  grid.sync();
  start_levels(launch);
  grid.sync();
  Ordinal begin = 0, level = 0;
  Ordinal end = *static_cast<volatile Ordinal*>(launch.widths);
  while (begin < end) {
    if (end - begin <= launch.small) {  // a large level or the end follows, so every block reads `progress`
                                        // before its next write
      if (blockIdx.x == 0) {
        const auto progress = process_small_levels(launch, begin, end, level);
        if (threadIdx.x == 0) *launch.progress = progress;
      }
      grid.sync();
      const volatile auto* const progress = launch.progress;
      begin = progress->begin;
      end = progress->end;
      level = progress->level;
    } else {
      process_large_level(launch, begin, end, level);
      grid.sync();
      ++level;
      begin = end;
      end += *static_cast<volatile Ordinal*>(launch.widths + level);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *launch.progress = {begin, end, level};
}

template <>
inline constexpr bool has_kahn_kernels<Kokkos::Cuda> = true;

/// Sets element v of `nodes` to v.
struct NumberNodes {
  Kokkos::View<Ordinal*, Kokkos::CudaSpace> nodes;
  KOKKOS_FUNCTION void operator()(Ordinal v) const { nodes(v) = v; }
};

/// Finds levels with one persistent kernel or with device launches, then sorts nodes stably by level.
struct KahnCuda {
  using Memory = Kokkos::CudaSpace;
  using Nodes = Kokkos::View<Ordinal*, Memory>;

  /// As `kahn_in_rounds`.
  static std::vector<Ordinal> run(const Kokkos::Cuda& exec, const DependencyGraph<Memory>& graph,
                                  const Nodes& order, const Nodes& level_of, const MemoryBudget& budget,
                                  int small_level, const DeviceLaunches* launches) {
    MemoryReservation scratch(budget);
    KahnLaunch launch;
    launch.n = graph.n;
    launch.parts[0] = edges(graph.first);
    launch.parts[1] = edges(graph.second);
    const auto degrees = scratch.allocate<Nodes>(exec, "lutra::levelization::in_degrees", graph.n);
    const auto queue = scratch.allocate<Nodes>(exec, "lutra::levelization::queue", graph.n);
    const auto widths = scratch.allocate<Nodes>(exec, "lutra::levelization::widths", graph.n + 1);
    const auto progress =
        scratch.allocate<Kokkos::View<KahnProgress, Memory>>(exec, "lutra::levelization::progress");
    Kokkos::deep_copy(exec, degrees, Ordinal(0));
    Kokkos::deep_copy(exec, widths, Ordinal(0));
    Kokkos::deep_copy(exec, progress, KahnProgress{0, 0, 0});
    launch.degrees = degrees.data();
    launch.queue = queue.data();
    launch.level_of = level_of.data();
    launch.widths = widths.data();
    launch.progress = progress.data();
    launch.lanes = lanes_for(graph);
    launch.small = std::min(small_level, max_small_level);
    if (launches != nullptr) {
      launches->levelize(launch, 2 * exec.cuda_device_prop().multiProcessorCount, exec.cuda_stream());
    } else {
      start(exec, launch);
    }

    const auto reached =
        make_uncounted<Kokkos::View<KahnProgress, Kokkos::HostSpace>>("lutra::levelization::reached");
    Kokkos::deep_copy(exec, reached, progress);
    exec.fence("lutra::levelization: the number of levels is needed on the host");
    const auto levels = static_cast<std::size_t>(reached().level);
    std::vector<Ordinal> level_map(levels + 1, 0);
    const Kokkos::View<Ordinal*, Kokkos::HostSpace> host(level_map.data() + 1, levels);
    Kokkos::deep_copy(exec, host, Kokkos::subview(widths, Kokkos::make_pair(std::size_t(0), levels)));
    if (reached().end == graph.n) sort_by_level(exec, level_of, queue, order, levels, scratch);
    exec.fence("lutra::levelization: widths are on the host, scratch is freed");
    std::partial_sum(level_map.begin(), level_map.end(), level_map.begin());
    return level_map;
  }

 private:
  template <class Part>
  static EdgeList edges(const Part& part) {
    if (part.entries.extent(0) == 0) return {};
    return {part.begin.data(), part.end.data(), part.entries.data(), part.skip};
  }

  /// A power of two near half a node's mean number of edges.
  static int lanes_for(const DependencyGraph<Memory>& graph) {
    const std::size_t edges = graph.first.entries.extent(0) + graph.second.entries.extent(0);
    const std::size_t half = edges / std::max<std::size_t>(1, static_cast<std::size_t>(graph.n)) / 2;
    return static_cast<int>(std::bit_floor(std::clamp<std::size_t>(half, 2, 32)));
  }

  static void start(const Kokkos::Cuda& exec, KahnLaunch launch) {
    const int processors = exec.cuda_device_prop().multiProcessorCount;
    const auto wanted =
        static_cast<std::size_t>(launch.n) * static_cast<std::size_t>(launch.lanes) / kahn_threads + 1;
    const auto blocks =
        static_cast<unsigned>(std::min<std::size_t>(wanted, static_cast<std::size_t>(processors)));
    void* arguments[] = {&launch};
    check_launches();  // its blocks poll what earlier kernels set
    check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&kahn_kernel), blocks, kahn_threads,
                                           arguments, 0, exec.cuda_stream()),
               "launching the levelization");
  }

  /// Sorts nodes by level, ascending within a level. Overwrites `nodes`.
  static void sort_by_level(const Kokkos::Cuda& exec, const Nodes& level_of, const Nodes& nodes,
                            const Nodes& order, std::size_t levels, MemoryReservation& scratch) {
    const auto n = level_of.extent(0);
    Kokkos::parallel_for("lutra::levelization::nodes",
                         Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<Ordinal>(n)),
                         NumberNodes{nodes});
    const auto sorted_levels = scratch.allocate<Nodes>(exec, "lutra::levelization::sorted_levels", n);
    const int bits = std::max(1, static_cast<int>(std::bit_width(levels - 1)));
    std::size_t bytes = 0;
    check_launches();  // CUB would name another error
    const auto sort = [&](void* memory, const char* doing) {
      check_cuda(cub::DeviceRadixSort::SortPairs(memory, bytes, level_of.data(), sorted_levels.data(),
                                                 nodes.data(), order.data(), static_cast<std::int64_t>(n), 0,
                                                 bits, exec.cuda_stream()),
                 doing);
    };
    sort(nullptr, "asking what sorting by levels needs");
    const auto memory = scratch.allocate<Kokkos::View<char*, Memory>>(exec, "lutra::levelization::sort",
                                                                      std::max<std::size_t>(1, bytes));
    sort(memory.data(), "sorting by levels");
  }
};

template <class NodeView>
std::vector<Ordinal> kahn(const Kokkos::Cuda& exec, const DependencyGraph<Kokkos::CudaSpace>& graph,
                          const NodeView& order, const NodeView& level_of, const MemoryBudget& budget,
                          int small_level, const DeviceLaunches* launches) {
  return KahnCuda::run(exec, graph, order, level_of, budget, small_level, launches);
}

}  // namespace lutra::Impl

#endif

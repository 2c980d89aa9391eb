// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled with relocatable device code and linked with the device runtime (cudadevrt).
#include "Lutra_DeviceLaunches.hpp"

#include <cuda_runtime.h>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_KahnLaunchCuda.hpp"

namespace lutra {
namespace {

// Algorithm 5 of "End-to-End LU Factorization of Large Matrices on GPUs" by dynamic parallelism. The paper's
// parent waits for its child kernels (cudaDeviceSynchronize in device code), which CUDA 12 removed. Here a
// parent of one thread appends its children to the tail launch stream: they run in order once it has ended.
//
//   host: count_in_degrees, topo(0)
//   topo(d): start (d = 0), next_level, next_level, … , topo(d + 1)
//                           │ 16·2ᵈ tail launches, at most 512: update and cons_queue of a level, or nothing
//                           ▼ the last block publishes the level after it
//
// A parent cannot read what its children find, so it launches levels in batches, and the next parent decides
// whether more are needed. Nesting is limited to 24 by the hardware. Graphs deeper than max_depth batches
// return to the host, which launches topo(0) again. update and cons_queue are one kernel: a node is queued by
// the thread that decrements its in-degree to zero, instead of a scan of all nodes for each level.

constexpr int threads = 256;
constexpr int max_depth = 12;
constexpr int max_batch = 512;  ///< of 2,048 launches that may be pending

/// Appends a node to a level.
__device__ void append(Ordinal* width, Ordinal* level_begin, Ordinal node) {
  level_begin[atomicAdd(width, 1)] = node;
}

__device__ Ordinal thread_of_grid() {
  return static_cast<Ordinal>(blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void count_in_degrees(Impl::KahnLaunch launch) {
  const auto groups = static_cast<Ordinal>(gridDim.x * blockDim.x) / launch.lanes;
  for (Ordinal v = thread_of_grid() / launch.lanes; v < launch.n; v += groups)
    launch.for_successors(v, thread_of_grid() % launch.lanes, launch.lanes,
                          [&](Ordinal w) { atomicAdd(launch.degrees + w, 1); });
}

/// Whether this is the last block of its grid to come here.
__device__ bool is_last_block(unsigned* arrived) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // this block's nodes are visible before its arrival
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  return last;
}

/// Queues the nodes without predecessors (cons_queue before the loop).
__global__ void start(Impl::KahnLaunch launch) {
  const auto step = static_cast<Ordinal>(gridDim.x * blockDim.x);
  for (Ordinal v = thread_of_grid(); v < launch.n; v += step) {
    if (launch.degrees[v] != 0) continue;
    launch.level_of[v] = 0;
    append(launch.widths, launch.queue, v);
  }
  if (is_last_block(&launch.progress->arrived) && threadIdx.x == 0) {
    *launch.progress = {0, *static_cast<volatile Ordinal*>(launch.widths), 0};
  }
}

/// One level (update and cons_queue).
__global__ void next_level(Impl::KahnLaunch launch) {
  const Impl::KahnProgress now{launch.progress->begin, launch.progress->end, launch.progress->level};
  if (now.begin == now.end) return;
  const auto groups = static_cast<Ordinal>(gridDim.x * blockDim.x) / launch.lanes;
  for (Ordinal q = now.begin + thread_of_grid() / launch.lanes; q < now.end; q += groups) {
    launch.for_successors(launch.queue[q], thread_of_grid() % launch.lanes, launch.lanes, [&](Ordinal w) {
      if (atomicSub(launch.degrees + w, 1) != 1) return;
      launch.level_of[w] = now.level + 1;
      append(launch.widths + now.level + 1, launch.queue + now.end, w);
    });
  }
  if (is_last_block(&launch.progress->arrived) && threadIdx.x == 0) {  // all blocks have read the progress
    const Ordinal width = *static_cast<volatile Ordinal*>(launch.widths + now.level + 1);
    *launch.progress = {now.end, now.end + width, now.level + 1};
  }
}

/// The parent: launches a batch of levels and its own successor.
__global__ void topo(Impl::KahnLaunch launch, int blocks, int depth, bool first) {
  if (first) {
    start<<<blocks, threads, 0, cudaStreamTailLaunch>>>(launch);
  } else if (launch.progress->begin == launch.progress->end) {
    return;
  }
  const int batch = min(16 << depth, max_batch);
  for (int k = 0; k < batch; ++k) next_level<<<blocks, threads, 0, cudaStreamTailLaunch>>>(launch);
  if (depth < max_depth) topo<<<1, 1, 0, cudaStreamTailLaunch>>>(launch, blocks, depth + 1, false);
}

/// Levels without limit on their number.
void launch_levels(const Impl::KahnLaunch& launch, int blocks, void* stream_of_exec) {
  auto* const stream = static_cast<cudaStream_t>(stream_of_exec);
  const auto check = [](cudaError_t error) { Impl::check_cuda(error, "levelization by device launches"); };
  count_in_degrees<<<blocks, threads, 0, stream>>>(launch);
  Impl::KahnProgress now{0, 1, 0};
  for (bool first = true; now.begin < now.end; first = false) {
    topo<<<1, 1, 0, stream>>>(launch, blocks, 0, first);
    check(cudaGetLastError());
    check(cudaMemcpyAsync(&now, launch.progress, sizeof(now), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  }
}

}  // namespace

const DeviceLaunches& device_launches() {
  static const DeviceLaunches kernels{&launch_levels};
  return kernels;
}

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WORKERSCUDA_HPP
#define LUTRA_WORKERSCUDA_HPP

#include <cstdint>

#include "Lutra_TaskQueueCuda.hpp"

namespace lutra::Impl {

// Workers of a task queue: a warp, or a thread block. Kernels of L·D·Lᵀ and of its solves are written for any
// worker with these members (Lutra_LdltFlow.hpp), so that tests can emulate one on hosts.

/// Flags, for either kind of worker. A launch is a FlaggedRun.
struct FlagsCuda {
  __device__ __forceinline__ void fence() const { Impl::fence(); }
  template <class Launch>
  __device__ __forceinline__ void raise_flag(const Launch& launch, int* flag) const {
    Impl::raise_flag(flag, launch.run);
  }
  template <class Launch>
  __device__ __forceinline__ void wait_for_flag(const Launch& launch, const int* flag, int front) const {
    Impl::wait_for_flag(launch, flag, front);
  }
  template <class Launch>
  __device__ __forceinline__ void wait_for_count(const Launch& launch, const int* count, int target,
                                                 int front) const {
    Impl::wait_for_count(launch, count, target, front);
  }
};

/// A warp that works independently within its block.
struct WarpWorkerCuda : FlagsCuda {
  void* memory;
  std::int64_t bytes;

  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ int threads() const { return 32; }
  __device__ __forceinline__ void barrier() const { __syncwarp(); }
  __device__ __forceinline__ void group_barrier() const { __syncwarp(); }
  __device__ __forceinline__ void* space() const { return memory; }
  __device__ __forceinline__ std::int64_t space_bytes() const { return bytes; }

  /// Maximum over a warp, upper halves first: two instructions on compute capability 8.0.
  __device__ __forceinline__ static std::uint64_t max_of_warp(std::uint64_t value) {
    const auto upper = static_cast<unsigned>(value >> 32);
    const unsigned greatest = __reduce_max_sync(0xffffffffu, upper);
    const unsigned lower =
        __reduce_max_sync(0xffffffffu, upper == greatest ? static_cast<unsigned>(value) : 0u);
    return static_cast<std::uint64_t>(greatest) << 32 | lower;
  }
  __device__ __forceinline__ static std::int64_t sum_of_warp(std::int64_t value) {
    auto sum = static_cast<long long>(value);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    return sum;
  }
  __device__ __forceinline__ std::uint64_t max(std::uint64_t value) const {
    value = max_of_warp(value);
    __syncwarp();
    return value;
  }
  __device__ __forceinline__ void max(std::uint64_t& a, std::uint64_t& b) const {
    a = max_of_warp(a);
    b = max(b);
  }
  __device__ __forceinline__ std::int64_t sum(std::int64_t value) const {
    value = sum_of_warp(value);
    __syncwarp();
    return value;
  }
  __device__ __forceinline__ int next(int* counter) const {
    return take_ticket_of_warp(counter);
  }
};

/// All threads of a block.
template <int block_threads>
struct BlockWorkerCuda : FlagsCuda {
  static constexpr int warps = block_threads / 32;

  void* memory;
  std::int64_t bytes;
  /// Exchange between threads: one word per warp for each of two values, double-buffered, and one number.
  struct Exchange {
    std::uint64_t words[2][2][warps];
    int taken;
  };
  Exchange& exchange;
  mutable int turn = 0;  ///< parity of the exchanges

  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int threads() const { return block_threads; }
  __device__ __forceinline__ void barrier() const { __syncthreads(); }
  __device__ __forceinline__ void group_barrier() const { __syncwarp(); }
  __device__ __forceinline__ void* space() const { return memory; }
  __device__ __forceinline__ std::int64_t space_bytes() const { return bytes; }

  __device__ __forceinline__ void max(std::uint64_t& a, std::uint64_t& b) const {
    auto& words = give(WarpWorkerCuda::max_of_warp(a), WarpWorkerCuda::max_of_warp(b));
    a = WarpWorkerCuda::max_of_warp(words[0][thread() % warps]);
    b = WarpWorkerCuda::max_of_warp(words[1][thread() % warps]);
  }
  __device__ __forceinline__ std::uint64_t max(std::uint64_t value) const {
    auto& words = give(WarpWorkerCuda::max_of_warp(value), 0);
    return WarpWorkerCuda::max_of_warp(words[0][thread() % warps]);
  }
  __device__ __forceinline__ std::int64_t sum(std::int64_t value) const {
    auto& words = give(static_cast<std::uint64_t>(WarpWorkerCuda::sum_of_warp(value)), 0);
    std::uint64_t all = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) all += words[0][w];
    return static_cast<std::int64_t>(all);
  }
  /// Two values of each warp, once all warps have provided theirs. One barrier suffices: these words are
  /// overwritten only after the barrier of the next exchange, which all their readers have reached.
  __device__ __forceinline__ std::uint64_t (&give(std::uint64_t a, std::uint64_t b) const)[2][warps] {
    auto& words = exchange.words[turn];
    turn ^= 1;
    if (thread() % 32 == 0) {
      words[0][thread() / 32] = a;
      words[1][thread() / 32] = b;
    }
    __syncthreads();
    return words;
  }
  __device__ __forceinline__ int next(int* counter) const {
    return take_ticket_of_block(counter, exchange.taken);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PEERWINDOW_HPP
#define LUTRA_PEERWINDOW_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include "Lutra_WindowWait.hpp"
#if defined(__CUDACC__)
#include "Lutra_TaskQueueCuda.hpp"
#endif

namespace lutra::Impl {

/// The symmetric memory of all ranks of one host as seen by one device, for put, add and wait in kernels.
/// Passed to kernels by value.
///
///     writer (block)                               owner (block)
///     all threads: stores to the peer              thread 0: ld.acquire.sys of the signal, until ≥ value
///     __syncthreads                                __syncthreads
///     thread 0: st.release.sys of the signal  ──►  all threads read the bytes, never by __ldg
///
/// The barrier makes the stores of all threads happen before thread 0's release, which is cumulative; the
/// barrier alone orders nothing for another device. Epochs only increase, and nothing is cleared.
struct PeerWindow {
  /// Arrays travel by value, 24 bytes of kernel arguments per rank, so they only cover the devices of one
  /// host.
  static constexpr int max_ranks = 16;
  using Word = unsigned long long;
  /// Whether `put` accepts a source in any memory of the device, shared memory included.
  static constexpr bool puts_from_anywhere = true;

  std::byte* bytes[max_ranks] = {};  ///< bytes of each rank, mapped into this process
  Word* signals[max_ranks] = {};     ///< signals of each rank; the last is followed by the rank's abort word
  std::size_t n_signals[max_ranks] = {};
  int rank = 0, size = 0;
  std::uint64_t watchdog = 0;  ///< limit of one wait, in nanoseconds

#if defined(KOKKOS_ENABLE_CUDA)
  /// Ends the waits of this rank's kernels from the host while a kernel runs.
  void abort_from_host() const {
    write_abort_word(signals[rank] + n_signals[rank], rank);
  }
  /// Host version of `aborted`, for use after the kernels have completed.
  Word aborted_on_host() const {
    return read_abort_word(signals[rank] + n_signals[rank]);
  }
#endif

#if defined(__CUDACC__)
  /// Copies into a rank's bytes, then sets its signal. Called by all threads of a block; consecutive threads
  /// store consecutive elements. `source` may be overwritten after the next barrier.
  /// @param offset in bytes, a multiple of the element's size
  /// @param count  number of elements
  template <class T>
  __device__ void put(int to, std::size_t offset, const T* source, std::size_t count, std::size_t signal,
                      Word value) const {
    const auto thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const auto threads = blockDim.x * blockDim.y * blockDim.z;
    auto* const target = reinterpret_cast<T*>(bytes[to] + offset);
    for (std::size_t e = thread; e < count; e += threads) target[e] = source[e];
    __syncthreads();
    if (thread == 0) raise_system_flag(signals[to] + signal, value);
  }

  /// Like `put`, by the 32 threads of a warp.
  template <class T>
  __device__ void put_by_warp(int to, std::size_t offset, const T* source, std::size_t count,
                              std::size_t signal, Word value) const {
    const unsigned lane = threadIdx.x % 32;
    auto* const target = reinterpret_cast<T*>(bytes[to] + offset);
    for (std::size_t e = lane; e < count; e += 32) target[e] = source[e];
    __syncwarp();
    if (lane == 0) raise_system_flag(signals[to] + signal, value);
  }

  /// Sets a signal of this rank. Writes of the block before its last barrier are visible to readers of the
  /// value. Called by one thread.
  __device__ void raise(std::size_t signal, Word value) const {
    raise_system_flag(signals[rank] + signal, value);
  }

  /// Adds to a rank's signal. Earlier writes of the calling thread are visible to readers of the sum. Called
  /// by one thread.
  __device__ void add(int to, std::size_t signal, Word value) const {
    __threadfence_system();
    atomicAdd_system(signals[to] + signal, value);
  }

  /// `wait_in_block`
  __device__ bool wait(std::size_t signal, Word value) const {
    return wait_in_block(*this, signal, value);
  }

  /// Single test, for a block that has other work.
  __device__ bool has_come(std::size_t signal, Word value) const {
    return load_system_flag(signals[rank] + signal) >= value;
  }

  /// Ends the waits of all ranks: abort words hold the number of the rank that gave up first, plus one.
  __device__ void abort_all() const {
    for (int to = 0; to < size; ++to)
      atomicCAS_system(signals[to] + n_signals[to], Word{0}, static_cast<Word>(rank + 1));
  }
  /// The abort word of this rank: number of the rank that gave up first plus one, or 0.
  __device__ Word aborted() const {
    return load_system_flag(signals[rank] + n_signals[rank]);
  }
#endif
};

}  // namespace lutra::Impl

#endif

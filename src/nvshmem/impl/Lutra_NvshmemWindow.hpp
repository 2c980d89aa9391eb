// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NVSHMEMWINDOW_HPP
#define LUTRA_NVSHMEMWINDOW_HPP

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstddef>
#include <cstdint>

#include "Lutra_TaskQueueCuda.hpp"
#include "Lutra_WindowWait.hpp"

namespace lutra::Impl {

/// The symmetric memory of NVSHMEM as kernels see it: the members of PeerWindow, by the paper's calls. Passed
/// to kernels by value. Only for sources compiled with relocatable device code.
///
///     writer (block or warp)                       owner (block)
///     putmem_signal_nbi: stores over NVLink,       thread 0: reads the signal until ≥ value,
///     or a message of the network, then the        then nvshmem_uint64_test, which orders what the
///     signal                                  ──►  network wrote; __syncthreads, all threads read
///
/// A put returns before the source is read. So it has to stay as it is until the target has seen the signal,
/// and it has to be symmetric memory itself, which is what a network reads. The paper waits by
/// nvshmem_wait_until_any; here waits test signals one by one, so that a watchdog can end them. Kernels are
/// not launched by nvshmemx_collective_launch: with a device per rank each of them runs.
struct NvshmemWindow {
  using Word = unsigned long long;
  static constexpr bool puts_from_anywhere = false;

  std::byte* bytes = nullptr;        ///< symmetric, like all addresses
  std::uint64_t* signals = nullptr;  ///< followed by the abort word
  std::size_t n_signals = 0;         ///< the most of all ranks
  int rank = 0, size = 0;
  std::uint64_t watchdog = 0;  ///< limit of one wait, in nanoseconds

  void abort_from_host() const { write_abort_word(abort_word(), rank); }
  Word aborted_on_host() const { return read_abort_word(abort_word()); }
  KOKKOS_FUNCTION Word* abort_word() const { return word(n_signals); }

#if defined(__CUDACC__)
  template <class T>
  __device__ void put(int to, std::size_t offset, const T* source, std::size_t count, std::size_t signal,
                      Word value) const {
    nvshmemx_putmem_signal_nbi_block(bytes + offset, source, count * sizeof(T), signals + signal, value,
                                     NVSHMEM_SIGNAL_SET, to);
  }
  template <class T>
  __device__ void put_by_warp(int to, std::size_t offset, const T* source, std::size_t count,
                              std::size_t signal, Word value) const {
    nvshmemx_putmem_signal_nbi_warp(bytes + offset, source, count * sizeof(T), signals + signal, value,
                                    NVSHMEM_SIGNAL_SET, to);
  }
  __device__ void raise(std::size_t signal, Word value) const {
    raise_system_flag(word(signal), value);
  }
  __device__ void add(int to, std::size_t signal, Word value) const {
    nvshmem_fence();  // after the thread's earlier puts to the rank
    nvshmemx_signal_op(signals + signal, value, NVSHMEM_SIGNAL_ADD, to);
  }
  __device__ bool wait(std::size_t signal, Word value) const {
    return wait_in_block(*this, signal, value);
  }
  __device__ bool has_come(std::size_t signal, Word value) const {
    return load_system_flag(word(signal)) >= value &&
           nvshmem_uint64_test(signals + signal, NVSHMEM_CMP_GE, value) != 0;
  }
  __device__ void abort_all() const {
    for (int to = 0; to < size; ++to)
      nvshmem_uint64_atomic_compare_swap(signals + n_signals, 0, static_cast<std::uint64_t>(rank + 1), to);
  }
  __device__ Word aborted() const {
    return load_system_flag(abort_word());
  }
#endif

 private:
  KOKKOS_FUNCTION Word* word(std::size_t index) const {
    return reinterpret_cast<Word*>(signals + index);
  }
};

}  // namespace lutra::Impl

#endif

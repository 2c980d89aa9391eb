// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTSTORECUDA_HPP
#define LUTRA_HOSTSTORECUDA_HPP

#include <sys/mman.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_HostStore.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Host memory that is pinned piece by piece by threads of its own. The driver pins about 1.4 GB a second, if
/// it allocates all of it at once, page by page. Large pages that several threads touch first are pinned
/// faster, and copies to the first pieces need not wait for the last. A piece that the driver refuses to pin
/// is copied as pageable memory is.
class PinnedBytes {
 public:
  static constexpr std::size_t piece_bytes = std::size_t(64) << 20;

  /// Charges the bytes and starts the threads.
  /// @throws OutOfMemoryError naming the label
  PinnedBytes(int device, const MemoryBudget& budget, std::string_view label, std::size_t bytes)
      : m_device(device), m_budget(budget), m_bytes(bytes) {
    constexpr std::size_t large_page = std::size_t(2) << 20;
    m_states.assign((bytes + piece_bytes - 1) / piece_bytes, State::untouched);
    m_budget.charge(label, bytes);
    const std::size_t rounded = (std::max(bytes, std::size_t(1)) + large_page - 1) / large_page * large_page;
    m_begin.reset(static_cast<char*>(std::aligned_alloc(large_page, rounded)));
    if (!m_begin) {
      m_budget.cancel(bytes);
      throw OutOfMemoryError("'" + std::string(label) + "' needs " + std::to_string(bytes) +
                                 " bytes of host memory, which could not be allocated",
                             bytes);
    }
    static_cast<void>(::madvise(m_begin.get(), rounded, MADV_HUGEPAGE));  // a hint
    start_threads();
  }
  PinnedBytes(const PinnedBytes&) = delete;
  PinnedBytes& operator=(const PinnedBytes&) = delete;
  /// To be called when no copy is queued.
  ~PinnedBytes() {
    m_next = m_states.size();  // the rest is not needed
    for (std::thread& thread : m_threads) thread.join();
    for (std::size_t p = 0; p < m_states.size(); ++p)
      if (m_states[p] == State::pinned) static_cast<void>(cudaHostUnregister(data() + p * piece_bytes));
    m_budget.release(m_bytes);
  }

  char* data() const { return m_begin.get(); }
  /// Returns when a piece is ready.
  void wait_for(std::size_t piece) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_states[piece] != State::untouched; });
  }

 private:
  struct Free {
    void operator()(char* begin) const { std::free(begin); }
  };
  enum class State : char { untouched, pinned, pageable };

  void start_threads() {
    constexpr std::size_t most = 8;
    const std::size_t threads =
        std::min({m_states.size(), most, std::size_t(std::max(1U, std::thread::hardware_concurrency()))});
    try {
      for (std::size_t t = 0; t < threads; ++t) m_threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // fewer threads, or the calling one
    } catch (const std::bad_alloc&) {
    }
    if (m_threads.empty()) work();
  }

  void work() noexcept {
    for (std::size_t piece = m_next++; piece < m_states.size(); piece = m_next++) {
      const State state = pin(piece);
      const std::lock_guard lock(m_mutex);
      m_states[piece] = state;
      m_changed.notify_all();
    }
  }

  State pin(std::size_t piece) const noexcept {
    constexpr std::size_t page = 4096;
    const std::size_t begin = piece * piece_bytes, end = std::min(begin + piece_bytes, m_bytes);
    for (std::size_t b = begin; b < end; b += page) *static_cast<volatile char*>(data() + b) = 0;
    if (cudaSetDevice(m_device) == cudaSuccess &&
        cudaHostRegister(data() + begin, end - begin, cudaHostRegisterPortable) == cudaSuccess)
      return State::pinned;
    static_cast<void>(cudaGetLastError());
    return State::pageable;
  }

  int m_device;
  MemoryBudget m_budget;
  std::size_t m_bytes;
  std::unique_ptr<char, Free> m_begin;
  std::vector<State> m_states;  ///< [pieces]
  std::mutex m_mutex;           ///< of the states
  std::condition_variable m_changed;
  std::atomic<std::size_t> m_next{0};  ///< piece that a thread takes next
  std::vector<std::thread> m_threads;
};

/// In memory that is pinned while the first factorization is at work.
template <class Scalar>
class HostStore<Scalar, Kokkos::Cuda> {
 public:
  using View = Kokkos::View<Scalar*, typename HostCopy<Kokkos::Cuda>::Memory>;

  HostStore() = default;
  HostStore(const Kokkos::Cuda& exec, const MemoryBudget& budget, std::string_view label, std::size_t size)
      : m_bytes(std::make_unique<PinnedBytes>(exec.cuda_device(), budget, label, size * sizeof(Scalar))),
        m_view(reinterpret_cast<Scalar*>(m_bytes->data()), size) {}

  const View& view() const { return m_view; }
  /// Waits until a piece is pinned, before it is visited.
  template <class Visit>
  void for_each_piece(std::size_t begin, std::size_t end, const Visit& visit) const {
    constexpr std::size_t piece = PinnedBytes::piece_bytes / sizeof(Scalar);
    while (begin < end) {
      const std::size_t stop = std::min(end, (begin / piece + 1) * piece);
      m_bytes->wait_for(begin / piece);
      visit(begin, stop);
      begin = stop;
    }
  }

 private:
  std::unique_ptr<PinnedBytes> m_bytes;
  View m_view;
};

}  // namespace lutra::Impl

#endif

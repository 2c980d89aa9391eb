// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTTASKS_HPP
#define LUTRA_HOSTTASKS_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>

namespace lutra::Impl {

/// Number of threads of the default host space.
inline std::size_t host_threads() {
  return static_cast<std::size_t>(Kokkos::DefaultHostExecutionSpace().concurrency());
}

/// Calls task(thread, number) for all numbers below `count` on threads of the default host space, with
/// dynamic scheduling. Rethrows an exception of a task.
template <class Task>
void for_each_task(std::size_t threads, std::size_t count, const Task& task) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](std::size_t thread) noexcept {
    try {
      for (std::size_t k = next++; k < count; k = next++) task(thread, k);
    } catch (...) {
      failures[thread] = std::current_exception();
      next = count;
    }
  };
  Kokkos::parallel_for("lutra::common::tasks", Kokkos::RangePolicy<Host>(0, threads), work);
  Host().fence("lutra::common: tasks are done");
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// The same on all threads.
template <class Task>
void for_each_task(std::size_t count, const Task& task) {
  for_each_task(host_threads(), count, [&](std::size_t, std::size_t k) { task(k); });
}

/// Calls work(i) for all i below `count` on all threads of the default host space; it must not throw.
template <class Work>
void for_each_index(std::size_t count, const Work& work) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  Kokkos::parallel_for("lutra::common::indices", Kokkos::RangePolicy<Host>(0, count), work);
  Host().fence("lutra::common: indices are done");
}

}  // namespace lutra::Impl

#endif

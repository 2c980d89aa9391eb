// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTTASKS_HPP
#define LUTRA_HOSTTASKS_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>

namespace lutra::Impl {

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

}  // namespace lutra::Impl

#endif

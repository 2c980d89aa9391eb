// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTTASKS_HPP
#define LUTRA_HOSTTASKS_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>

namespace lutra::Impl {

/// task(thread, number) for all numbers below `count`, by threads of the default host space, each taking the
/// next number; what one throws is thrown here.
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

/// The same, and follow(number) for all numbers in ascending order, by one thread at a time, each when its
/// task and all before it are done. A thread that has done a task follows as far as tasks are done, unless
/// another one does so.
template <class Task, class Follow>
void for_each_task_in_order(std::size_t threads, std::size_t count, const Task& task, const Follow& follow) {
  std::vector<std::atomic<bool>> done(count + 1);  // the last one never is
  std::atomic<std::size_t> next{0};                // to follow
  std::atomic<bool> busy{false};                   // a thread follows
  for_each_task(threads, count, [&](std::size_t thread, std::size_t number) {
    task(thread, number);
    done[number] = true;
    // What is done after a thread looked for the last time is seen by the one that did it, or that finds it
    // idle: all of these are in one order.
    while (done[next] && !busy.exchange(true)) {
      for (; done[next]; ++next) follow(next);
      busy = false;
    }
  });
}

}  // namespace lutra::Impl

#endif

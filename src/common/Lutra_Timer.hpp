// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TIMER_HPP
#define LUTRA_TIMER_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CheckLaunches.hpp"

namespace lutra::Impl {

/// Seconds since construction, by the host's clock. Asynchronous work on `exec` counts only up to the host's
/// last wait for it. With `synchronous` it counts in full, at the price of one wait at construction and one
/// per reading.
template <class ExecutionSpace>
class StageTimer {
 public:
  explicit StageTimer(const ExecutionSpace& exec, bool synchronous = false)
      : m_exec(exec), m_synchronous(synchronous) {
    wait();
    m_timer.reset();
  }
  /// @throws std::runtime_error if a kernel of the stage was not launched
  double seconds() const {
    wait();
    check_launches_on<ExecutionSpace>();
    return m_timer.seconds();
  }

 private:
  void wait() const {
    if (m_synchronous) m_exec.fence("lutra: a stage is timed");
  }

  ExecutionSpace m_exec;
  bool m_synchronous;
  Kokkos::Timer m_timer;
};

}  // namespace lutra::Impl

#endif

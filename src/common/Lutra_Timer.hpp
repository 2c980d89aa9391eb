// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TIMER_HPP
#define LUTRA_TIMER_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

/// Seconds since it was made, on the host's clock. Work queued on `exec` counts as far as the host has waited
/// for it; with `synchronous` it counts in full, for one wait at the start and one at each reading.
template <class ExecutionSpace>
class StageTimer {
 public:
  explicit StageTimer(const ExecutionSpace& exec, bool synchronous = false)
      : m_exec(exec), m_synchronous(synchronous) {
    wait();
    m_timer.reset();
  }
  double seconds() const {
    wait();
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TIMER_HPP
#define LUTRA_TIMER_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

/// Seconds since it was made, the work queued on `exec` until then included.
template <class ExecutionSpace>
class StageTimer {
 public:
  explicit StageTimer(const ExecutionSpace& exec) : m_exec(exec) {
    m_exec.fence("lutra: a stage is timed from here");
    m_timer.reset();
  }
  double seconds() const {
    m_exec.fence("lutra: a stage is timed to here");
    return m_timer.seconds();
  }

 private:
  ExecutionSpace m_exec;
  Kokkos::Timer m_timer;
};

}  // namespace lutra::Impl

#endif

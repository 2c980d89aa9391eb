// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKLAUNCHES_HPP
#define LUTRA_CHECKLAUNCHES_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Kokkos does not ask whether a kernel was launched, and the host would take what was there before for its
/// results, sizes of arrays among them. Other errors that wait to be asked for are those of their callers,
/// the application among them. Does not wait.
/// @throws std::runtime_error if one was not
#ifdef KOKKOS_ENABLE_CUDA
void check_launches();
#else
inline void check_launches() {}
#endif

/// The same for kernels of an execution space; those of hosts run, or throw.
template <class ExecutionSpace>
void check_launches_on() {
  if constexpr (!is_host_space<ExecutionSpace>) check_launches();
}

/// Waits for kernels.
/// @throws std::runtime_error if one was not launched
template <class ExecutionSpace>
void wait_for(const ExecutionSpace& exec, const char* reason) {
  exec.fence(reason);
  check_launches_on<ExecutionSpace>();
}

}  // namespace lutra::Impl

#endif

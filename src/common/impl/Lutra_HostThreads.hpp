// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTTHREADS_HPP
#define LUTRA_HOSTTHREADS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Threads of this instance of a host space. Its function concurrency() may be static, with the instance as
/// an argument whose default is the default instance (Kokkos 4 with deprecated code); exec.concurrency() is
/// then the number of another instance.
template <HostExecution ExecutionSpace>
int threads_of(const ExecutionSpace& exec) {
  if constexpr (requires { ExecutionSpace::concurrency(exec); }) {
    return ExecutionSpace::concurrency(exec);
  } else {
    return exec.concurrency();
  }
}

/// Threads of the largest team of this instance: all, or as many as Kokkos allows in a team. Kokkos ends the
/// program if a policy asks for more.
template <HostExecution ExecutionSpace>
int largest_team_of(const ExecutionSpace& exec) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const auto any = [](const typename Policy::member_type&) {};
  return Policy(exec, 1, 1).team_size_max(any, Kokkos::ParallelForTag());
}

}  // namespace lutra::Impl

#endif

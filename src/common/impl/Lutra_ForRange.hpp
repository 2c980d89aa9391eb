// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FORRANGE_HPP
#define LUTRA_FORRANGE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Whether the space has one host thread: Serial, or OpenMP started with one.
template <class ExecutionSpace>
bool has_one_thread() {
  if constexpr (is_host_space<ExecutionSpace>) {
    static const bool one = ExecutionSpace().concurrency() == 1;  // Kokkos starts once in a process
    return one;
  } else {
    return false;
  }
}

/// Whether kernels are plain loops: on one host thread, unless a profiling tool is loaded. A launch by Kokkos
/// formats messages and labels, which allocates memory and takes as long as a loop over some hundred rows.
template <class ExecutionSpace>
bool runs_plain_loops() {
  return has_one_thread<ExecutionSpace>() && !Kokkos::Tools::profileLibraryLoaded();
}

/// Calls body(i) for 0 ≤ i < n. Does not wait on devices.
template <class ExecutionSpace, class Index, class Body>
void for_range(const ExecutionSpace& exec, const char* label, Index n, const Body& body) {
  if constexpr (is_host_space<ExecutionSpace>) {
    if (runs_plain_loops<ExecutionSpace>()) {
      for (Index i = 0; i < n; ++i) body(i);
      return;
    }
  }
  Kokkos::parallel_for(label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n), body);
}

}  // namespace lutra::Impl

#endif

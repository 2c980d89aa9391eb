// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FORRANGE_HPP
#define LUTRA_FORRANGE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Whether kernels are plain loops: on one host thread, unless a profiling tool is loaded. A launch by Kokkos
/// formats messages and labels, which allocates memory and takes as long as a loop over some hundred rows.
template <class ExecutionSpace>
bool runs_plain_loops() {
  if constexpr (is_serial_space<ExecutionSpace>) {
    return !Kokkos::Tools::profileLibraryLoaded();
  } else {
    return false;
  }
}

/// Calls body(i) for 0 ≤ i < n. Does not wait on devices.
template <class ExecutionSpace, class Index, class Body>
void for_range(const ExecutionSpace& exec, const char* label, Index n, const Body& body) {
  if (runs_plain_loops<ExecutionSpace>()) {
    if constexpr (is_serial_space<ExecutionSpace>) {
      for (Index i = 0; i < n; ++i) body(i);
    }
    return;
  }
  Kokkos::parallel_for(label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n), body);
}

}  // namespace lutra::Impl

#endif

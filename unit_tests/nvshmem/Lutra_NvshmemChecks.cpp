// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NvshmemChecks.hpp"

#include "Lutra_NvshmemWindow.hpp"
#include "Lutra_SweepKernelsCuda.hpp"
#include "Lutra_WindowKernels.hpp"

namespace lutra::Test {
namespace {

const auto window_of = [](const SymmetricMemory& memory) {
  using Kernels = Impl::WindowKernels<double, Impl::NvshmemWindow>;
  return dynamic_cast<const Kernels&>(*memory.arena()).window();
};

}  // namespace

void check_nvshmem_puts(Communicator& comm) {
  check_puts(comm, CommBackend::nvshmem, window_of);
}

void check_nvshmem_watchdog(Communicator& comm) {
  check_watchdog(comm, CommBackend::nvshmem, window_of);
}

std::size_t count_nvshmem_signals(const SymmetricMemory& memory) {
  return window_of(memory).n_signals;
}

}  // namespace lutra::Test

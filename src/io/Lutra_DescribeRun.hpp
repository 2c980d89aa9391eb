// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DESCRIBERUN_HPP
#define LUTRA_DESCRIBERUN_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cctype>
#include <string>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Command-line name of a backend.
template <class ExecutionSpace>
std::string backend_name() {
  std::string name = ExecutionSpace::name();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

namespace Impl {
/// Sets the thread count of hosts, the name of devices.
template <HostExecution ExecutionSpace>
void describe_processor(const ExecutionSpace& exec, RunInfo& run) {
  run.threads = exec.concurrency();
}
LUTRA_IF_CUDA(inline void describe_processor(const Kokkos::Cuda& exec, RunInfo& run) {
  run.device = exec.cuda_device_prop().name;
})
LUTRA_IF_HIP(inline void describe_processor(const Kokkos::HIP& exec, RunInfo& run) {
  run.device = exec.hip_device_prop().name;
})
}  // namespace Impl

/// Backend, thread count and device, for a report.
template <class ExecutionSpace>
RunInfo describe_run() {
  RunInfo run;
  run.backend = backend_name<ExecutionSpace>();
  Impl::describe_processor(ExecutionSpace(), run);
  return run;
}

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DESCRIBERUN_HPP
#define LUTRA_DESCRIBERUN_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cctype>
#include <string>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ReportJson.hpp"

namespace lutra {

/// Command-line name of a backend.
template <class ExecutionSpace>
std::string backend_name() {
  std::string name = ExecutionSpace::name();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// Backend, thread count and device, for a report.
template <class ExecutionSpace>
RunInfo describe_run() {
  RunInfo run;
  run.backend = backend_name<ExecutionSpace>();
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    run.threads = ExecutionSpace().concurrency();
  } else {
    LUTRA_IF_CUDA(run.device = Kokkos::Cuda().cuda_device_prop().name;)
    LUTRA_IF_HIP(run.device = Kokkos::HIP().hip_device_prop().name;)
  }
  return run;
}

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIBACKEND_HPP
#define LUTRA_CLIBACKEND_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ReportJson.hpp"

namespace lutra::Cli {

template <class ExecutionSpace>
std::string backend_name() {
  std::string name = ExecutionSpace::name();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// Calls task.operator()<ExecutionSpace>() for the backend of that name, which was compiled.
template <class Task>
auto with_backend(const std::string& backend, const Task& task) {
#define LUTRA_TRY_SPACE(ExecutionSpace) \
  if (backend == backend_name<ExecutionSpace>()) return task.template operator()<ExecutionSpace>();
  LUTRA_FOR_EACH_SPACE(LUTRA_TRY_SPACE)
#undef LUTRA_TRY_SPACE
  throw std::logic_error("backend " + backend + " was not checked");
}

/// Backend, threads and device of a report.
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

}  // namespace lutra::Cli

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIBACKEND_HPP
#define LUTRA_CLIBACKEND_HPP

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "Lutra_Config.hpp"
#include "Lutra_ReportJson.hpp"

namespace lutra::Cli {

template <class ExecutionSpace>
std::string backend_name() {
#ifdef LUTRA_HAS_SERIAL
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Serial>) return "serial";
#endif
#ifdef LUTRA_HAS_OPENMP
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::OpenMP>) return "openmp";
#endif
#ifdef LUTRA_HAS_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) return "cuda";
#endif
#ifdef LUTRA_HAS_HIP
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::HIP>) return "hip";
#endif
}

/// Calls task.operator()<ExecutionSpace>() for the backend of that name, which is one of those built.
template <class Task>
auto with_backend(const std::string& backend, const Task& task) {
#ifdef LUTRA_HAS_SERIAL
  if (backend == "serial") return task.template operator()<Kokkos::Serial>();
#endif
#ifdef LUTRA_HAS_OPENMP
  if (backend == "openmp") return task.template operator()<Kokkos::OpenMP>();
#endif
#ifdef LUTRA_HAS_CUDA
  if (backend == "cuda") return task.template operator()<Kokkos::Cuda>();
#endif
#ifdef LUTRA_HAS_HIP
  if (backend == "hip") return task.template operator()<Kokkos::HIP>();
#endif
  throw std::logic_error("backend " + backend + " was not checked");
}

/// Backend, threads and device of a report.
template <class ExecutionSpace>
RunInfo describe_run() {
  RunInfo run;
  run.backend = backend_name<ExecutionSpace>();
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  if constexpr (on_host) run.threads = ExecutionSpace().concurrency();
#ifdef LUTRA_HAS_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>)
    run.device = Kokkos::Cuda().cuda_device_prop().name;
#endif
#ifdef LUTRA_HAS_HIP
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::HIP>)
    run.device = Kokkos::HIP().hip_device_prop().name;
#endif
  return run;
}

}  // namespace lutra::Cli

#endif

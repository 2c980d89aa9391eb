// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "Lutra_PerfContext.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSolver.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Perf {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string device_name() {
#if defined(KOKKOS_ENABLE_CUDA)
  return Kokkos::Cuda().cuda_device_prop().name;
#elif defined(KOKKOS_ENABLE_HIP)
  return Kokkos::HIP().hip_device_prop().name;
#else
  return "";
#endif
}

/// The configuration of Kokkos in one line.
std::string kokkos_configuration() {
  std::ostringstream stream;
  Kokkos::print_configuration(stream);
  std::string text, line;
  for (std::istringstream lines(stream.str()); std::getline(lines, line);) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos) text += (text.empty() ? "" : "; ") + line.substr(first);
  }
  std::ranges::replace(text, '"', '\'');
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string peers() {
  std::vector<std::string> names;
  for (const PeerKind& kind : peer_kinds()) names.push_back(kind.name + " " + kind.version);
  return joined(names);
}

/// A function of OpenBLAS by name; null if OpenBLAS is not loaded.
template <class Function>
Function* openblas_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int limit_blas_threads() {
  auto* const set = openblas_function<void(int)>("openblas_set_num_threads");
  auto* const get = openblas_function<int()>("openblas_get_num_threads");
  if (set == nullptr || get == nullptr) return 0;
  set(Kokkos::DefaultHostExecutionSpace().concurrency());
  return get();
}

std::map<std::string, std::string> perf_context(const Limits& limits) {
  const VersionInfo version = version_info();
  std::map<std::string, std::string> context{
      {"lutra", version.version},
      {"lutra_git", version.git},
      {"kokkos", version.kokkos},
      {"kokkos_kernels", version.kokkos_kernels},
      {"kokkos_backends", joined(version.backends)},
      {"kokkos_configuration", kokkos_configuration()},
      {"execution_space", ExecutionSpace::name()},
      {"host_threads", std::to_string(Kokkos::DefaultHostExecutionSpace().concurrency())},
      {"peers", peers()},
      {"limit_copy_gb_per_s", number(limits.copy_bytes_per_second * 1e-9)},
      {"limit_launch_us", number(limits.launch_seconds * 1e6)}};
  if (const std::string device = device_name(); !device.empty()) context["device"] = device;
  if (const int threads = limit_blas_threads(); threads > 0)
    context["blas_threads"] = std::to_string(threads);
  if (limits.flops_per_second > 0) context["limit_dgemm_gflops"] = number(limits.flops_per_second * 1e-9);
  return context;
}

void add_context(const Limits& limits) {
  for (const auto& [key, value] : perf_context(limits)) benchmark::AddCustomContext(key, value);
}

}  // namespace lutra::Perf

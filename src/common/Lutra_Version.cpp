// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Version.hpp"

#include <KokkosKernels_config.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cctype>

#include "Lutra_GitHash.hpp"

namespace lutra {
namespace {

// Kokkos and Kokkos Kernels count major · 10000 + minor · 100 + patch.
std::string dotted(int number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

std::string kokkos_kernels_version() {
#ifdef KOKKOSKERNELS_VERSION
  return dotted(KOKKOSKERNELS_VERSION);
#else
  return LUTRA_KOKKOSKERNELS_PACKAGE_VERSION;
#endif
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
#ifdef KOKKOS_ENABLE_SERIAL
  names.push_back(Kokkos::Serial::name());
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  names.push_back(Kokkos::OpenMP::name());
#endif
#ifdef KOKKOS_ENABLE_CUDA
  names.push_back(Kokkos::Cuda::name());
#endif
#ifdef KOKKOS_ENABLE_HIP
  names.push_back(Kokkos::HIP::name());
#endif
  std::transform(names.begin(), names.end(), names.begin(), lower_case);
  const auto used_by_default =
      std::find(names.begin(), names.end(), lower_case(Kokkos::DefaultExecutionSpace::name()));
  if (used_by_default != names.end()) std::rotate(names.begin(), used_by_default, used_by_default + 1);
  return names;
}

}  // namespace

VersionInfo version_info() {
  return {
      LUTRA_VERSION, LUTRA_GIT_HASH, dotted(KOKKOS_VERSION), kokkos_kernels_version(), backend_names(), {}};
}

}  // namespace lutra

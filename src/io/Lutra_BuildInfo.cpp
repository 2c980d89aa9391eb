// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BuildInfo.hpp"

#include <KokkosKernels_config.h>

#include <Kokkos_Core.hpp>

#include "Lutra_GitHash.hpp"

namespace lutra {
namespace {

// Kokkos and Kokkos Kernels both count 10000·major + 100·minor + patch.
std::string dotted(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::vector<std::string> backends() {
  return {
#ifdef KOKKOS_ENABLE_SERIAL
      "serial",
#endif
#ifdef KOKKOS_ENABLE_OPENMP
      "openmp",
#endif
#ifdef KOKKOS_ENABLE_CUDA
      "cuda",
#endif
#ifdef KOKKOS_ENABLE_HIP
      "hip",
#endif
  };
}

}  // namespace

const BuildInfo& build_info() {
  static const BuildInfo info{Impl::version_text,
                              Impl::git_text,
                              dotted(KOKKOS_VERSION),
                              dotted(KOKKOSKERNELS_VERSION),
                              backends(),
                              {}};
  return info;
}

}  // namespace lutra

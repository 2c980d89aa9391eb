// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Report.hpp"

#include <KokkosKernels_config.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cctype>

#include "Lutra_GitHash.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

// Lutra, Kokkos and Kokkos Kernels encode versions as major · 10000 + minor · 100 + patch.
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

// The first is Kokkos' default, if built.
std::vector<std::string> backend_names() {
  std::vector<std::string> names;
#define LUTRA_ADD_NAME(ExecutionSpace) names.push_back(lower_case(ExecutionSpace::name()));
  LUTRA_FOR_EACH_SPACE(LUTRA_ADD_NAME)
#undef LUTRA_ADD_NAME
  const auto by_default =
      std::find(names.begin(), names.end(), lower_case(Kokkos::DefaultExecutionSpace::name()));
  if (by_default != names.end()) std::rotate(names.begin(), by_default, by_default + 1);
  return names;
}

}  // namespace

VersionInfo version_info() {
  return {dotted(LUTRA_VERSION),
          LUTRA_GIT_HASH,
          dotted(KOKKOS_VERSION),
          kokkos_kernels_version(),
          backend_names(),
          {LUTRA_IF_F32("f32", ) LUTRA_IF_F64("f64", ) LUTRA_IF_C64("c64", ) LUTRA_IF_C128("c128", )},
          {"int32", "int64"}};
}

}  // namespace lutra

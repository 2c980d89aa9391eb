// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BUILDINFO_HPP
#define LUTRA_BUILDINFO_HPP

#include <string>
#include <vector>

namespace lutra {

/// What this library was built from and for: for reports and benchmarks.
struct BuildInfo {
  std::string version;
  std::string git;  ///< commit, "-dirty" behind it where files were changed; "unknown" outside a repository
  std::string kokkos, kokkos_kernels;       ///< versions
  std::vector<std::string> backends;        ///< of this Kokkos: "serial", "openmp", "cuda", "hip"
  std::vector<std::string> optional_parts;  ///< parts of Lutra that can be left out of a build and are in
};

const BuildInfo& build_info();

}  // namespace lutra

#endif

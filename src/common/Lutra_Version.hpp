// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VERSION_HPP
#define LUTRA_VERSION_HPP

#include <string>
#include <vector>

#include "Lutra_Config.hpp"  // LUTRA_VERSION, LUTRA_VERSION_MAJOR, …: of the headers, for the preprocessor

namespace lutra {

/// What the library that is linked was built from.
struct VersionInfo {
  std::string version;  ///< of Lutra: "major.minor.patch", like the two below
  std::string git;      ///< commit, "-dirty" behind it for a changed work tree; "unknown" outside git
  std::string kokkos, kokkos_kernels;
  std::vector<std::string> backends;  ///< compiled, as the command line names them; the default first
  std::vector<std::string> scalars;   ///< compiled: of f32, f64, c64, c128
  std::vector<std::string> ordinals;  ///< compiled: of int32, int64
};

VersionInfo version_info();

}  // namespace lutra

#endif

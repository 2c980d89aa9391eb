// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VERSION_HPP
#define LUTRA_VERSION_HPP

#include <string>
#include <vector>

namespace lutra {

/// What this build of the library is made of.
struct VersionInfo {
  std::string version;  ///< of Lutra: "major.minor.patch", like the two below
  std::string git;      ///< commit, "-dirty" behind it for a changed work tree; "unknown" outside git
  std::string kokkos, kokkos_kernels;
  std::vector<std::string> backends;  ///< as the command line names them; the one used by default comes first
  std::vector<std::string> optional_parts;  ///< parts that can be left out of a build and are in this one
};

VersionInfo version_info();

}  // namespace lutra

#endif

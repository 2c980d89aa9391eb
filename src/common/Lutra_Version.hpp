// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VERSION_HPP
#define LUTRA_VERSION_HPP

#include <string>
#include <vector>

namespace lutra {

/// What this build of the library is made of.
struct VersionInfo {
  std::string lutra;                  ///< "major.minor.patch"
  std::string git;                    ///< hash, "-dirty" behind it for a changed work tree; "unknown" outside git
  std::string kokkos;                 ///< "major.minor.patch"
  std::string kokkos_kernels;         ///< "major.minor.patch"
  std::vector<std::string> backends;  ///< as the command line names them; the one used by default comes first
};

VersionInfo version_info();

}  // namespace lutra

#endif

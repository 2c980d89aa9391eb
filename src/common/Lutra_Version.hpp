// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VERSION_HPP
#define LUTRA_VERSION_HPP

#include <string>
#include <vector>

#include "Lutra_Config.hpp"  // LUTRA_VERSION, LUTRA_VERSION_MAJOR, …: version of the headers, for the
                             // preprocessor

namespace lutra {

/// Build information of the linked library.
struct VersionInfo {
  std::string version;  ///< Lutra's "major.minor.patch"; same format for the two below
  std::string git;      ///< commit, with "-dirty" appended for a modified work tree; "unknown" outside git
  std::string kokkos, kokkos_kernels;
  std::vector<std::string> backends;  ///< compiled backends, by command-line name; the default first
  std::vector<std::string> scalars;   ///< compiled scalars: subset of f32, f64, c64, c128
  std::vector<std::string> ordinals;  ///< compiled ordinals: subset of int32, int64
};

VersionInfo version_info();

}  // namespace lutra

#endif

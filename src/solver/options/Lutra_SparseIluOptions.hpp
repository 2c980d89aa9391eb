// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSEILUOPTIONS_HPP
#define LUTRA_SPARSEILUOPTIONS_HPP

#include <cstdint>
#include <string_view>
#include <vector>

#include "Lutra_CommonOptions.hpp"
#include "Lutra_IluOptions.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// Options of incomplete factorizations that have an analysis.
struct IluChoices : IluOptions {
  Ordering ordering = Ordering::automatic;  ///< automatic means natural
  std::vector<std::int64_t>
      user_permutation{};  ///< for Ordering::user: the user's columns in elimination order, from 0
  /// automatic means exact if a diagonal entry is missing or zero and the matrix is not treated as symmetric,
  /// and none otherwise.
  Matching matching = Matching::automatic;
  /// Method of the triangular solves when factors are applied exactly.
  TrisolveMethod trisolve = TrisolveMethod::automatic;
};

/// Options of `SparseILU`. Every field has a default that rarely needs to be changed.
struct SparseIluOptions : IluChoices, CommonOptions {};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const SparseIluOptions& options);

/// Returns the command-line name of a factorization: ilu0, iluk, parilu, parilut, ic0, ick, paric or parict.
std::string_view name_of(const IluOptions& options);

}  // namespace lutra

#endif

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

/// Options of incomplete factorizations with an analysis.
struct IluChoices : IluOptions {
  Ordering ordering = Ordering::automatic;  ///< automatic: natural
  std::vector<std::int64_t>
      user_permutation{};  ///< with Ordering::user: user's columns in elimination order, from 0
  Matching matching = Matching::automatic;  ///< automatic: exact where a diagonal entry is missing or zero
                                            ///< and the matrix is not taken for symmetric, else none
  TrisolveMethod trisolve = TrisolveMethod::automatic;  ///< of exact application
};

/// Options of `SparseILU`. Every field has a default that is meant to be left alone.
struct SparseIluOptions : IluChoices, CommonOptions {};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const SparseIluOptions& options);

/// The name of a factorization as the command line has it: ilu0, iluk, parilu, parilut, ic0, ick, paric,
/// parict.
std::string_view name_of(const IluOptions& options);

}  // namespace lutra

#endif

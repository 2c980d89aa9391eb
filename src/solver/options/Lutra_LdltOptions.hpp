// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTOPTIONS_HPP
#define LUTRA_LDLTOPTIONS_HPP

#include <optional>

#include "Lutra_DirectOptions.hpp"
#include "Lutra_SymmetricPattern.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

/// Options specific to LDLᵀ and Cholesky.
struct LdltChoices {
  Symmetry symmetry = Symmetry::symmetric;  ///< kind of symmetry of a complex matrix
  Triangle triangle = Triangle::both;  ///< triangle whose entries are read; the other entries are ignored
  /// Whether the ordering keeps matched rows adjacent, as candidates for 2 × 2 pivots. This reduces delayed
  /// pivots but increases fill, and it requires a matching. If false, a factorization that delays too many
  /// pivots switches to such an ordering by itself.
  bool pair_ordering = false;
  double pivot_threshold = 0.01;  ///< threshold u of pivoting; bounds the entries of L by 1/u
  /// A pivot is zero if no entry of its column exceeds this value times the largest scaled entry. 0: 16ε,
  /// raised if a singular matrix has fewer zero pivots than null vectors.
  double zero_tolerance = 0;
  /// Whether factorizations first try the diagonal pivots in their given order, with the kernels of LU, and
  /// keep them if they pass the threshold test. Empty: on CUDA, if memory_limit is 0.
  std::optional<bool> diagonal_first{};

  bool operator==(const LdltChoices&) const = default;
};

/// Options of `SparseLDLT`. Every field has a default that rarely needs to be changed.
struct LdltOptions : DirectOptions, LdltChoices {
  /// Selects Cholesky, which neither pivots nor scales. A pivot that is not positive ends the factorization.
  /// Complex matrices must be Hermitian.
  bool positive_definite = false;

  bool operator==(const LdltOptions&) const = default;
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const LdltOptions& options);

}  // namespace lutra

#endif

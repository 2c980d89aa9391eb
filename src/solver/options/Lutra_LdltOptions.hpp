// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTOPTIONS_HPP
#define LUTRA_LDLTOPTIONS_HPP

#include <optional>

#include "Lutra_DirectOptions.hpp"
#include "Lutra_SymmetricPattern.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

/// Options of LDLᵀ and Cholesky.
struct LdltChoices {
  Symmetry symmetry = Symmetry::symmetric;  ///< of complex matrices
  Triangle triangle = Triangle::both;       ///< which entries are read; the others may be anything
  bool pair_ordering = false;  ///< the ordering keeps matched rows together, as candidates for 2 × 2 pivots:
                               ///< fewer delayed pivots, more fill; needs a matching. Without it, a
                               ///< factorization that delays too many pivots comes to it by itself
  double pivot_threshold = 0.01;  ///< u of threshold pivoting: entries of L are at most 1/u
  double zero_tolerance = 0;  ///< a column of which no entry exceeds this times the largest scaled entry is a
                              ///< zero pivot; 0: 16ε, and more where a singular matrix has
                              ///< fewer zero pivots than null vectors
  /// Factorizations try the pivots of the diagonal in their order first, with the kernels of LU, and keep
  /// them if they pass the threshold test. none: on CUDA, where memory_limit is 0
  std::optional<bool> diagonal_first{};

  bool operator==(const LdltChoices&) const = default;
};

/// Options of `SparseLDLT`. Every field has a default that is meant to be left alone.
struct LdltOptions : DirectOptions, LdltChoices {
  bool positive_definite = false;  ///< Cholesky: no pivoting and no scaling; a pivot that is not positive
                                   ///< ends the factorization. Complex matrices have to be Hermitian

  bool operator==(const LdltOptions&) const = default;
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const LdltOptions& options);

}  // namespace lutra

#endif

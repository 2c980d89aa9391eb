// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUOPTIONS_HPP
#define LUTRA_LUOPTIONS_HPP

#include "Lutra_DirectOptions.hpp"
#include "Lutra_Engine.hpp"
#include "Lutra_SymbolicOptions.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// Options specific to LU.
struct LuChoices {
  /// Engine that computes L and U. The multifrontal engine replaces the elimination order by an equivalent
  /// one. It is not chosen automatically if the options have a user permutation or a symbolic method.
  Engine engine = Engine::automatic;
  TrisolveMethod trisolve = TrisolveMethod::automatic;  ///< method of the triangular solves with L and U
  /// Precision in which solves read L and U. With `single`, refinement restores the accuracy.
  FactorPrecision solve_precision = FactorPrecision::working;
  /// Method that finds the pattern of L + U; the multifrontal engine accepts only etree.
  SymbolicMethod symbolic = SymbolicMethod::automatic;
  /// Threshold of Pivoting::threshold, which requires the multifrontal engine and solves on the fronts in
  /// working precision. A diagonal entry remains the pivot if its magnitude is at least this value times the
  /// largest entry it could be interchanged with.
  double pivot_threshold = 0.1;

  bool operator==(const LuChoices&) const = default;
};

/// Options of `SparseLU`. Every field has a default that rarely needs to be changed.
struct LuOptions : DirectOptions, LuChoices {
  bool operator==(const LuOptions&) const = default;
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const LuOptions& options);

}  // namespace lutra

#endif

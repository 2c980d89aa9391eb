// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUOPTIONS_HPP
#define LUTRA_LUOPTIONS_HPP

#include "Lutra_DirectOptions.hpp"
#include "Lutra_Engine.hpp"
#include "Lutra_SymbolicOptions.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// Options of LU.
struct LuChoices {
  Engine engine = Engine::automatic;  ///< how L and U are computed. The multifrontal engine replaces the
                                      ///< elimination order by an equivalent one and is not chosen
                                      ///< automatically with a user permutation or symbolic method
  TrisolveMethod trisolve = TrisolveMethod::automatic;         ///< how L and U are solved with
  FactorPrecision solve_precision = FactorPrecision::working;  ///< single: solves read L and U in single
                                                               ///< precision, refinement makes up for it
  SymbolicMethod symbolic = SymbolicMethod::automatic;         ///< how the pattern of L + U is found; the
                                                               ///< multifrontal engine takes etree alone
  double pivot_threshold = 0.1;  ///< of Pivoting::threshold, which takes the multifrontal engine and solves
                                 ///< on the fronts in working precision: a diagonal entry stays where it is
                                 ///< at least this times the greatest it could be exchanged with

  bool operator==(const LuChoices&) const = default;
};

/// Options of `SparseLU`. Every field has a default that is meant to be left alone.
struct LuOptions : DirectOptions, LuChoices {
  bool operator==(const LuOptions&) const = default;
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const LuOptions& options);

}  // namespace lutra

#endif

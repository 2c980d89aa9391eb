// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUOPTIONS_HPP
#define LUTRA_LUOPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Engine.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Pivoting.hpp"
#include "Lutra_SymbolicOptions.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// Options of `SparseLU`. Every field has a default that is meant to be left alone.
struct LuOptions {
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering of the matched matrix
  std::vector<std::int64_t>
      user_permutation{};  ///< with Ordering::user: user's columns in elimination order, from 0
  Matching matching = Matching::automatic;  ///< which entries become pivots, and the scaling with them
  Engine engine = Engine::automatic;        ///< how the numbers of L and U are computed. The supernodal one
                                            ///< replaces the elimination order by an equivalent one and is
                                            ///< not chosen automatically with a user permutation or method
  TrisolveMethod trisolve = TrisolveMethod::automatic;         ///< how L and U are solved with
  FactorPrecision solve_precision = FactorPrecision::working;  ///< single: solves read L and U in single
                                                               ///< precision, refinement makes up for it
  SymbolicMethod symbolic = SymbolicMethod::automatic;         ///< how the pattern of L + U is found; the
                                                               ///< multifrontal engine takes etree alone
  Pivoting pivoting = Pivoting::automatic;  ///< interchanges of rows; those within fronts take the supernodal
                                            ///< engine and solves on the fronts in working precision
  double pivot_threshold = 0.1;   ///< of interchanges: a diagonal entry stays where it is at least this times
                                  ///< the greatest it could be exchanged with; above 0, at most 1
  double perturbation = 0;        ///< least |pivot| of the scaled matrix; 0: the library's choice
  int max_refinement_steps = 10;  ///< 0: no refinement; the error is computed all the same
  double tolerance = 0;           ///< componentwise backward error of a success; 0: by scalar type
  std::size_t memory_limit = 0;   ///< bytes in the execution space's memory; 0: no limit
};

}  // namespace lutra

#endif

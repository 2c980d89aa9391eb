// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUOPTIONS_HPP
#define LUTRA_LUOPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Engine.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Pivoting.hpp"
#include "Lutra_SymbolicOptions.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// Options of `SparseLU`. Every field has a default that is meant to be left alone.
struct LuOptions {
  // Of an analysis.
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering of the matched matrix
  std::vector<std::int64_t>
      user_permutation{};                   ///< with Ordering::user: columns in elimination order, from 0
  Matching matching = Matching::automatic;  ///< which entries become pivots, and the scaling with them
  Engine engine = Engine::automatic;  ///< how L and U are computed. The multifrontal engine replaces the
                                      ///< elimination order by an equivalent one and is not chosen
                                      ///< automatically with a user permutation or symbolic method
  TrisolveMethod trisolve = TrisolveMethod::automatic;         ///< how L and U are solved with
  FactorPrecision solve_precision = FactorPrecision::working;  ///< single: solves read L and U in single
                                                               ///< precision, refinement makes up for it
  SymbolicMethod symbolic = SymbolicMethod::automatic;         ///< how the pattern of L + U is found; the
                                                               ///< multifrontal engine takes etree alone
  Pivoting pivoting = Pivoting::automatic;  ///< interchanges of rows; those within fronts take the
                                            ///< multifrontal engine and solves on the fronts in working
                                            ///< precision
  double pivot_threshold = 0.1;  ///< of interchanges: a diagonal entry stays where it is at least this times
                                 ///< the greatest it could be exchanged with; above 0, at most 1
  int expected_factorizations = 1;  ///< with one analysis, each with a solve: how long an automatic ordering
                                    ///< may take follows from it; 1 or more
  std::optional<DeviceModel> device_model =
      {};  ///< what choices are made by; none: the execution space's own
  // Of factorizations and solves.
  double perturbation = 0;        ///< least |pivot| of the scaled matrix; finite; 0: the library's choice
  int max_refinement_steps = 10;  ///< 0: no refinement and no GMRES; the error is computed all the same
  double tolerance = 0;  ///< componentwise backward error of a success, at which refinement ends; finite.
                         ///< 0: a success by scalar type (1e-12 or 1e-5), refinement to 8ε
  bool solve_singular = false;  ///< solve with perturbed factors of a numerically singular matrix, too. The
                                ///< status remains `numerically_singular`; `errors` say how good X is
  bool estimate_condition = false;  ///< estimate the condition number after each factorization; false: where
                                    ///< a pivot is small or a solution large
  bool validate_input = true;    ///< false: factorize and solve take it for granted that the matrix has the
                                 ///< pattern analyzed and that no value is NaN or infinite
  bool time_stages = false;      ///< wait for the device where a stage is timed; false: times of factorize
                                 ///< and solve may include what the instance did before
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit

  bool operator==(const LuOptions&) const = default;
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const LuOptions& options);

}  // namespace lutra

#endif

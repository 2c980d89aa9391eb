// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIRECTOPTIONS_HPP
#define LUTRA_DIRECTOPTIONS_HPP

#include <cstdint>
#include <vector>

#include "Lutra_CommonOptions.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Pivoting.hpp"

namespace lutra {

/// Options of an analysis and of factorizations.
struct FactorOptions {
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering
  std::vector<std::int64_t>
      user_permutation{};                   ///< with Ordering::user: columns in elimination order, from 0
  Matching matching = Matching::automatic;  ///< LU: which entries become pivots, and the scaling with them.
                                            ///< LDLᵀ: the scaling; automatic is exact, or equilibration
                                            ///< where its scales differ by more than 2⁵². Cholesky: none
  Pivoting pivoting = Pivoting::automatic;  ///< LU: static_perturbed; threshold interchanges rows within
                                            ///< fronts. LDLᵀ: threshold. Cholesky: none
  int expected_factorizations = 1;  ///< with one analysis, each with a solve: how long an automatic ordering
                                    ///< may take follows from it
  double perturbation = 0;          ///< of static_perturbed: least |pivot| of the scaled matrix; 0: the
                                    ///< library's choice

  bool operator==(const FactorOptions&) const = default;
};

/// The options that LU, LDLᵀ and Cholesky share.
struct DirectOptions : FactorOptions, CommonOptions {
  int max_refinement_steps = 10;  ///< 0: no refinement and no GMRES; the error is computed all the same
  double error_tolerance = 0;     ///< componentwise backward error of a success, at which refinement ends.
                                  ///< 0: a success by scalar type (1e-12 or 1e-5), refinement to 8ε
  bool solve_singular = false;    ///< solve with the factors of a numerically singular matrix, too. LU: they
                                ///< are perturbed; LDLᵀ: components of zero pivots are 0. The status remains
                                ///< `numerically_singular`; `errors` say how good X is
  bool estimate_condition = false;  ///< estimate the condition number after each factorization; false: where
                                    ///< a pivot is small or a solution large

  bool operator==(const DirectOptions&) const = default;
};

/// @throws InputError where a value is out of range
void check_options(const DirectOptions& options);

}  // namespace lutra

#endif

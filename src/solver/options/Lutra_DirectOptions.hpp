// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIRECTOPTIONS_HPP
#define LUTRA_DIRECTOPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Pivoting.hpp"

namespace lutra {

/// The options that LU, LDLᵀ and Cholesky share.
struct DirectOptions {
  // Of an analysis.
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering
  std::vector<std::int64_t>
      user_permutation{};                   ///< with Ordering::user: columns in elimination order, from 0
  Matching matching = Matching::automatic;  ///< LU: which entries become pivots, and the scaling with them.
                                            ///< LDLᵀ: the scaling; automatic is exact, or equilibration
                                            ///< where its scales differ by more than 2⁵². Cholesky: none
  Pivoting pivoting = Pivoting::automatic;  ///< LU: static_perturbed; threshold interchanges rows within
                                            ///< fronts. LDLᵀ: threshold. Cholesky: none
  int expected_factorizations = 1;  ///< with one analysis, each with a solve: how long an automatic ordering
                                    ///< may take follows from it; 1 or more
  std::optional<DeviceModel> device_model{};  ///< what choices are made by; none: the execution space's own
  // Of factorizations and solves.
  double perturbation = 0;        ///< of static_perturbed: least |pivot| of the scaled matrix; finite; 0: the
                                  ///< library's choice
  int max_refinement_steps = 10;  ///< 0: no refinement and no GMRES; the error is computed all the same
  double tolerance = 0;  ///< componentwise backward error of a success, at which refinement ends; finite.
                         ///< 0: a success by scalar type (1e-12 or 1e-5), refinement to 8ε
  bool solve_singular = false;  ///< solve with the factors of a numerically singular matrix, too. LU: they
                                ///< are perturbed; LDLᵀ: components of zero pivots are 0. The status remains
                                ///< `numerically_singular`; `errors` say how good X is
  bool estimate_condition = false;  ///< estimate the condition number after each factorization; false: where
                                    ///< a pivot is small or a solution large
  bool validate_input = true;    ///< false: factorize and solve take it for granted that the matrix has the
                                 ///< pattern analyzed, is symmetric for LDLᵀ, and holds no NaN or infinity
  bool time_stages = false;      ///< wait for the device where a stage is timed; false: times of factorize
                                 ///< and solve may include what the instance did before
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit

  bool operator==(const DirectOptions&) const = default;
};

/// @throws InputError where a value is out of range
void check_options(const DirectOptions& options);

}  // namespace lutra

#endif

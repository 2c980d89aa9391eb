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

/// Options of an analysis and its factorizations.
struct FactorOptions {
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering
  std::vector<std::int64_t>
      user_permutation{};  ///< column permutation for Ordering::user: columns in elimination order, from 0
  /// For LU: how pivot entries are matched, and the scaling that comes with the matching. For LDLᵀ: the
  /// scaling; automatic means exact matching, or equilibration if the scales of the matching differ by more
  /// than 2⁵². Cholesky does not use it.
  Matching matching = Matching::automatic;
  /// For LU: automatic means static_perturbed; threshold interchanges rows within fronts. For LDLᵀ: automatic
  /// means threshold. Cholesky does not pivot.
  Pivoting pivoting = Pivoting::automatic;
  /// Expected number of factorizations per analysis, each followed by a solve. It determines how much time
  /// automatic ordering may take.
  int expected_factorizations = 1;
  /// Smallest |pivot| of the scaled matrix with static_perturbed; 0: chosen by the library.
  double perturbation = 0;

  bool operator==(const FactorOptions&) const = default;
};

/// Options common to LU, LDLᵀ and Cholesky.
struct DirectOptions : FactorOptions, CommonOptions {
  int max_refinement_steps = 10;  ///< 0: no refinement and no GMRES; the error is still computed
  /// Componentwise backward error at which refinement stops and the solve succeeds. 0: the solve succeeds at
  /// 1e-12 or 1e-5, depending on the scalar type, and refinement continues to 8ε.
  double error_tolerance = 0;
  /// Whether to solve with the factors of a numerically singular matrix, too. LU uses perturbed pivots; LDLᵀ
  /// sets the components of zero pivots to 0. The status remains `numerically_singular`, and `errors` tells
  /// how accurate X is.
  bool solve_singular = false;
  /// Whether to estimate the condition number after each factorization. If false, it is estimated only if a
  /// pivot is small or a solution large.
  bool estimate_condition = false;

  bool operator==(const DirectOptions&) const = default;
};

/// Checks the ranges of all options.
/// @throws InputError if a value is out of range
void check_options(const DirectOptions& options);

}  // namespace lutra

#endif

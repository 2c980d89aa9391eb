// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltOptions.hpp"

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

void check_options(const LdltOptions& options) {
  check_options(static_cast<const DirectOptions&>(options));
  check_enumerator("options: symmetry", options.symmetry, Symmetry::hermitian);
  check_enumerator("options: triangle", options.triangle, Triangle::both);
  if (!(options.pivot_threshold > 0 && options.pivot_threshold <= 0.5))
    throw InputError("options: pivot_threshold must be above 0 and at most 0.5");
  if (!(options.zero_tolerance >= 0 && options.zero_tolerance < 1))
    throw InputError("options: zero_tolerance must be 0 or more and below 1");
  if (options.perturbation > 0 && options.pivoting != Pivoting::static_perturbed)
    throw InputError("options: pivots are perturbed with pivoting static_perturbed only");
  if (options.pair_ordering && options.matching == Matching::none)
    throw InputError("options: pair_ordering needs a matching");
  if (!options.positive_definite) return;
  if (options.pivoting != Pivoting::automatic && options.pivoting != Pivoting::none)
    throw InputError("options: a Cholesky factorization takes the diagonal as pivots (pivoting none)");
  if (options.pair_ordering)
    throw InputError("options: a Cholesky factorization has no 2 × 2 pivots to order by");
}

}  // namespace lutra

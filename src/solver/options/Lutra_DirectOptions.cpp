// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DirectOptions.hpp"

#include <cmath>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckOrdering.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

void check_options(const DirectOptions& options) {
  Impl::check_ordering(options.ordering, options.user_permutation);
  check_enumerator("options: matching", options.matching, Matching::exact);
  check_enumerator("options: pivoting", options.pivoting, Pivoting::threshold);
  if (options.expected_factorizations < 1)
    throw InputError("options: expected_factorizations must be 1 or more");
  if (!(options.tolerance >= 0 && options.perturbation >= 0 && options.max_refinement_steps >= 0))
    throw InputError("options: tolerance, perturbation and max_refinement_steps must be 0 or more");
  if (!std::isfinite(options.tolerance) || !std::isfinite(options.perturbation))
    throw InputError("options: tolerance and perturbation must be finite");
}

}  // namespace lutra

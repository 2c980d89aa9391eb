// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseIluOptions.hpp"

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckOrdering.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

void check_options(const SparseIluOptions& options) {
  check_options(static_cast<const IluOptions&>(options));
  Impl::check_ordering(options.ordering, options.user_permutation);
  check_enumerator("options: matching", options.matching, Matching::exact);
  check_enumerator("options: trisolve", options.trisolve, TrisolveMethod::supernodal);
  if (options.trisolve != TrisolveMethod::automatic && options.apply == IluApply::jacobi)
    throw InputError("options: Jacobi sweeps leave no triangular solve whose method could be chosen");
  if (options.schedule != IluSchedule::automatic && options.method == IluMethod::parilu)
    throw InputError("options: ParILU makes sweeps and no elimination that could have a schedule");
  if (options.symmetric && options.matching != Matching::automatic && options.matching != Matching::none)
    throw InputError("options: a matching would destroy the symmetry that symmetric factors need");
}

std::string_view name_of(const IluOptions& options) {
  switch (options.method) {
    case IluMethod::parilu:
      return options.symmetric ? "paric" : "parilu";
    case IluMethod::parilut:
      return options.symmetric ? "parict" : "parilut";
    default:
      if (options.fill_level == 0) return options.symmetric ? "ic0" : "ilu0";
      return options.symmetric ? "ick" : "iluk";
  }
}

}  // namespace lutra

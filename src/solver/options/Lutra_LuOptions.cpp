// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuOptions.hpp"

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"

namespace lutra {
namespace {

/// @throws InputError for threshold pivoting with what cannot do it
void check_pivoting(const LuOptions& options) {
  if (!(options.pivot_threshold > 0 && options.pivot_threshold <= 1))
    throw InputError("options: pivot_threshold must be above 0 and at most 1");
  if (options.pivoting == Pivoting::none)
    throw InputError("options: pivoting none is for symmetric factorizations; LU perturbs small pivots");
  if (options.pivoting != Pivoting::threshold) return;
  if (options.engine == Engine::simplicial)
    throw InputError(
        "options: threshold pivoting works in fronts; the simplicial engine has static pivoting only");
  if (options.solve_precision != FactorPrecision::working)
    throw InputError("options: with threshold pivoting solves read the factors in working precision only");
  if (options.trisolve == TrisolveMethod::levels || options.trisolve == TrisolveMethod::syncfree)
    throw InputError(
        "options: with threshold pivoting solves work on the fronts (trisolve auto or supernodal)");
}

}  // namespace

void check_options(const LuOptions& options) {
  check_options(static_cast<const DirectOptions&>(options));
  check_enumerator("options: engine", options.engine, Engine::multifrontal);
  check_enumerator("options: trisolve", options.trisolve, TrisolveMethod::supernodal);
  check_enumerator("options: solve_precision", options.solve_precision, FactorPrecision::single);
  check_enumerator("options: symbolic", options.symbolic, SymbolicMethod::ancestors);
  check_pivoting(options);
}

}  // namespace lutra

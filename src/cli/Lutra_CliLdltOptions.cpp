// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliLdltOptions.hpp"

#include "Lutra_CliChoose.hpp"

namespace lutra::Cli {

void set_ldlt(const Arguments& a, ProgramOptions& options) {
  const bool cholesky = a.method == "cholesky", ldlt = a.method == "ldlt" || cholesky;
  const bool threshold = a.method == "ldlt" && (a.pivot == "auto" || a.pivot == "threshold");
  if (!ldlt) {
    if (a.pivot == "none") throw InputError("--pivot none belongs to --method ldlt and cholesky");
    refuse_unused("--method " + a.method,
                  {{"--triangle", a.triangle != "both", false}, {"--pair-ordering", a.pair_ordering, false}});
    return;
  }
  refuse_unused("--method " + a.method,
                {{"--engine", a.engine != "auto" && a.engine != "multifrontal", false},
                 {"--symbolic", a.symbolic != "auto" && a.symbolic != "etree", false},
                 {"--trisolve", a.trisolve != "auto" && a.trisolve != "supernodal", false},
                 {"--solve-precision", a.solve_precision != "working", false},
                 {"--pivot", a.pivot != "auto" && a.pivot != "none", !cholesky},
                 {"--pair-ordering", a.pair_ordering, !cholesky}});
  refuse_unused("--pivot " + a.pivot, {{"--pivot-tol", a.pivot_tol.has_value(), threshold},
                                       {"--perturbation", a.perturbation.has_value(), a.pivot == "static"}});
  if (a.pair_ordering && a.matching == "none") throw InputError("--pair-ordering needs a matching");
  options.solver.method = cholesky ? Method::cholesky : Method::ldlt;
  LdltChoices& own = options.solver.ldlt;
  own.triangle = choose<Triangle>("--triangle", a.triangle);
  own.pair_ordering = a.pair_ordering;
  if (a.pivot_tol) own.pivot_threshold = *a.pivot_tol;
  if (own.pivot_threshold > 0.5) throw InputError("--pivot-tol has to be at most 0.5 with --method ldlt");
}

}  // namespace lutra::Cli

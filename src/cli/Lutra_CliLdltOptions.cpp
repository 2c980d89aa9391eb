// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliLdltOptions.hpp"

#include "Lutra_CliChoose.hpp"

namespace lutra::Cli {

namespace {

/// Options common to ldlt and cholesky.
LdltOptions ldlt_options(const Arguments& a, const LuOptions& lu) {
  LdltOptions own;
  own.triangle = choose<Triangle>("--triangle", a.triangle);
  own.ordering = lu.ordering;
  own.matching = lu.matching;
  own.pair_ordering = a.pair_ordering;
  own.pivoting = lu.pivoting;
  own.perturbation = lu.perturbation;
  own.max_refinement_steps = lu.max_refinement_steps;
  own.tolerance = lu.tolerance;
  own.solve_singular = lu.solve_singular;
  own.estimate_condition = lu.estimate_condition;
  own.time_stages = true;
  own.memory_limit = lu.memory_limit;
  own.expected_factorizations = lu.expected_factorizations;
  own.device_model = lu.device_model;
  return own;
}

/// Whether an option was given that only LU has, or that means something else to LU.
bool asks_for_lu(const Arguments& a) {
  return a.engine != "auto" || a.symbolic != "auto" || a.trisolve != "auto" ||
         a.solve_precision != "working" || a.pivot != "auto" || a.perturbation || a.memory_limit;
}

}  // namespace

void set_ldlt(const Arguments& a, SolverOptions& options) {
  const bool cholesky = a.method == "cholesky", ldlt = a.method == "ldlt" || cholesky;
  const bool threshold = a.method == "ldlt" && (a.pivot == "auto" || a.pivot == "threshold");
  if (!ldlt) {
    if (a.pivot == "none") throw InputError("--pivot none belongs to --method ldlt and cholesky");
    refuse_unused("--method " + a.method,
                  {{"--triangle", a.triangle != "both", false}, {"--pair-ordering", a.pair_ordering, false}});
    if (a.method != "auto") return;
    options.if_symmetric = ldlt_options(a, options.lu);
    options.lu_asked = asks_for_lu(a);
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
  LdltOptions& own = options.ldlt.emplace(ldlt_options(a, options.lu));
  own.positive_definite = cholesky;
  if (a.pivot_tol) own.pivot_threshold = *a.pivot_tol;
  if (own.pivot_threshold > 0.5) throw InputError("--pivot-tol has to be at most 0.5 with --method ldlt");
}

}  // namespace lutra::Cli

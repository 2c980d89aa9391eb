// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliMethodOptions.hpp"

#include <algorithm>
#include <initializer_list>

#include "Lutra_CliChoose.hpp"
#include "Lutra_CliFlags.hpp"

namespace lutra::Cli {
namespace {

/// A preconditioner and its name.
struct Kind {
  Preconditioning preconditioning = Preconditioning::ilu;
  IluMethod method = IluMethod::iluk;
  int fill_level = 0;
  bool symmetric = false, takes_fill_level = false;
};

/// @param used whether the method or preconditioner `chosen` uses the flags
/// @throws InputError for the first flag that is given but not used
void require_use(const Arguments& a, const std::string& chosen, bool used,
                 std::initializer_list<const char*> flags) {
  for (const char* const flag : flags)
    if (!used && a.is_given(flag)) throw InputError(std::string(flag) + " is not used with " + chosen);
}

Kind kind_of(const std::string& name, KrylovMethod method) {
  const bool cg = method == KrylovMethod::cg;
  return choose<Kind>("--precond", name,
                      {{"auto", {Preconditioning::ilu, IluMethod::iluk, 0, cg}},
                       {"none", {Preconditioning::none}},
                       {"jacobi", {Preconditioning::jacobi}},
                       {"ilu0", {}},
                       {"iluk", {Preconditioning::ilu, IluMethod::iluk, 1, false, true}},
                       {"parilu", {Preconditioning::ilu, IluMethod::parilu, 0, false, true}},
                       {"parilut", {Preconditioning::ilu, IluMethod::parilut, 0, false, true}},
                       {"ic0", {Preconditioning::ilu, IluMethod::iluk, 0, true}},
                       {"ick", {Preconditioning::ilu, IluMethod::iluk, 1, true, true}},
                       {"paric", {Preconditioning::ilu, IluMethod::parilu, 0, true, true}},
                       {"parict", {Preconditioning::ilu, IluMethod::parilut, 0, true, true}},
                       {"lu", {Preconditioning::lu}}});
}

void check_use(const Arguments& a, const Kind& kind, KrylovMethod method) {
  const bool lu = kind.preconditioning == Preconditioning::lu;
  const bool ilu = kind.preconditioning == Preconditioning::ilu;
  const bool parilut = ilu && kind.method == IluMethod::parilut;
  std::string chosen = "--method " + a.method;
  require_use(a, chosen, false, {"--refine", "--solve-singular", "--check", "--condition"});
  require_use(a, chosen, method == KrylovMethod::gmres, {"--restart"});
  require_use(a, chosen, method != KrylovMethod::cg, {"--side"});
  chosen = "--precond " + a.precond;
  require_use(a, chosen, kind.takes_fill_level, {"--fill-level"});
  require_use(a, chosen, parilut,
              {"--fill-factor", "--steps", "--drop-tol", "--parilut-start", "--parilut-finish",
               "--parilut-residual", "--selection"});
  const bool by_sweeps = a.text("--parilut-finish") == "sweeps";
  require_use(a, chosen + (parilut ? " --parilut-finish exact" : ""),
              parilut ? by_sweeps : ilu && kind.method == IluMethod::parilu, {"--sweeps"});
  require_use(a, "--steps 0", a.text("--steps") != "0", {"--parilut-residual"});
  require_use(a, chosen, ilu, {"--apply"});
  require_use(a, chosen, lu || ilu, {"--ordering", "--trisolve"});
  require_use(a, chosen, (lu || ilu) && !kind.symmetric, {"--matching"});
  require_use(a, chosen, lu,
              {"--engine", "--symbolic", "--fill2", "--columns", "--pivot", "--perturbation",
               "--expected-factorizations", "--solve-precision", "--factor-precision", "--factor-storage"});
}

/// The options of --method lu as those of a preconditioner.
void set_preconditioner(const Arguments& a, const Kind& kind, SolverOptions& solver) {
  LuPreconditionerOptions& lu = solver.krylov.lu;
  static_cast<FactorOptions&>(lu) = solver;
  static_cast<LuChoices&>(lu) = solver.lu;
  IluChoices& ilu = solver.krylov.ilu;
  ilu.method = kind.method;
  if (!a.is_given("--fill-level")) ilu.fill_level = kind.fill_level;
  ilu.symmetric = kind.symmetric;
  ilu.deterministic = a.deterministic;
  ilu.ordering = solver.ordering;
  ilu.matching = solver.matching;
  ilu.trisolve = solver.lu.trisolve;
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names = field_named("method").choices;
  names.pop_back();  // krylov, instead of which there are
  for (const std::string& name : field_named("krylov.method").choices) names.push_back(name);
  return names;
}

void set_method(const Arguments& a, SolverOptions& options) {
  const std::vector<std::string> names = method_names();
  const auto& krylov = field_named("krylov.method").choices;
  if (std::find(names.begin(), names.end(), a.method) == names.end()) refuse("--method", a.method, names);
  const bool is_krylov = std::find(krylov.begin(), krylov.end(), a.method) != krylov.end();
  set_option(options, "method", is_krylov ? "krylov" : a.method);
  if (is_krylov) set_option(options, "krylov.method", a.method);
}

void set_krylov(const Arguments& a, ProgramOptions& options) {
  if (!options.is_krylov()) {
    const std::string others = "--method " + a.method + ", but with --method gmres, bicgstab and cg";
    if (a.precond != "auto") throw InputError("--precond is not used with " + others);
    return require_use(a, others, false,
                       {"--fill-level", "--fill-factor", "--steps", "--sweeps", "--drop-tol",
                        "--parilut-start", "--parilut-finish", "--parilut-residual", "--selection", "--apply",
                        "--side", "--restart", "--max-iterations"});
  }
  KrylovChoices& krylov = options.solver.krylov;
  const Kind kind = kind_of(a.precond, krylov.method);
  check_use(a, kind, krylov.method);
  krylov.preconditioning = kind.preconditioning;
  set_preconditioner(a, kind, options.solver);
  if (krylov.side == PreconditionSide::split && kind.preconditioning != Preconditioning::ilu)
    throw InputError("--side split needs incomplete factors, such as --precond ilu0 or parilut");
}

void set_ldlt(const Arguments& a) {
  const bool cholesky = a.method == "cholesky", ldlt = a.method == "ldlt" || cholesky;
  const std::string& pivot = a.text("--pivot");
  const std::string chosen = "--method " + a.method;
  const bool threshold = a.method == "ldlt" && (pivot == "auto" || pivot == "threshold");
  if (!ldlt) {
    if (pivot == "none") throw InputError("--pivot none belongs to --method ldlt and cholesky");
    return require_use(a, chosen, false, {"--triangle", "--pair-ordering", "--front-pivoting"});
  }
  require_use(a, chosen, a.text("--engine") == "multifrontal", {"--engine"});
  require_use(a, chosen, a.text("--symbolic") == "etree", {"--symbolic"});
  require_use(a, chosen, a.text("--trisolve") == "supernodal", {"--trisolve"});
  require_use(a, chosen, false, {"--solve-precision", "--factor-precision", "--fill2", "--columns"});
  require_use(a, chosen, pivot == "none" || !cholesky, {"--pivot"});
  require_use(a, chosen, !cholesky, {"--pair-ordering"});
  require_use(a, "--pivot " + pivot, threshold, {"--pivot-tol"});
  require_use(a, "--pivot " + pivot, pivot == "static", {"--perturbation"});
  require_use(a, "--pivot " + pivot, pivot != "static", {"--front-pivoting"});
  if (a.is_given("--pair-ordering") && a.text("--matching") == "none")
    throw InputError("--pair-ordering needs a matching");
}

}  // namespace lutra::Cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliKrylovOptions.hpp"

#include "Lutra_CliChoose.hpp"

namespace lutra::Cli {
namespace {

/// A preconditioner and its name.
struct Kind {
  Preconditioning preconditioning = Preconditioning::ilu;
  IluMethod method = IluMethod::iluk;
  int fill_level = 0;
  bool symmetric = false, takes_fill_level = false;
};

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
                       {"parict", {Preconditioning::ilu, IluMethod::parilut, 0, true, true}},
                       {"lu", {Preconditioning::lu}}});
}

void check_use(const Arguments& a, const Kind& kind, KrylovMethod method) {
  const bool lu = kind.preconditioning == Preconditioning::lu;
  const bool ilu = kind.preconditioning == Preconditioning::ilu;
  const bool none = !lu && !ilu;
  const bool parilut = ilu && kind.method == IluMethod::parilut;
  refuse_unused("--method " + a.method, {{"--refine", a.refine.has_value(), false},
                                         {"--solve-singular", a.solve_singular, false},
                                         {"--condition", a.condition, false},
                                         {"--restart", a.restart.has_value(), method == KrylovMethod::gmres},
                                         {"--side", a.side != "auto", method != KrylovMethod::cg}});
  refuse_unused("--precond " + a.precond,
                {{"--fill-level", a.fill_level.has_value(), kind.takes_fill_level},
                 {"--fill-factor", a.fill_factor.has_value(), parilut},
                 {"--steps", a.steps.has_value(), parilut},
                 {"--drop-tol", a.drop_tol.has_value(), parilut},
                 {"--sweeps", a.sweeps.has_value(), ilu && kind.method == IluMethod::parilu},
                 {"--apply", a.apply != "auto", ilu},
                 {"--ordering", a.ordering != "auto", !none},
                 {"--matching", a.matching != "auto", !none && !kind.symmetric},
                 {"--trisolve", a.trisolve != "auto", !none},
                 {"--engine", a.engine != "auto", lu},
                 {"--symbolic", a.symbolic != "auto", lu},
                 {"--pivot", a.pivot != "auto", lu},
                 {"--perturbation", a.perturbation.has_value(), lu},
                 {"--expected-factorizations", a.expected_factorizations.has_value(), lu},
                 {"--solve-precision", a.solve_precision != "working", lu}});
}

void set_ilu(const Arguments& a, const Kind& kind, const SolverOptions& solver, SparseIluOptions& options) {
  IluOptions& ilu = options;
  ilu.method = kind.method;
  ilu.fill_level = a.fill_level.value_or(kind.fill_level);
  ilu.symmetric = kind.symmetric;
  ilu.deterministic = a.deterministic;
  if (a.fill_factor) ilu.fill_factor = positive("--fill-factor", *a.fill_factor);
  if (a.steps) ilu.steps = *a.steps;
  if (a.sweeps) ilu.sweeps = *a.sweeps;
  if (a.drop_tol) ilu.drop_tolerance = not_negative("--drop-tol", *a.drop_tol);
  ilu.apply = choose<IluApply>("--apply", a.apply);
  options.ordering = solver.ordering;
  options.matching = solver.matching;
  options.trisolve = solver.lu.trisolve;
  options.device_model = solver.device_model;
}

void refuse_krylov_options(const Arguments& a) {
  refuse_unused("--method " + a.method + ", but with --method gmres, bicgstab and cg",
                {{"--precond", a.precond != "auto", false},
                 {"--fill-level", a.fill_level.has_value(), false},
                 {"--fill-factor", a.fill_factor.has_value(), false},
                 {"--steps", a.steps.has_value(), false},
                 {"--sweeps", a.sweeps.has_value(), false},
                 {"--drop-tol", a.drop_tol.has_value(), false},
                 {"--apply", a.apply != "auto", false},
                 {"--side", a.side != "auto", false},
                 {"--restart", a.restart.has_value(), false},
                 {"--max-iterations", a.max_iterations.has_value(), false}});
}

}  // namespace

void set_krylov(const Arguments& a, ProgramOptions& options) {
  options.solver.method = choose<Method>("--method", a.method,
                                         {{"auto", Method::automatic},
                                          {"lu", Method::lu},
                                          {"ldlt", Method::ldlt},
                                          {"cholesky", Method::cholesky},
                                          {"gmres", Method::krylov},
                                          {"bicgstab", Method::krylov},
                                          {"cg", Method::krylov}});
  if (!options.is_krylov()) return refuse_krylov_options(a);
  KrylovSolverOptions& krylov = options.solver.krylov;
  krylov.method = a.method == "gmres"      ? KrylovMethod::gmres
                  : a.method == "bicgstab" ? KrylovMethod::bicgstab
                                           : KrylovMethod::cg;
  const Kind kind = kind_of(a.precond, krylov.method);
  check_use(a, kind, krylov.method);
  krylov.preconditioning = kind.preconditioning;
  krylov.lu = options.solver.lu_options();
  krylov.lu.memory_limit = 0;
  krylov.lu.tolerance = 0;
  set_ilu(a, kind, options.solver, krylov.ilu);
  auto sides = named<PreconditionSide>();
  sides.insert(sides.begin(), {"auto", PreconditionSide::right});
  krylov.krylov.side = choose("--side", a.side, sides);
  if (krylov.krylov.side == PreconditionSide::split && kind.preconditioning != Preconditioning::ilu)
    throw InputError("--side split needs incomplete factors: --precond ilu0, iluk, parilu, parilut");
  if (a.tol) krylov.krylov.tolerance = positive("--tol", *a.tol);
  if (a.max_iterations) krylov.krylov.max_iterations = *a.max_iterations;
  if (a.restart) krylov.restart = *a.restart;
}

}  // namespace lutra::Cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Options.hpp"

#include "Lutra_CheckOrdering.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_SolverFields.hpp"

// Checks of options: ranges from the table of fields, and combinations.

namespace lutra {
namespace {

/// @throws InputError if threshold pivoting is combined with options that do not support it
void check_pivoting(const LuOptions& options) {
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

/// @throws InputError for options of columns together with those of supernodes, and for options of supernodes
///         without these
void check_supernodes(const ColumnOptions& options) {
  if (options.supernodes == ColumnSupernodes::off && asks_for_supernodes(options))
    throw InputError(
        "options: columns.supernode_size and supernode_zeros need columns.supernodes on or auto");
  if (!asks_for_columns(options)) return;
  if (options.supernodes == ColumnSupernodes::on)
    throw InputError(
        "options: columns.supernodes has kernels of its own, without columns.mode, format and portable");
  if (asks_for_supernodes(options))
    throw InputError(
        "options: columns.mode, format and portable exclude columns.supernode_size and supernode_zeros");
}

/// @throws InputError for options of columns that no engine would use
void check_columns(const LuOptions& options) {
  if (options.columns == ColumnOptions()) return;
  if (options.engine != Engine::simplicial)
    throw InputError("options: columns are of the simplicial engine (engine simplicial)");
  check_supernodes(options.columns);
  if (options.columns.format == ColumnFormat::dense && options.columns.mode == ColumnMode::flow)
    throw InputError(
        "options: columns.format dense keeps a column per block, which data flow does not have (columns.mode "
        "levels, A, B or C)");
}

/// @throws InputError if options of fill2 are set that would have no effect
void check_fill2(const LuOptions& options) {
  if (options.fill2 == Fill2Options()) return;
  if (options.symbolic != SymbolicMethod::fill2)
    throw InputError("options: fill2.… need the symbolic method fill2");
  if (options.engine == Engine::multifrontal || options.pivoting == Pivoting::threshold)
    throw InputError("options: fill2.… need the simplicial engine; fronts take etree");
}

/// @throws InputError if streamed factors are combined with options that do not support them
void check_storage(const LuOptions& options) {
  if (options.factor_storage != FactorStorage::streamed) return;
  if (options.engine == Engine::simplicial)
    throw InputError("options: factor_storage streamed is of fronts; the simplicial engine has none");
  if (options.solve_precision != FactorPrecision::working || options.trisolve == TrisolveMethod::levels ||
      options.trisolve == TrisolveMethod::syncfree)
    throw InputError(
        "options: with factor_storage streamed solves work on the fronts, in working precision (trisolve "
        "auto or supernodal)");
}
void check_storage(const LdltOptions& options) {
  if (options.factor_storage != FactorStorage::streamed) return;
  if (options.pivoting == Pivoting::static_perturbed || !options.in_place_first.value_or(true))
    throw InputError("options: factor_storage streamed takes pivots in place, without perturbation");
}

/// @throws InputError if nothing would restore the accuracy of factors in single precision
void check_precision(const LuOptions& options) {
  if (options.factor_precision == FactorPrecision::working) return;
  if (options.check == SolutionCheck::never)
    throw InputError("options: factor_precision single needs checks of solutions (check always or first)");
  if (options.solve_precision != FactorPrecision::working)
    throw InputError("options: solve_precision single is for factors in working precision");
}

}  // namespace

void check_options(const DirectOptions& options) {
  Impl::check_fields(options);
  Impl::check_ordering(options.ordering, options.user_permutation);
}

void check_options(const LuOptions& options) {
  Impl::check_fields(options);
  Impl::check_ordering(options.ordering, options.user_permutation);
  check_pivoting(options);
  check_storage(options);
  check_columns(options);
  check_fill2(options);
  check_precision(options);
}

void check_options(const LdltOptions& options) {
  Impl::check_fields(options);
  Impl::check_ordering(options.ordering, options.user_permutation);
  if (options.perturbation > 0 && options.pivoting != Pivoting::static_perturbed)
    throw InputError("options: pivots are perturbed with pivoting static_perturbed only");
  if (options.pair_ordering && options.matching == Matching::none)
    throw InputError("options: pair_ordering needs a matching");
  check_storage(options);
  if (options.front_pivoting != FrontPivoting::automatic && options.pivoting == Pivoting::static_perturbed)
    throw InputError("options: pivoting static_perturbed leaves no front_pivoting to choose");
  if (!options.positive_definite) return;
  if (options.pivoting != Pivoting::automatic && options.pivoting != Pivoting::none)
    throw InputError("options: a Cholesky factorization takes the diagonal as pivots (pivoting none)");
  if (options.pair_ordering)
    throw InputError("options: a Cholesky factorization has no 2 × 2 pivots to order by");
}

void check_options(const SparseIluOptions& options) {
  Impl::check_fields(options);
  Impl::check_ordering(options.ordering, options.user_permutation);
  if (options.trisolve != TrisolveMethod::automatic && options.apply == IluApply::jacobi)
    throw InputError("options: Jacobi sweeps leave no triangular solve whose method could be chosen");
  if (options.schedule != IluSchedule::automatic && options.method == IluMethod::parilu)
    throw InputError("options: ParILU makes sweeps and no elimination that could have a schedule");
  if (options.schedule != IluSchedule::automatic && options.method == IluMethod::parilut &&
      options.start == IluStart::pattern && options.finish == IluFinish::sweeps)
    throw InputError(
        "options: ParILUT that starts from the pattern and finishes by sweeps makes no elimination that "
        "could "
        "have a schedule");
  if (options.symmetric && options.matching != Matching::automatic && options.matching != Matching::none)
    throw InputError("options: a matching would destroy the symmetry that symmetric factors need");
}

void check_options(const KrylovSolverOptions& options) {
  Impl::check_fields(options);
  check_options(options.ilu_options());
  check_options(options.lu_options());
  if (options.side == PreconditionSide::split && options.preconditioning != Preconditioning::ilu)
    throw InputError("options: split preconditioning needs incomplete factors");
  if (options.side != PreconditionSide::right && options.method == KrylovMethod::cg)
    throw InputError("options: CG keeps symmetry by itself, and its preconditioner has no side");
}

void check_options(const SolverOptions& options) {
  Impl::check_fields(options);
  if (options.method == Method::krylov) return check_options(options.krylov_options());
  if (options.method == Method::ldlt || options.method == Method::cholesky)
    return check_options(options.ldlt_options(options.method == Method::cholesky));
  if (options.ldlt.triangle != Triangle::both)
    throw InputError("options: ldlt.triangle is for the methods ldlt and cholesky");
  check_options(options.lu_options());
  if (options.method != Method::automatic) return;
  LdltOptions ldlt;  // common options have been checked, and pivoting implies LU
  static_cast<LdltChoices&>(ldlt) = options.ldlt;
  check_options(ldlt);
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

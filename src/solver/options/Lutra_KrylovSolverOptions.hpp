// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVSOLVEROPTIONS_HPP
#define LUTRA_KRYLOVSOLVEROPTIONS_HPP

#include "Lutra_Krylov.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

namespace lutra {

/// Preconditioner of a Krylov method.
enum class Preconditioning {
  none,
  jacobi,  ///< the diagonal
  ilu,     ///< incomplete LU factors (KrylovChoices::ilu)
  lu       ///< complete LU factors, without refinement (KrylovChoices::lu)
};

/// Options of complete LU factors used as a preconditioner.
struct LuPreconditionerOptions : FactorOptions, LuChoices {};

/// Options of a Krylov method and its preconditioner. A residual_tolerance of 0 means 1e-10 or 1e-5,
/// depending on the scalar type. Split preconditioning needs Preconditioning::ilu. CG has no preconditioning
/// side.
struct KrylovChoices : KrylovOptions {
  KrylovMethod method = KrylovMethod::gmres;
  Preconditioning preconditioning = Preconditioning::ilu;
  int restart = 50;           ///< GMRES restart length; reduced if memory does not suffice
  bool start_from_x = false;  ///< X holds the initial guess; false: the initial guess is zero
  IluChoices ilu;
  LuPreconditionerOptions lu;

  KrylovChoices() { residual_tolerance = 0; }
};

/// Options of `KrylovSolver`. Every field has a default that rarely needs to be changed.
struct KrylovSolverOptions : KrylovChoices, CommonOptions {
  /// Returns the options of the solver that computes the preconditioner.
  SparseIluOptions ilu_options() const { return {ilu, *this}; }
  LuOptions lu_options() const { return {{lu, *this}, lu}; }
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const KrylovSolverOptions& options);

}  // namespace lutra

#endif

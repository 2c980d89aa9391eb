// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVSOLVEROPTIONS_HPP
#define LUTRA_KRYLOVSOLVEROPTIONS_HPP

#include "Lutra_Krylov.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

namespace lutra {

/// What a Krylov method is preconditioned by.
enum class Preconditioning {
  none,
  jacobi,  ///< the diagonal
  ilu,     ///< incomplete factors (KrylovChoices::ilu)
  lu       ///< complete factors, not refined (KrylovChoices::lu)
};

/// Options of complete factors as a preconditioner.
struct LuPreconditionerOptions : FactorOptions, LuChoices {};

/// Options of a Krylov method and its preconditioner. A residual_tolerance of 0 stands for 1e-10 or 1e-5, by
/// scalar type. Split preconditioning needs Preconditioning::ilu; CG has no side.
struct KrylovChoices : KrylovOptions {
  KrylovMethod method = KrylovMethod::gmres;
  Preconditioning preconditioning = Preconditioning::ilu;
  int restart = 50;           ///< of GMRES; less where memory does not suffice
  bool start_from_x = false;  ///< X holds a first guess; false: zero
  IluChoices ilu;
  LuPreconditionerOptions lu;

  KrylovChoices() { residual_tolerance = 0; }
};

/// Options of `KrylovSolver`. Every field has a default that is meant to be left alone.
struct KrylovSolverOptions : KrylovChoices, CommonOptions {
  /// Options of the preconditioners' own solvers.
  SparseIluOptions ilu_options() const { return {ilu, *this}; }
  LuOptions lu_options() const { return {{lu, *this}, lu}; }
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const KrylovSolverOptions& options);

}  // namespace lutra

#endif

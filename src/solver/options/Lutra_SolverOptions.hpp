// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVEROPTIONS_HPP
#define LUTRA_SOLVEROPTIONS_HPP

#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"

namespace lutra {

/// Method of a Solver.
enum class Method {
  automatic,  ///< LU, LDLᵀ or Cholesky, depending on the matrix and on predicted times
  lu,
  ldlt,
  cholesky,
  krylov
};

/// Options of `Solver`. Every field has a default that rarely needs to be changed. The inherited options are
/// common to the direct methods; those of CommonOptions also apply to Krylov methods.
struct SolverOptions : DirectOptions {
  Method method = Method::automatic;
  LuChoices lu;          ///< any value other than the default makes `automatic` choose LU
  LdltChoices ldlt;      ///< `automatic` sets the symmetry itself
  KrylovChoices krylov;  ///< Krylov method and preconditioner

  /// Return the options of the solver for one method.
  LuOptions lu_options() const { return {*this, lu}; }
  LdltOptions ldlt_options(bool positive_definite) const { return {*this, ldlt, positive_definite}; }
  KrylovSolverOptions krylov_options() const { return {krylov, *this}; }
  /// Returns whether an option is set that only LU has, or that LU serves better, such as a memory limit.
  bool asks_for_lu() const {
    return lu != LuChoices() || pivoting != Pivoting::automatic || perturbation > 0 || memory_limit > 0;
  }
};

/// Checks ranges and combinations of the options.
/// @throws InputError if a value is out of range, or if options conflict with each other or with the method
void check_options(const SolverOptions& options);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVEROPTIONS_HPP
#define LUTRA_SOLVEROPTIONS_HPP

#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"

namespace lutra {

/// How a Solver solves.
enum class Method {
  automatic,  ///< LU, LDLᵀ or Cholesky, by properties of the matrix and predicted times
  lu,
  ldlt,
  cholesky,
  krylov
};

/// Options of `Solver`. Every field has a default that is meant to be left alone. Shared options of the
/// direct methods come first; those of CommonOptions are shared by the Krylov methods, too.
struct SolverOptions : DirectOptions {
  Method method = Method::automatic;
  LuChoices lu;          ///< a choice other than the default makes `automatic` take LU
  LdltChoices ldlt;      ///< `automatic` sets the symmetry
  KrylovChoices krylov;  ///< method and preconditioner

  /// Options of the solver for one method.
  LuOptions lu_options() const { return {*this, lu}; }
  LdltOptions ldlt_options(bool positive_definite) const { return {*this, ldlt, positive_definite}; }
  KrylovSolverOptions krylov_options() const { return {krylov, *this}; }
  /// Whether an option is set that only LU has, or that LU serves better, as a limited memory.
  bool asks_for_lu() const {
    return lu != LuChoices() || pivoting != Pivoting::automatic || perturbation > 0 || memory_limit > 0;
  }
};

/// @throws InputError where a value is out of range, or options are at odds with each other or the method
void check_options(const SolverOptions& options);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVSOLVEROPTIONS_HPP
#define LUTRA_KRYLOVSOLVEROPTIONS_HPP

#include <cstddef>

#include "Lutra_Krylov.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

namespace lutra {

/// What a Krylov method is preconditioned by.
enum class Preconditioning {
  none,
  jacobi,  ///< the diagonal
  ilu,     ///< incomplete factors (KrylovSolverOptions::ilu)
  lu       ///< complete factors, not refined (KrylovSolverOptions::lu)
};

/// Options of `KrylovSolver`. Every field has a default that is meant to be left alone.
struct KrylovSolverOptions {
  KrylovMethod method = KrylovMethod::gmres;
  Preconditioning preconditioning = Preconditioning::ilu;
  KrylovOptions krylov{.tolerance = 0};  ///< tolerance of the relative residual (0: 1e-10 or 1e-5, by
                                         ///< scalar type), most iterations, side. Split preconditioning
                                         ///< needs Preconditioning::ilu; CG has no side
  int restart = 50;                      ///< of GMRES; less where memory does not suffice
  bool start_from_x = false;             ///< X holds a first guess; false: zero
  SparseIluOptions ilu;          ///< its validate_input and time_stages are those below; no memory_limit
  LuOptions lu;                  ///< likewise; what belongs to refinement is not read
  bool validate_input = true;    ///< false: factorize and solve take it for granted that the matrix has the
                                 ///< pattern analyzed and that no value is NaN or infinite
  bool time_stages = false;      ///< wait for the device where a stage is timed
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const KrylovSolverOptions& options);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SolverOptions.hpp"

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

LdltOptions SolverOptions::ldlt_options(bool positive_definite) const {
  LdltOptions result{*this, ldlt};
  result.positive_definite = positive_definite;
  return result;
}

KrylovSolverOptions SolverOptions::krylov_options() const {
  KrylovSolverOptions result = krylov;
  result.memory_limit = memory_limit;
  result.validate_input = validate_input;
  result.time_stages = time_stages;
  return result;
}

void check_options(const SolverOptions& options) {
  check_enumerator("options: method", options.method, Method::krylov);
  const KrylovSolverOptions untouched;
  if (options.krylov.memory_limit != untouched.memory_limit ||
      options.krylov.validate_input != untouched.validate_input ||
      options.krylov.time_stages != untouched.time_stages)
    throw InputError(
        "options: memory_limit, validate_input and time_stages are not set in krylov, but for all methods");
  if (options.method == Method::krylov) return check_options(options.krylov_options());
  if (options.method == Method::ldlt || options.method == Method::cholesky)
    return check_options(options.ldlt_options(options.method == Method::cholesky));
  if (options.ldlt.triangle != Triangle::both)
    throw InputError("options: ldlt.triangle is for the methods ldlt and cholesky");
  check_options(options.lu_options());
  if (options.method != Method::automatic) return;
  LdltOptions ldlt;  // what is shared has been checked, and pivoting asks for LU
  static_cast<LdltChoices&>(ldlt) = options.ldlt;
  check_options(ldlt);
}

}  // namespace lutra

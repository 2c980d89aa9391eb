// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SolverOptions.hpp"

#include "Lutra_CheckEnumerator.hpp"

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
  if (options.method == Method::krylov) return check_options(options.krylov_options());
  if (options.method == Method::ldlt || options.method == Method::cholesky)
    return check_options(options.ldlt_options(options.method == Method::cholesky));
  check_options(options.lu_options());
}

}  // namespace lutra

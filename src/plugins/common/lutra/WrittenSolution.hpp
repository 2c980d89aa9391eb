// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WRITTENSOLUTION_HPP
#define LUTRA_WRITTENSOLUTION_HPP

#include <string>

#include "lutra.h"

namespace Lutra {
namespace internal {

/// Whether lutra_solve with this outcome has written X. With a singular or indefinite matrix it has only if
/// the user asks for solves with perturbed factors.
inline bool has_written_solution(lutra_solver* solver, lutra_status status) {
  if (status < 0) return false;
  if (status != LUTRA_NUMERICALLY_SINGULAR && status != LUTRA_STRUCTURALLY_SINGULAR &&
      status != LUTRA_NOT_POSITIVE_DEFINITE)
    return true;
  const char* value = nullptr;
  return lutra_get_option(solver, "solve_singular", &value) == LUTRA_SUCCESS && std::string(value) == "true";
}

}  // namespace internal
}  // namespace Lutra

#endif

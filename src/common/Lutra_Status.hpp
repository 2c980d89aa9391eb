// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STATUS_HPP
#define LUTRA_STATUS_HPP

#include <string_view>

namespace lutra {

/// Outcome of a numerical task. Invalid input is an exception (Lutra_Error.hpp), never a status.
enum class Status {
  not_solved,  ///< no solve since the last factorization
  success,     ///< solved; the computed componentwise backward error (Krylov methods: relative residual) is
               ///< within the tolerance
  structurally_singular,  ///< the pattern admits no perfect matching of rows and columns
  numerically_singular,   ///< singular to working precision, shown by a computed null vector or zero pivots
  not_positive_definite,  ///< a Cholesky factorization met a pivot that is not positive
  error_above_tolerance,  ///< solved, but with a backward error above the tolerance
  breakdown,              ///< NaN or infinity in factors or solution, or breakdown of a Krylov method
  not_converged,          ///< a Krylov method ended with a residual above the tolerance
  out_of_memory           ///< memory, or the caller's limit, was insufficient
};

/// The name of a status in reports and JSON.
constexpr std::string_view to_string(Status status) {
  switch (status) {
    case Status::not_solved:
      return "not_solved";
    case Status::success:
      return "success";
    case Status::structurally_singular:
      return "structurally_singular";
    case Status::numerically_singular:
      return "numerically_singular";
    case Status::not_positive_definite:
      return "not_positive_definite";
    case Status::error_above_tolerance:
      return "error_above_tolerance";
    case Status::breakdown:
      return "breakdown";
    case Status::not_converged:
      return "not_converged";
    case Status::out_of_memory:
      return "out_of_memory";
  }
  return "unknown";
}

}  // namespace lutra

#endif

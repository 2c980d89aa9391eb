// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ERROR_HPP
#define LUTRA_ERROR_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lutra {

/// Invalid input from the caller. The message names the argument and, if applicable, row and column, 0-based
/// as in the caller's arrays. Nothing has been changed when it is thrown.
class InputError : public std::invalid_argument {
 public:
  explicit InputError(const std::string& what) : std::invalid_argument(what) {}
};

/// File that does not match its claimed format. Rows and columns in the message are those of the file,
/// 1-based.
class FileError : public InputError {
 public:
  /// @param line 1-based; 0 if the error has no line, for example a missing file
  FileError(const std::string& file, std::int64_t line, const std::string& what)
      : InputError(file + (line > 0 ? std::string(":").append(std::to_string(line)) : std::string()) + ": " +
                   what),
        m_file(file),
        m_line(line) {}
  const std::string& file() const noexcept { return m_file; }
  std::int64_t line() const noexcept { return m_line; }

 private:
  std::string m_file;
  std::int64_t m_line;
};

/// Calls in an invalid order, for example `solve` before `factorize`.
class CallOrderError : public std::logic_error {
 public:
  explicit CallOrderError(const std::string& what) : std::logic_error(what) {}
};

/// Memory, or the caller's budget, is insufficient. The message states the purpose, the size and the memory
/// left.
class OutOfMemoryError : public std::bad_alloc {
 public:
  OutOfMemoryError(std::string what, std::size_t needed_bytes)
      : m_what(std::move(what)), m_needed_bytes(needed_bytes) {}
  const char* what() const noexcept override { return m_what.c_str(); }
  /// Size of the refused allocation.
  std::size_t needed_bytes() const noexcept { return m_needed_bytes; }

 private:
  std::string m_what;
  std::size_t m_needed_bytes;
};

/// Device work abandoned after its time limit; the message names where. Results of that call are NaN.
/// Indicates a defect of the library or of the machine.
class TimeoutError : public std::runtime_error {
 public:
  explicit TimeoutError(const std::string& what) : std::runtime_error(what) {}
};

/// A deadline has passed, or a stop was asked for (Lutra_RunControl.hpp). Calls of solvers that return a
/// Status return `cancelled` instead.
class CancelledError : public std::runtime_error {
 public:
  CancelledError() : std::runtime_error("stopped: the deadline has passed, or a stop was asked for") {}
};

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
  out_of_memory,          ///< memory, or the caller's limit, was insufficient
  unchecked,              ///< solved; the options ask for no check of the solution
  cancelled               ///< stopped by the deadline, the stop flag or the observer of the options
};

/// Returns whether there is a solution that is within the tolerance, or that the options leave unchecked.
constexpr bool is_solved(Status status) {
  return status == Status::success || status == Status::unchecked;
}

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
    case Status::unchecked:
      return "unchecked";
    case Status::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANYSOLVER_HPP
#define LUTRA_ANYSOLVER_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"
#include "lutra.h"

namespace lutra::C {

/// Thrown for a scalar type or backend not compiled into the library.
class NotBuiltError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Right-hand sides and solutions, stored by columns in the solver's scalar type.
struct Columns {
  std::int64_t count;
  const void* B;
  std::int64_t ldb;
  void* X;
  std::int64_t ldx;
};

/// Type-erased solver of the library. Functions throw the exceptions of the library, and CancelledError where
/// those of the library return `cancelled`.
class AnySolver {
 public:
  virtual ~AnySolver() = default;

  virtual void set_option(std::string_view name, std::string_view value) = 0;
  virtual std::vector<NamedOption> options() const = 0;
  virtual void set_permutation(std::vector<std::int64_t> permutation) = 0;
  virtual void set_memory(lutra_memory memory) = 0;
  virtual void set_stream(void* stream) = 0;
  /// @param log empty: none. @throws InputError
  virtual void set_log(std::function<void(const Event&)> log) {
    static_cast<void>(log);
    throw InputError("log: a solver on several ranks has none");
  }
  /// @param stop that ends calls when raised
  virtual void set_stop(std::shared_ptr<StopFlag> stop) = 0;
  /// @param observers told of progress, or null
  virtual void set_observers(std::shared_ptr<const Observers> observers) = 0;

  virtual void analyze(const lutra_matrix& A) = 0;
  virtual void factorize(const lutra_matrix& A) = 0;
  virtual void factorize_shifted(const lutra_matrix& A, const void* shift) = 0;
  /// @param op a lutra_operation, not yet checked
  virtual void solve(int op, const Columns& columns) = 0;
  virtual void apply(Transposition op, const Columns& columns) = 0;
  virtual void solve_parts(int parts, Transposition op, const Columns& columns) = 0;
  /// @param sign receives the sign, in the solver's scalar type
  /// @returns natural logarithm of the magnitude
  virtual double determinant(void* sign) const = 0;
  virtual bool increase_quality() = 0;
  /// Empty if there is none (Solver::forecast).
  virtual std::optional<MemoryForecast> forecast(std::int64_t n_rhs) const = 0;

  virtual const Report& report() const = 0;
  /// What the report says, in a sentence.
  virtual std::string message() const { return describe(report()); }
  /// The report, with the matrix and run it describes.
  virtual ReportRecord record() const = 0;
  /// Called before the destructor. Collective for a solver of several ranks.
  virtual void close() {}
};

/// @param op a lutra_operation. @throws InputError
inline Transposition to_transposition(int op) {
  if (op != LUTRA_NONE && op != LUTRA_TRANSPOSED && op != LUTRA_ADJOINT)
    throw InputError("op: it is none of LUTRA_NONE, LUTRA_TRANSPOSED, LUTRA_ADJOINT");
  return op == LUTRA_NONE      ? Transposition::none
         : op == LUTRA_ADJOINT ? Transposition::adjoint
                               : Transposition::transposed;
}

/// Creates a solver with default options.
/// @param method as Impl::MethodOptions takes it
/// @param backend command-line name of a built backend
/// @throws NotBuiltError
std::unique_ptr<AnySolver> make_solver(const std::string& method, int scalar, int index,
                                       const std::string& backend);

}  // namespace lutra::C

#endif

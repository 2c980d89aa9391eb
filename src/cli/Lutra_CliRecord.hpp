// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIRECORD_HPP
#define LUTRA_CLIRECORD_HPP

#include <algorithm>
#include <string>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_CliBackend.hpp"
#include "Lutra_CliOptions.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliSystem.hpp"
#include "Lutra_CliText.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_UsableMemory.hpp"

// Steps common to solve, sequence and info.

namespace lutra::Cli {

/// Calls task.operator()<Scalar, ExecutionSpace>() for "f32" or "f64", real or complex, on a built backend.
/// @throws InputError for a scalar type that was not built
template <class Task>
auto with_types(const std::string& scalar, bool is_complex, const std::string& backend, const Task& task) {
  const std::string name = !is_complex ? scalar : scalar == "f32" ? "c64" : "c128";
  return with_backend(backend, [&]<class ExecutionSpace>() {
#define LUTRA_TRY_SCALAR(Scalar) \
  if (name == scalar_name<Scalar>()) return task.template operator()<Scalar, ExecutionSpace>();
    LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_SCALAR)
#undef LUTRA_TRY_SCALAR
    throw InputError("--scalar: " + scalar + (is_complex ? " for complex matrices" : "") +
                     " was not built in");
  });
}

/// Order of the matrix. @throws FileError unless it is square and has rows
inline std::int64_t check_solvable(const std::string& file, const MatrixMarketMatrix& read) {
  return std::visit(
      [&file](const auto& matrix) -> std::int64_t {
        const std::string size = std::to_string(matrix.n_rows) + " by " + std::to_string(matrix.n_cols);
        if (matrix.n_rows != matrix.n_cols) {
          throw FileError(file, 0, "a matrix of " + size + " is not square and cannot be solved with");
        }
        if (matrix.n_rows == 0) throw FileError(file, 0, "the matrix has no rows, there is nothing to solve");
        return matrix.n_rows;
      },
      read.matrix);
}

/// Compares the minimum memory of a command, for the matrix size that a file declares, with the available
/// memory and, if the matrix needs gigabytes, with --memory-limit.
/// @param columns right-hand sides and solutions
/// @throws OutOfMemoryError with the bytes needed and available
inline CheckMatrixMarketSize check_memory(const Arguments& arguments, std::int64_t columns) {
  const std::size_t limit =
      arguments.is_given("--memory-limit") ? parse_bytes(arguments.text("--memory-limit")) : 0;
  return [&arguments, columns, limit](const MatrixMarketSize& size) {
    // bytes per row at least: row offsets in the program and the solver, positions in two orders, two scales
    constexpr double in_program = 40, in_solver = 12;
    const double value_bytes = arguments.scalar == "f32" ? 4 : 8, vectors = 3 * static_cast<double>(columns);
    const auto rows = static_cast<double>(std::max(size.n_rows, size.n_cols));
    const std::string what = arguments.files.front() + ": a matrix of " + std::to_string(size.n_rows) +
                             (size.n_cols == size.n_rows ? " rows" : " by " + std::to_string(size.n_cols)) +
                             (columns > 1 ? " with " + std::to_string(columns) + " right-hand sides" : "");
    const auto bytes = [rows](double a_row) {
      return static_cast<std::uint64_t>(std::min(rows * a_row, 0x1p62));
    };
    const std::uint64_t needed = bytes(in_program + vectors * value_bytes);
    Impl::require_usable_memory(what, needed);
    constexpr std::uint64_t small = std::uint64_t(1) << 30;  // below this, the solver refuses and reports
    if (needed < small || limit == 0 || bytes(in_solver) <= limit) return;
    throw OutOfMemoryError(what + " needs at least " + std::to_string(bytes(in_solver)) +
                               " bytes in the solver; --memory-limit gives " + std::to_string(limit),
                           bytes(in_solver));
  };
}

/// The options with the columns of --ordering FILE, where there is one, which is read here.
inline ProgramOptions with_ordering(ProgramOptions options, std::int64_t n) {
  if (options.ordering_file.empty()) return options;
  SolverOptions& solver = options.solver;
  solver.user_permutation = read_ordering(options.ordering_file, n);
  options.ordering_file.clear();
  solver.krylov.lu.user_permutation = solver.krylov.ilu.user_permutation = solver.user_permutation;
  return options;
}

/// The options with what the banner of a file adds: whether a complex matrix is Hermitian.
inline ProgramOptions with_symmetry(ProgramOptions options, const MatrixMarketHeader& header) {
  if (header.symmetry == MatrixMarketHeader::Symmetry::hermitian)
    options.solver.ldlt.symmetry = Symmetry::hermitian;
  return options;
}

/// op(A)·X for the matrix that the solver uses; with `--triangle`, the matrix represented by one triangle.
template <class Scalar>
std::vector<Scalar> right_hand_sides(const std::string& file, const HostMatrix<Scalar>& A,
                                     const ProgramOptions& options, const std::vector<Scalar>& X,
                                     Transposition op) {
  const LdltChoices& ldlt = options.solver.ldlt;
  if (ldlt.triangle == Triangle::both) return multiply(file, A, X, op);
  return multiply(file, mirrored_triangle(A, ldlt.triangle, ldlt.symmetry), X, op);
}

/// Adds the reason for the backend where the choice was the library's.
inline void add_backend_reason(const ProgramOptions& options, Choice& choice) {
  if (choice.method.empty() || options.backend_reason.empty()) return;
  choice.why = options.backend_reason + (choice.why.empty() ? "" : "; ") + choice.why;
}

/// Adds what the session does not know: the reading time, which the total includes.
inline void finish(ReportRecord& record, double read_seconds) {
  record.report.times.read = read_seconds;
  if (record.report.times.total) *record.report.times.total += read_seconds;
}

/// Converts row numbers in escalations to count from 1, as everywhere in the program.
inline void count_rows_from_one(Report& report) {
  for (std::string& escalation : report.escalations) escalation = counted_from_one(escalation);
}

inline bool json_on_output(const Arguments& arguments) {
  return arguments.json == "-";
}

/// Writes text to standard output for "-", else to a file. The file appears complete or not at all.
inline void write_text(const std::string& file, const std::string& text) {
  if (file == "-") {
    write_output(text);
    return;
  }
  Impl::AtomicFile out(file);
  out.write(text);
  out.commit();
}

/// Whether there is an X to compare with the known solution.
inline bool has_error(const Report& report) {
  return report.errors.backward_componentwise || report.status == Status::unchecked;
}

/// Writes the readable report; with --quiet, one line on standard error if there is no solution.
/// @param solution where X is or how to obtain it; empty if there is no X
inline void write_report(const Arguments& arguments, const ReportRecord& record,
                         const std::string& solution = "") {
  if (!arguments.quiet && !json_on_output(arguments))
    write_output(arguments.verbose ? to_verbose_text(record, solution) : to_text(record, solution));
  if (arguments.quiet && !is_solved(record.report.status)) print_error(failure_text(record));
}

}  // namespace lutra::Cli

#endif

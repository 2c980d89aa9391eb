// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLISOLVEFILES_HPP
#define LUTRA_CLISOLVEFILES_HPP

#include "Lutra_CliOutput.hpp"
#include "Lutra_CliRecord.hpp"

// Input and output files of solve, on one rank and on several.

namespace lutra::Cli {

/// Input files, read before the scalar type of the solve is known.
struct Input {
  MatrixMarketMatrix matrix;
  std::optional<MatrixMarketArray> rhs;
  double read_seconds = 0;

  bool is_complex() const {
    return matrix.header.field == MatrixMarketHeader::Field::complex ||
           (rhs && rhs->header.field == MatrixMarketHeader::Field::complex);
  }
};

inline void check_rhs(const Arguments& arguments, const MatrixMarketSize& rhs, std::int64_t n) {
  if (rhs.n_rows != n) {
    throw FileError(*arguments.rhs, 0,
                    "right-hand sides of " + std::to_string(rhs.n_rows) + " rows do not fit a matrix of " +
                        std::to_string(n));
  }
  if (rhs.n_cols == 0) throw FileError(*arguments.rhs, 0, "there is no right-hand side in it");
  if (arguments.n_rhs && *arguments.n_rhs != rhs.n_cols) {
    throw FileError(*arguments.rhs, 0,
                    "it has " + std::to_string(rhs.n_cols) + " right-hand sides, not the " +
                        std::to_string(*arguments.n_rhs) + " of --nrhs");
  }
}

inline Input read_input(const Arguments& arguments) {
  Progress progress(!arguments.quiet);
  const Kokkos::Timer timer;
  progress.show("reading " + arguments.files.front());
  const std::int64_t columns = arguments.rhs ? 1 : arguments.n_rhs.value_or(1);
  Input input{read_checked_matrix_market(arguments.files.front(), check_memory(arguments, columns)), {}, 0};
  const std::int64_t n = check_solvable(arguments.files.front(), input.matrix);
  if (arguments.rhs) {
    progress.show("reading " + *arguments.rhs);
    input.rhs = read_checked_matrix_market_array(*arguments.rhs, [&](const MatrixMarketSize& size) {
      check_rhs(arguments, size, n);
      check_memory(arguments, size.n_cols)({n, n, 0});
    });
  }
  input.read_seconds = timer.seconds();
  return input;
}

inline bool has_solution(const Arguments& arguments, const Report& report) {
  return is_solved(report.status) || report.status == Status::error_above_tolerance ||
         (arguments.is_given("--solve-singular") && report.errors.backward_componentwise);
}

/// Where the solution is written, or how to obtain it.
inline std::string place_of_solution(const Arguments& arguments, const Report& report) {
  if (!has_solution(arguments, report)) return "";
  return arguments.out ? "X is in " + *arguments.out : "--out X.mtx writes the solution";
}

template <class Scalar>
void write_solution(const Arguments& arguments, const std::vector<Scalar>& X, std::int64_t n,
                    const Report& report) {
  if (!arguments.out) return;
  if (!has_solution(arguments, report)) {
    print_error(*arguments.out + " is not written: there is no solution");
    return;
  }
  write_matrix_market_array<Scalar>(*arguments.out, n, static_cast<std::int64_t>(X.size()) / n, X,
                                    "X of " + arguments.files.front() + ", " + describe(report, 1));
}

/// Writes report, JSON and solution. The report names the file of X only after X is written.
/// @throws FileError if one of them cannot be written
template <class Scalar>
void write_results(const Arguments& arguments, const ReportRecord& record, const std::vector<Scalar>& X,
                   std::int64_t n) {
  const auto write_texts = [&](const std::string& place) {
    write_report(arguments, record, place);
    if (arguments.json) write_text(*arguments.json, to_json(record));
  };
  const bool to_file = arguments.out && *arguments.out != "-";
  if (!to_file) write_texts(place_of_solution(arguments, record.report));
  try {
    write_solution(arguments, X, n, record.report);
  } catch (const std::exception&) {
    if (to_file) write_texts("");
    throw;
  }
  if (to_file) write_texts(place_of_solution(arguments, record.report));
}

}  // namespace lutra::Cli

#endif

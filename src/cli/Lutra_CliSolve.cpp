// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSession.hpp"

namespace lutra::Cli {
namespace {

// The files, read before the scalar type of the solve is known.
struct Input {
  MatrixMarketMatrix matrix;
  std::optional<MatrixMarketArray> rhs;
  double read_seconds = 0;

  bool is_complex() const {
    return matrix.header.field == MatrixMarketHeader::Field::complex ||
           (rhs && rhs->header.field == MatrixMarketHeader::Field::complex);
  }
};

void check_rhs(const Arguments& arguments, const MatrixMarketArray& rhs, std::int64_t n) {
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

Input read_input(const Arguments& arguments) {
  Progress progress(!arguments.quiet);
  const Kokkos::Timer timer;
  progress.show("reading " + arguments.files.front());
  Input input{read_matrix_market(arguments.files.front()), {}, 0};
  const std::int64_t n = check_solvable(arguments.files.front(), input.matrix);
  if (arguments.rhs) {
    progress.show("reading " + *arguments.rhs);
    input.rhs = read_matrix_market_array(*arguments.rhs);
    check_rhs(arguments, *input.rhs, n);
  }
  input.read_seconds = timer.seconds();
  return input;
}

template <class Scalar>
void write_solution(const Arguments& arguments, const std::vector<Scalar>& X, std::int64_t n,
                    const Report& report) {
  if (!arguments.out) return;
  const bool solved = report.status == Status::success || report.status == Status::error_above_tolerance ||
                      (arguments.solve_singular && report.errors.backward_componentwise);
  if (!solved) {
    print_error(*arguments.out + " is not written: there is no solution");
    return;
  }
  write_matrix_market_array<Scalar>(*arguments.out, n, static_cast<std::int64_t>(X.size()) / n, X,
                                    "X of " + arguments.files.front() + ", " + describe(report, 1));
}

template <class Scalar, class ExecutionSpace>
int solve(const Arguments& arguments, const SolverOptions& options, Input&& input) {
  const std::string& file = arguments.files.front();
  const auto A = convert_matrix<Scalar>(file, std::move(input.matrix));
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<Scalar> known, B;
  if (input.rhs) {
    B = convert_array<Scalar>(*arguments.rhs, *input.rhs);
  } else {
    known = known_solution<Scalar>(n, static_cast<std::size_t>(arguments.n_rhs.value_or(1)));
    B = multiply(file, A, known, transposition(arguments));
  }
  ReportRecord record;
  const MatrixProperties properties = matrix_properties(make_view(A));
  record.matrix = summarize<Scalar>(file, properties);
  Session<Scalar, ExecutionSpace> session(
      arguments,
      for_matrix<ExecutionSpace>(with_ordering(options, A.n_rows), A, input.matrix.header, properties));
  const std::vector<Scalar> X = session.solve(A, B, record);
  finish(record, input.read_seconds);
  if (!known.empty() && record.report.errors.backward_componentwise) {
    record.report.errors.forward = forward_error(X, known, n);
  }
  if (!arguments.quiet && !json_on_output(arguments)) write_output(to_text(record));
  if (arguments.json) write_json(*arguments.json, to_json(record));
  write_solution(arguments, X, A.n_rows, record.report);
  return exit_status(record.report.status);
}

}  // namespace

int run_solve(const Arguments& arguments) {
  const SolverOptions options = check_options(arguments);
  Input input = read_input(arguments);
  const bool is_complex = input.is_complex();
  return with_types(arguments.scalar, is_complex, options.backend, [&]<class Scalar, class ExecutionSpace>() {
    return solve<Scalar, ExecutionSpace>(arguments, options, std::move(input));
  });
}

}  // namespace lutra::Cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSession.hpp"
#include "Lutra_CliSolveFiles.hpp"
#include "Lutra_CliTrace.hpp"

namespace lutra::Cli {
namespace {

/// @param trace null: none is asked for
template <class Scalar, class ExecutionSpace>
int solve(const Arguments& arguments, const ProgramOptions& options, Input&& input, Trace* trace) {
  const std::string& file = arguments.files.front();
  const auto A = convert_matrix<Scalar>(file, std::move(input.matrix));
  const auto n = static_cast<std::size_t>(A.n_rows);
  const MatrixProperties properties = matrix_properties(make_view(A));
  const ProgramOptions own = with_symmetry(with_ordering(options, A.n_rows), input.matrix.header);
  std::vector<Scalar> known, B;
  if (input.rhs) {
    B = convert_array<Scalar>(*arguments.rhs, *input.rhs);
  } else {
    known = known_solution<Scalar>(n, static_cast<std::size_t>(arguments.n_rhs.value_or(1)));
    B = right_hand_sides(file, A, own, known, transposition(arguments));
  }
  ReportRecord record;
  record.matrix = summarize<Scalar>(file, properties);
  Session<Scalar, ExecutionSpace> session(arguments, own);
  const std::vector<Scalar> X = session.solve(A, B, record);
  finish(record, input.read_seconds);
  if (!known.empty() && has_error(record.report)) {
    record.report.errors.forward = forward_error(X, known, n);
  }
  {
    const Trace::Interval writing(trace, "write");
    write_results(arguments, record, X, A.n_rows);
  }
  if (trace != nullptr) trace->write(*arguments.trace);
  return exit_status(record.report.status);
}

/// Lets a solver tell its events to a trace.
void observe(CommonOptions& options, Trace& trace) {
  Observers observers = options.observers ? *options.observers : Observers();
  observers.event = [&trace](const Event& event) { trace.add(event); };
  options.observers = std::make_shared<const Observers>(std::move(observers));
}

}  // namespace

int run_solve(const Arguments& arguments) {
  const std::string for_ranks =
      std::string(" is for several ranks") +
      (has_mpi ? ": mpirun -n N lutra solve …" : ", and this program was built without MPI");
  if (arguments.grid && *arguments.grid != "1x1") throw InputError("--grid " + *arguments.grid + for_ranks);
  if (arguments.transport != "auto") throw InputError("--transport " + arguments.transport + for_ranks);
  ProgramOptions options = check_options(arguments);
  std::optional<Trace> trace;
  if (arguments.trace) observe(options.solver, trace.emplace());
  Trace* const recorder = trace ? &*trace : nullptr;
  Input input = [&] {
    const Trace::Interval reading(recorder, "read");
    return read_input(arguments);
  }();
  options = with_backend_chosen(std::move(options), arguments, input.matrix);
  const bool is_complex = input.is_complex();
  return with_types(arguments.scalar, is_complex, options.backend, [&]<class Scalar, class ExecutionSpace>() {
    return solve<Scalar, ExecutionSpace>(arguments, options, std::move(input), recorder);
  });
}

}  // namespace lutra::Cli

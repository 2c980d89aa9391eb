// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIANALYSIS_HPP
#define LUTRA_CLIANALYSIS_HPP

#include <utility>

#include "Lutra_CliSession.hpp"

// Runs the solver's own analysis for commands that only report what a solver would do.

namespace lutra::Cli {

/// What a solver chooses takes an analysis; a matrix that is not square has none.
/// @param with_structure orders and pattern of the factors are wanted, of direct methods; else empty
/// @returns the structure; the report, and the method in use. A stop becomes the report's status
template <class Scalar, class ExecutionSpace>
std::pair<FactorStructure, Method> analyze(const HostMatrix<Scalar>& A, const ProgramOptions& options,
                                           Report& report, bool with_structure) {
  if (A.n_rows != A.n_cols || A.n_rows == 0) return {{}, options.solver.method};
  SolverOptions stoppable = options.solver;
  stoppable.stop = interrupt_flag();
  Solver<Scalar, ExecutionSpace> solver(stoppable);
  const Interruptible listening;
  const Status status = solver.analyze(to_memory<typename ExecutionSpace::memory_space>(A));
  report = solver.report();
  if (status == Status::cancelled) {
    report.status = status;
    return {{}, solver.method()};
  }
  add_backend_reason(options, report.choice);
  return {with_structure ? solver.structure() : FactorStructure(), solver.method()};
}

}  // namespace lutra::Cli

#endif

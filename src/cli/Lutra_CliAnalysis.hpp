// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIANALYSIS_HPP
#define LUTRA_CLIANALYSIS_HPP

#include <utility>

#include "Lutra_CliSession.hpp"

// Runs the solver's own analysis for commands that only report what a solver would do.

namespace lutra::Cli {

/// What a solver chooses takes an analysis; a matrix that is not square has none.
/// @param with_structure orders and pattern of the factors are wanted, of direct methods; else empty
/// @returns the structure; the report, and the method in use
template <class Scalar, class ExecutionSpace>
std::pair<FactorStructure, Method> analyze(const HostMatrix<Scalar>& A, const ProgramOptions& options,
                                           Report& report, bool with_structure) {
  if (A.n_rows != A.n_cols || A.n_rows == 0) return {{}, options.solver.method};
  Solver<Scalar, ExecutionSpace> solver(options.solver);
  static_cast<void>(solver.analyze(to_memory<typename ExecutionSpace::memory_space>(A)));
  report = solver.report();
  add_backend_reason(options, report.choice);
  return {with_structure ? solver.structure() : FactorStructure(), solver.method()};
}

}  // namespace lutra::Cli

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIANALYSIS_HPP
#define LUTRA_CLIANALYSIS_HPP

#include "Lutra_CliSession.hpp"

// Runs the solver's own analysis for commands that only report what a solver would do.

namespace lutra::Cli {

template <class Solver, class Options, class Scalar>
FactorStructure analyze_with(const HostMatrix<Scalar>& A, const Options& options, Report& report,
                             bool with_structure) {
  Solver solver(options);
  solver.analyze(to_memory<typename Solver::memory_space>(A));
  report = solver.report();
  return with_structure ? solver.structure() : FactorStructure();
}

/// Analyses A and records what auto selects. A matrix that is not square has no analysis.
/// @param with_structure request ordering and factor pattern of direct methods; otherwise the result is empty
template <class Scalar, class ExecutionSpace>
FactorStructure analyze(const HostMatrix<Scalar>& A, const SolverOptions& options, Report& report,
                        bool with_structure) {
  if (A.n_rows != A.n_cols || A.n_rows == 0) return {};
  if (options.krylov) {
    KrylovSolver<Scalar, ExecutionSpace> solver(*options.krylov);
    solver.analyze(to_memory<typename ExecutionSpace::memory_space>(A));
    report = solver.report();
    return {};
  }
  if (options.ldlt)
    return analyze_with<SparseLDLT<Scalar, ExecutionSpace>>(A, *options.ldlt, report, with_structure);
  return analyze_with<SparseLU<Scalar, ExecutionSpace>>(A, options.lu, report, with_structure);
}

}  // namespace lutra::Cli

#endif

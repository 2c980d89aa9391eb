// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole solver: analysis, first factorization, refactorization and refined solve of Lutra and each peer.
// Also everything from a new matrix to its solution; for symmetric matrices also with LDLT of the peers.
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfPeers.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSolver.hpp"

namespace lutra::Perf {
namespace {

/// A matrix, a right-hand side, and a function that makes a solver for both.
template <class Scalar>
struct Problem {
  const HostMatrix<Scalar>& matrix;
  std::vector<Scalar> b;
  std::function<std::unique_ptr<Solver<Scalar>>(const HostMatrix<Scalar>&, const std::vector<Scalar>&)> make;
};

/// Adds the counts of the solver and the backward errors of its solution. The solver has factors, but its
/// solution may not be computed yet.
template <class Scalar>
Measurement described(Samples samples, Solver<Scalar>& solver, const Problem<Scalar>& problem) {
  solver.solve();
  SolverProperties properties = solver.properties();
  Measurement result{std::move(samples), std::move(properties.counters), std::move(properties.label)};
  result.counters["n"] = problem.matrix.n_rows;
  result.counters["nnz"] = static_cast<double>(problem.matrix.nnz());
  result.check_errors(backward_errors(problem.matrix, problem.b, solver.solution()));
  return result;
}

template <class Scalar>
double factor_bytes(const Measurement& result) {
  const auto nnz_lu = result.counters.find("nnz_lu");
  if (nnz_lu == result.counters.end()) return 0;
  return csr_bytes(result.counters.at("n"), nnz_lu->second, true, sizeof(Scalar));
}

template <class Scalar>
Measurement measure_analysis(const PerfRun& run, const Problem<Scalar>& problem) {
  const auto solver = problem.make(problem.matrix, problem.b);
  auto samples = measure(run.samples, [&] { solver->analyze(); });
  solver->prepare_factorization();
  solver->factorize();
  Measurement result = described(std::move(samples), *solver, problem);
  const double n = problem.matrix.n_rows, nnz = static_cast<double>(problem.matrix.nnz());
  result.add_limits(run.limits, csr_bytes(n, nnz, true, sizeof(Scalar)));
  return result;
}

/// Bytes that must move: the matrix is read and the factors are written, once.
template <class Scalar>
void bound_factorization(const PerfRun& run, const Problem<Scalar>& problem, Measurement& result) {
  const double n = problem.matrix.n_rows, nnz = static_cast<double>(problem.matrix.nnz());
  const auto flops = result.counters.find("flops");
  result.add_limits(run.limits, csr_bytes(n, nnz, true, sizeof(Scalar)) + factor_bytes<Scalar>(result),
                    flops == result.counters.end() ? 0.0 : flops->second);
}

template <class Scalar>
Measurement measure_factorization(const PerfRun& run, const Problem<Scalar>& problem) {
  const auto solver = problem.make(problem.matrix, problem.b);
  auto samples = measure(
      run.samples, [&] { solver->prepare_factorization(); }, [&] { solver->factorize(); });
  Measurement result = described(std::move(samples), *solver, problem);
  bound_factorization(run, problem, result);
  return result;
}

template <class Scalar>
Measurement measure_refactorization(const PerfRun& run, const Problem<Scalar>& problem) {
  const auto solver = problem.make(problem.matrix, problem.b);
  solver->prepare_factorization();
  solver->factorize();
  auto samples = measure(run.samples, [&] { solver->refactorize(); });
  Measurement result = described(std::move(samples), *solver, problem);
  bound_factorization(run, problem, result);
  return result;
}

/// Bytes of one solve without refinement: factors and vectors, once.
template <class Scalar>
Measurement measure_solve(const PerfRun& run, const Problem<Scalar>& problem) {
  const auto solver = problem.make(problem.matrix, problem.b);
  solver->prepare_factorization();
  solver->factorize();
  auto samples = measure(run.samples, [&] { solver->solve(); });
  Measurement result = described(std::move(samples), *solver, problem);
  const double n = problem.matrix.n_rows;
  result.add_limits(run.limits, factor_bytes<Scalar>(result) + 2 * n * sizeof(Scalar));
  return result;
}

/// Times a first solution in a process that has solved others: the warm-ups are two such runs.
template <class Scalar>
Measurement measure_first_solution(const PerfRun& run, const Problem<Scalar>& problem) {
  const auto solver = problem.make(problem.matrix, problem.b);
  auto samples = measure(run.samples, [&] {
    solver->analyze();
    solver->factorize();
    solver->solve();
  });
  return described(std::move(samples), *solver, problem);
}

template <class Scalar>
void register_first_solution(const PerfRun& run, const std::string& matrix, const std::string& solver,
                             const std::shared_ptr<const Problem<Scalar>>& problem) {
  add_benchmark(matrix, "first", solver, [&run, problem] { return measure_first_solution(run, *problem); });
}

template <class Scalar>
void register_solver(const PerfRun& run, const std::string& matrix, const std::string& solver,
                     const std::shared_ptr<const Problem<Scalar>>& problem) {
  const auto add = [&](const char* stage, Measurement (*body)(const PerfRun&, const Problem<Scalar>&)) {
    add_benchmark(matrix, stage, solver, [&run, problem, body] { return body(run, *problem); });
  };
  add("analyze", measure_analysis<Scalar>);
  add("factor", measure_factorization<Scalar>);
  add("refactor", measure_refactorization<Scalar>);
  add("solve", measure_solve<Scalar>);
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  using ProblemPointer = std::shared_ptr<const Problem<Scalar>>;
  const auto b = make_right_hand_side(matrix);
  const ProblemPointer own(new Problem<Scalar>{matrix, b, make_lutra<Scalar>});
  register_solver(run, name, "lutra", own);
  register_first_solution(run, name, "lutra", own);
  if constexpr (has_peers<Scalar>) {
    for (const PeerKind& kind : peer_kinds()) {
      const ProblemPointer problem(new Problem<Scalar>{matrix, b, kind.make});
      register_solver(run, name, kind.name, problem);
      if (!kind.takes_pivots) register_first_solution(run, name, kind.name, problem);
    }
    if (matrix.n_rows != matrix.n_cols || matrix_properties(make_view(matrix)).value_symmetry != 1) return;
    for (const PeerKind& kind : symmetric_peer_kinds(false)) {
      register_first_solution(run, name, kind.name + "-ldlt",
                              ProblemPointer(new Problem<Scalar>{matrix, b, kind.make}));
    }
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf

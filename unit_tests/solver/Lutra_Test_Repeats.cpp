// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_Generated.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// The same solve again and again while other threads keep the processors busy, so that threads of the solver
// are stopped anywhere. Twice always, as often as scripts/repeats.sh says by LUTRA_REPEATS.

namespace lutra::Test {
namespace {

/// Threads that compute until they are told to stop.
class Load {
 public:
  Load() {
    for (unsigned k = 0; k < std::max(2U, std::thread::hardware_concurrency()); ++k)
      m_threads.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
  }

 private:
  std::vector<std::jthread> m_threads;
};

/// All that a solve leaves.
template <class Scalar>
struct Result {
  Status status;
  std::int64_t nnz_l, nnz_u, iterations;
  std::vector<double> history;
  std::vector<Scalar> x;

  bool operator==(const Result&) const = default;
};

template <class Types>
auto solve(const Matrix<Types>& A, const KrylovSolverOptions& options) {
  using Scalar = typename Types::Scalar;
  KrylovSolver<Scalar, typename Types::Space> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto B = to_space<typename Types::Space>(known_system(A).b);
  const auto X = to_space<typename Types::Space>(std::vector<Scalar>(B.extent(0)));
  const Status status = solver.solve(B, X);
  const Report& report = solver.report();
  return Result<Scalar>{
      status,      *report.factors.nnz_l, *report.factors.nnz_u, *report.iterations, report.residual_history,
      to_vector(X)};
}

template <class Types>
void repeat(const std::string& kind, int size, IluMethod method, int runs, bool print) {
  const auto A = generated<Types>(kind, size);
  KrylovSolverOptions options;
  options.ilu.method = method;
  options.ilu.deterministic = true;
  const auto first = solve<Types>(A, options);
  std::vector<std::int64_t> iterations;
  for (int k = 0; k < runs; ++k) {
    INFO(kind << ", " << name_of(options.ilu) << ", run " << k);
    options.ilu.deterministic = true;
    REQUIRE(first.status == Status::success);
    REQUIRE(solve<Types>(A, options) == first);
    options.ilu.deterministic = false;
    const auto any = solve<Types>(A, options);
    REQUIRE(any.status == Status::success);
    iterations.push_back(any.iterations);
  }
  std::ranges::sort(iterations);
  if (!print) return;
  std::printf(
      "%s of %d rows, %s: %d iterations, the same bits in %d runs; asynchronous %d to %d, median %d\n",
      kind.c_str(), static_cast<int>(A.n_rows), std::string(name_of(options.ilu)).c_str(),
      static_cast<int>(first.iterations), runs, static_cast<int>(iterations.front()),
      static_cast<int>(iterations.back()), static_cast<int>(iterations[iterations.size() / 2]));
  std::fflush(stdout);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("deterministic incomplete factorizations give the same bits under load",
                        "[solver][repeats][threads]", AllTypes) {
  const char* const wanted = std::getenv("LUTRA_REPEATS");
  const int runs = wanted == nullptr ? 2 : std::atoi(wanted);
  const bool all = wanted != nullptr;
  std::optional<Load> load;
  if (typename TestType::Space().concurrency() > 1) load.emplace();
  for (const IluMethod method : {IluMethod::parilu, IluMethod::parilut}) {
    repeat<TestType>("convdiff3d", all ? 12 : 7, method, runs, all);
    repeat<TestType>("circuit", all ? 3000 : 500, method, runs, all);
  }
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <thread>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

/// A sequence of systems of one pattern, and what a solver made of them.
template <class Types>
struct Run {
  using Scalar = typename Types::Scalar;

  Matrix<Types> A;
  LuOptions options{};
  int n_steps = 1;
  std::vector<Status> statuses{};
  std::vector<std::vector<Scalar>> solutions{};
  std::exception_ptr failure{};

  Matrix<Types> step_matrix(int step) const {
    auto scaled = A;
    for (std::size_t p = 0; p < scaled.values.size(); ++p)
      scaled.values[p] *=
          as_scalar<Scalar>(1 + 0.01 * static_cast<double>((p + 3 * static_cast<std::size_t>(step)) % 7));
    return scaled;
  }

  void solve_step(Solver<Types>& solver, int step) {
    const auto matrix = step_matrix(step);
    const auto system = known_system(matrix);
    solutions.emplace_back(system.b.size());
    succeed(solver.factorize(matrix));
    statuses.push_back(solver.solve_host(system.b, solutions.back()));
  }

  void solve_all(const typename Types::Space& exec) {
    try {
      Solver<Types> solver(options, exec);
      succeed(solver.analyze(A));
      for (int step = 0; step < n_steps; ++step) solve_step(solver, step);
    } catch (...) {
      failure = std::current_exception();
    }
  }

  void check() const {
    if (failure) std::rethrow_exception(failure);
    REQUIRE(solutions.size() == static_cast<std::size_t>(n_steps));
    for (int step = 0; step < n_steps; ++step) {
      const auto k = static_cast<std::size_t>(step);
      const auto matrix = step_matrix(step);
      INFO("step " << step);
      REQUIRE(statuses[k] == Status::success);
      REQUIRE(Reference::backward_errors(matrix, solutions[k], known_system(matrix).b).componentwise <=
              tight_bound<Scalar>());
    }
  }
};

/// Two instances of a space that share its threads; none where there is one thread to share.
template <class Space>
std::vector<Space> two_instances() {
#ifdef LUTRA_HAS_OPENMP
  if (std::is_same_v<Space, Kokkos::OpenMP> && Space().concurrency() < 2) return {};
#endif
  return Kokkos::Experimental::partition_space(Space(), 1, 1);
}

template <class Types>
std::vector<Run<Types>> runs_of_both_engines(int n_steps) {
  std::mt19937 random(91);
  std::vector<Run<Types>> runs;
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    LuOptions options;
    options.engine = engine;
    options.ordering = Ordering::metis;
    runs.push_back({permuted_matrix<Matrix<Types>>(300, 2.0, random), options, n_steps});
  }
  return runs;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("two solvers work on two threads with an instance each", "[solver][threads]",
                        AllTypes) {
  using Space = typename TestType::Space;
  auto runs = runs_of_both_engines<TestType>(8);
  const auto parts = two_instances<Space>();
  if (parts.empty()) return;
  {
    std::thread other([&] { runs[1].solve_all(parts[1]); });
    runs[0].solve_all(parts[0]);
    other.join();
  }
  for (const auto& run : runs) run.check();
  if constexpr (lutra::Impl::is_serial_space<Space>) {  // where the same bits are promised
    for (const auto& run : runs) {
      auto alone = run;
      alone.statuses.clear();
      alone.solutions.clear();
      alone.solve_all(Space());
      CHECK(alone.solutions == run.solutions);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("two solvers on two instances take turns on one thread", "[solver]", AllTypes) {
  using Space = typename TestType::Space;
  auto runs = runs_of_both_engines<TestType>(4);
  const auto parts = two_instances<Space>();
  if (parts.empty()) return;
  std::vector<Solver<TestType>> solvers;
  for (std::size_t i = 0; i < 2; ++i) {
    solvers.emplace_back(runs[i].options, parts[i]);
    succeed(solvers[i].analyze(runs[i].A));
  }
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < 2; ++i) runs[i].solve_step(solvers[i], step);
  }
  for (const auto& run : runs) run.check();
}

}  // namespace lutra::Test

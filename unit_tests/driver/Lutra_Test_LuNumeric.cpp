// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <limits>
#include <memory>
#include <thread>

#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Numeric =
    LuNumeric<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset, typename Types::Space>;

/// The matrix with values multiplied by random factors from 1 to 1.4.
template <class MatrixType>
MatrixType with_new_values(MatrixType matrix, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (auto& value : matrix.values)
    value *= as_scalar<Scalar>(1.0 + 0.05 * static_cast<double>(random() % 8));
  return matrix;
}

/// Solves A·x = b by `numeric`, which has factorized A, and checks the answer.
template <class Types, class MatrixType>
void check_solution(Numeric<Types>& numeric, const MatrixType& A) {
  using Scalar = typename Types::Scalar;
  const auto system = known_system(A);
  const auto b = to_space<typename Types::Space>(system.b);
  for (const auto op : {Transposition::none, Transposition::adjoint}) {
    const auto x = to_space<typename Types::Space>(std::vector<Scalar>(system.b.size()));
    REQUIRE(numeric.solve(b, x, op) == Status::success);
    const auto B = op == Transposition::none ? A : Reference::transpose(A, true);
    CHECK(Reference::backward_errors(B, to_vector(x), system.b).componentwise <= tight_bound<Scalar>());
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("numeric objects over one analysis keep their own values", "[driver]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(61);
  const auto A = permuted_matrix<Matrix<TestType>>(90, 3.0, random);
  const auto A1 = with_new_values(A, random), A2 = with_new_values(A, random);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    for (const TrisolveMethod trisolve : {TrisolveMethod::automatic, TrisolveMethod::levels}) {
      LuOptions options;
      options.engine = engine;
      options.trisolve = trisolve;
      auto solver = std::make_unique<Solver<TestType>>(options);
      CHECK(solver->analysis() == nullptr);
      solver->analyze(A);
      Numeric<TestType> first(solver->analysis(), options), second(solver->analysis(), options);
      CHECK(first.analysis() == second.analysis());
      solver.reset();  // they keep the analysis
      INFO("engine " << name_of(engine) << ", solves " << name_of(trisolve));
      CHECK(first.report().choice.engine == name_of(engine));
      CHECK(first.report().choice.trisolve == second.report().choice.trisolve);
      for (int step = 0; step < 2; ++step) {
        first.factorize(to_space<Space>(step == 0 ? A1 : A2));
        second.factorize(to_space<Space>(step == 0 ? A2 : A1));
        check_solution<TestType>(first, step == 0 ? A1 : A2);
        check_solution<TestType>(second, step == 0 ? A2 : A1);
        check_solution<TestType>(first, step == 0 ? A1 : A2);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("numeric objects over one analysis on two threads, an instance each", "[driver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(67);
  const auto A = permuted_matrix<Matrix<TestType>>(300, 2.0, random);
  // Kokkos cannot divide a single host thread; both then work on it, one after the other.
  const bool concurrent =
      !lutra::Impl::is_host_space<Space> || lutra::Impl::is_serial_space<Space> || Space().concurrency() > 1;
  std::vector<Space> instances(2);
  if (concurrent) instances = Kokkos::Experimental::partition_space(Space(), 1, 1);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    LuOptions options;
    options.engine = engine;
    Solver<TestType> solver(options);
    solver.analyze(A);
    struct Run {
      Matrix<TestType> A;
      std::vector<Scalar> x{};
      Status status = Status::not_solved;
      std::exception_ptr failure{};
    };
    Run runs[] = {{with_new_values(A, random)}, {with_new_values(A, random)}};
    const auto solve_all = [&](std::size_t i) {
      try {
        Numeric<TestType> numeric(solver.analysis(), options, instances[i]);
        const auto device_A = to_space<Space>(runs[i].A);
        const auto b = to_space<Space>(known_system(runs[i].A).b);
        const auto x = to_space<Space>(std::vector<Scalar>(300));
        for (int step = 0; step < 8; ++step) {
          numeric.factorize(device_A);
          runs[i].status = numeric.solve(b, x);
        }
        runs[i].x = to_vector(x);
      } catch (...) {
        runs[i].failure = std::current_exception();
      }
    };
    std::thread other;
    if (concurrent) other = std::thread([&] { solve_all(1); });
    solve_all(0);
    if (concurrent) {
      other.join();
    } else {
      solve_all(1);
    }
    INFO("engine " << name_of(engine));
    for (const Run& run : runs) {
      if (run.failure) std::rethrow_exception(run.failure);
      REQUIRE(run.status == Status::success);
      CHECK(Reference::backward_errors(run.A, run.x, known_system(run.A).b).componentwise <=
            tight_bound<Scalar>());
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a numeric object that fails leaves others alone", "[driver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  const auto singular = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  Solver<TestType> solver;
  solver.analyze(A);
  Numeric<TestType> good(solver.analysis()), bad(solver.analysis());
  good.factorize(to_space<Space>(A));
  bad.factorize(to_space<Space>(singular));
  CHECK(bad.report().status == Status::numerically_singular);
  auto not_finite = A;
  not_finite.values[0] = Scalar(std::numeric_limits<RealOf<Scalar>>::infinity());
  CHECK_THROWS_AS(bad.factorize(to_space<Space>(not_finite)), InputError);
  LuOptions tight;
  tight.memory_limit = 64;
  CHECK_THROWS_AS(Numeric<TestType>(solver.analysis(), tight).factorize(to_space<Space>(A)),
                  OutOfMemoryError);
  CHECK(good.report().status == Status::not_solved);
  CHECK(good.report().singular_rows.empty());
  check_solution<TestType>(good, A);
}

TEMPLATE_LIST_TEST_CASE("an analysis taken anew is one object's own", "[driver]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  const double tiny = 1e-12;
  // The large entries are exchanged, and with them the matching.
  const auto A = from_dense<Matrix<TestType>>({{8, tiny, 1}, {tiny, 8, 1}, {1, 1, 4}});
  const auto B = from_dense<Matrix<TestType>>({{tiny, 8, 1}, {8, tiny, 1}, {1, 1, 4}});
  Solver<TestType> solver;
  solver.analyze(A);
  Numeric<TestType> first(solver.analysis()), second(solver.analysis());
  first.factorize(to_space<Space>(A));
  second.factorize(to_space<Space>(A));
  second.rematch(to_space<Space>(B));
  CHECK(second.report().status == Status::not_solved);
  CHECK(first.analysis() == solver.analysis());
  CHECK(second.analysis() != solver.analysis());
  const auto matched = [](const auto& numeric) {
    const auto rows = to_vector(numeric.analysis()->F.row_order);
    const auto columns = to_vector(numeric.analysis()->F.col_order);
    std::vector<std::int64_t> row_of_column(3);
    for (std::size_t k = 0; k < 3; ++k) row_of_column[static_cast<std::size_t>(columns[k])] = rows[k];
    return row_of_column;
  };
  CHECK(matched(first) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(matched(second) == std::vector<std::int64_t>{1, 0, 2});
  const auto b = to_space<Space>(std::vector<Scalar>(3, Scalar(1)));
  CHECK_THROWS_AS(second.solve(b, b), CallOrderError);
  second.factorize(to_space<Space>(B));
  CHECK(second.report().pivots.perturbed == 0);
  check_solution<TestType>(second, B);
  check_solution<TestType>(first, A);
  first.set_analysis(second.analysis());
  first.factorize(to_space<Space>(B));
  check_solution<TestType>(first, B);
}

}  // namespace lutra::Test

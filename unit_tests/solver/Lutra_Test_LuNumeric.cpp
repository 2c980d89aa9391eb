// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Numeric = lutra::Numeric<typename Types::Scalar, typename Types::Space>;

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

TEMPLATE_LIST_TEST_CASE("numeric objects over one analysis keep their own values", "[solver]", AllTypes) {
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
      succeed(solver->analyze(A));
      Numeric<TestType> first(solver->analysis(), options), second(solver->analysis(), options);
      CHECK(first.analysis() == second.analysis());
      solver.reset();  // they keep the analysis
      INFO("engine " << name_of(engine) << ", solves " << name_of(trisolve));
      CHECK(first.report().choice.engine == name_of(engine));
      CHECK(first.report().choice.trisolve == second.report().choice.trisolve);
      for (int step = 0; step < 2; ++step) {
        succeed(first.factorize(to_space<Space>(step == 0 ? A1 : A2)));
        succeed(second.factorize(to_space<Space>(step == 0 ? A2 : A1)));
        check_solution<TestType>(first, step == 0 ? A1 : A2);
        check_solution<TestType>(second, step == 0 ? A2 : A1);
        check_solution<TestType>(first, step == 0 ? A1 : A2);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("numeric objects over one analysis on two threads with an instance each",
                        "[solver][threads]", AllTypes) {
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
    succeed(solver.analyze(A));
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
          succeed(numeric.factorize(device_A));
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

TEMPLATE_LIST_TEST_CASE("a new analysis of the same matched pattern computes only the matching", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(62);
  const auto A = permuted_matrix<Matrix<TestType>>(90, 3.0, random);
  auto scaled = A;  // rows times 1, 4 or 16: other scales, the same matching
  for (std::size_t i = 0; i + 1 < A.row_map.size(); ++i)
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      scaled.values[p] *= as_scalar<Scalar>(std::pow(4.0, static_cast<double>(i % 3)));
  const Engine engine = GENERATE(Engine::simplicial, Engine::multifrontal);
  LuOptions options;
  options.engine = engine;
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  const auto before = solver.analysis();
  CHECK(before->report.times.ordering.has_value());
  for (int round = 0; round < 2; ++round) {
    succeed(solver.analyze(scaled));
    const auto after = solver.analysis();
    CHECK(after != before);
    CHECK(after->plan == before->plan);
    CHECK(after->report.times.matching.has_value());
    CHECK_FALSE(after->report.times.ordering.has_value());
    CHECK_FALSE(after->report.times.symbolic.has_value());
    CHECK(after->report.choice.ordering == before->report.choice.ordering);
    CHECK(after->report.factors.nnz_l == before->report.factors.nnz_l);
    const std::string& why = after->report.choice.why;
    const auto said = why.find("the matched pattern is the same");
    CHECK(said != std::string::npos);
    CHECK(why.find("the matched pattern is the same", said + 1) == std::string::npos);
    CHECK(to_vector(after->row_scale) != to_vector(before->row_scale));
    Numeric<TestType> numeric(after, options);
    succeed(numeric.factorize(to_space<Space>(scaled)));
    check_solution<TestType>(numeric, scaled);
  }
  Numeric<TestType> other(before, {});  // rematches by the options of its analysis
  other.rematch(to_space<Space>(scaled));
  CHECK(other.analysis()->plan == before->plan);
  LuOptions another = options;
  another.matching = Matching::exact;  // nothing is taken over from an analysis by other options
  CHECK(
      analyze<Scalar, Space>(Space(), to_space<Space>(scaled), another, MemoryBudget(), before.get())->plan !=
      before->plan);
  succeed(solver.analyze(from_dense<Matrix<TestType>>({{2, 1}, {1, 3}})));
  CHECK(solver.report().times.ordering.has_value());
}

TEMPLATE_LIST_TEST_CASE("a new analysis may find another matching", "[solver]", AllTypes) {
  const double none = nothing;
  Solver<TestType> solver;
  SECTION("on the same matched pattern keeps the ordering") {
    succeed(solver.analyze(from_dense<Matrix<TestType>>({{9, 1, none}, {1, 9, none}, {none, none, 1}})));
    const auto before = solver.analysis();
    const auto A = from_dense<Matrix<TestType>>({{1, 9, none}, {9, 1, none}, {none, none, 1}});
    succeed(solver.analyze(A));
    CHECK(solver.analysis()->plan != before->plan);
    CHECK_FALSE(solver.report().times.ordering.has_value());
    CHECK(solver.report().times.symbolic.has_value());
    CHECK(solver.report().choice.ordering == before->report.choice.ordering);
    Numeric<TestType> numeric(solver.analysis());
    succeed(numeric.factorize(to_space<typename TestType::Space>(A)));
    check_solution<TestType>(numeric, A);
  }
  SECTION("on the same block triangular one keeps blocks and engine") {
    succeed(solver.analyze(from_dense<Matrix<TestType>>(
        {{9, 1, 2, 3}, {1, 9, 4, 5}, {none, none, 1, 6}, {none, none, none, 2}})));
    const auto before = solver.analysis();
    const auto A =
        from_dense<Matrix<TestType>>({{1, 9, 2, 3}, {9, 1, 4, 5}, {none, none, 1, 6}, {none, none, none, 2}});
    succeed(solver.analyze(A));
    CHECK_FALSE(solver.report().times.ordering.has_value());
    CHECK(solver.report().choice.engine == before->report.choice.engine);
    CHECK(solver.report().factors.nnz_u == before->report.factors.nnz_u);
    if (lutra::Impl::is_host_space<typename TestType::Space>)
      CHECK(before->report.choice.why.find("3 irreducible blocks") != std::string::npos);
    Numeric<TestType> numeric(solver.analysis());
    succeed(numeric.factorize(to_space<typename TestType::Space>(A)));
    check_solution<TestType>(numeric, A);
  }
  SECTION("on another one orders anew") {
    succeed(solver.analyze(from_dense<Matrix<TestType>>({{9, 1, none}, {1, 9, 1}, {none, 1, 9}})));
    succeed(solver.analyze(from_dense<Matrix<TestType>>({{1, 9, none}, {9, 1, 1}, {none, 1, 9}})));
    CHECK(solver.report().times.ordering.has_value());
  }
}

/// Five-point stencils on a grid of m × m, two unknowns a point, whose rows have one pattern: the large
/// entries of a point's block stand on its diagonal, or where `swapped` beside it.
template <class MatrixType, class Swapped>
MatrixType pairs_on_grid(int m, const Swapped& swapped) {
  const int points = m * m;
  const auto size = static_cast<std::size_t>(2 * points);
  std::vector<std::vector<double>> picture(size, std::vector<double>(size, nothing));
  for (int p = 0; p < points; ++p) {
    for (int q = 0; q < points; ++q) {
      if (std::abs(p / m - q / m) + std::abs(p % m - q % m) > 1) continue;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          picture[static_cast<std::size_t>(2 * p + i)][static_cast<std::size_t>(2 * q + j)] =
              p != q                   ? 0.25 + 0.125 * ((p + 3 * q + i) % 4)
              : (i == j) != swapped(p) ? 9
                                       : 1;
    }
  }
  return from_dense<MatrixType>(picture);
}

TEMPLATE_LIST_TEST_CASE("an ordering kept for another matching gives the factors of a fresh analysis",
                        "[solver]", AllTypes) {
  LuOptions options;
  options.engine = GENERATE(Engine::automatic, Engine::simplicial, Engine::multifrontal);
  options.ordering = GENERATE(Ordering::automatic, Ordering::natural, Ordering::rcm);
  const auto A = pairs_on_grid<Matrix<TestType>>(9, [](int) { return false; });
  const auto B = pairs_on_grid<Matrix<TestType>>(9, [](int p) { return p % 3 == 1; });
  Solver<TestType> used(options), fresh(options);
  succeed(fresh.analyze(B));
  succeed(fresh.factorize(B));
  const auto expected = fresh.factors();
  for (int round = 0; round < 2; ++round) {
    succeed(used.analyze(A));
    succeed(used.factorize(A));
    succeed(used.analyze(B));
    CHECK_FALSE(used.report().times.ordering.has_value());
    succeed(used.factorize(B));
    const auto factors = used.factors();
    CHECK(used.report().choice.engine == fresh.report().choice.engine);
    CHECK(factors.row_order == expected.row_order);
    CHECK(factors.col_order == expected.col_order);
    CHECK(factors.rows == expected.rows);
    CHECK(factors.columns == expected.columns);
    if (lutra::Impl::is_host_space<typename TestType::Space>) CHECK(factors.values == expected.values);
  }
}

TEMPLATE_LIST_TEST_CASE("a new analysis of a symmetric matrix computes only the scaling", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double none = nothing;
  LdltOptions options;
  options.pair_ordering = GENERATE(false, true);
  SparseLDLT<Scalar, typename TestType::Space> solver(options);
  succeed(solver.analyze(from_dense<Matrix<TestType>>({{4, 1, none}, {1, 0, 2}, {none, 2, 5}})));
  const auto before = solver.analysis();
  const auto A = from_dense<Matrix<TestType>>({{64, 4, none}, {4, 0, 2}, {none, 2, 5}});
  succeed(solver.analyze(A));
  CHECK((solver.analysis()->plan == before->plan) == !options.pair_ordering);
  CHECK(solver.report().times.ordering.has_value() == options.pair_ordering);
  CHECK(solver.report().times.matching.has_value());
  CHECK(to_vector(solver.analysis()->row_scale) != to_vector(before->row_scale));
  succeed(solver.factorize(A));
  const auto system = known_system(A);
  std::vector<Scalar> x(3);
  CHECK(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
  succeed(solver.analyze(from_dense<Matrix<TestType>>({{4, 1}, {1, 3}})));
  CHECK(solver.report().times.ordering.has_value());
}

TEMPLATE_LIST_TEST_CASE("a numeric object that fails does not affect others", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  const auto singular = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  Numeric<TestType> good(solver.analysis()), bad(solver.analysis());
  succeed(good.factorize(to_space<Space>(A)));
  CHECK(bad.factorize(to_space<Space>(singular)) == Status::numerically_singular);
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

TEMPLATE_LIST_TEST_CASE("a renewed analysis belongs to one object", "[solver]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  const double tiny = 1e-12;
  // The large entries are exchanged, and with them the matching.
  const auto A = from_dense<Matrix<TestType>>({{8, tiny, 1}, {tiny, 8, 1}, {1, 1, 4}});
  const auto B = from_dense<Matrix<TestType>>({{tiny, 8, 1}, {8, tiny, 1}, {1, 1, 4}});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  Numeric<TestType> first(solver.analysis()), second(solver.analysis());
  succeed(first.factorize(to_space<Space>(A)));
  succeed(second.factorize(to_space<Space>(A)));
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
  succeed(second.factorize(to_space<Space>(B)));
  CHECK(second.report().pivots.perturbed == 0);
  check_solution<TestType>(second, B);
  check_solution<TestType>(first, A);
  first.set_analysis(second.analysis());
  succeed(first.factorize(to_space<Space>(B)));
  check_solution<TestType>(first, B);
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

/// Finds patterns on the host, and counts them.
struct CountingSource final : PatternSource {
  int calls = 0;

  LuPattern<Kokkos::HostSpace> find(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                    const MemoryBudget&) override {
    ++calls;
    auto found = factorize_symbolic(Kokkos::DefaultHostExecutionSpace(), pattern, MemoryBudget(),
                                    {.method = SymbolicMethod::fill1});
    found.reason = "from a test";
    return found;
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("a system solved by hand", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  // The zero diagonal makes matching necessary: x = (1, 2, 3).
  const auto A = from_dense<Matrix<TestType>>({{o, 1, 1}, {2, o, 1}, {1, 1, o}});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  std::vector<Scalar> b{Scalar(5), Scalar(5), Scalar(3)}, x(3);
  REQUIRE(solver.solve_host(b, x) == Status::success);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(static_cast<double>(Kokkos::abs(x[i] - as_scalar<Scalar>(1.0 + static_cast<double>(i)))) <
          tight_bound<Scalar>());
  }
  CHECK(solver.report().structural_rank == 3);
  CHECK(solver.report().pivots.perturbed == 0);
  CHECK(*solver.report().factors.nnz_l + *solver.report().factors.nnz_u >= 6);
}

TEMPLATE_LIST_TEST_CASE("solutions agree with dense elimination", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(5);
  for (const int n : {1, 2, 9, 60, 150}) {
    const auto A = permuted_matrix<Matrix<TestType>>(n, 2.0, random);
    const auto system = known_system(A);
    for (const Ordering ordering : {Ordering::automatic, Ordering::metis, Ordering::amd, Ordering::natural}) {
      LuOptions options;
      options.ordering = ordering;
      Solver<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      std::vector<Scalar> x(system.b.size());
      INFO("n " << n << ", ordering " << solver.report().choice.ordering);
      REQUIRE(solver.solve_host(system.b, x) == Status::success);
      const auto errors = Reference::backward_errors(A, x, system.b);
      CHECK(errors.componentwise <= tight_bound<Scalar>());
      CHECK(errors.normwise <= tight_bound<Scalar>());
      const auto exact = Reference::dense_solve(A, system.b);
      for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(std::abs(Reference::widen(x[i]) - exact[i]) <= 1e4 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a caller's source finds the pattern of the simplicial engine", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(56);
  const auto A = permuted_matrix<Matrix<TestType>>(120, 2.0, random);
  const auto system = known_system(A);
  const auto solve = [&](const LuOptions& options) {
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::success);
    return std::pair(solver.report(), solver.structure());
  };
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  const auto expected = solve(options);
  const auto source = std::make_shared<CountingSource>();
  options.pattern_source = source;
  const auto found = solve(options);
  CHECK(source->calls == 1);
  CHECK(found.first.choice.symbolic == "fill1");
  CHECK(found.first.choice.why.find("from a test") != std::string::npos);
  CHECK(found.second.row_map == expected.second.row_map);
  CHECK(found.second.entries == expected.second.entries);
  options.engine = Engine::multifrontal;
  CHECK(solve(options).first.choice.symbolic == "etree");
  CHECK(source->calls == 1);
}

TEMPLATE_LIST_TEST_CASE("every symbolic method leads to the solution", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(55);
  const auto A = permuted_matrix<Matrix<TestType>>(120, 2.0, random);
  const auto system = known_system(A);
  std::int64_t exact_entries = 0;
  for (const SymbolicMethod method :
       {SymbolicMethod::automatic, SymbolicMethod::fill1, SymbolicMethod::fill2, SymbolicMethod::etree}) {
    LuOptions options;
    options.symbolic = method;
    options.engine = Engine::simplicial;  // fronts have a pattern of their own
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    std::vector<Scalar> x(system.b.size());
    const Report& report = solver.report();
    INFO("method " << name_of(method));
    REQUIRE(solver.solve_host(system.b, x) == Status::success);
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
    const std::int64_t entries = *report.factors.nnz_l + *report.factors.nnz_u;
    if (method == SymbolicMethod::automatic) {
      exact_entries = entries;
      CHECK(report.choice.symbolic != "auto");
    } else {
      CHECK(report.choice.symbolic == name_of(method));
    }
    if (method == SymbolicMethod::etree) {
      CHECK(entries > exact_entries);
      CHECK(report.choice.why.find("superset") != std::string::npos);
    } else {
      CHECK(entries == exact_entries);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("both engines lead to the solution, also transposed", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(58);
  for (const int n : {1, 30, 200}) {
    auto A = permuted_matrix<Matrix<TestType>>(n, 2.5, random);
    for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
      LuOptions options;
      options.engine = engine;
      Solver<TestType> solver(options);
      succeed(solver.analyze(A));
      const Report& report = solver.report();
      CHECK(report.choice.engine == name_of(engine));
      CHECK(report.factors.supernodes.has_value() == (engine == Engine::multifrontal));
      CHECK(report.factors.flops.has_value());
      for (int step = 0; step < 2; ++step) {
        for (auto& value : A.values)
          value *= as_scalar<Scalar>(1.0 + 0.05 * static_cast<double>(random() % 8));
        const auto system = known_system(A);
        succeed(solver.factorize(A));
        std::vector<Scalar> x(system.b.size());
        INFO("n " << n << ", engine " << name_of(engine));
        REQUIRE(solver.solve_host(system.b, x) == Status::success);
        CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
        for (const Transposition op : {Transposition::transposed, Transposition::adjoint}) {
          REQUIRE(solver.solve_host(system.b, x, op) == Status::success);
          const auto B = Reference::transpose(A, op == Transposition::adjoint);
          CHECK(Reference::backward_errors(B, x, system.b).componentwise <= tight_bound<Scalar>());
        }
      }
      std::int64_t columns = 0;
      for (const auto width : solver.structure().level_widths) columns += width;
      CHECK(columns == n);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("threshold pivoting avoids perturbed pivots in a sequence of values", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(58);
  auto A = permuted_matrix<Matrix<TestType>>(40, 40.0, random);  // dense, but for its diagonal
  for (std::size_t i = 0; i < 40; ++i) A.values[41 * i] = Scalar(0);
  const auto system = known_system(A);
  LuOptions options;
  options.matching = Matching::none;
  options.max_refinement_steps = 0;
  options.engine = Engine::multifrontal;
  options.error_tolerance = std::sqrt(static_cast<double>(epsilon_of<Scalar>));
  Solver<TestType> diagonal(options);
  succeed(diagonal.analyze(A));
  succeed(diagonal.factorize(A));
  CHECK(*diagonal.report().pivots.perturbed > 0);
  CHECK_FALSE(diagonal.report().pivots.interchanged.has_value());
  options.pivoting = Pivoting::threshold;
  options.engine = Engine::automatic;
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK(solver.report().choice.engine == "multifrontal");
  for (const double factor : {1.0, 3.0}) {
    auto scaled = A;
    for (Scalar& value : scaled.values) value *= as_scalar<Scalar>(factor);
    auto b = system.b;
    for (Scalar& value : b) value *= as_scalar<Scalar>(factor);
    succeed(solver.factorize(scaled));
    CHECK(solver.report().pivots.perturbed == 0);
    CHECK(*solver.report().pivots.interchanged > 0);
    std::vector<Scalar> x(b.size());
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      REQUIRE(solver.solve_host(b, x, op) == Status::success);
      const auto applied =
          op == Transposition::none ? scaled : Reference::transpose(scaled, op == Transposition::adjoint);
      CHECK(Reference::backward_errors(applied, x, b).normwise <= 0.1 * options.error_tolerance);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the engine is chosen by work and memory", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(59);
  const auto sparse = permuted_matrix<Matrix<TestType>>(60, 1.0, random);
  const auto dense = permuted_matrix<Matrix<TestType>>(150, 60.0, random);
  const auto engine_of = [](const auto& A, LuOptions options) {
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK_FALSE(solver.report().choice.why.empty());
    return solver.report().choice.engine;
  };
  const bool on_host = lutra::Impl::is_host_space<typename TestType::Space>;
  CHECK(engine_of(sparse, {}) == (on_host ? "simplicial" : "multifrontal"));
  CHECK(engine_of(dense, {}) == "multifrontal");
  LuOptions options;
  options.symbolic = SymbolicMethod::fill1;
  CHECK(engine_of(dense, options) == "simplicial");
  options.engine = Engine::multifrontal;
  CHECK(engine_of(dense, options) == "multifrontal");
  const auto system = known_system(dense);
  Solver<TestType> solver;
  succeed(solver.analyze(dense));
  succeed(solver.factorize(dense));
  std::vector<Scalar> x(system.b.size());
  REQUIRE(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(dense, x, system.b).componentwise <= tight_bound<Scalar>());
}

TEMPLATE_LIST_TEST_CASE("every triangular solve method leads to the solution", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(56);
  const auto A = permuted_matrix<Matrix<TestType>>(90, 2.0, random);
  const auto system = known_system(A);
  for (const TrisolveMethod method : {TrisolveMethod::automatic, TrisolveMethod::levels,
                                      TrisolveMethod::syncfree, TrisolveMethod::supernodal}) {
    for (const FactorPrecision precision : {FactorPrecision::working, FactorPrecision::single}) {
      LuOptions options;
      options.trisolve = method;
      options.solve_precision = precision;
      Solver<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      std::vector<Scalar> x(system.b.size());
      INFO("method " << name_of(method) << ", single " << (precision == FactorPrecision::single));
      REQUIRE(solver.solve_host(system.b, x) == Status::success);
      CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
      if (method != TrisolveMethod::automatic) CHECK(solver.report().choice.trisolve == name_of(method));
      REQUIRE(solver.solve_host(system.b, x, Transposition::transposed) == Status::success);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("solves in single precision need refinement", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (sizeof(RealOf<Scalar>) == 8) {
    std::mt19937 random(57);
    const auto A = permuted_matrix<Matrix<TestType>>(90, 2.0, random);
    const auto system = known_system(A);
    LuOptions options;
    options.solve_precision = FactorPrecision::single;
    options.max_refinement_steps = 0;
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::error_above_tolerance);
    const auto error = static_cast<double>(Reference::backward_errors(A, x, system.b).componentwise);
    CHECK(error > 1e-10);
    CHECK(error < 1e-3);
  }
}

TEMPLATE_LIST_TEST_CASE("transposed and adjoint systems", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(17);
  const auto A = permuted_matrix<Matrix<TestType>>(80, 3.0, random);
  const auto system = known_system(A);
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  std::vector<Scalar> x(system.b.size());
  for (const bool conjugate : {false, true}) {
    REQUIRE(solver.solve_host(system.b, x, conjugate ? Transposition::adjoint : Transposition::transposed) ==
            Status::success);
    const auto errors = Reference::backward_errors(Reference::transpose(A, conjugate), x, system.b);
    CHECK(errors.componentwise <= tight_bound<Scalar>());
    const double reported = *solver.report().errors.backward_normwise;
    CHECK(reported <= tight_bound<Scalar>());
    CHECK(errors.normwise <= tight_bound<Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("many right-hand sides in Views of any layout", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Memory = typename TestType::Memory;
  std::mt19937 random(23);
  const int n = 50;
  const auto A = permuted_matrix<Matrix<TestType>>(n, 3.0, random);
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  for (const std::size_t k : {std::size_t(1), std::size_t(5), std::size_t(16), std::size_t(37)}) {
    Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> B("B", n, k);
    Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory> wide("X", n, 2 * k);
    const auto X = Kokkos::subview(wide, Kokkos::ALL, Kokkos::make_pair(k, 2 * k));  // strided
    auto host_B = Kokkos::create_mirror_view(B);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      for (std::size_t c = 0; c < k; ++c) host_B(i, c) = random_value<Scalar>(random, 1);
    }
    Kokkos::deep_copy(B, host_B);
    REQUIRE(solver.solve(B, X) == Status::success);
    const auto host_X = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wide);
    for (std::size_t c = 0; c < k; ++c) {
      std::vector<Scalar> b, x;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        b.push_back(host_B(i, c));
        x.push_back(host_X(i, k + c));
        REQUIRE(host_X(i, c) == Scalar(0));  // what does not belong to X is left alone
      }
      INFO("right-hand side " << c << " of " << k);
      REQUIRE(Reference::backward_errors(A, x, b).componentwise <= tight_bound<Scalar>());
    }
  }
  SECTION("X may be B") {
    const auto system = known_system(A);
    const auto B = to_space<typename TestType::Space>(system.b);
    REQUIRE(solver.solve(B, B) == Status::success);
    CHECK(Reference::backward_errors(A, to_vector(B), system.b).componentwise <= tight_bound<Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("new values on one pattern need no new analysis", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(41);
  auto A = permuted_matrix<Matrix<TestType>>(70, 3.0, random);
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  const auto levels = solver.report().factors.levels;
  for (int step = 0; step < 4; ++step) {
    for (auto& value : A.values) value *= as_scalar<Scalar>(1.0 + 0.05 * static_cast<double>(random() % 8));
    const auto system = known_system(A);
    succeed(solver.factorize(to_space<typename TestType::Space>(A)));
    const std::size_t bytes = solver.report().memory.device_peak_bytes;
    std::vector<Scalar> x(system.b.size());
    REQUIRE(solver.solve_host(system.b, x) == Status::success);
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
    CHECK(solver.report().factors.levels == levels);
    CHECK(solver.report().times.refactor.has_value() == (step > 0));
    if (step > 0) CHECK(solver.report().memory.device_peak_bytes == bytes);  // nothing more is allocated
  }
}

TEMPLATE_LIST_TEST_CASE("options change the method, not the solution", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(3);
  const auto A = permuted_matrix<Matrix<TestType>>(40, 2.0, random);
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  SECTION("a user permutation is used as given") {
    LuOptions options;
    options.ordering = Ordering::user;
    for (std::int64_t j = 40; j-- > 0;) options.user_permutation.push_back(j);
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK(solver.structure().col_order == options.user_permutation);
    CHECK(solver.report().choice.ordering == "user");
    succeed(solver.factorize(A));
    CHECK(solver.solve_host(system.b, x) == Status::success);
  }
  SECTION("the structure is a permutation of rows and columns with sorted rows") {
    Solver<TestType> solver;
    succeed(solver.analyze(A));
    auto structure = solver.structure();
    CHECK(std::ranges::is_permutation(structure.row_order, structure.col_order));
    for (std::size_t i = 0; i + 1 < structure.row_map.size(); ++i) {
      CHECK(std::is_sorted(structure.entries.begin() + structure.row_map[i],
                           structure.entries.begin() + structure.row_map[i + 1]));
    }
    std::int64_t columns = 0;
    for (const auto width : structure.level_widths) columns += width;
    CHECK(columns == 40);
  }
  SECTION("without refinement the error is still computed") {
    LuOptions options;
    options.max_refinement_steps = 0;
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    solver.solve_host(system.b, x);
    CHECK(solver.report().refinement_steps == 0);
    const auto errors = Reference::backward_errors(A, x, system.b);
    CHECK(*solver.report().errors.backward_componentwise <=
          2 * static_cast<double>(errors.componentwise) + tight_bound<Scalar>());
  }
  SECTION("a solver can be moved") {
    Solver<TestType> first;
    succeed(first.analyze(A));
    Solver<TestType> second(std::move(first));
    succeed(second.factorize(A));
    Solver<TestType> third;
    third = std::move(second);
    CHECK(third.solve_host(system.b, x) == Status::success);
  }
}

#ifdef LUTRA_HAS_SERIAL
TEST_CASE("one thread gives the same bits in every run", "[solver]") {
  std::mt19937 random(8);
  const auto A = permuted_matrix<HostMatrix<double>>(200, 3.0, random);
  const auto system = known_system(A);
  std::vector<double> first, x(system.b.size());
  for (int run = 0; run < 3; ++run) {
    SparseLU<double, Kokkos::Serial> solver;
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    solver.solve_host(system.b, x);
    if (run == 0) first = x;
    CHECK(x == first);
  }
}
#endif

}  // namespace lutra::Test

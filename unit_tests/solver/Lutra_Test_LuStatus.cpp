// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <tuple>
#include <type_traits>

#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Indices = std::vector<std::int64_t>;

/// Analyses, factorizes and solves for b = A·x*.
template <class Types>
Status run(Solver<Types>& solver, const Matrix<Types>& A) {
  const auto system = known_system(A);
  std::vector<typename Types::Scalar> x(system.b.size());
  const Status analyzed = solver.analyze(A), factorized = solver.factorize(A);
  const Status solved = solver.solve_host(system.b, x);
  if (analyzed != Status::success) CHECK(factorized == analyzed);
  if (factorized != Status::success) CHECK(solved == factorized);
  return solved;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the report names rows and columns of structurally singular matrices", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  Solver<TestType> solver;
  SECTION("an empty row and an empty column") {
    CHECK(run<TestType>(solver, from_dense<Matrix<TestType>>({{1, o, 2}, {o, o, o}, {3, o, 4}})) ==
          Status::structurally_singular);
    CHECK(solver.report().structural_rank == 2);
    CHECK(solver.report().singular_rows == Indices{1});
    CHECK(solver.report().singular_columns == Indices{1});
  }
  SECTION("two rows that share one column") {
    const auto A = from_dense<Matrix<TestType>>({{1, 1, 1}, {o, 1, o}, {o, 1, o}});
    CHECK(run<TestType>(solver, A) == Status::structurally_singular);
    CHECK(solver.report().structural_rank == 2);
    CHECK(solver.report().singular_rows.size() == 1);
    CHECK(solver.report().singular_rows[0] >= 1);
  }
  SECTION("also by auction") {
    LuOptions options;
    options.matching = Matching::auction;
    Solver<TestType> auction(options);
    CHECK(run<TestType>(auction, from_dense<Matrix<TestType>>({{1, o, 2}, {o, o, o}, {3, o, 4}})) ==
          Status::structurally_singular);
    CHECK(auction.report().singular_rows == Indices{1});
    CHECK(auction.report().singular_columns == Indices{1});
    CHECK(run<TestType>(auction, from_dense<Matrix<TestType>>({{o, 1, 2}, {3, o, 4}, {5, 6, o}})) ==
          Status::success);
    CHECK(auction.report().choice.matching == "auction");
  }
  SECTION("also without matching, and X is left alone") {
    LuOptions options;
    options.matching = Matching::none;
    Solver<TestType> plain(options);
    const auto A = from_dense<Matrix<TestType>>({{1, o}, {1, o}});
    CHECK(plain.analyze(A) == Status::structurally_singular);
    CHECK(plain.report().status == Status::structurally_singular);
    CHECK(plain.factorize(A) == Status::structurally_singular);
    std::vector<Scalar> b{Scalar(1), Scalar(1)}, x{Scalar(7), Scalar(8)};
    CHECK(plain.solve_host(b, x) == Status::structurally_singular);
    CHECK(x == std::vector<Scalar>{Scalar(7), Scalar(8)});
  }
}

TEMPLATE_LIST_TEST_CASE("the report names rows and columns of numerically singular matrices", "[solver]",
                        AllTypes) {
  const double o = nothing;
  Solver<TestType> solver;
  SECTION("two equal rows") {
    CHECK(run<TestType>(solver, from_dense<Matrix<TestType>>({{1, 2, o}, {1, 2, o}, {o, o, 1}})) ==
          Status::numerically_singular);
    REQUIRE(solver.report().singular_columns.size() == 1);
    CHECK(solver.report().singular_columns[0] < 2);
    REQUIRE(solver.report().singular_rows.size() == 1);
    CHECK(solver.report().singular_rows[0] < 2);
    CHECK(describe(solver.report(), 1).find("singular") != std::string::npos);
  }
  SECTION("a Laplacian without boundary, at several sizes") {
    for (const int n : {2, 3, 50}) {
      std::vector<std::vector<double>> picture(static_cast<std::size_t>(n),
                                               std::vector<double>(static_cast<std::size_t>(n), nothing));
      for (std::size_t i = 0; i < picture.size(); ++i) {
        const bool end = i == 0 || i + 1 == picture.size();
        picture[i][i] = end ? 1 : 2;
        if (i > 0) picture[i][i - 1] = picture[i - 1][i] = -1;
      }
      CHECK(run<TestType>(solver, from_dense<Matrix<TestType>>(picture)) == Status::numerically_singular);
    }
  }
  SECTION("stored zeros only, in a pattern that is not singular") {
    CHECK(run<TestType>(solver, from_dense<Matrix<TestType>>({{0, 0}, {0, 0}})) ==
          Status::numerically_singular);
    CHECK(solver.report().structural_rank == 2);
  }
  SECTION("values that become singular, and regular again") {
    const auto regular = from_dense<Matrix<TestType>>({{2, 1}, {1, 2}});
    const auto singular = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
    CHECK(run<TestType>(solver, regular) == Status::success);
    CHECK(solver.factorize(singular) == Status::numerically_singular);
    CHECK(solver.report().status == Status::numerically_singular);
    succeed(solver.factorize(regular));
    const auto system = known_system(regular);
    std::vector<typename TestType::Scalar> x(2);
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(solver.report().singular_rows.empty());
  }
}

TEMPLATE_LIST_TEST_CASE(
    "stored zeros that leave no matching make a matrix singular for every right-hand side", "[solver]",
    AllTypes) {
  // Rows 0 and 3 have nonzero values in column 1 alone. b = A·x* is consistent, so that its error is small.
  const double o = nothing;
  const auto pattern =
      from_dense<Matrix<TestType>>({{4, -1, o, o}, {-1, o, -2, 5}, {o, -2, -1, 3}, {o, 2, 7, o}});
  const auto A = from_dense<Matrix<TestType>>({{0, -1, o, o}, {-1, o, -2, 2}, {o, -2, -1, 0}, {o, 2, 0, o}});
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    for (const Matrix<TestType>& analyzed : {A, pattern}) {
      LuOptions options;
      options.engine = engine;
      Solver<TestType> solver(options);
      succeed(solver.analyze(analyzed));
      CHECK(solver.factorize(A) == Status::numerically_singular);
      const auto system = known_system(A);
      auto x = system.b;
      CHECK(solver.solve_host(system.b, x) == Status::numerically_singular);
      REQUIRE(solver.report().singular_rows.size() >= 1);
      CHECK(run<TestType>(solver, pattern) == Status::success);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a pivot that cancels does not make a matrix singular", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  // Eliminated in this order the second pivot is exactly zero, but the determinant is −1.
  const auto A = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  LuOptions options;
  options.ordering = Ordering::natural;
  options.matching = Matching::none;
  Solver<TestType> solver(options);
  const auto system = known_system(A);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK(solver.report().pivots.perturbed == 1);
  std::vector<Scalar> x(3);
  REQUIRE(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
}

TEMPLATE_LIST_TEST_CASE("element growth leads to larger pivots and is reported", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // Zero diagonal blocks without matching: every pivot is replaced until fill arrives.
  std::mt19937 random(77);
  const auto A = permuted_matrix<Matrix<TestType>>(30, 3.0, random);
  LuOptions options;
  options.matching = Matching::none;
  options.ordering = Ordering::natural;
  Solver<TestType> solver(options);
  const auto system = known_system(A);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK(*solver.report().pivots.perturbed > 0);
  REQUIRE(solver.report().escalations.size() == 1);
  CHECK(solver.report().escalations[0].find("element growth") != std::string::npos);
  std::vector<Scalar> x(system.b.size());
  const Status status = solver.solve_host(system.b, x);
  const auto errors = Reference::backward_errors(A, x, system.b);
  const double tolerance = sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5;
  CHECK((status == Status::success) == (errors.componentwise <= 1.5 * tolerance));
}

// README, Limitations: "Pivoting of LU is static"
TEMPLATE_LIST_TEST_CASE("an unreachable tolerance is reported", "[solver]", AllTypes) {
  LuOptions options;
  options.error_tolerance = 1e-30;
  Solver<TestType> solver(options);
  std::mt19937 random(2);
  CHECK(run<TestType>(solver, permuted_matrix<Matrix<TestType>>(60, 3.0, random)) ==
        Status::error_above_tolerance);
  CHECK(*solver.report().errors.backward_componentwise > 0);
  CHECK(describe(solver.report()).find("above the tolerance") != std::string::npos);
}

TEMPLATE_LIST_TEST_CASE("a solution with entries that underflow is a success", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const std::size_t n = 1000;  // each entry of X is about a fourth of the one before
  std::vector<std::vector<double>> rows(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    rows[i][i] = 4;
    if (i > 0) rows[i][i - 1] = rows[i - 1][i] = -1;
  }
  const auto A = from_dense<Matrix<TestType>>(rows);
  std::vector<Scalar> b(n, Scalar(0)), x(n);
  b[0] = 1;
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK(solver.solve_host(b, x) == Status::success);
  const RealOf<Scalar> ratio = static_cast<RealOf<Scalar>>(2 - std::sqrt(3.0));
  const RealOf<Scalar> rounding = 16 * std::numeric_limits<RealOf<Scalar>>::epsilon();
  const auto size = [](const Scalar& value) { return ScalarTraits<Scalar>::magnitude(value); };
  CHECK(size(x[0] - Scalar(ratio)) <= rounding);
  CHECK(size(x[20] - ratio * x[19]) <= rounding * size(x[20]));
}

TEMPLATE_LIST_TEST_CASE("overflow in the elimination is a breakdown", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
  LuOptions options;
  options.matching = Matching::none;
  options.ordering = Ordering::natural;
  options.perturbation = std::numeric_limits<double>::min();  // so small that no pivot here is replaced
  Solver<TestType> solver(options);
  const auto A = from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}});
  succeed(solver.analyze(A));
  CHECK(solver.factorize(A) == Status::breakdown);
  CHECK(solver.report().status == Status::breakdown);
  std::vector<Scalar> b{Scalar(1), Scalar(1)}, x(2);
  CHECK(solver.solve_host(b, x) == Status::breakdown);
}

TEST_CASE("every status has a name", "[solver]") {
  CHECK(to_string(Status::not_solved) == "not_solved");
  CHECK(to_string(Status::success) == "success");
  CHECK(to_string(Status::structurally_singular) == "structurally_singular");
  CHECK(to_string(Status::numerically_singular) == "numerically_singular");
  CHECK(to_string(Status::error_above_tolerance) == "error_above_tolerance");
  CHECK(to_string(Status::breakdown) == "breakdown");
  CHECK(to_string(Status::out_of_memory) == "out_of_memory");
}

namespace {

/// Leaves the process so many bytes more of address space while it lives.
class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t bytes) {
    ::getrlimit(RLIMIT_AS, &m_former);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = m_former;
    limit.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpace() { ::setrlimit(RLIMIT_AS, &m_former); }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

 private:
  rlimit m_former{};
};

}  // namespace

TEST_CASE("a matrix with fewer entries than rows is singular without a matching", "[solver]") {
  using Type = std::tuple_element_t<0, AllTypes>;
  if constexpr (std::is_same_v<typename Type::Memory, Kokkos::HostSpace>) {
    Matrix<Type> A;
    A.n_rows = A.n_cols = 1 << 25;
    A.row_map.assign((std::size_t(1) << 25) + 1, 2);
    A.row_map[0] = 0;
    A.row_map[1] = 1;
    A.entries = {0, 1};
    A.values = {1, 1};
    Solver<Type> solver;
    const AddressSpace little(std::uint64_t(1) << 29);
    CHECK(solver.analyze(A) == Status::structurally_singular);
    CHECK(solver.report().status == Status::structurally_singular);
    CHECK(describe(solver.report()) == "the matrix is structurally singular");
    CHECK_THAT(solver.report().choice.why,
               Catch::Matchers::ContainsSubstring(
                   "2 entries cannot give 33554432 rows pivots; to name the others takes 2147483648 bytes"));
    CHECK(solver.factorize(A) == Status::structurally_singular);
    CHECK(solver.report().status == Status::structurally_singular);
  }
}

TEMPLATE_LIST_TEST_CASE("a structurally singular matrix keeps its pattern", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const Matrix<TestType> singular{2, 2, {0, 2, 2}, {0, 1}, {Scalar(1), Scalar(1)}};
  const Matrix<TestType> identity{2, 2, {0, 1, 2}, {0, 1}, {Scalar(1), Scalar(1)}};
  const auto larger = from_dense<Matrix<TestType>>({{2, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  Solver<TestType> solver;
  CHECK(solver.analyze(singular) == Status::structurally_singular);
  CHECK_THROWS_AS(solver.factorize(identity), InputError);
  CHECK_THROWS_AS(solver.factorize(larger), InputError);
  CHECK(solver.factorize(singular) == Status::structurally_singular);
  CHECK(solver.analyze(identity) == Status::success);
  CHECK(solver.factorize(identity) == Status::success);
}

}  // namespace lutra::Test

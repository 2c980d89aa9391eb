// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory is known before it is taken: forecasts beside what budgets measure.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_Generated.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

/// Within 10 %; the sizes of small arrays are below a floor.
void check_close(std::size_t forecast, std::size_t measured) {
  constexpr double floor = 64 << 10;
  const double difference = static_cast<double>(forecast) - static_cast<double>(measured);
  INFO("forecast " << forecast << ", measured " << measured);
  CHECK(std::abs(difference) <= std::max(floor, 0.1 * static_cast<double>(measured)));
}

/// Compares forecasts with the bytes of one Numeric in a budget of its own, and of a solver that has analyzed
/// in the same budget.
template <class SolverType, class MatrixType, class Options>
void check_forecast(const MatrixType& A, const Options& options, int n_rhs) {
  using Space = typename SolverType::numeric_type::execution_space;
  using Scalar = typename SolverType::numeric_type::scalar_type;
  const Space exec;
  const auto device_A = to_space<Space>(A);
  const auto n = static_cast<std::size_t>(A.n_rows), k = static_cast<std::size_t>(n_rhs);
  const Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Space::memory_space> B("B", n, k), X("X", n, k);
  const auto b = to_space<Space>(known_system(A).b);
  for (std::size_t c = 0; c < k; ++c) Kokkos::deep_copy(Kokkos::subview(B, Kokkos::ALL, c), b);

  const MemoryBudget budget;
  SolverType solver(options, exec, budget);
  succeed(solver.analyze(device_A));
  const std::size_t of_analysis = budget.peak_bytes(), held = solver.analysis()->held_bytes;
  const auto forecast = solver.forecast(n_rhs);
  REQUIRE(forecast);
  INFO(solver.report().choice.engine << ", " << solver.report().choice.trisolve << ", order " << n << ", "
                                     << n_rhs << " right-hand sides");
  if (n_rhs == 1) CHECK(solver.report().memory.forecast == forecast);

  const MemoryBudget own;
  typename SolverType::numeric_type numeric(solver.analysis(), options, exec, own);
  check_close(held, budget.used_bytes() - own.used_bytes());
  succeed(numeric.factorize(device_A));
  REQUIRE(numeric.report().pivots.delayed.value_or(0) == 0);
  if (numeric.report().errors.condition) {  // an escalation, which takes more
    CHECK(own.peak_bytes() + held >= forecast->factorization.device);
    return;
  }
  check_close(forecast->factorization.device - held, own.peak_bytes());
  CHECK(numeric.solve(B, X) == Status::success);
  REQUIRE_FALSE(numeric.report().errors.condition);
  check_close(forecast->solve.device - held, own.peak_bytes());
  CHECK(forecast->factors.device <= forecast->factorization.device);
  CHECK(forecast->factorization.device <= forecast->solve.device);
  CHECK(forecast->factors.host + forecast->factorization.host + forecast->solve.host == 0);
  CHECK(numeric.report().memory.host_peak_bytes == std::nullopt);

  succeed(solver.factorize(device_A));
  check_close(std::max(of_analysis, forecast->factorization.device),
              solver.report().memory.device_peak_bytes);
  CHECK(solver.solve(B, X) == Status::success);
  check_close(std::max(of_analysis, forecast->solve.device), solver.report().memory.device_peak_bytes);
}

/// LU by each engine, and each kind of solves.
std::vector<LuOptions> kinds_of_lu() {
  std::vector<LuOptions> kinds(9);
  kinds[0].engine = Engine::simplicial;
  kinds[1].engine = Engine::simplicial;
  kinds[1].columns.supernodes = ColumnSupernodes::on;
  kinds[2].engine = Engine::simplicial;
  kinds[2].trisolve = TrisolveMethod::syncfree;
  kinds[3].engine = Engine::simplicial;
  kinds[3].trisolve = TrisolveMethod::supernodal;
  kinds[4].engine = Engine::simplicial;
  kinds[4].solve_precision = FactorPrecision::single;
  kinds[5].engine = Engine::multifrontal;
  kinds[6].engine = Engine::multifrontal;
  kinds[6].pivoting = Pivoting::threshold;
  kinds[7].engine = Engine::multifrontal;
  kinds[7].trisolve = TrisolveMethod::levels;
  return kinds;  // the last one is chosen by the library
}

template <class Types, class MatrixType>
void check_lu(const MatrixType& A) {
  for (const LuOptions& options : kinds_of_lu()) check_forecast<Solver<Types>>(A, options, 1);
}

template <class Types, class MatrixType>
void check_ldlt(const MatrixType& A, bool positive_definite) {
  using Ldlt = SparseLDLT<typename Types::Scalar, typename Types::Space>;
  LdltOptions options;
  check_forecast<Ldlt>(A, options, 1);
  options.in_place_first = true;
  check_forecast<Ldlt>(A, options, 1);
  options.in_place_first = false;
  options.positive_definite = positive_definite;
  check_forecast<Ldlt>(A, options, 1);
}

/// A folder's matrix as a host matrix of real numbers.
HostMatrix<double> read_real(const std::string& file) {
  const auto read = read_matrix_market(file);
  return std::get<HostMatrix<double>>(read.matrix);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("forecasts of LU are within 10 % of what factorizations and solves take", "[solver]",
                        AllTypes) {
  check_lu<TestType>(generated<TestType>("poisson2d", 60));
  check_lu<TestType>(generated<TestType>("convdiff3d", 14));
  check_lu<TestType>(generated<TestType>("circuit", 5000));
  check_lu<TestType>(generated<TestType>("poisson2d", 3));
}

TEMPLATE_LIST_TEST_CASE("forecasts of LDLᵀ and Cholesky are within 10 % without delayed pivots", "[solver]",
                        AllTypes) {
  check_ldlt<TestType>(generated<TestType>("poisson2d", 60), true);
  check_ldlt<TestType>(generated<TestType>("poisson3d", 15), true);
  check_ldlt<TestType>(generated<TestType>("aniso2d", 4), true);
}

TEMPLATE_LIST_TEST_CASE("forecasts count the right-hand sides of a solve", "[solver]", AllTypes) {
  const auto A = generated<TestType>("poisson2d", 60);
  for (const int n_rhs : {2, 4, 7, 16, 40}) {
    for (const LuOptions& options : kinds_of_lu()) check_forecast<Solver<TestType>>(A, options, n_rhs);
    check_forecast<SparseLDLT<typename TestType::Scalar, typename TestType::Space>>(A, LdltOptions(), n_rhs);
  }
}

TEMPLATE_LIST_TEST_CASE("what has no forecast says so", "[solver]", AllTypes) {
  using Types = TestType;
  auto A = generated<Types>("poisson2d", 5);
  Solver<Types> solver{LuOptions()};
  CHECK_THROWS_AS(solver.forecast(), CallOrderError);
  for (auto& column : A.entries) column = 0;  // all entries in one column: no structural rank
  A.entries.clear();
  A.values.clear();
  for (auto& begin : A.row_map) begin = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    A.entries.push_back(0);
    A.values.push_back(as_scalar<typename Types::Scalar>(1.0));
    A.row_map[i + 1] = static_cast<typename Types::Offset>(i + 1);
  }
  CHECK(solver.analyze(to_space<typename Types::Space>(A)) == Status::structurally_singular);
  CHECK_FALSE(solver.forecast());
}

#ifdef LUTRA_HAS_F64
TEST_CASE("forecasts hold for real matrices", "[solver]") {
  const char* const folder = std::getenv("LUTRA_MATRICES");
  if (folder == nullptr) SKIP("LUTRA_MATRICES names no folder");
  using Types = Types<double, int, Kokkos::DefaultExecutionSpace>;
  for (const std::string name : {"memplus", "bcsstk18", "case13659pegase_pfjac", "airfoil2"}) {
    const std::string file = std::string(folder) + "/" + name + ".mtx.xz";
    if (!std::filesystem::exists(file)) continue;
    INFO(name);
    const auto A = read_real(file);
    for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
      LuOptions options;
      options.engine = engine;
      check_forecast<Solver<Types>>(A, options, 1);
    }
    if (name == "bcsstk18") check_ldlt<Types>(A, true);
  }
}
#endif

}  // namespace lutra::Test

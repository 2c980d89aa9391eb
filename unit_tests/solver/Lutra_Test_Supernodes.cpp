// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

using Catch::Matchers::ContainsSubstring;

namespace lutra::Test {
namespace {

LuOptions by_supernodes(ColumnSupernodes supernodes = ColumnSupernodes::on) {
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  options.columns.supernodes = supernodes;
  return options;
}

/// Solves with op(A) and checks the error.
template <class Types, class SolverType>
void check_solution(SolverType& solver, const Matrix<Types>& A, Transposition op) {
  using Scalar = typename Types::Scalar;
  const auto system = known_system(A);
  const auto b = to_space<typename Types::Space>(system.b);
  const auto x = to_space<typename Types::Space>(std::vector<Scalar>(system.b.size()));
  const Status status = solver.solve(b, x, op);  // may throw, which REQUIRE would take for a failure
  REQUIRE(status == Status::success);
  const auto B = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
  CHECK(Reference::backward_errors(B, to_vector(x), system.b).componentwise <= tight_bound<Scalar>());
}

/// Solves with A, Aᵀ and Aᴴ and checks the errors.
template <class Types, class SolverType>
void check_solutions(SolverType& solver, const Matrix<Types>& A) {
  for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint})
    check_solution<Types>(solver, A, op);
}

/// A grid with unsymmetric values.
template <class Types>
Matrix<Types> unsymmetric_grid(int side) {
  std::vector<int> label(static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int>(i);
  auto A = grid_matrix<Matrix<Types>>(side, label);
  using Scalar = typename Types::Scalar;
  for (std::size_t i = 0; i < label.size(); ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      A.values[p] = as_scalar<Scalar>(
          static_cast<std::size_t>(A.entries[p]) == i ? 5.0 : -1.0 + 0.01 * static_cast<double>(p % 7));
  }
  return A;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("LU by supernodes solves, refactorizes and reports", "[solver][supernodal]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(5);
  for (const auto& A :
       {permuted_matrix<Matrix<TestType>>(120, 3.0, random), unsymmetric_grid<TestType>(14)}) {
    for (const TrisolveMethod trisolve : {TrisolveMethod::automatic, TrisolveMethod::supernodal}) {
      LuOptions options = by_supernodes();
      options.trisolve = trisolve;
      Solver<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      check_solutions<TestType>(solver, A);
      auto other = A;
      for (std::size_t p = 0; p < other.values.size(); ++p)
        other.values[p] *= as_scalar<Scalar>(1.0 + 0.05 * static_cast<double>(p % 4));
      succeed(solver.factorize(other));
      check_solutions<TestType>(solver, other);
      const Report& report = solver.report();
      CHECK(report.choice.engine == "simplicial");
      CHECK(report.choice.symbolic == "fill2");
      REQUIRE(report.factors.supernodes);
      CHECK(*report.factors.supernodes > 0);
      CHECK(*report.factors.supernodes < A.n_rows);
      REQUIRE(report.factors.supernode_zeros);
      const double entries = static_cast<double>(*report.factors.nnz_l + *report.factors.nnz_u);
      const auto zeros = static_cast<double>(*report.factors.supernode_zeros);
      CHECK(zeros <= options.columns.supernode_zeros * (entries + zeros));
      REQUIRE(report.factors.supernode_bytes);
      CHECK(static_cast<double>(*report.factors.supernode_bytes) >=
            (entries + zeros) * static_cast<double>(sizeof(Scalar)));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("supernodes and columns give the same factors", "[solver][supernodal]", AllTypes) {
  const auto A = unsymmetric_grid<TestType>(12);
  const auto growth_and_counts = [&](const LuOptions& options) {
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    return solver.report();
  };
  const Report on = growth_and_counts(by_supernodes());
  const Report off = growth_and_counts(by_supernodes(ColumnSupernodes::off));
  CHECK_FALSE(off.factors.supernodes);
  CHECK_FALSE(off.factors.supernode_zeros);
  REQUIRE(on.pivots.growth);
  CHECK(std::abs(*on.pivots.growth - *off.pivots.growth) <= 1e-4 * *off.pivots.growth);
  CHECK(on.pivots.perturbed == off.pivots.perturbed);
  CHECK(*on.factors.levels < *off.factors.levels);
}

TEMPLATE_LIST_TEST_CASE("devices take supernodes by default, from enough flops per entry on",
                        "[solver][supernodal]", AllTypes) {
  const bool on_device = !lutra::Impl::is_host_space<typename TestType::Space>;
  LuOptions options = by_supernodes(ColumnOptions().supernodes);
  Solver<TestType> solver(options);
  succeed(solver.analyze(unsymmetric_grid<TestType>(6)));
  CHECK_FALSE(solver.report().factors.supernodes);
  std::mt19937 random(9);
  const auto dense = permuted_matrix<Matrix<TestType>>(300, 60.0, random);
  succeed(solver.analyze(dense));
  CHECK(solver.report().factors.supernodes.has_value() == on_device);
  succeed(solver.factorize(dense));
  check_solutions<TestType>(solver, dense);
  if (!on_device) return;
  CHECK_THAT(solver.report().choice.why, ContainsSubstring("factorization by supernodes: "));
  options.columns.portable = true;  // of columns alone
  Solver<TestType> by_columns(options);
  succeed(by_columns.analyze(dense));
  CHECK_FALSE(by_columns.report().factors.supernodes);
}

TEMPLATE_LIST_TEST_CASE("columns take over where supernodes exceed the memory limit", "[solver][supernodal]",
                        AllTypes) {
  if (lutra::Impl::is_host_space<typename TestType::Space>) return;
  std::mt19937 random(9);
  const auto dense = permuted_matrix<Matrix<TestType>>(300, 60.0, random);
  // Wide supernodes need less memory than columns. Each pair of narrow ones has positions of its own, here
  // ten times the bytes of columns.
  for (const int size : {0, 1}) {
    LuOptions options = by_supernodes(ColumnSupernodes::automatic);
    options.columns.supernode_size = size;
    bool by_supernodes = false, by_columns = false, transposed = false;
    for (std::size_t limit = std::size_t(1) << 18; limit < std::size_t(1) << 27; limit += limit / 8) {
      INFO("supernodes of " << size << " columns, memory limit " << limit);
      options.memory_limit = limit;
      Solver<TestType> solver(options);
      try {
        succeed(solver.analyze(dense));
        succeed(solver.factorize(dense));
      } catch (const OutOfMemoryError&) {
        continue;
      }
      const Report& report = solver.report();
      if (report.factors.supernodes) {
        by_supernodes = true;
      } else {
        by_columns = true;
        CHECK_THAT(report.choice.why, ContainsSubstring("supernodes exceed the memory limit"));
      }
      check_solution<TestType>(solver, dense, Transposition::none);
      // The choice does not count transposed solves, which keep the factors by columns in addition.
      try {
        check_solution<TestType>(solver, dense, Transposition::transposed);
        transposed = true;
      } catch (const OutOfMemoryError& error) {
        CHECK(error.needed_bytes() > 0);
        check_solution<TestType>(solver, dense, Transposition::none);
      }
    }
    INFO("supernodes of " << size << " columns");
    CHECK(transposed);
    CHECK(by_supernodes);
    if (size == 1) CHECK(by_columns);
  }
}

TEMPLATE_LIST_TEST_CASE("small pivots within supernodes are perturbed", "[solver][supernodal]", AllTypes) {
  // Without scaling and matching the second pivot cancels to zero.
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  LuOptions options = by_supernodes();
  options.matching = Matching::none;
  options.ordering = Ordering::natural;
  options.columns.supernode_zeros = 1;
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  static_cast<void>(solver.factorize(A));
  CHECK(solver.report().pivots.perturbed == 1);
}

TEST_CASE("options of supernodes that nothing would use are refused", "[solver][supernodal][errors]") {
  CHECK_NOTHROW(check_options(by_supernodes()));
  LuOptions options = by_supernodes();
  options.engine = Engine::automatic;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes();
  options.columns.mode = ColumnMode::levels;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes();
  options.columns.portable = true;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes();
  options.columns.supernode_size = -1;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes();
  options.columns.supernode_zeros = -0.1;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes(ColumnSupernodes::off);
  options.columns.supernode_size = 16;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes(ColumnSupernodes::automatic);
  options.columns.supernode_size = 16;
  CHECK_NOTHROW(check_options(options));
  options.columns.mode = ColumnMode::levels;
  CHECK_THROWS_AS(check_options(options), InputError);
  options = by_supernodes();
  options.columns.levels = LevelizationMethod::portable;
  CHECK_NOTHROW(check_options(options));
  set_option(options, "columns.supernodes", "off");
  CHECK(options.columns.supernodes == ColumnSupernodes::off);
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves on the panels of fronts, judged by backward errors that are recomputed from the user's matrix.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <thread>
#include <type_traits>

#include "Lutra_Error.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_PortableFrontSweeps.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// A matrix factorized in fronts, with scales by powers of two, and a solver for it.
template <class Types>
struct Fixture {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;

  Space exec;
  Matrix<Types> matrix;
  AssemblyTree tree;
  LuPlan<Memory> plan;
  FrontFactors<Scalar, Space> factors;
  std::vector<Real> row_scale, col_scale;  ///< of the user's rows and columns
  FrontSolver<Scalar, Space> solver;

  FrontLuOutcome outcome;

  /// @param threshold of threshold pivoting, 0 for none
  Fixture(const Matrix<Types>& A, bool portable, const AssemblyTreeOptions& options = {},
          bool portable_factors = false, double threshold = 0, double perturbation = 0)
      : matrix(A),
        tree(make_assembly_tree(make_view(matrix).pattern(), options)),
        plan(plan_lu(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                     MemoryBudget(), front_plan_options<Scalar, Space>())),
        factors(make_front_factors(exec, make_front_schedule<Scalar>(exec, plan, MemoryBudget()),
                                   MemoryBudget())),
        solver(exec, plan, MemoryBudget(), {portable, 10, threshold > 0}) {
    if (threshold > 0) factors.interchanges = {threshold, {}};
    const auto n = static_cast<std::size_t>(matrix.n_rows);
    for (std::size_t i = 0; i < n; ++i) {
      row_scale.push_back(Real(i % 3 == 0 ? 2 : 1));
      col_scale.push_back(Real(i % 5 == 0 ? 0.5 : 1));
    }
    allocate_values(exec, plan, MemoryBudget(), factors);
    factorize(portable_factors, perturbation);
  }

  void factorize(bool portable_factors = false, double perturbation = 0) {
    const Kokkos::View<unsigned char*, Memory> perturbed("perturbed",
                                                         static_cast<std::size_t>(matrix.n_rows));
    factorize_fronts<Scalar>(
        exec, plan, {to_space<Space>(matrix.values), to_space<Space>(row_scale), to_space<Space>(col_scale)},
        perturbation, factors, perturbed, portable_factors);
    find_largest_factor(exec, factors);
    exec.fence();
    outcome = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)();
  }

  /// Solutions of op(A)·X = B by columns; in place if asked.
  std::vector<std::vector<Scalar>> solve(const std::vector<std::vector<Scalar>>& B, Transposition op,
                                         bool in_place = false) {
    const auto n = static_cast<std::size_t>(matrix.n_rows);
    std::vector<Scalar> flat;
    for (const auto& column : B) flat.insert(flat.end(), column.begin(), column.end());
    const auto b = to_space<Space>(flat);
    const auto x = in_place ? b : to_space<Space>(std::vector<Scalar>(flat.size()));
    const bool plain = op == Transposition::none;
    const auto rows = to_space<Space>(row_scale), columns = to_space<Space>(col_scale);
    FrontSystem<Scalar, Memory> system;
    system.transposition = op;
    system.in = {b.data(), 1, n, plain ? rows.data() : columns.data()};
    system.out = {x.data(), 1, n, plain ? columns.data() : rows.data()};
    system.in_row = system.out_row = to_space<Space>(tree.order);
    system.n_columns = static_cast<int>(B.size());
    solver.solve(exec, plan, factors, system);
    exec.fence();
    const auto got = to_vector(x);
    std::vector<std::vector<Scalar>> X;
    for (std::size_t c = 0; c < B.size(); ++c)
      X.emplace_back(got.begin() + static_cast<std::ptrdiff_t>(c * n),
                     got.begin() + static_cast<std::ptrdiff_t>((c + 1) * n));
    return X;
  }

  /// op(A) on the host.
  Matrix<Types> applied(Transposition op) const {
    if (op == Transposition::none) return matrix;
    return Reference::transpose(matrix, op == Transposition::adjoint);
  }

  void check(int columns, std::mt19937& random, bool in_place = false) {
    // interchanges inside fronts bound growth there, not in what fronts leave to their parents
    const double growth =
        factors.interchanges ? std::max(1.0, outcome.largest_factor / outcome.largest_entry) : 1.0;
    std::vector<std::vector<Scalar>> B(static_cast<std::size_t>(columns));
    for (auto& column : B) {
      for (Ordinal i = 0; i < matrix.n_rows; ++i) column.push_back(random_value<Scalar>(random, 1));
    }
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      const auto X = solve(B, op, in_place);
      const auto A = applied(op);
      for (std::size_t c = 0; c < B.size(); ++c) {
        INFO("operation " << static_cast<int>(op) << ", column " << c << " of " << columns);
        const auto errors = Reference::backward_errors(A, X[c], B[c]);
        REQUIRE(errors.normwise <= 40 * growth * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
};

/// Rows of a grid with its diagonals, numbered by rows: fronts in a chain with branches.
template <class MatrixType>
MatrixType grid(int edge, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = edge * edge;
  matrix.row_map.push_back(0);
  for (int i = 0; i < edge * edge; ++i) {
    for (const int step : {-edge, -1, 0, 1, edge}) {
      const int j = i + step;
      if (j < 0 || j >= edge * edge || (step * step == 1 && j / edge != i / edge)) continue;
      matrix.entries.push_back(j);
      matrix.values.push_back(step == 0 ? as_scalar<Scalar>(40) : random_value<Scalar>(random, 1));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};

/// The same with a diagonal of ones and zeros, so that pivots are to be looked for elsewhere.
template <class MatrixType>
MatrixType weakened(MatrixType matrix) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (std::size_t i = 0; i + 1 < matrix.row_map.size(); ++i) {
    for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (static_cast<std::size_t>(matrix.entries[at]) == i) matrix.values[at] = Scalar(i % 3 == 1 ? 1 : 0);
    }
  }
  return matrix;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("multifrontal solves worked by hand", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // L = (1; 2, 1; 0, 3, 1), U = (2, 1, 0; 1, 4; 2)
  const auto matrix = from_dense<Matrix<TestType>>({{2, 1, nothing}, {4, 3, 4}, {nothing, 3, 14}});
  for (const bool portable : {false, true}) {
    Fixture<TestType> fixture(matrix, portable);
    const std::vector<Scalar> x{Scalar(1), Scalar(2), Scalar(3)};
    const std::vector<Scalar> b{Scalar(4), Scalar(22), Scalar(48)};
    CHECK(fixture.solve({b}, Transposition::none).front() == x);
    const std::vector<Scalar> transposed_b{Scalar(10), Scalar(16), Scalar(50)};
    CHECK(fixture.solve({transposed_b}, Transposition::transposed).front() == x);
  }
}

TEMPLATE_LIST_TEST_CASE("solvers share factors in turn, with factorizations between them", "[trisolve]",
                        AllTypes) {
  // on devices they share one array of vectors, which factorizations write to
  std::mt19937 random(17);
  Fixture<TestType> fixture(grid<Matrix<TestType>>(24, random), false);
  auto other = decltype(fixture.solver)(fixture.exec, fixture.plan, MemoryBudget());
  for (const int columns : {1, 4, 1, 2}) {
    INFO(columns << " right-hand sides");
    fixture.check(columns, random);
    std::swap(fixture.solver, other);
    fixture.check(1, random);
    fixture.factorize(columns == 4);
    fixture.check(columns, random);
  }
}

TEMPLATE_LIST_TEST_CASE("solvers over one plan work on their own factors at the same time",
                        "[trisolve][threads]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(20);
  const auto matrix = bordered_blocks<Matrix<TestType>>(5, 70, 110, random);
  auto twice = matrix;
  for (auto& value : twice.values) value *= Scalar(2);
  std::vector<Scalar> b;
  for (int i = 0; i < 5 * 70 + 110; ++i) b.push_back(random_value<Scalar>(random, 1));
  for (const bool portable : {false, true}) {
    Fixture<TestType> first(matrix, portable), second(twice, portable);
    // Kokkos has its host threads work for one thread at a time, and cannot divide a single one.
    constexpr bool concurrent = lutra::Impl::is_serial_space<Space> || !lutra::Impl::is_host_space<Space>;
    if constexpr (concurrent) {
      const auto instances = Kokkos::Experimental::partition_space(Space(), 1, 1);
      first.exec = instances[0];
      second.exec = instances[1];
    }
    second.solver = first.solver.with_own_vectors(second.exec, MemoryBudget());
    const auto x = first.solve({b}, Transposition::none);
    auto half = x;
    for (auto& value : half.front()) value /= Scalar(2);
    CHECK(second.solve({b}, Transposition::none) == half);
    int wrong[2] = {0, 0};
    const auto solve_often = [&](Fixture<TestType>& fixture, const auto& expected, int& count) {
      for (int again = 0; again < 20; ++again)
        count += fixture.solve({b}, Transposition::none) == expected ? 0 : 1;
    };
    if (concurrent) {
      std::thread other([&] { solve_often(second, half, wrong[1]); });
      solve_often(first, x, wrong[0]);
      other.join();
    } else {
      solve_often(second, half, wrong[1]);
      solve_often(first, x, wrong[0]);
    }
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("an instance with a part of the threads solves on large fronts",
                        "[trisolve][threads]", AllTypes) {
  using Space = typename TestType::Space;
#ifdef LUTRA_HAS_OPENMP
  if (std::is_same_v<Space, Kokkos::OpenMP> && Space().concurrency() < 2) return;  // nothing to divide
#endif
  std::mt19937 random(21);
  constexpr int n = 300;  // one front that all threads of an instance share
  const auto parts = Kokkos::Experimental::partition_space(Space(), 1, 1);
  for (const bool portable : {false, true}) {
    Fixture<TestType> fixture(dominant_matrix<Matrix<TestType>>(n, 1.0, random), portable);
    for (const Space& part : {parts[0], parts[1], Space()}) {
      fixture.exec = part;
      fixture.solver = fixture.solver.with_own_vectors(part, MemoryBudget());
      for (const int columns : {1, 4}) fixture.check(columns, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves of sparse matrices", "[trisolve]", AllTypes) {
  std::mt19937 random(11);
  for (const int n : {1, 2, 30, 400}) {
    for (const double mean : {1.2, 4.0, 15.0}) {
      INFO("n " << n << ", about " << mean << " entries a row");
      const auto matrix = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
      for (const bool portable : {false, true}) {
        Fixture<TestType> fixture(matrix, portable);
        for (const int columns : {1, 4, 1, 2}) fixture.check(columns, random);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves with fronts of every size", "[trisolve]", AllTypes) {
  std::mt19937 random(12);
  for (const int edge : {3, 31, 33, 64, 97, 130}) {
    for (const int border : {1, 65, 140}) {
      INFO("blocks of " << edge << ", border of " << border);
      const auto matrix = bordered_blocks<Matrix<TestType>>(3, edge, border, random);
      Fixture<TestType>(matrix, false, no_zeros).check(1, random);
      Fixture<TestType>(matrix, false, no_zeros, true).check(3, random);  // no inverses of tiles
      Fixture<TestType>(matrix, true, no_zeros).check(1, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves with long rows, many children and many right-hand sides",
                        "[trisolve]", AllTypes) {
  std::mt19937 random(13);
  SECTION("rows of U that several teams share") {
    Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(2, 70, 450, random), false, no_zeros);
    for (const int columns : {1, 17, 5, 1}) fixture.check(columns, random, columns == 5);
  }
  SECTION("hundreds of children") {
    Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(300, 2, 6, random), false, no_zeros);
    for (const int columns : {4, 1}) fixture.check(columns, random, columns == 4);
  }
  SECTION("thousands of children, whose sums are cut") {
    Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(2500, 1, 5, random), false, no_zeros);
    for (const int columns : {4, 1}) fixture.check(columns, random);
  }
  SECTION("many children with many contribution rows") {
    Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(100, 3, 50, random), false, no_zeros);
    for (const int columns : {4, 1}) fixture.check(columns, random);
  }
  SECTION("a deep tree") {
    for (const bool portable : {false, true}) {
      Fixture<TestType> fixture(grid<Matrix<TestType>>(24, random), portable);
      for (const int columns : {1, 7}) fixture.check(columns, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves give the same bits in every run", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(14);
  Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(5, 90, 120, random), false);
  std::vector<Scalar> b;
  for (int i = 0; i < 5 * 90 + 120; ++i) b.push_back(random_value<Scalar>(random, 1));
  const auto first = fixture.solve({b}, Transposition::none);
  for (int run = 0; run < 3; ++run) CHECK(fixture.solve({b}, Transposition::none) == first);
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves with interchanged rows worked by hand", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto matrix = from_dense<Matrix<TestType>>({{0, 1, 2}, {2, 4, 4}, {1, 10, 2}});
  for (const bool portable : {false, true}) {
    Fixture<TestType> fixture(matrix, portable, {}, portable, 0.5, 1e-3);
    CHECK(fixture.outcome.perturbed == 0);
    CHECK(fixture.outcome.interchanged == 2);
    const std::vector<Scalar> x{Scalar(1), Scalar(2), Scalar(3)};
    const std::vector<Scalar> b{Scalar(8), Scalar(22), Scalar(27)};
    CHECK(fixture.solve({b}, Transposition::none).front() == x);
    const std::vector<Scalar> transposed_b{Scalar(7), Scalar(39), Scalar(16)};
    CHECK(fixture.solve({transposed_b}, Transposition::transposed).front() == x);
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal solves with interchanged rows in fronts of every size", "[trisolve]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(16);
  const double perturbation = std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
  for (const int edge : {3, 31, 64, 90, 130}) {
    for (const int border : {2, 30, 140}) {
      INFO("blocks of " << edge << ", border of " << border);
      const auto matrix = weakened(bordered_blocks<Matrix<TestType>>(3, edge, border, random));
      const Fixture<TestType> diagonal(matrix, false, no_zeros, false, 0, perturbation);
      for (const bool portable : {false, true}) {
        Fixture<TestType> fixture(matrix, portable, no_zeros, portable, 0.1, perturbation);
        CHECK(fixture.outcome.perturbed == 0);
        CHECK(diagonal.outcome.perturbed > 0);
        CHECK(fixture.outcome.interchanged > 0);
        for (const int columns : {1, 3}) fixture.check(columns, random, columns == 3);
      }
      Fixture<TestType>(matrix, false, no_zeros, true, 0.1).check(2, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("weak diagonals: interchanges in fronts avoid perturbed pivots", "[trisolve]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(17);
  const double perturbation = std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
  std::int64_t replaced = 0, replaced_statically = 0;
  for (const int n : {30, 200, 400}) {
    for (const double mean : {4.0, 15.0}) {
      const auto matrix = weakened(dominant_matrix<Matrix<TestType>>(n, mean / n, random));
      const Fixture<TestType> diagonal(matrix, false, {}, false, 0, perturbation);
      const Fixture<TestType> fixture(matrix, false, {}, false, 0.1, perturbation);
      replaced += fixture.outcome.perturbed;
      replaced_statically += diagonal.outcome.perturbed;
    }
  }
  CHECK(replaced < replaced_statically);
}

TEMPLATE_LIST_TEST_CASE("solves with interchanged rows give the same bits in every run", "[trisolve]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(18);
  const auto matrix = weakened(bordered_blocks<Matrix<TestType>>(4, 70, 110, random));
  std::vector<Scalar> b;
  for (int i = 0; i < 4 * 70 + 110; ++i) b.push_back(random_value<Scalar>(random, 1));
  const auto solution = [&](Transposition op) {
    return Fixture<TestType>(matrix, false, no_zeros, false, 0.1).solve({b}, op);
  };
  for (const auto op : {Transposition::none, Transposition::transposed}) CHECK(solution(op) == solution(op));
}

TEMPLATE_LIST_TEST_CASE("a solver for fronts without interchanges refuses fronts with them",
                        "[trisolve][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  Fixture<TestType> fixture(from_dense<Matrix<TestType>>({{0, 1}, {1, 0}}), false, {}, false, 0.1);
  fixture.solver = decltype(fixture.solver)(fixture.exec, fixture.plan, MemoryBudget());
  CHECK_THROWS_AS(fixture.solve({{Scalar(1), Scalar(2)}}, Transposition::none), InputError);
}

TEMPLATE_LIST_TEST_CASE("LU: too many right-hand sides for the memory leave the solver usable",
                        "[trisolve][errors]", AllTypes) {
  using Solver = decltype(Fixture<TestType>::solver);
  std::mt19937 random(16);
  for (const double threshold : {0.0, 0.1}) {
    Fixture<TestType> fixture(bordered_blocks<Matrix<TestType>>(4, 20, 25, random), true, {}, true,
                              threshold);
    const auto make = [&](const MemoryBudget& budget) {
      return Solver(fixture.exec, fixture.plan, budget, {true, 10, threshold > 0});
    };
    const auto solve = [&](std::size_t columns) {
      using Column = std::vector<typename TestType::Scalar>;
      const Column b(static_cast<std::size_t>(fixture.matrix.n_rows), typename TestType::Scalar(1));
      return fixture.solve(std::vector<Column>(columns, b), Transposition::none);
    };
    const MemoryBudget unlimited;
    fixture.solver = make(unlimited);
    const auto x = solve(1);
    const std::size_t narrow = unlimited.used_bytes();
    const auto X = solve(6);
    const std::size_t wide = unlimited.used_bytes();
    REQUIRE(narrow < wide);
    CHECK(unlimited.peak_bytes() == wide);  // never the vectors of both
    const MemoryBudget limited(wide - 1);
    fixture.solver = make(limited);
    for (int again = 0; again < 2; ++again) {
      CHECK(solve(1) == x);
      CHECK(limited.used_bytes() == narrow);
      CHECK_THROWS_AS(solve(6), OutOfMemoryError);
      CHECK(limited.used_bytes() <= narrow);
    }
    CHECK(solve(1) == x);
    CHECK(limited.used_bytes() == narrow);
    CHECK(limited.peak_bytes() < wide);
    const MemoryBudget enough(wide);
    fixture.solver = make(enough);
    solve(1);
    CHECK(solve(6) == X);
    fixture.solver = make(MemoryBudget());
    CHECK(enough.used_bytes() == 0);
  }
}

TEST_CASE("more rows of fronts than 32 bits can count are refused", "[trisolve][errors]") {
  using Fronts = std::vector<Front>;
  CHECK_THROWS_AS(lutra::Impl::list_sources(Fronts(), std::int64_t(1) << 32, nullptr, 0), OutOfMemoryError);
  CHECK(lutra::Impl::list_sources(Fronts(), 3, nullptr, 0).begin == std::vector<std::uint32_t>(4, 0));
}

#ifdef KOKKOS_ENABLE_CUDA
TEST_CASE("portable solves refuse interchanges inside tiles from the CUDA factorization",
          "[trisolve][errors]") {
  using Type = Types<double, int, Kokkos::Cuda>;
  std::mt19937 random(19);
  const auto matrix = weakened(bordered_blocks<Matrix<Type>>(2, 130, 2, random));
  const std::vector<double> b(static_cast<std::size_t>(matrix.n_rows), 1.0);
  Fixture<Type> tiles(matrix, true, no_zeros, false, 0.1);
  REQUIRE(tiles.outcome.interchanged > 0);
  CHECK_THROWS_AS(tiles.solve({b}, Transposition::none), InputError);
  Fixture<Type> portable(matrix, true, no_zeros, true, 0.1);
  CHECK_NOTHROW(portable.solve({b}, Transposition::none));
}

// No tree makes a front wait for itself: its parent is changed in the plan by hand.
TEST_CASE("the watchdog names the row of a front that waits for itself in a solve", "[trisolve]") {
  using Type = Types<double, int, Kokkos::Cuda>;
  std::mt19937 random(15);
  for (const int edge : {2, 150}) {  // by warps, by tiles
    Fixture<Type> fixture(bordered_blocks<Matrix<Type>>(3, edge, 2, random), false, no_zeros);
    auto good_solver = std::move(fixture.solver);
    auto plan = fixture.plan;
    plan.layout.fronts[1].parent = 1;
    plan.fronts = to_space<Kokkos::Cuda>(plan.layout.fronts);
    fixture.solver = FrontSolver<double, Kokkos::Cuda>(fixture.exec, plan, MemoryBudget(), {false, 0.05});
    const std::vector<double> b(static_cast<std::size_t>(fixture.matrix.n_rows), 1.0);
    fixture.solve({b}, Transposition::none);
    CHECK(fixture.solver.consume_timeout(fixture.exec, fixture.plan) ==
          fixture.plan.layout.fronts[1].first_pivot);
    CHECK(fixture.solver.consume_timeout(fixture.exec, fixture.plan) == -1);
    fixture.solver = std::move(good_solver);
    fixture.check(1, random);
  }
}
#endif

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_LdltCases.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra::Test {
namespace {

/// All ways to factorize on hosts; on devices data flow and the portable kernels.
template <class Types>
std::vector<LdltWay> ways() {
  if (lutra::Impl::is_host_space<typename Types::Space>)
    return {LdltWay::columns, LdltWay::blocks, LdltWay::portable};
  return {LdltWay::columns, LdltWay::portable};
}

template <class Types>
LdltResult<Types> run_dense(const Dense<typename Types::Scalar>& A, const std::vector<int>& pivots,
                            const LdltSetup& setup) {
  return run_ldlt<Types>(stored<Types>(A), chain_of(pivots), setup);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("L·D·Lᵀ of the SSIDS test cases in chains of fronts", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(7);
  const std::vector<std::vector<int>> chains{{6, 5}, {90}, {40, 50}, {70, 20}, {33, 32, 31}, {5, 60, 9, 40}};
  for (int number = 0; number < 20; ++number) {
    const auto& chain = chains[static_cast<std::size_t>(number) % chains.size()];
    for (const Symmetry symmetry : symmetries_of<Scalar>()) {
      int rank = 0;
      const int n = std::accumulate(chain.begin(), chain.end(), 0);
      const auto A = recipe<Scalar>(number, n, rank, symmetry, random);
      std::optional<Reference::Inertia> expected;
      const bool is_slow = ScalarTraits<Scalar>::is_complex && number % 5 != 2;
      if (has_inertia<Scalar>(symmetry) && sizeof(RealOf<Scalar>) == 8 && !is_slow)
        expected = Reference::inertia_of(A, 1e-12);
      for (const LdltWay way : ways<TestType>()) {
        LdltSetup setup;
        setup.take(way);
        setup.rule.symmetry = symmetry;
        setup.rule.threshold = number % 3 == 0 ? 0.5 : number % 3 == 1 ? 0.1 : 0.01;
        // rounding errors of singular cases stay below this
        setup.rule.zero_tolerance = rank < n ? std::sqrt(static_cast<double>(epsilon_of<Scalar>)) : 0;
        INFO("case " << number << ", way: " << static_cast<int>(way));
        const auto result = run_dense<TestType>(A, chain, setup);
        if (rank == n) {
          check_factors(result, setup);
        } else {
          REQUIRE(result.outcome.succeeded());
        }
        CHECK(result.outcome.zero == n - rank);
        if (!has_inertia<Scalar>(symmetry)) continue;
        CHECK(result.outcome.positive + result.outcome.negative + result.outcome.zero == n);
        if (expected) CHECK(result.inertia() == *expected);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the check of factors detects a missing update", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(8);
  const auto A = random_symmetric<Scalar>(80, Symmetry::symmetric, random);
  auto result = run_dense<TestType>(A, {50, 30}, {});
  REQUIRE(backward_error(result, Symmetry::symmetric) <= 40);
  const auto original = result;
  for (const std::size_t i : {std::size_t(1), std::size_t(40), std::size_t(79)}) {
    // as if an update had been left out
    for (std::size_t j = 0; j < 80; ++j) {
      if (result.L[i][j] == Scalar(0) || i == j) continue;
      result.L[i][j] *= as_scalar<Scalar>(2);
      break;
    }
    CHECK(backward_error(result, Symmetry::symmetric) > 1000);
    result = original;
  }
  result.D[7][7] += as_scalar<Scalar>(0.1);
  CHECK(backward_error(result, Symmetry::symmetric) > 1000);
}

TEMPLATE_LIST_TEST_CASE("zero diagonal blocks delay their columns; saddle points have their inertia",
                        "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(9);
  for (const Symmetry symmetry : symmetries_of<Scalar>()) {
    for (const auto& [m, n] :
         std::vector<std::pair<int, int>>{{1, 1}, {2, 5}, {31, 40}, {64, 64}, {70, 90}}) {
      const auto A = saddle_point<Scalar>(m, n, symmetry, random);
      for (const LdltWay way : ways<TestType>()) {
        LdltSetup setup;
        setup.take(way);
        setup.rule.symmetry = symmetry;
        const auto result = run_dense<TestType>(A, {m, n}, setup);
        INFO(m << " constraints, " << n << " variables, way: " << static_cast<int>(way));
        check_factors(result, setup);
        CHECK(result.records[0].delayed_out == m);
        CHECK(result.outcome.delayed == m);
        CHECK(result.outcome.max_delayed == m);
        CHECK((result.enlarged > 0) == (m > 32));  // there is room for 32, and then for more
        if (has_inertia<Scalar>(symmetry)) CHECK(result.inertia() == Reference::Inertia{n, m, 0});
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("delays pass through a chain of a hundred fronts", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(10);
  const auto A = saddle_point<Scalar>(100, 100, Symmetry::symmetric, random);
  std::vector<int> chain(100, 1);
  chain.push_back(100);
  LdltSetup setup;
  setup.plan.min_room = 3;
  const auto result = run_dense<TestType>(A, chain, setup);
  check_factors(result, setup);
  CHECK(result.enlarged > 1);
  CHECK(result.records.back().delayed_in == 100);
  CHECK(result.outcome.delayed == 100 * 101 / 2);
  if (!ScalarTraits<Scalar>::is_complex) CHECK(result.inertia() == Reference::Inertia{100, 100, 0});

  setup.max_enlarged = 0;  // the first pass says where it ended
  const auto first = run_dense<TestType>(A, chain, setup);
  CHECK(first.outcome.overflow_front == 4);
  CHECK(first.records[4].wanted == 4);
  for (std::size_t f = 4; f < first.records.size(); ++f) CHECK(first.records[f].stopped == 1);
}

TEMPLATE_LIST_TEST_CASE("only the column that fails is delayed, in any position", "[numeric][ldlt]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(11);
  const int k = 36, n = 72;
  for (int p = 0; p < k; ++p) {
    auto A = random_symmetric<Scalar>(n, Symmetry::symmetric, random);
    for (std::size_t i = 0; i < A.size(); ++i) A[i][i] = as_scalar<Scalar>(400);
    set(A, 60, static_cast<std::size_t>(p), as_scalar<Scalar>(1e6));
    for (const LdltWay way : ways<TestType>()) {
      LdltSetup setup;
      setup.take(way);
      const auto result = run_dense<TestType>(A, {k, n - k}, setup);
      INFO("column " << p << ", way: " << static_cast<int>(way));
      REQUIRE(result.outcome.succeeded());
      REQUIRE(result.records[0].delayed_out == 1);
      CHECK(result.variables[static_cast<std::size_t>(result.records[0].eliminated)] ==
            static_cast<typename TestType::Ordinal>(p));
      if (p % 30 == 0) check_factors(result, setup);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("both columns of a pair fail together", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(12);
  const int k = 40, n = 90;
  for (int p = 0; p + 1 < k; p += 4) {
    auto A = random_symmetric<Scalar>(n, Symmetry::symmetric, random);
    for (std::size_t i = 0; i < A.size(); ++i) {
      A[i][i] = as_scalar<Scalar>(400);
      for (std::size_t j = 0; j < i; ++j) set(A, i, j, A[i][j] * as_scalar<Scalar>(0.01));
    }
    const auto first = static_cast<std::size_t>(p);
    A[first][first] = A[first + 1][first + 1] = Scalar(0);
    set(A, first + 1, first, as_scalar<Scalar>(200));
    set(A, 80, first + static_cast<std::size_t>(p / 4 % 2), as_scalar<Scalar>(1e6));
    for (const LdltWay way : ways<TestType>()) {
      LdltSetup setup;
      setup.take(way);
      const auto result = run_dense<TestType>(A, {k, n - k}, setup);
      INFO("pair at " << p << ", way: " << static_cast<int>(way));
      REQUIRE(result.outcome.succeeded());
      REQUIRE(result.records[0].delayed_out == 2);
      const auto at = static_cast<std::size_t>(result.records[0].eliminated);
      CHECK(result.variables[at] + result.variables[at + 1] ==
            static_cast<typename TestType::Ordinal>(2 * p + 1));
      if (p % 16 == 0) check_factors(result, setup);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("failed columns are restored bit by bit", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(13);
  const int k = 75, n = 160;
  for (const Symmetry symmetry : symmetries_of<Scalar>()) {
    auto A = random_symmetric<Scalar>(n, symmetry, random);
    for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j)
      set(A, static_cast<std::size_t>(k) + j, j, as_scalar<Scalar>(1e9), symmetry);  // nothing passes
    for (const LdltWay way : ways<TestType>()) {
      LdltSetup setup;
      setup.take(way);
      setup.rule.symmetry = symmetry;
      setup.plan.min_room = k;
      const auto result = run_dense<TestType>(A, {k, n - k}, setup);
      REQUIRE(result.outcome.succeeded());
      REQUIRE(result.records[0].delayed_out == k);
      const auto variable = [&](int i) {
        return static_cast<std::size_t>(
            i < k ? static_cast<int>(result.variables[static_cast<std::size_t>(i)]) : i);
      };
      int different = 0;
      for (int j = 0; j < k; ++j) {
        for (int i = j; i < n; ++i)
          different +=
              result.panels[static_cast<std::size_t>(i + j * n)] == A[variable(i)][variable(j)] ? 0 : 1;
      }
      CHECK(different == 0);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("non-finite values end a factorization", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  std::mt19937 random(14);
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    for (const auto& [i, j] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 0}, {1, 0}, {60, 3}, {33, 33}, {69, 40}, {71, 60}, {99, 99}, {99, 98}}) {
      auto A = random_symmetric<Scalar>(100, Symmetry::symmetric, random);
      set(A, i, j, Scalar(bad));
      for (const LdltWay way : ways<TestType>()) {
        for (const Pivoting pivoting : {Pivoting::threshold, Pivoting::static_perturbed, Pivoting::none}) {
          LdltSetup setup;
          setup.take(way);
          setup.rule.pivoting = pivoting;
          setup.rule.perturbation = 1e-8;
          INFO("entry " << i << ", " << j << ", " << name_of(pivoting));
          CHECK(run_dense<TestType>(A, {70, 30}, setup).outcome.not_finite != LdltOutcome::none);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("Cholesky names the column at which a matrix is not definite", "[numeric][ldlt]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(15);
  const Symmetry symmetry = symmetries_of<Scalar>().front();
  for (const LdltWay way : ways<TestType>()) {
    LdltSetup setup;
    setup.take(way);
    setup.rule.symmetry = symmetry;
    setup.rule.pivoting = Pivoting::none;
    setup.rule.definite = true;
    auto A = random_symmetric<Scalar>(120, symmetry, random);
    for (std::size_t i = 0; i < A.size(); ++i) A[i][i] = as_scalar<Scalar>(600);
    const auto result = run_dense<TestType>(A, {20, 80, 20}, setup);
    check_factors(result, setup);
    CHECK(result.inertia() == Reference::Inertia{120, 0, 0});
    CHECK(result.outcome.two_by_two == 0);
    for (std::size_t j = 0; j < 20; ++j)
      CHECK(result.variables[j] == static_cast<typename TestType::Ordinal>(j));
    for (const std::size_t column : {0, 19, 20, 55, 99, 119}) {
      auto indefinite = A;
      indefinite[column][column] = as_scalar<Scalar>(column % 2 == 0 ? -1.0 : 0.0);
      CHECK(run_dense<TestType>(indefinite, {20, 80, 20}, setup).outcome.not_definite ==
            static_cast<std::int64_t>(column));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("static pivoting perturbs pivots and delays none", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(16);
  const auto A = saddle_point<Scalar>(70, 80, Symmetry::symmetric, random);
  for (const LdltWay way : ways<TestType>()) {
    LdltSetup setup;
    setup.take(way);
    setup.rule.pivoting = Pivoting::static_perturbed;
    setup.rule.perturbation = 1e-3;
    const auto result = run_dense<TestType>(A, {70, 80}, setup);
    REQUIRE(result.outcome.succeeded());
    CHECK(result.outcome.perturbed == 70);
    CHECK(result.outcome.delayed == 0);
    double largest = 0;
    for (const auto& row : A)
      for (const Scalar& value : row) largest = std::max(largest, static_cast<double>(Kokkos::abs(value)));
    for (std::size_t j = 0; j < 70; ++j) {
      CHECK(result.kind[j] == PivotKind::perturbed);
      CHECK(std::abs(static_cast<double>(Kokkos::abs(result.diagonal[j])) - 1e-3 * largest) < 1e-6 * largest);
    }
    setup.rule.perturbation = 0;
    CHECK(run_dense<TestType>(A, {70, 80}, setup).outcome.not_finite == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("a shift is added to the diagonal", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(17);
  const auto A = stored<TestType>(saddle_point<Scalar>(30, 60, Symmetry::symmetric, random));
  std::vector<RealOf<Scalar>> shift(90, 0);
  for (std::size_t i = 0; i < 30; ++i) shift[i] = 1e6;
  const auto result = run_ldlt<TestType>(A, chain_of({30, 60}), {}, {}, shift);
  check_factors(result, {});
  CHECK(result.outcome.delayed == 0);
  if (!ScalarTraits<Scalar>::is_complex) CHECK(result.inertia() == Reference::Inertia{90, 0, 0});
}

TEMPLATE_LIST_TEST_CASE("both engines factorize sparse saddle points", "[numeric][ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(18);
  for (int number = 0; number < 4; ++number) {
    const int n = 40 + 45 * number, m = n / 3, size = n + m;
    for (const Symmetry symmetry : symmetries_of<Scalar>()) {
      std::vector<std::vector<std::pair<std::size_t, Scalar>>> rows(static_cast<std::size_t>(size));
      const auto add = [&](std::size_t i, std::size_t j, const Scalar& value) {
        for (const auto& entry : rows[i])
          if (entry.first == j) return;
        rows[i].push_back({j, value});
        if (i != j) rows[j].push_back({i, mirror(symmetry, value)});
      };
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        add(i, i, as_scalar<Scalar>(40));
        for (int e = 0; e < 3; ++e) {
          const std::size_t j = random() % static_cast<unsigned>(n);
          if (j != i) add(i, j, random_value<Scalar>(random, 1));
        }
      }
      for (std::size_t c = 0; c < static_cast<std::size_t>(m); ++c) {
        add(static_cast<std::size_t>(n) + c, c, as_scalar<Scalar>(30));
        add(static_cast<std::size_t>(n) + c, random() % static_cast<unsigned>(n),
            random_value<Scalar>(random, 1));
      }
      Matrix<TestType> matrix;
      matrix.n_rows = matrix.n_cols = size;
      matrix.row_map.push_back(0);
      // constraints first, so that their pivots are zero at first
      std::vector<std::size_t> order(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = (i + static_cast<std::size_t>(number % 2 == 0 ? n : 0)) % order.size();
      std::vector<std::size_t> position(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
      for (const std::size_t row : order) {
        std::vector<std::pair<std::size_t, Scalar>> entries;
        for (const auto& [j, value] : rows[row]) entries.push_back({position[j], value});
        std::ranges::sort(entries, [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [j, value] : entries) {
          matrix.entries.push_back(static_cast<typename TestType::Ordinal>(j));
          matrix.values.push_back(value);
        }
        matrix.row_map.push_back(matrix.nnz());
      }
      const auto tree = make_assembly_tree(make_view(matrix).pattern());
      for (const LdltWay way : ways<TestType>()) {
        LdltSetup setup;
        setup.take(way);
        setup.rule.symmetry = symmetry;
        setup.plan.min_room = 1 + 10 * (number % 3);
        INFO("case " << number << ", way: " << static_cast<int>(way));
        const auto result = run_ldlt<TestType>(matrix, tree, setup);
        check_factors(result, setup);
        if (has_inertia<Scalar>(symmetry)) CHECK(result.inertia() == Reference::Inertia{n, m, 0});
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("zero matrices, small matrices and thresholds out of range", "[numeric][ldlt]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  for (const int n : {1, 2, 70}) {
    const auto size = static_cast<std::size_t>(n);
    const auto result =
        run_dense<TestType>(Dense<Scalar>(size, std::vector<Scalar>(size, Scalar(0))), {n}, {});
    CHECK(result.outcome.zero == n);
    CHECK(result.outcome.succeeded());
  }
  const auto swap = run_dense<TestType>({{Scalar(0), Scalar(3)}, {Scalar(3), Scalar(0)}}, {2}, {});
  CHECK(swap.outcome.two_by_two == 1);
  CHECK(swap.D[1][0] == Scalar(3));
  CHECK(swap.outcome.entries == 3);
  if (!ScalarTraits<Scalar>::is_complex) CHECK(swap.inertia() == Reference::Inertia{1, 1, 0});
  for (const double threshold : {0.0, -1.0, 0.6, std::numeric_limits<double>::quiet_NaN()}) {
    LdltSetup setup;
    setup.rule.threshold = threshold;
    CHECK_THROWS_AS(run_dense<TestType>({{Scalar(1)}}, {1}, setup), InputError);
  }
}

TEST_CASE("signs of 2 × 2 pivots near singularity", "[numeric][ldlt]") {
  // (1 + ε)(1 − ε) − 1 = −ε², which the difference of rounded products is not
  const double e = std::numeric_limits<double>::epsilon();
  const auto signs = lutra::Impl::signs_of_pair(1 + e, 1 - e, 1.0);
  CHECK(signs.positive == 1);
  CHECK(signs.negative == 1);
  const auto negative = lutra::Impl::signs_of_pair(-3.0, -2.0, 1.0);
  CHECK(negative.negative == 2);
}

TEST_CASE("signs of 2 × 2 pivots whose determinant is out of range", "[numeric][ldlt]") {
  for (const double scale : {1e-300, 1e-170, 1.0, 1e170, 1e300}) {
    CAPTURE(scale);
    const auto definite = lutra::Impl::signs_of_pair(4 * scale, 4 * scale, scale);
    CHECK(definite.positive == 2);
    const auto negative = lutra::Impl::signs_of_pair(-4 * scale, -4 * scale, scale);
    CHECK(negative.negative == 2);
    const auto indefinite = lutra::Impl::signs_of_pair(scale, scale, 4 * scale);
    CHECK(indefinite.positive == 1);
    CHECK(indefinite.negative == 1);
  }
  const auto uneven = lutra::Impl::signs_of_pair(4e-300, 4e100, 1e-100);
  CHECK(uneven.positive == 2);
}

#ifdef LUTRA_HAS_OPENMP
TEST_CASE("L·D·Lᵀ gives the same bits for any number of threads", "[numeric][ldlt]") {
  using OpenMpTypes =
      Types<std::tuple_element_t<0, Scalars>, std::tuple_element_t<0, Ordinals>, Kokkos::OpenMP>;
  using Scalar = OpenMpTypes::Scalar;
  std::mt19937 random(19);
  int rank = 0;
  auto dense = recipe<Scalar>(0, 420, rank, Symmetry::symmetric, random);
  // four subtrees below a large front
  AssemblyTree tree = chain_of({40, 30, 50, 40, 260});
  tree.parent = {4, 4, 4, 4, -1};
  tree.rows.clear();
  for (std::size_t f = 0; f < 5; ++f) {
    for (int row = 160; f < 4 && row < 420; ++row) tree.rows.push_back(row);
    tree.row_begin[f + 1] = static_cast<std::int64_t>(tree.rows.size());
  }
  const auto leaf_of = [](std::size_t i) { return i < 40 ? 0 : i < 70 ? 1 : i < 120 ? 2 : i < 160 ? 3 : 4; };
  for (std::size_t i = 0; i < 160; ++i) {
    for (std::size_t j = 0; j < 160; ++j)
      if (leaf_of(i) != leaf_of(j)) dense[i][j] = Scalar(0);
  }
  const auto A = stored<OpenMpTypes>(dense, false);
  const int most = Kokkos::OpenMP().concurrency();
  std::optional<LdltResult<OpenMpTypes>> first;
  for (const int threads : {1, 2, 4}) {
    if (threads > most) continue;
    const auto result = run_ldlt<OpenMpTypes>(A, tree, {}, Kokkos::OpenMP(threads));
    REQUIRE(result.outcome.succeeded());
    CHECK(backward_error(result, Symmetry::symmetric) <= 40);
    if (!first) first = result;
    CHECK(result.L == first->L);
    CHECK(result.D == first->D);
    CHECK(result.outcome.entries == first->outcome.entries);
  }
}
#endif

}  // namespace lutra::Test

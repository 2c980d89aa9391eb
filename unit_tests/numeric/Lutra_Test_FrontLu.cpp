// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "Lutra_FactorResidual.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// L\U of a host matrix by fronts, with the order the fronts gave it.
template <class Types>
struct Result {
  using Scalar = typename Types::Scalar;
  Matrix<Types> permuted;
  std::vector<std::vector<std::size_t>> pattern;
  std::vector<Scalar> values;  ///< by rows of the pattern
  FrontLuOutcome outcome;
  std::vector<unsigned char> perturbed;
};

template <class MatrixType, class Ordinal>
MatrixType permuted_by(const MatrixType& A, const std::vector<Ordinal>& order) {
  std::vector<Ordinal> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    place[static_cast<std::size_t>(order[k])] = static_cast<Ordinal>(k);
  MatrixType result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  for (const Ordinal row : order) {
    std::vector<std::pair<Ordinal, typename decltype(A.values)::value_type>> entries;
    Reference::for_row(A, static_cast<std::size_t>(row), [&](std::size_t j, const auto& value) {
      entries.push_back({place[j], value});
    });
    std::ranges::sort(entries, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [j, value] : entries) {
      result.entries.push_back(j);
      result.values.push_back(value);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// @param runs how often it is factorized: flags of a run must not be taken for those of the next
template <class Types>
Result<Types> run(const Matrix<Types>& matrix, double perturbation, const AssemblyTreeOptions& options = {},
                  bool portable = false, int runs = 1) {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;
  using Ordinal = typename Types::Ordinal;
  using Offset = typename Types::Offset;
  const Space exec;
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto tree = make_assembly_tree(make_view(matrix).pattern(), options);
  const auto plan = plan_fronts(
      exec, tree, FrontEntries<Ordinal, Offset>{make_view(matrix).pattern(), tree.order, tree.order},
      MemoryBudget(), front_plan_options<Scalar, Space>());
  Kokkos::View<const Offset*, Memory> source;
  const auto filled = pattern_of_fronts(exec, plan, MemoryBudget(), source);
  auto factors = make_front_factors<Scalar>(exec, plan, MemoryBudget());
  allocate_values(exec, plan, MemoryBudget(), factors);
  const auto ones = to_space<Space>(std::vector<Real>(n, Real(1)));
  const Kokkos::View<unsigned char*, Memory> perturbed("perturbed", n);
  const Kokkos::View<Scalar*, Memory> values("values", source.extent(0));
  for (int r = 0; r < runs; ++r) {
    auto scaled = matrix.values;
    for (Scalar& value : scaled) value *= as_scalar<Scalar>(runs - r);  // the last run has the matrix itself
    factorize_fronts<Scalar>(exec, plan, {to_space<Space>(scaled), ones, ones}, perturbation, factors,
                             perturbed, portable);
    gather_factors(exec, factors, source, values);
    exec.fence();
  }
  Result<Types> result;
  result.permuted = permuted_by(matrix, tree.order);
  result.pattern = to_rows(filled.pattern());
  result.values = to_vector(values);
  result.outcome = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)();
  result.perturbed = to_vector(perturbed);
  const auto diagonal = to_vector(filled.diagonal);
  for (std::size_t i = 0; i < n; ++i) {
    REQUIRE(std::ranges::is_sorted(result.pattern[i]));
    REQUIRE(to_vector(filled.entries)[static_cast<std::size_t>(diagonal[i])] == static_cast<Ordinal>(i));
    if (n > 200) break;
  }
  return result;
}

/// Every entry beside plain elimination of the reordered matrix; what the fronts store beyond its pattern is
/// 0.
template <class Types>
void compare(const Result<Types>& result) {
  using Scalar = typename Types::Scalar;
  const double bound = 400.0 * static_cast<double>(epsilon_of<Scalar>);
  const auto pattern = Reference::lu_pattern(result.permuted);
  const auto expected = Reference::factorize(result.permuted, pattern, RealOf<Scalar>(0));
  std::size_t position = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::size_t k = 0;
    for (const std::size_t j : result.pattern[i]) {
      const Scalar got = result.values[position++];
      const bool there = k < pattern[i].size() && pattern[i][k] == j;
      const Scalar wanted = there ? expected.values[i][k++] : Scalar(0);
      INFO("entry " << i << ", " << j);
      REQUIRE(static_cast<double>(Kokkos::abs(got - wanted)) <=
              bound * (static_cast<double>(Kokkos::abs(wanted)) + 1e-3 * result.outcome.largest_factor));
    }
    REQUIRE(k == pattern[i].size());
  }
}

/// L\U as it would be if nothing were subtracted: A, its columns below the diagonal divided by that.
template <class Types>
std::vector<typename Types::Scalar> without_updates(const Result<Types>& result) {
  using Scalar = typename Types::Scalar;
  std::vector<Scalar> diagonal(result.pattern.size()), values;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    Reference::for_row(result.permuted, i, [&](std::size_t j, const Scalar& value) {
      if (j == i) diagonal[i] = value;
    });
  }
  std::vector<Scalar> row(diagonal.size(), Scalar(0));
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    Reference::for_row(result.permuted, i, [&](std::size_t j, const Scalar& value) { row[j] = value; });
    for (const std::size_t j : result.pattern[i]) {
      values.push_back(j < i ? row[j] / diagonal[j] : row[j]);
      row[j] = Scalar(0);
    }
  }
  return values;
}

/// L·U beside A, entry by entry; and that this would notice sums from which nothing has been subtracted.
template <class Types>
void check_product(const Result<Types>& result, std::mt19937& random) {
  const std::size_t n = result.pattern.size();
  const auto rows = rows_to_check(n, n, random);
  std::vector<std::size_t> begin{0};
  for (const auto& row : result.pattern) begin.push_back(begin.back() + row.size());
  const auto residual = [&](const auto& values) {
    const auto stored = [&](std::size_t i, const auto& visit) {
      for (std::size_t k = 0; k < result.pattern[i].size(); ++k)
        visit(result.pattern[i][k], values[begin[i] + k]);
    };
    return largest_residual(result.permuted, n, stored, rows);
  };
  CHECK(residual(result.values) <= 1);
  CHECK(residual(without_updates(result)) > 10);
}

/// The same matrix with a weak diagonal.
template <class MatrixType>
MatrixType weakened(MatrixType matrix) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (std::size_t i = 0, p = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    for (; p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
      if (static_cast<std::size_t>(matrix.entries[p]) == i)
        matrix.values[p] = as_scalar<Scalar>(weak_diagonal(static_cast<int>(matrix.n_rows)));
    }
  }
  return matrix;
}

/// A dense front by itself, no other fronts being there that its further rows would belong to.
template <class Types>
void check_one_front(int pivots, int below, std::mt19937& random) {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using Ordinal = typename Types::Ordinal;
  using Offset = typename Types::Offset;
  const int size = pivots + below;
  const auto matrix = matrix_of_front<Matrix<Types>>(pivots, below, random);
  AssemblyTree<Ordinal> tree;
  tree.n = static_cast<Ordinal>(size);
  tree.order.resize(static_cast<std::size_t>(size));
  std::iota(tree.order.begin(), tree.order.end(), Ordinal(0));
  tree.pivot_begin = {0, static_cast<Ordinal>(pivots)};
  tree.parent = {-1};
  tree.row_begin = {0, below};
  tree.rows.assign(tree.order.begin() + pivots, tree.order.end());
  const Space exec;
  const auto plan = plan_fronts(
      exec, tree, FrontEntries<Ordinal, Offset>{make_view(matrix).pattern(), tree.order, tree.order},
      MemoryBudget(), front_plan_options<Scalar, Space>());
  auto factors = make_front_factors<Scalar>(exec, plan, MemoryBudget());
  allocate_values(exec, plan, MemoryBudget(), factors);
  const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(static_cast<std::size_t>(size), 1));
  const Kokkos::View<unsigned char*, Memory> perturbed("perturbed", static_cast<std::size_t>(size));
  factorize_fronts<Scalar>(exec, plan, {to_space<Space>(matrix.values), ones, ones}, 0, factors, perturbed);
  exec.fence();
  const auto panels = to_vector(factors.panels), contributions = to_vector(factors.contributions);
  const auto entry = [&](int r, int c) {
    const auto at = [](const auto& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; };
    const std::int64_t f = size, k = pivots, m = below;
    if (c < pivots) return at(panels, r + c * f);
    return r < pivots ? at(panels, f * k + r * m + c - k) : at(contributions, r - k + (c - k) * m);
  };
  const auto stored = [&](std::size_t r, const auto& visit) {
    for (int c = 0; c < size; ++c) visit(static_cast<std::size_t>(c), entry(static_cast<int>(r), c));
  };
  const auto n = static_cast<std::size_t>(size), k = static_cast<std::size_t>(pivots);
  CHECK(largest_residual(matrix, k, stored, rows_to_check(n, k, random)) <= 1);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("LU by fronts of matrices worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  SECTION("3 × 3, dense") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0);
    CHECK(result.values == std::vector<Scalar>{Scalar(2), Scalar(1), Scalar(1), Scalar(2), Scalar(1),
                                               Scalar(1), Scalar(4), Scalar(3), Scalar(2)});
    CHECK(result.outcome.perturbed == 0);
    CHECK(result.outcome.largest_entry == 9.0);
    CHECK(result.outcome.largest_factor == 4.0);
  }
  SECTION("an entry of L alone: the fronts store a zero of U beside it") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, o}, {4, 3}}), 0);
    CHECK(result.values == std::vector<Scalar>{Scalar(2), Scalar(0), Scalar(2), Scalar(3)});
  }
  SECTION("a pivot that cancels to zero is replaced by the threshold") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}}), 0.5);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
  }
  SECTION("the threshold is relative to the largest entry") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{8, o}, {o, -1}}), 0.25);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1});
    CHECK(result.values == std::vector<Scalar>{Scalar(8), Scalar(-2)});
  }
  SECTION("overflow is told") {
    const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}}), 0);
    CHECK_FALSE(Kokkos::isfinite(result.outcome.largest_factor));
  }
}

TEMPLATE_LIST_TEST_CASE("LU by fronts agrees with plain elimination", "[numeric]", AllTypes) {
  std::mt19937 random(7);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const int n : {1, 4, 30, 150, 400}) {
    for (const double mean : {1.5, 4.0, 20.0}) {
      const auto matrix = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
      INFO("n " << n << ", about " << mean << " entries a row");
      compare(run<TestType>(matrix, 0));
      compare(run<TestType>(matrix, 0, no_zeros));
      compare(run<TestType>(matrix, 0, {}, true));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("LU by fronts of every size", "[numeric]", AllTypes) {
  std::mt19937 random(9);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const int edge : {1, 3, 16, 33, 60, 64, 97, 130}) {
    for (const int border : {2, 31, 65, 140}) {
      INFO("blocks of " << edge << ", border of " << border);
      const auto matrix = bordered_blocks<Matrix<TestType>>(3, edge, border, random);
      compare(run<TestType>(matrix, 0, no_zeros, false, 2));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("contribution blocks that share memory on devices", "[numeric]", AllTypes) {
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(12);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  // whole fronts and fronts in tiles, many more one after the other than are worked at once
  for (const int edge : {35, 70}) {
    const auto matrix = chains_of_blocks<Matrix<TestType>>(on_host ? 2 : 20, on_host ? 3 : 30, edge, random);
    const auto result = run<TestType>(matrix, 0, no_zeros, false, 2);
    const auto expected = run<TestType>(matrix, 0, no_zeros, true);
    REQUIRE(result.pattern == expected.pattern);
    const double bound = 100 * static_cast<double>(epsilon_of<typename TestType::Scalar>);
    double most = 0;
    for (std::size_t p = 0; p < expected.values.size(); ++p)
      most = std::max(most, static_cast<double>(Kokkos::abs(result.values[p] - expected.values[p])));
    CHECK(most <= bound * expected.outcome.largest_factor);
  }
}

TEMPLATE_LIST_TEST_CASE("sizes of fronts are predicted as they are allocated", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  using Ordinal = typename TestType::Ordinal;
  using Offset = typename TestType::Offset;
  std::mt19937 random(13);
  const Space exec;
  for (const int edge : {2, 20, 70}) {
    INFO("blocks of " << edge);
    const auto matrix = chains_of_blocks<Matrix<TestType>>(6, 10, edge, random);
    const auto pattern = make_view(matrix).pattern();
    const auto tree = make_assembly_tree(pattern);
    const auto sizes = sizes_of_fronts<Scalar, Offset>(exec, tree);
    const auto plan = plan_fronts(exec, tree, FrontEntries<Ordinal, Offset>{pattern, tree.order, tree.order},
                                  MemoryBudget(), front_plan_options<Scalar, Space>());
    auto factors = make_front_factors<Scalar>(exec, plan, MemoryBudget());
    allocate_values(exec, plan, MemoryBudget(), factors);
    CHECK(sizes.panels == static_cast<std::int64_t>(factors.panels.extent(0)));
    CHECK(sizes.contributions == static_cast<std::int64_t>(factors.contributions.extent(0)));
    CHECK(sizes.inverses == static_cast<std::int64_t>(factors.inverses.extent(0)));
  }
}

TEST_CASE("positions in fronts of more rows than 16 bits count", "[numeric]") {
  using Type = Types<double, int>;
  const int n = 70000;  // a dense first row and column: one pivot and all others below it
  Matrix<Type> matrix;
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    for (int j = i == 0 ? 0 : i; j < (i == 0 ? n : i + 1); ++j) {
      if (i > 0) matrix.entries.push_back(0);
      matrix.entries.push_back(j);
    }
    matrix.row_map.push_back(static_cast<std::int64_t>(matrix.entries.size()));
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  AssemblyTree<int> tree;
  tree.n = n;
  tree.order.resize(static_cast<std::size_t>(n));
  std::iota(tree.order.begin(), tree.order.end(), 0);
  tree.pivot_begin = {0, 1, n};
  tree.parent = {1, -1};
  tree.row_begin = {0, n - 1, n - 1};
  tree.rows.assign(tree.order.begin() + 1, tree.order.end());
  const auto pattern = make_view(matrix).pattern();
  const auto plan = plan_fronts(
      Type::Space(), tree, FrontEntries<int, std::int64_t>{pattern, tree.order, tree.order}, MemoryBudget());
  const auto places = plan.entry_place.data();
  for (int i = 0; i < n; ++i) {
    for (auto p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p) {
      const int j = pattern.entries(p), pivot = std::min(i, j) == 0 ? 0 : 1;
      const auto place = places(plan.entry_target(p));
      if (place.row != i - pivot || place.column != j - pivot) REQUIRE(std::pair(i, j) == std::pair(-1, -1));
    }
  }
}

TEMPLATE_LIST_TEST_CASE(
    "one wide front: L·U is A, its contribution block standing for U in contribution rows", "[numeric]",
    AllTypes) {
  std::mt19937 random(11);
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  using Sizes = std::vector<std::pair<int, int>>;  // pivots, further rows
  Sizes sizes{{97, 0}, {64, 65}, {65, 63}, {128, 1}, {1, 200}, {17, 128}, {300, 50}, {705, 0}};
  // in devices' tiles: one or two at a time, pairs that end with a short or single one, copies of one or two
  // numbers, the last of them half beyond the tile; as many pivot tiles as make diagonal ones take their last
  // product from links, one less, short ones at the end
  if (!on_host) {
    sizes.insert(sizes.end(), {{1536, 0}, {1537, 0}, {768, 800}, {63, 1601}, {1000, 641}, {130, 1664}});
    sizes.insert(sizes.end(), {{192, 0}, {256, 0}, {257, 0}, {258, 30}, {128, 10}, {1538, 0}});
    sizes.insert(sizes.end(), {{770, 802}, {62, 1602}, {1000, 642}});
    sizes.insert(sizes.end(), {{2817, 0}, {2822, 30}, {1000, 1841}, {1000, 1842}, {63, 2801}, {62, 2802}});
    // as many pivot tiles as one block sweeps, of either edge, and one less
    sizes.insert(sizes.end(), {{704, 30}, {768, 1}, {769, 100}, {353, 0}, {352, 40}, {384, 70}});
  }
  for (const auto& [pivots, below] : sizes) {
    INFO(pivots << " pivots, " << below << " further rows");
    check_one_front<TestType>(pivots, below, random);
  }
}

TEMPLATE_LIST_TEST_CASE("small pivots anywhere in a wide front are perturbed", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const int n =
      GENERATE(200, 330, 800);  // a diagonal matrix but for one dense row and column, which make one front
  Matrix<TestType> matrix;
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  const auto is_small = [](int i) {
    return i == 5 || i == 31 || i == 64 || i == 127 || i == 130 || i == 262 || i == 700 || i == 799;
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      matrix.entries.push_back(j);
      matrix.values.push_back(as_scalar<Scalar>(i != j ? 0.0 : is_small(i) ? 1e-6 : 1.0));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  const auto result = run<TestType>(matrix, 0.01);
  CHECK(result.outcome.perturbed == (n > 700 ? 8 : n > 262 ? 6 : 5));
  for (int i = 0; i < n; ++i) {
    INFO("pivot " << i);
    CHECK(int(result.perturbed[static_cast<std::size_t>(i)]) == int(is_small(i)));
    const Scalar pivot = result.values[static_cast<std::size_t>(i) * (n + 1)];
    CHECK(Kokkos::abs(pivot - as_scalar<Scalar>(is_small(i) ? 0.01 : 1.0)) < 1e-6);
  }
}

TEMPLATE_LIST_TEST_CASE("LU by fronts gives the same bits from run to run", "[numeric]", AllTypes) {
  std::mt19937 random(10);
  for (const int border : {120, 420}) {  // the latter with links between diagonal tiles
    const auto matrix = bordered_blocks<Matrix<TestType>>(5, 90, border, random);
    const auto first = run<TestType>(matrix, 0);
    const auto second = run<TestType>(matrix, 0, {}, false, 3);
    CHECK(first.values == second.values);
  }
}

TEMPLATE_LIST_TEST_CASE("factors of two matrices share a plan and a schedule", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  using Ordinal = typename TestType::Ordinal;
  using Offset = typename TestType::Offset;
  std::mt19937 random(14);
  const Space exec;
  const auto matrix = bordered_blocks<Matrix<TestType>>(4, 70, 110, random);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto tree = make_assembly_tree(make_view(matrix).pattern());
  const auto plan = plan_fronts(
      exec, tree, FrontEntries<Ordinal, Offset>{make_view(matrix).pattern(), tree.order, tree.order},
      MemoryBudget(), front_plan_options<Scalar, Space>());
  const auto schedule = make_front_schedule<Scalar>(exec, plan, MemoryBudget());
  const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(n, 1));
  struct Factored {
    FrontFactors<Scalar, Ordinal, Offset, Space> factors;
    Kokkos::View<unsigned char*, typename TestType::Memory> perturbed;
    Kokkos::View<const Scalar*, typename TestType::Memory> values;
  };
  const auto make = [&](double scale) {
    auto values = matrix.values;
    for (Scalar& value : values) value *= as_scalar<Scalar>(scale);
    Factored made{make_front_factors(exec, schedule, MemoryBudget()),
                  decltype(Factored::perturbed)("perturbed", n), to_space<Space>(values)};
    allocate_values(exec, plan, MemoryBudget(), made.factors);
    return made;
  };
  const auto factorize = [&](const Factored& of) {
    factorize_fronts<Scalar>(exec, plan, {of.values, ones, ones}, 0, of.factors, of.perturbed);
    exec.fence();
    return to_vector(of.factors.panels);
  };
  const Factored first = make(1), second = make(4), third = make(1);
  const auto expected = factorize(first);
  const auto other = factorize(second);
  CHECK(other != expected);
  CHECK(factorize(third) == expected);  // with flags of its own, of its first run
  CHECK(factorize(first) == expected);
  CHECK(factorize(second) == other);
  CHECK(to_vector(third.factors.panels) == expected);  // as it was left
}

TEMPLATE_LIST_TEST_CASE("many fronts whose diagonals are swept side by side", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(13);
  // on devices one row and column of tiles of all fronts are more tasks than are worked at once, and all of
  // them wait for sweeps
  const int edge = 11 * (sizeof(Scalar) > 8 ? 32 : 64) + 6;
  const auto matrix = weakened(bordered_blocks<Matrix<TestType>>(on_host ? 1 : 16, edge, 60, random));
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  const auto first = run<TestType>(matrix, 0, no_zeros);
  const auto second = run<TestType>(matrix, 0, no_zeros, false, 2);
  CHECK(first.outcome.stopped_front == -1);
  CHECK(first.outcome.perturbed == 0);
  CHECK(first.values == second.values);
  check_product(first, random);
}

#ifdef KOKKOS_ENABLE_CUDA
// No tree makes a front wait for itself: the root is made its own child in the plan by hand.
TEST_CASE("a front that waits for itself ends a factorization with its number", "[numeric]") {
  using Type = Types<double, int, Kokkos::Cuda>;
  const Kokkos::Cuda exec;
  std::mt19937 random(12);
  for (const auto& [edge, border] :
       std::vector<std::pair<int, int>>{{2, 2}, {40, 40}, {60, 150}}) {  // by warps, blocks, tiles
    INFO("blocks of " << edge << ", border of " << border);
    const auto matrix = bordered_blocks<Matrix<Type>>(3, edge, border, random);
    const auto pattern = make_view(matrix).pattern();
    const auto tree = make_assembly_tree(pattern, AssemblyTreeOptions{0, 0, 0, 0, 0, 0, 0});
    const auto plan =
        plan_fronts(exec, tree, FrontEntries<int, std::int64_t>{pattern, tree.order, tree.order},
                    MemoryBudget(), front_plan_options<double, Kokkos::Cuda>());
    auto waiting = plan;
    auto& root = waiting.layout.fronts.back();
    auto children = to_vector(plan.children);
    children[static_cast<std::size_t>(root.children)] = root.parent = plan.count - 1;
    waiting.layout.children = children;
    waiting.children = to_space<Kokkos::Cuda>(children);
    const auto values = to_space<Kokkos::Cuda>(matrix.values);
    const auto ones = to_space<Kokkos::Cuda>(std::vector<double>(static_cast<std::size_t>(plan.n), 1));
    const Kokkos::View<unsigned char*, Type::Memory> perturbed("perturbed", static_cast<std::size_t>(plan.n));
    const auto stopped_front = [&](const auto& with) {
      auto factors = make_front_factors<double>(exec, with, MemoryBudget());
      allocate_values(exec, with, MemoryBudget(), factors);
      factors.state->set_watchdog(0.05);
      factorize_fronts<double>(exec, with, {values, ones, ones}, 0, factors, perturbed);
      exec.fence();
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)().stopped_front;
    };
    CHECK(stopped_front(waiting) == plan.count - 1);
    CHECK(stopped_front(plan) == -1);
  }
}
#endif

}  // namespace lutra::Test

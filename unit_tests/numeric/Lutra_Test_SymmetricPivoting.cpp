// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric interchanges inside fronts: by hand, entry by entry for fronts of every size class, and inertia.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_OneFront.hpp"
#include "Lutra_Reference_Ldlt.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using lutra::Impl::Interchanges;

/// A symmetric or Hermitian matrix, dense, with zeros on the diagonal from `first_zero` on in steps.
template <class Scalar>
std::vector<Scalar> weak_symmetric(int size, Symmetry symmetry, int first_zero, int step,
                                   std::mt19937& random) {
  std::vector<Scalar> numbers(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  const auto at = [&](int r, int c) -> Scalar& { return numbers[static_cast<std::size_t>(r * size + c)]; };
  for (int r = 0; r < size; ++r) {
    for (int c = 0; c < r; ++c) {
      at(r, c) = random_value<Scalar>(random, 1);
      at(c, r) = symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(at(r, c)) : at(r, c);
    }
    at(r, r) = as_scalar<Scalar>(random_value<double>(random, 1));
  }
  for (int r = first_zero; r < size; r += step) at(r, r) = Scalar(0);
  return numbers;
}

/// The same with large entries beside the diagonal, for pivots of order two.
template <class Scalar>
void couple_pairs(int size, std::vector<Scalar>& numbers) {
  for (int r = 0; r + 1 < size; r += 2)
    numbers[static_cast<std::size_t>(r * size + r + 1)] =
        numbers[static_cast<std::size_t>((r + 1) * size + r)] = as_scalar<Scalar>(2 * size);
  for (int r = 2; r < size; r += 6)  // columns that are better in order, and in reverse order
    numbers[static_cast<std::size_t>(r * size + r)] = as_scalar<Scalar>(4 * size);
  for (int r = 5; r < size; r += 6)
    numbers[static_cast<std::size_t>(r * size + r)] = as_scalar<Scalar>(4 * size);
}

/// L·(U·x) is P·A·Pᵀ·x up to the rows of pairs, which alone distinguish the orders of rows and columns.
template <class Types>
void check_front(int pivots, int cb_rows, Symmetry symmetry, Interchanges kind, bool portable,
                 std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  const int size = pivots + cb_rows;
  auto numbers = weak_symmetric<Scalar>(size, symmetry, static_cast<int>(random() % 2),
                                        1 + static_cast<int>(random() % 3), random);
  if (kind == Interchanges::pairs) couple_pairs(size, numbers);
  const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * size + c)]; };
  const OneFront<Types> front(pivots, cb_rows, value, 0.1, 0, portable, 2, symmetry, kind);
  INFO(pivots << " + " << cb_rows << " rows, portable " << portable);
  auto columns = front.column_of_pivot;
  std::ranges::sort(columns);
  for (int j = 0; j < pivots; ++j) REQUIRE(columns[static_cast<std::size_t>(j)] == j);
  for (int j = 0; j < pivots; ++j) {
    if (front.tiled) REQUIRE(front.block_begin(front.column(j)) == front.block_begin(j));
    if (front.row(j) == front.column(j)) continue;
    REQUIRE(j + 1 < pivots);
    REQUIRE(front.row(j) == front.column(j + 1));
    REQUIRE(front.row(j + 1) == front.column(j));
    ++j;
  }
  if (kind == Interchanges::pairs) {
    for (int j = 0; j + 1 < pivots; j += 2) {
      const int first = j % 6 == 4 ? j + 1 : j;
      REQUIRE(front.column(j) == first);
      REQUIRE(front.row(j) == (j % 6 == 0 ? j + 1 : first));
    }
  }
  if (kind == Interchanges::symmetric && cb_rows == 0 &&
      pivots <= 32) {  // all rows are compared, and all are candidates
    for (int c = 0; c < pivots; ++c)
      for (int q = c + 1; q < pivots; ++q)
        REQUIRE(static_cast<double>(Kokkos::abs(front.lower(q, c))) <= 10.01);
  }
  // tiles are multiplied by computed inverses of triangles, which adds to the errors
  check_product(front, value, front.tiled ? 30 : 8);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("symmetric interchanges in a front worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto dense = [](std::vector<std::vector<double>> rows) {
    return [rows](int r, int c) {
      return as_scalar<Scalar>(rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
    };
  };
  const auto scalars = [](std::vector<double> numbers) {
    std::vector<Scalar> result;
    for (const double number : numbers) result.push_back(as_scalar<Scalar>(number));
    return result;
  };
  const bool portable = GENERATE(false, true);
  INFO("portable " << portable);
  using Order = std::vector<Ordinal>;
  SECTION("a diagonal entry that is large enough stays") {
    const OneFront<TestType> front(2, 0, dense({{4, 8}, {8, 20}}), 0.1, 0, portable, 1, Symmetry::hermitian);
    CHECK(front.panels == scalars({4, 2, 8, 4}));
    CHECK(front.row_of_pivot == Order{0, 1});
    CHECK(front.column_of_pivot == Order{0, 1});
    CHECK(front.outcome.interchanged == 0);
  }
  SECTION("a better column is brought up, with its row") {
    const OneFront<TestType> front(2, 0, dense({{0, 2}, {2, 4}}), 0.1, 0, portable, 1, Symmetry::hermitian);
    CHECK(front.panels == scalars({4, 0.5, 2, -1}));
    CHECK(front.row_of_pivot == Order{1, 0});
    CHECK(front.column_of_pivot == Order{1, 0});
  }
  SECTION("a pivot of order two, with rows beyond") {
    // P·A·Pᵀ begins with [0 4; 4 0.25], whose rows are interchanged
    const auto value = dense({{0, 1, 4, 2}, {1, 0, 1, 1.984375}, {4, 1, 0.25, 8}, {2, 1.984375, 8, 0}});
    const OneFront<TestType> front(3, 1, value, 0.1, 0, portable, 1, Symmetry::hermitian);
    CHECK(front.column_of_pivot == Order{0, 2, 1});
    CHECK(front.row_of_pivot == Order{2, 0, 1});
    CHECK(front.panels ==
          scalars({4, 0, 0.25, 0.5, 0.25, 4, 0.234375, 1.96875, 1, 1, -0.484375, 1, 8, 2, -0.484375}));
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric interchanges in fronts of every size", "[numeric]", AllTypes) {
  std::mt19937 random(31);
  using Sizes = std::vector<std::pair<int, int>>;  // pivots, contribution rows
  for (const auto& [pivots, cb_rows] : Sizes{{1, 0},
                                             {2, 1},
                                             {9, 3},
                                             {16, 16},
                                             {31, 1},
                                             {32, 0},
                                             {20, 30},
                                             {64, 0},
                                             {60, 30},
                                             {96, 0},
                                             {90, 6},
                                             {97, 0},
                                             {64, 65},
                                             {130, 3},
                                             {150, 60},
                                             {257, 0},
                                             {300, 90}}) {
    for (const bool portable : {false, true})
      for (const Symmetry symmetry : {Symmetry::hermitian, Symmetry::symmetric})
        for (const Interchanges kind : {Interchanges::pairs, Interchanges::symmetric})
          check_front<TestType>(pivots, cb_rows, symmetry, kind, portable, random);
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric interchanges in fronts whose tiles devices process in pairs", "[numeric]",
                        AllTypes) {
  if (std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>) return;
  std::mt19937 random(33);
  check_front<TestType>(2830, 0, Symmetry::hermitian, Interchanges::pairs, false, random);
  check_front<TestType>(900, 1950, Symmetry::symmetric, Interchanges::symmetric, false, random);
}

// In a diagonal tile, products round differently on both sides of the diagonal. The difference grew from tile
// to tile where |L| exceeds 1, as long as U was taken from L but diagonal tiles were not made symmetric.
TEMPLATE_LIST_TEST_CASE("tiles of symmetric fronts with a weak diagonal", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr int pivots = 800, size = 900;
  std::mt19937 random(37);
  for (const Symmetry symmetry : {Symmetry::hermitian, Symmetry::symmetric}) {
    auto numbers = weak_symmetric<Scalar>(size, symmetry, size, 1, random);
    for (int r = 0; r < size; ++r)
      numbers[static_cast<std::size_t>(r * size + r)] = as_scalar<Scalar>(size / 30);
    const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * size + c)]; };
    const OneFront<TestType> front(pivots, size - pivots, value, 0, 0, false, 1, symmetry);
    INFO((symmetry == Symmetry::hermitian ? "hermitian" : "symmetric"));
    check_product(front, value, 60);
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric interchanges give the same bits in every run", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(32);
  const auto numbers = weak_symmetric<Scalar>(170, Symmetry::hermitian, 0, 2, random);
  const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * 170 + c)]; };
  const OneFront<TestType> first(130, 40, value, 0.1, 0, false, 1, Symmetry::hermitian),
      second(130, 40, value, 0.1, 0, false, 3, Symmetry::hermitian);
  CHECK(first.panels == second.panels);
  CHECK(first.contributions == second.contributions);
  CHECK(first.row_of_pivot == second.row_of_pivot);
  CHECK(first.column_of_pivot == second.column_of_pivot);
}

TEMPLATE_LIST_TEST_CASE("inertia of a front with symmetric interchanges", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(34);
  for (const int size : {1, 5, 30, 50, 90, 140}) {
    const auto numbers = weak_symmetric<Scalar>(size, Symmetry::hermitian, size == 1 ? 1 : 0, 1, random);
    const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * size + c)]; };
    Reference::Square<Scalar> square(static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r)
      for (int c = 0; c < size; ++c) square[static_cast<std::size_t>(r)].push_back(value(r, c));
    const auto inertia = Reference::inertia_of(square, 1e-9);
    for (const bool portable : {false, true}) {
      const OneFront<TestType> front(size, 0, value, 0.1, 0, portable, 1, Symmetry::hermitian);
      const auto found = inspect_diagonal_pivots(typename TestType::Space(), front.plan, front.factors);
      INFO(size << " rows, portable " << portable);
      CHECK(found.positive == inertia.positive);
      CHECK(found.negative == inertia.negative);
      CHECK((size == 1 || found.pairs > 0));
      CHECK(found.largest_term < 1e5);
    }
  }
}

}  // namespace lutra::Test

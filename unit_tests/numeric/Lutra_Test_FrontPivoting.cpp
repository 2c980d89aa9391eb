// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threshold pivoting inside fronts: by hand, and P·A = L·U entry by entry for fronts of every size class.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_OneFront.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// Numbers without order, many of them zeros on the diagonal.
template <class Scalar>
std::vector<Scalar> weak_front(int size, std::mt19937& random) {
  std::vector<Scalar> numbers;
  for (int i = 0; i < size * size; ++i) numbers.push_back(random_value<Scalar>(random, 1));
  for (int i = 0; i < size; i += 1 + static_cast<int>(random() % 3))
    numbers[static_cast<std::size_t>(i * (size + 1))] = Scalar(0);
  return numbers;
}

/// L·(U·x) is P·A·x, rows come from their own blocks, and no multiplier in a block is larger than 1/u.
template <class Types>
void check_front(int pivots, int cb_rows, double threshold, bool portable, std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  const int size = pivots + cb_rows;
  const auto numbers = weak_front<Scalar>(size, random);
  const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * size + c)]; };
  const OneFront<Types> front(pivots, cb_rows, value, threshold, 0, portable, 2);
  auto rows = front.row_of_pivot;
  for (int j = 0; j < pivots; ++j) REQUIRE(front.block_begin(front.row(j)) == front.block_begin(j));
  std::ranges::sort(rows);
  for (int j = 0; j < pivots; ++j) REQUIRE(rows[static_cast<std::size_t>(j)] == j);
  CHECK(front.outcome.perturbed == 0);
  CHECK((front.outcome.interchanged > 0) == (front.row_of_pivot != rows));
  for (int c = 0; c < pivots; ++c) {
    for (int q = c + 1; q < pivots && front.block_begin(q) == front.block_begin(c); ++q)
      REQUIRE(static_cast<double>(Kokkos::abs(front.lower(q, c))) <= 1.001 / threshold);
  }
  INFO("portable " << portable);
  check_product(front, value, 4);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("threshold pivoting in a front worked by hand", "[numeric]", AllTypes) {
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
  SECTION("a zero on the diagonal: static pivoting replaces it, interchanges do not") {
    const auto value = dense({{0, 1}, {2, 3}});
    CHECK(OneFront<TestType>(2, 0, value, 0, 0.01, portable).outcome.perturbed == 1);
    const OneFront<TestType> front(2, 0, value, 0.5, 0.01, portable);
    CHECK(front.outcome.perturbed == 0);
    CHECK(front.outcome.interchanged == 1);
    CHECK(front.panels == scalars({2, 0, 3, 1}));
    CHECK(front.row_of_pivot == std::vector<Ordinal>{1, 0});
  }
  const auto value = dense({{1, 1, 1}, {4, 2, 8}, {-4, 2, 0}});
  SECTION("of two greatest entries the first is taken") {
    const OneFront<TestType> front(3, 0, value, 0.5, 0, portable);
    CHECK(front.panels == scalars({4, -1, 0.25, 2, 4, 0.125, 8, 8, -2}));
    CHECK(front.row_of_pivot == std::vector<Ordinal>{1, 2, 0});
    CHECK(front.outcome.interchanged == 2);
  }
  SECTION("what is not cb_rows the threshold stays") {
    const OneFront<TestType> front(3, 0, value, 0.1, 0, portable);
    CHECK(front.panels == scalars({1, 4, -4, 1, -2, -3, 1, 4, 16}));
    CHECK(front.row_of_pivot == std::vector<Ordinal>{0, 1, 2});
    CHECK(front.outcome.interchanged == 0);
  }
  SECTION("rows beyond the pivots are not taken, and the last resort replaces") {
    const OneFront<TestType> front(2, 1, dense({{0, 0, 1}, {0, 4, 1}, {8, 8, 0}}), 0.1, 0.25, portable);
    CHECK(front.perturbed[0] == 1);
    CHECK(front.outcome.perturbed == 1);
    CHECK(front.panels == scalars({2, 0, 4, 0, 4, 2, 1, 1}));
    CHECK(front.outcome.interchanged == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("threshold pivoting in fronts of every size", "[numeric]", AllTypes) {
  std::mt19937 random(21);
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
    for (const bool portable : {false, true}) {
      check_front<TestType>(pivots, cb_rows, 0.1, portable, random);
      if (pivots == 60 || pivots == 130) check_front<TestType>(pivots, cb_rows, 1, portable, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("threshold pivoting in fronts whose tiles devices process in pairs", "[numeric]",
                        AllTypes) {
  if (std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>) return;
  std::mt19937 random(23);
  check_front<TestType>(2830, 0, 0.1, false, random);
  check_front<TestType>(900, 1950, 0.1, false, random);
}

TEMPLATE_LIST_TEST_CASE("threshold pivoting gives the same bits in every run", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(22);
  const auto numbers = weak_front<Scalar>(170, random);
  const auto value = [&](int r, int c) { return numbers[static_cast<std::size_t>(r * 170 + c)]; };
  const OneFront<TestType> first(130, 40, value, 0.1, 0), second(130, 40, value, 0.1, 0, false, 3);
  CHECK(first.panels == second.panels);
  CHECK(first.contributions == second.contributions);
  CHECK(first.row_of_pivot == second.row_of_pivot);
  CHECK(first.outcome.interchanged == second.outcome.interchanged);
}

TEMPLATE_LIST_TEST_CASE("L + U is not gathered by rows if rows were interchanged", "[numeric][errors]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const OneFront<TestType> front(
      2, 0, [](int r, int c) { return as_scalar<Scalar>(r + c); }, 0.5, 0);
  const Kokkos::View<Offset*, typename TestType::Memory> source("source", 4);
  const Kokkos::View<Scalar*, typename TestType::Memory> values("values", 4);
  const auto gather = [&] {
    gather_factors<Scalar>(typename TestType::Space(), front.factors, source, values);
  };
  CHECK_THROWS_AS(gather(), InputError);
}

}  // namespace lutra::Test

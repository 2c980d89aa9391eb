// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <limits>
#include <random>

#include "Lutra_IluTestFactors.hpp"
#include "Lutra_RowUpdates.hpp"
#include "Lutra_TestKokkosTools.hpp"

namespace lutra::Test {
namespace {

constexpr IluSchedule schedules[] = {IluSchedule::automatic, IluSchedule::levels, IluSchedule::syncfree};

/// A grid large enough for threads to share its levels.
template <class Types>
Matrix<Types> shuffled_grid(int side, std::mt19937& random) {
  std::vector<int> label(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int>(i);
  std::shuffle(label.begin(), label.end(), random);
  auto matrix = grid_matrix<Matrix<Types>>(side, label);
  for (std::size_t i = 0; i < label.size(); ++i) {
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
         p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p)
      matrix.values[p] = random_value<typename Types::Scalar>(random, 1) +
                         (static_cast<std::size_t>(matrix.entries[p]) == i ? typename Types::Scalar(12)
                                                                           : typename Types::Scalar(0));
  }
  return matrix;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("incomplete elimination of matrices worked by hand", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  for (const IluSchedule schedule : schedules) {
    // fill at (1, 2) and (2, 1) is dropped
    const auto matrix = from_dense<Matrix<TestType>>({{2, 4, 6}, {4, 9, o}, {2, o, 8}});
    const auto factors = make_factors<TestType>(matrix, 0);
    eliminate<TestType>(matrix, factors, schedule);
    CHECK(value_rows(factors) == std::vector<std::vector<Scalar>>{{Scalar(2), Scalar(4), Scalar(6)},
                                                                  {Scalar(2), Scalar(1)},
                                                                  {Scalar(1), Scalar(2)}});
    const auto outcome = inspect<TestType>(matrix, factors);
    CHECK(outcome.largest_lower == 2 * 6.0 / 9.0);  // l = 2 of rows of 6 and 9 at most
    CHECK(outcome.largest_upper == 1);
    CHECK(outcome.is_usable());
    CHECK(inspect<TestType>(matrix, factors, true).is_usable());

    const auto empty = from_dense<Matrix<TestType>>({});
    eliminate<TestType>(empty, make_factors<TestType>(empty, 1), schedule);
    CHECK(inspect<TestType>(empty, make_factors<TestType>(empty, 1)).is_usable());
  }
}

TEMPLATE_LIST_TEST_CASE("incomplete elimination of random matrices", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(21);
  for (const int n : {1, 60, 400}) {
    const auto matrix = dominant_matrix<Matrix<TestType>>(n, n < 100 ? 0.2 : 0.02, random);
    for (const int k : {0, 2}) {
      const auto factors = make_factors<TestType>(matrix, k);
      const auto expected = Reference::incomplete_lu(matrix, to_rows(factors.pattern()));
      std::vector<std::vector<std::vector<Scalar>>> results;
      for (const IluSchedule schedule : schedules) {
        eliminate<TestType>(matrix, factors, schedule);
        results.push_back(value_rows(factors));
        CHECK(difference(results.back(), expected) < tolerance_of(Scalar()));
      }
      CHECK(results[1] == results[0]);  // bit by bit
      CHECK(results[2] == results[0]);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("all schedules give the same bits in every run", "[ilu]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(22);
  const Space exec;
  const auto matrix = shuffled_grid<TestType>(90, random);
  const auto A = to_space<Space>(matrix);
  const auto factors = make_factors<TestType>(matrix, 1);
  using Elimination = IluElimination<typename TestType::Scalar, Space>;
  Elimination syncfree(exec, factors, IluSchedule::syncfree, MemoryBudget());
  Elimination levels(exec, factors, IluSchedule::levels, MemoryBudget());
  levels.eliminate(exec, A, 0, factors);
  const auto expected = value_rows(factors);
  CHECK(difference(expected, Reference::incomplete_lu(matrix, to_rows(factors.pattern()))) <
        tolerance_of(typename TestType::Scalar()));
  for (int time = 0; time < 5; ++time) {
    Kokkos::deep_copy(factors.values, typename TestType::Scalar(0));
    {
      const DeviceEvents<Space> events;
      syncfree.eliminate(exec, A, 0, factors);
      INFO(events.describe());
      CHECK(events.allocations() == 0);
      CHECK(events.waits() == 0);
    }
    CHECK(syncfree.consume_timeout(exec) == -1);
    CHECK(value_rows(factors) == expected);
  }
}

TEMPLATE_LIST_TEST_CASE("ILU(n) is the complete LU, and triangular matrices are factorized exactly", "[ilu]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(23);
  const auto matrix = dominant_matrix<Matrix<TestType>>(50, 0.1, random);
  const auto factors = make_factors<TestType>(matrix, 50);
  eliminate<TestType>(matrix, factors, IluSchedule::automatic);
  const auto complete = Reference::factorize(matrix, Reference::lu_pattern(matrix), RealOf<Scalar>(0));
  CHECK(to_rows(factors.pattern()) == complete.pattern);
  CHECK(difference(value_rows(factors), complete.values) < tolerance_of(Scalar()));

  const double o = nothing;
  const auto upper = from_dense<Matrix<TestType>>({{2, 3, 5}, {o, 7, 1}, {o, o, 4}});
  const auto of_upper = make_factors<TestType>(upper, 3);
  eliminate<TestType>(upper, of_upper, IluSchedule::automatic);
  CHECK(to_vector(of_upper.values) == upper.values);
  const auto lower = from_dense<Matrix<TestType>>({{2, o, o}, {4, 8, o}, {6, 16, 4}});
  const auto of_lower = make_factors<TestType>(lower, 3);
  eliminate<TestType>(lower, of_lower, IluSchedule::automatic);
  CHECK(value_rows(of_lower) == std::vector<std::vector<Scalar>>{
                                    {Scalar(2)}, {Scalar(2), Scalar(8)}, {Scalar(3), Scalar(2), Scalar(4)}});
}

TEMPLATE_LIST_TEST_CASE("zero pivots, shifts and non-finite values", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  for (const IluSchedule schedule : schedules) {
    // the second pivot is 6 − 2·3 = 0; the third row's diagonal is not stored
    const auto singular = from_dense<Matrix<TestType>>({{2, 3, o}, {4, 6, 1}, {o, 5, o}});
    const auto factors = make_factors<TestType>(singular, 0);
    eliminate<TestType>(singular, factors, schedule);
    auto outcome = inspect<TestType>(singular, factors);
    CHECK(outcome.bad_row == 1);
    CHECK(outcome.is_finite());
    CHECK_FALSE(outcome.is_usable());
    CHECK(value_rows(factors)[2] == std::vector<Scalar>{Scalar(0), Scalar(0)});

    // shift ½: diagonals 2 + 1.5, −1 − 1, 0 + 2.5, and −1 keeps its sign
    const auto shifted = from_dense<Matrix<TestType>>({{2, 3, o}, {o, -1, 2}, {o, 5, o}});
    const auto with_shift = make_factors<TestType>(shifted, 0);
    eliminate<TestType>(shifted, with_shift, schedule, 0.5);
    CHECK(value_rows(with_shift) == std::vector<std::vector<Scalar>>{{Scalar(3.5), Scalar(3)},
                                                                     {Scalar(-2), Scalar(2)},
                                                                     {Scalar(-2.5), Scalar(2.5 + 2.5 * 2)}});

    for (const double value :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      auto broken = from_dense<Matrix<TestType>>({{1, 1, o, o}, {1, 3, 1, o}, {o, 1, 3, o}, {o, o, o, 1}});
      broken.values[3] = as_scalar<Scalar>(value);
      const auto of_broken = make_factors<TestType>(broken, 0);
      eliminate<TestType>(broken, of_broken, schedule);
      outcome = inspect<TestType>(broken, of_broken);
      CHECK(outcome.bad_row == 1);
      CHECK_FALSE(outcome.is_finite());
      CHECK_FALSE(outcome.is_usable());
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the number of updates is that of the pattern", "[ilu]", AllTypes) {
  using Space = typename TestType::Space;
  using Update = lutra::Impl::RowUpdate;
  std::mt19937 random(24);
  const Space exec;
  for (const int n : {0, 1, 150}) {
    const auto factors = make_factors<TestType>(dominant_matrix<Matrix<TestType>>(n, 0.05, random), 1);
    const auto row_map = to_vector(factors.row_map), diagonal = to_vector(factors.diagonal);
    const auto entries = to_vector(factors.entries);
    std::vector<std::array<Offset, 3>> expected;
    std::vector<Offset> map{0};
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      for (Offset p = row_map[i]; p < diagonal[i]; ++p) {
        const auto k = static_cast<std::size_t>(entries[static_cast<std::size_t>(p)]);
        expected.push_back({diagonal[k], p - row_map[i], p - row_map[i]});
        for (Offset t = p + 1; t < row_map[i + 1]; ++t)
          for (Offset q = diagonal[k] + 1; q < row_map[k + 1]; ++q)
            if (entries[static_cast<std::size_t>(q)] == entries[static_cast<std::size_t>(t)])
              expected.push_back({q, p - row_map[i], t - row_map[i]});
      }
      map.push_back(static_cast<Offset>(expected.size()));
    }
    for (const Ordinal longest : {1, 1000}) {  // lanes of a row
      MemoryReservation reservation{MemoryBudget()};
      const auto found = lutra::Impl::find_row_updates(exec, factors, longest, MemoryBudget(), reservation);
      REQUIRE(found);
      CHECK(to_vector(found->row_map) == map);
      std::vector<std::array<Offset, 3>> updates;
      for (const Update& update : to_vector(found->updates))
        updates.push_back({update.from, update.pivot, update.target});
      CHECK(updates == expected);
    }
    MemoryReservation reservation{MemoryBudget()};
    if (n > 1) {
      const MemoryBudget little(expected.size() * sizeof(Update));
      CHECK_FALSE(lutra::Impl::find_row_updates(exec, factors, Ordinal(1), little, reservation));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the watchdog ends rows that wait for one another", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Space exec;
  const auto matrix = from_dense<Matrix<TestType>>({{1, 1}, {1, 3}});
  const auto good = make_factors<TestType>(matrix, 0);
  IluElimination<Scalar, Space> elimination(exec, good, IluSchedule::syncfree, MemoryBudget(), 0.02);
  // the place of the first row is empty, and the second row needs itself; no pattern leads to this
  auto cycle = make_factors<TestType>(matrix, 0);
  cycle.row_map = to_space<Space>(std::vector<typename TestType::Offset>{2, 2, 4});
  cycle.entries = to_space<Space>(std::vector<typename TestType::Ordinal>{1, 1, 1, 1});
  cycle.diagonal = to_space<Space>(std::vector<typename TestType::Offset>{2, 3});
  elimination.eliminate(exec, to_space<Space>(matrix), 0, cycle);
  CHECK_FALSE(inspect<TestType>(matrix, cycle).is_finite());
  CHECK(elimination.consume_timeout(exec) == 1);
  CHECK(elimination.consume_timeout(exec) == -1);
  elimination.eliminate(exec, to_space<Space>(matrix), 0, good);
  CHECK(elimination.consume_timeout(exec) == -1);
  CHECK(to_vector(good.values) == std::vector<Scalar>{Scalar(1), Scalar(1), Scalar(1), Scalar(2)});
}

}  // namespace lutra::Test

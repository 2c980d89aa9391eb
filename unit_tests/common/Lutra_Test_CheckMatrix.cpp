// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <random>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestKokkosTools.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::Equals;

/// A matrix of 3 rows on the device that a section damages, checked alone and against its original pattern.
template <class Types>
struct CheckedMatrix {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  Matrix<Types> bad = from_dense<Matrix<Types>>({{1, 2, nothing}, {3, 4, 5}, {nothing, 6, 7}});
  CsrView<Scalar, Ordinal, Offset, typename Types::Memory> good = to_space<Space>(bad);
  MatrixCheckWorkspace<Space> work{Space()};

  void refuses(const std::string& message) const {
    const auto matrix = to_space<Space>(bad);
    CHECK_THROWS_WITH(check_square_matrix(Space(), matrix, work), Equals(message));
    CHECK_THROWS_WITH(check_same_pattern(Space(), matrix, good.pattern(), work), Equals(message));
    CHECK_THROWS_AS(check_square_matrix(Space(), matrix, work), InputError);
    CHECK_NOTHROW(check_square_matrix(Space(), good, work));  // a failure leaves no state
    CHECK_NOTHROW(check_same_pattern(Space(), good, good.pattern(), work));
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("an invalid matrix is reported with its first bad row", "[common]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  CheckedMatrix<TestType> test;
  auto& bad = test.bad;
  SECTION("not square") {
    bad.n_cols = 4;
    test.refuses("matrix: 3 rows but 4 columns; a square matrix is needed");
  }
  SECTION("no rows") {
    bad = Matrix<TestType>{0, 0, {0}, {}, {}};
    test.refuses("matrix: it has no rows");
  }
  SECTION("row_map too short") {
    bad.row_map.pop_back();
    test.refuses("matrix: row_map has 3 elements, but 3 rows need 4");
  }
  SECTION("too few values") {
    bad.values.pop_back();
    test.refuses("matrix: 7 entries but 6 values");
  }
  SECTION("row_map does not start at zero") {
    bad.row_map[0] = 1;
    test.refuses("matrix: row_map[0] is 1, not 0");
  }
  SECTION("row_map ends early") {
    bad.row_map[3] = 6;
    test.refuses("matrix: row_map ends with 6, but there are 7 entries");
  }
  SECTION("row_map ends far outside") {  // nothing may be read there
    bad.row_map[3] = std::numeric_limits<Offset>::max();
    test.refuses("matrix: row_map ends with 9223372036854775807, but there are 7 entries");
  }
  SECTION("row_map ends below zero") {
    bad.row_map[3] = -7;
    test.refuses("matrix: row_map ends with -7, but there are 7 entries");
  }
  SECTION("row_map falls") {
    bad.row_map[1] = 6;
    test.refuses("matrix: row_map falls or leaves its range at row 1");
  }
  SECTION("row_map leaves its range upwards") {
    bad.row_map[1] = Offset(1) << 60;
    test.refuses("matrix: row_map falls or leaves its range at row 0");
  }
  SECTION("row_map leaves its range downwards") {
    bad.row_map[2] = std::numeric_limits<Offset>::min();
    test.refuses("matrix: row_map falls or leaves its range at row 1");
  }
  SECTION("a column too large") {
    bad.entries[3] = std::numeric_limits<Ordinal>::max();
    test.refuses("matrix: row 1 has column " + std::to_string(std::numeric_limits<Ordinal>::max()) +
                 ", but columns are 0 to 2");
  }
  SECTION("a column just too large") {
    bad.entries[6] = 3;
    test.refuses("matrix: row 2 has column 3, but columns are 0 to 2");
  }
  SECTION("a negative column") {
    bad.entries[0] = std::numeric_limits<Ordinal>::min();
    test.refuses("matrix: row 0 has column " + std::to_string(std::numeric_limits<Ordinal>::min()) +
                 ", but columns are 0 to 2");
  }
  SECTION("a column twice") {
    bad.entries[3] = 0;
    test.refuses("matrix: row 1 has column 0 twice");
  }
  SECTION("columns out of order") {
    std::swap(bad.entries[2], bad.entries[4]);
    test.refuses("matrix: row 1 is not sorted: column 1 comes after column 2");
  }
  SECTION("NaN") {
    bad.values[5] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
    test.refuses("matrix: the value in row 2, column 1 is NaN or infinite");
  }
  SECTION("infinity") {
    bad.values[1] = Scalar(-std::numeric_limits<RealOf<Scalar>>::infinity());
    test.refuses("matrix: the value in row 0, column 1 is NaN or infinite");
  }
  SECTION("the first of several bad rows") {
    bad.entries[6] = 9;
    bad.entries[2] = -4;
    bad.values[3] = Scalar(std::numeric_limits<RealOf<Scalar>>::infinity());
    test.refuses("matrix: row 1 has column -4, but columns are 0 to 2");
  }
}

TEMPLATE_LIST_TEST_CASE("a bad row is found anywhere in a large matrix", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(3);
  const int n = 1000;
  const auto good = random_matrix<Matrix<TestType>>(n, 0.01, 0.1, random);
  const MatrixCheckWorkspace<Space> work{Space()};
  const auto pattern = to_space<Space>(good).pattern();
  for (int trial = 0; trial < 40; ++trial) {
    auto bad = good;
    const std::size_t p = random() % bad.entries.size();
    std::size_t row = 0;
    while (static_cast<std::size_t>(bad.row_map[row + 1]) <= p) ++row;
    bad.entries[p] = trial % 2 == 0 ? n + 5 : -1 - trial;
    const std::string message = "matrix: row " + std::to_string(row) + " has column " +
                                std::to_string(bad.entries[p]) + ", but columns are 0 to " +
                                std::to_string(n - 1);
    CHECK_THROWS_WITH(check_square_matrix(Space(), to_space<Space>(bad), work), Equals(message));
    CHECK_THROWS_WITH(check_same_pattern(Space(), to_space<Space>(bad), pattern, work), Equals(message));
  }
}

TEMPLATE_LIST_TEST_CASE("two patterns are equal only if every entry agrees", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  const double o = nothing;
  const auto matrix = [](const std::vector<std::vector<double>>& picture) {
    return to_space<Space>(from_dense<Matrix<TestType>>(picture));
  };
  const auto pattern = matrix({{1, o, 1}, {o, 1, o}, {1, 1, 1}}).pattern();
  const MatrixCheckWorkspace<Space> work{Space()};
  const auto is_refused = [&](const auto& other) {
    CHECK_THROWS_WITH(
        check_same_pattern(Space(), other, pattern, work),
        Equals("matrix: its pattern is not the one that was analyzed; call analyze for a new pattern"));
  };
  CHECK_NOTHROW(check_same_pattern(Space(), matrix({{2, o, 3}, {o, 4, o}, {5, 6, 7}}), pattern, work));
  is_refused(matrix({{1, 1, o}, {o, 1, o}, {1, 1, 1}}));  // other columns
  is_refused(matrix({{1, o, o}, {o, 1, 1}, {1, 1, 1}}));  // other row lengths
  is_refused(matrix({{1, o, o}, {o, 1, o}, {1, 1, 1}}));  // fewer entries
  is_refused(matrix({{1, 1}, {1, 1}}));                   // another size
  const auto by_extents = [&](const auto& other) {
    check_same_pattern(Space(), other, pattern, work, false);
  };
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  CHECK_NOTHROW(by_extents(matrix({{not_a_number, 1, o}, {o, 1, o}, {1, 1, 1}})));
  CHECK_THROWS_WITH(by_extents(matrix({{1, o, o}, {o, 1, o}, {1, 1, 1}})),
                    Equals("matrix: its extents are not those of the pattern that was analyzed"));
}

TEMPLATE_LIST_TEST_CASE("values in the unread triangle are not checked", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  const double o = nothing, nan = std::numeric_limits<double>::quiet_NaN();
  const MatrixCheckWorkspace<Space> work{Space()};
  const auto pattern =
      to_space<Space>(from_dense<Matrix<TestType>>({{1, 1, 1}, {o, 1, 1}, {1, o, 1}})).pattern();
  const auto check = [&](const std::vector<std::vector<double>>& picture, Triangle read) {
    const auto matrix = to_space<Space>(from_dense<Matrix<TestType>>(picture));
    check_same_pattern(Space(), matrix, pattern, work, true, read);
    check_square_matrix(Space(), matrix, work, read);
  };
  CHECK_NOTHROW(check({{1, nan, nan}, {o, 1, nan}, {2, o, 3}}, Triangle::lower));
  CHECK_NOTHROW(check({{1, 2, 3}, {o, 4, 5}, {nan, o, 6}}, Triangle::upper));
  CHECK_THROWS_WITH(check({{1, nan, nan}, {o, 1, nan}, {nan, o, 3}}, Triangle::lower),
                    Equals("matrix: the value in row 2, column 0 is NaN or infinite"));
  CHECK_THROWS_WITH(check({{1, 2, 3}, {o, 4, nan}, {nan, o, 6}}, Triangle::upper),
                    Equals("matrix: the value in row 1, column 2 is NaN or infinite"));
  for (const Triangle read : {Triangle::lower, Triangle::upper, Triangle::both})
    CHECK_THROWS_WITH(check({{1, 2, 3}, {o, nan, 5}, {6, o, 7}}, read),
                      Equals("matrix: the value in row 1, column 1 is NaN or infinite"));
}

TEMPLATE_LIST_TEST_CASE("a check synchronizes once and allocates nothing", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(4);
  const auto matrix = to_space<Space>(random_matrix<Matrix<TestType>>(500, 0.02, 0.1, random));
  const Space exec;
  const MatrixCheckWorkspace<Space> work(exec);
  const auto pattern = matrix.pattern();
  {
    const DeviceEvents<Space> events;
    check_square_matrix(exec, matrix, work);
    INFO(events.describe());
    CHECK(events.waits() == 1);
    CHECK(events.allocations() == 0);
  }
  {
    const DeviceEvents<Space> events;
    check_same_pattern(exec, matrix, pattern, work);
    INFO(events.describe());
    CHECK(events.waits() == 1);
    CHECK(events.allocations() == 0);
  }
}

}  // namespace lutra::Test

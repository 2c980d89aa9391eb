// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FactorResidual.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <tuple>

namespace lutra::Test {
namespace {

using HostScalars = std::tuple<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;

/// A front by rows, its pivots eliminated by plain loops.
template <class Scalar>
struct Eliminated {
  HostMatrix<Scalar, int, std::int64_t> matrix;
  std::size_t size, pivots;
  std::vector<Scalar> values;

  Eliminated(int n_pivots, int cb_rows, std::mt19937& random)
      : matrix(matrix_of_front<HostMatrix<Scalar, int, std::int64_t>>(n_pivots, cb_rows, random)),
        size(static_cast<std::size_t>(n_pivots + cb_rows)),
        pivots(static_cast<std::size_t>(n_pivots)),
        values(size * size, Scalar(0)) {
    for (std::size_t i = 0; i < size; ++i)
      Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { at(i, j) = value; });
  }

  Scalar& at(std::size_t i, std::size_t j) { return values[i * size + j]; }

  /// Divides the columns, subtracts nothing.
  void skip_all() {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t p = 0; p < std::min(i, pivots); ++p) at(i, p) /= at(p, p);
    }
  }
  /// @param subtracts whether the multiple of row p is subtracted from row i from column j on, up to 64 on
  template <class Subtracts>
  void eliminate(const Subtracts& subtracts) {
    for (std::size_t p = 0; p < pivots; ++p) {
      for (std::size_t i = p + 1; i < size; ++i) {
        const Scalar factor = at(i, p) /= at(p, p);
        for (std::size_t j = p + 1; j < size;) {
          const std::size_t end = std::min(size, (j / 64 + 1) * 64);
          if (!subtracts(i, j, p)) j = end;
          for (; j < end; ++j) at(i, j) -= factor * at(p, j);
        }
      }
    }
  }

  double residual(std::mt19937& random) {
    const auto stored = [&](std::size_t i, const auto& visit) {
      for (std::size_t j = 0; j < size; ++j) visit(j, at(i, j));
    };
    return largest_residual(matrix, pivots, stored, rows_to_check(size, pivots, random));
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("the check of L·U detects an elimination with missing products", "[numeric]",
                        HostScalars) {
  std::mt19937 random(3);
  for (const auto& [pivots, cb_rows] :
       std::vector<std::pair<int, int>>{{97, 0}, {64, 65}, {1, 200}, {130, 170}, {320, 40}}) {
    INFO(pivots << " pivots, " << cb_rows << " contribution rows");
    const Eliminated<TestType> front(pivots, cb_rows, random);
    auto complete = front;
    complete.eliminate([](auto...) { return true; });
    CHECK(complete.residual(random) <= 1);
    double largest = 0;  // the bound means something: factors have not grown
    for (const TestType& value : complete.values)
      largest = std::max(largest, static_cast<double>(Kokkos::abs(value)));
    CHECK(largest < 3 * weak_diagonal(pivots + cb_rows));
    auto skipped = front;
    skipped.skip_all();
    CHECK(skipped.residual(random) > 100);
    if (pivots < 64 || pivots + cb_rows < 128) continue;
    auto one_tile = front;  // rows and columns 64 to 127 without the products of the first 64 pivots
    one_tile.eliminate(
        [](std::size_t i, std::size_t j, std::size_t p) { return p >= 64 || i / 64 != 1 || j / 64 != 1; });
    CHECK(one_tile.residual(random) > 10);
    auto one_pivot = front;  // one product of each sum
    one_pivot.eliminate([](std::size_t, std::size_t, std::size_t p) { return p != 40; });
    CHECK(one_pivot.residual(random) > 10);
  }
  for (const int size : {705, 1536}) {  // large ones, of which some rows are looked at
    Eliminated<TestType> front(size, 0, random);
    front.skip_all();
    CHECK(front.residual(random) > 10);
  }
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_MatrixProperties.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
constexpr double nothing = Test::nothing;

TEMPLATE_LIST_TEST_CASE("properties: cases worked by hand", "[properties]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;

  SECTION("an unsymmetric matrix with a zero on the diagonal and another one missing") {
    const Matrix a = Test::from_dense<Matrix>({{0, 2, nothing, 5},  //
                                               {2, 1, nothing, nothing},
                                               {7, nothing, nothing, nothing},
                                               {6, nothing, nothing, 4}});
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.rows == 4);
    CHECK(properties.cols == 4);
    CHECK(properties.nnz == 8);
    CHECK(properties.pattern_symmetry == 4.0 / 5.0);  // (0,1) (1,0) (0,3) (3,0) of them and (2,0)
    CHECK(properties.value_symmetry == 2.0 / 5.0);
    CHECK(properties.structural_rank == 3);
    CHECK(properties.zero_diagonals == 2);
    CHECK(properties.lower_bandwidth == 3);
    CHECK(properties.upper_bandwidth == 3);
    CHECK(properties.longest_row == 3);
    CHECK(properties.longest_column == 4);
    CHECK(properties.empty_rows == 0);
    CHECK(properties.empty_columns == 1);
  }
  SECTION("a diagonal matrix is symmetric") {
    const Matrix a = Test::from_dense<Matrix>({{1, nothing}, {nothing, 2}});
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.pattern_symmetry == 1);
    CHECK(properties.value_symmetry == 1);
    CHECK(properties.zero_diagonals == 0);
    CHECK(properties.lower_bandwidth == 0);
    CHECK(properties.upper_bandwidth == 0);
    CHECK(properties.structural_rank == 2);
  }
  SECTION("a strictly upper triangle has no lower bandwidth") {
    const Matrix a =
        Test::from_dense<Matrix>({{nothing, 1, 1}, {nothing, nothing, 1}, {nothing, nothing, nothing}});
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.lower_bandwidth == 0);
    CHECK(properties.upper_bandwidth == 2);
    CHECK(properties.pattern_symmetry == 0);
    CHECK(properties.zero_diagonals == 3);
    CHECK(properties.empty_rows == 1);
    CHECK(properties.empty_columns == 1);
    CHECK(properties.structural_rank == 2);
  }
  SECTION("a wide matrix") {
    const Matrix a = Test::from_dense<Matrix>({{1, 2, 3, nothing}, {2, nothing, nothing, 4}}, 4);
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.rows == 2);
    CHECK(properties.cols == 4);
    CHECK(properties.pattern_symmetry == 2.0 / 4.0);  // of (0,1) (0,2) (1,0) (1,3) the first and third
    CHECK(properties.zero_diagonals == 1);
    CHECK(properties.lower_bandwidth == 1);
    CHECK(properties.upper_bandwidth == 2);
    CHECK(properties.structural_rank == 2);
  }
  SECTION("a tall matrix") {
    const Matrix a = Test::from_dense<Matrix>({{1}, {2}, {3}}, 1);
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.pattern_symmetry == 0);
    CHECK(properties.lower_bandwidth == 2);
    CHECK(properties.structural_rank == 1);
    CHECK(properties.longest_column == 3);
  }
  SECTION("nothing at all") {
    Matrix a;
    a.row_map.push_back(0);
    const MatrixProperties properties = matrix_properties(make_view(a));
    CHECK(properties.nnz == 0);
    CHECK(properties.pattern_symmetry == 1);
    CHECK(properties.structural_rank == 0);
  }
}

#ifdef LUTRA_HAS_C128
TEST_CASE("properties: Hermitian is not symmetric", "[properties]") {
  using Complex = Kokkos::complex<double>;
  HostMatrix<Complex, std::tuple_element_t<0, Test::Ordinals>> a;
  a.n_rows = a.n_cols = 2;
  a.row_map = {0, 2, 4};
  a.entries = {0, 1, 0, 1};
  a.values = {Complex(1, 0), Complex(2, 3), Complex(2, -3), Complex(4, 0)};
  CHECK(matrix_properties(make_view(a)).pattern_symmetry == 1);
  CHECK(matrix_properties(make_view(a)).value_symmetry == 0);
  a.values[2] = Complex(2, 3);
  CHECK(matrix_properties(make_view(a)).value_symmetry == 1);
}
#endif

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ScaledSystems.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("scaling by powers of two changes no decision or count of LU", "[solver][scale]",
                        AllTypes) {
  std::mt19937 random(6);
  const auto grid = stencil<Matrix<TestType>>(5, false, false, random);
  check_direct_powers<Solver<TestType>>(grid, LuOptions(), false);
  check_direct_powers<Solver<TestType>>(permuted_matrix<Matrix<TestType>>(30, 3, random), LuOptions(), false);
}

TEMPLATE_LIST_TEST_CASE("scaling by powers of two changes no decision, count or bit of LDLᵀ and Cholesky",
                        "[solver][scale]", AllTypes) {
  std::mt19937 random(7);
  const auto A = stencil<Matrix<TestType>>(5, true, false, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  check_direct_powers<Symmetric<TestType>>(A, options, true);
  check_direct_powers<Symmetric<TestType>>(saddle_point<Matrix<TestType>>(20, 8, random), options, true);
  options.positive_definite = true;
  check_direct_powers<Symmetric<TestType>>(A, options, true);
}

}  // namespace lutra::Test

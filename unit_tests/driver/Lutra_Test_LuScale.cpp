// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ScaledSystems.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("units change no bit of LU's solutions but exponents", "[driver][scale]", AllTypes) {
  std::mt19937 random(6);
  const auto grid = stencil<Matrix<TestType>>(5, false, false, random);
  check_direct_powers<Solver<TestType>>(grid, LuOptions(), true);
  check_direct_powers<Solver<TestType>>(permuted_matrix<Matrix<TestType>>(30, 3, random), LuOptions(), true);
}

}  // namespace lutra::Test

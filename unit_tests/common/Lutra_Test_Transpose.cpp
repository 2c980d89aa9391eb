// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("a pattern transposed by hand", "[common]", PatternTypes) {
  using Space = typename TestType::Space;
  const double o = nothing;
  const auto matrix = from_dense<Matrix<TestType>>({{1, o, 1}, {o, o, 1}}, 3);
  const auto result = transpose(Space(), to_space<Space>(matrix).pattern(), MemoryBudget());
  CHECK(result.pattern.n_rows == 3);
  CHECK(result.pattern.n_cols == 2);
  CHECK(to_rows(result.pattern) == std::vector<std::vector<std::size_t>>{{0}, {}, {0, 1}});
  CHECK(to_vector(result.source) == std::vector<std::int64_t>{0, 1, 2});
}

TEMPLATE_LIST_TEST_CASE("transposes agree with the reference, and transposing twice restores the matrix",
                        "[common]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(1);
  for (const int n : {1, 13, 100, 700}) {
    const auto matrix = random_matrix<Matrix<TestType>>(n, 4.0 / n, 0.0, random);
    const auto expected = Reference::transpose(matrix);
    const auto result = transpose(Space(), to_space<Space>(matrix).pattern(), MemoryBudget());
    CHECK(to_vector(result.pattern.row_map) == expected.row_map);
    REQUIRE(to_vector(result.pattern.entries) == expected.entries);
    const auto source = to_vector(result.source);
    for (std::size_t p = 0; p < source.size(); ++p) {
      REQUIRE(matrix.values[static_cast<std::size_t>(source[p])] == expected.values[p]);
    }
  }
}

}  // namespace lutra::Test

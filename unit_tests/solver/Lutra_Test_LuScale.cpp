// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ScaleFit.hpp"
#include "Lutra_ScaledSystems.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("scaling by powers of two changes only exponents in solutions of LU",
                        "[solver][scale]", AllTypes) {
  std::mt19937 random(6);
  const auto grid = stencil<Matrix<TestType>>(5, false, false, random);
  check_direct_powers<Solver<TestType>>(grid, LuOptions(), true);
  LuOptions unmatched;
  unmatched.matching = Matching::none;
  check_direct_powers<Solver<TestType>>(grid, unmatched, true);
  check_direct_powers<Solver<TestType>>(permuted_matrix<Matrix<TestType>>(30, 3, random), LuOptions(), true);
}

TEMPLATE_LIST_TEST_CASE("scales fit if scaled values are within 2^10 of each other", "[solver][scale]",
                        AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  const Kokkos::View<RealOf<Scalar>*, typename TestType::Memory> ones("ones", 2);
  Kokkos::deep_copy(ones, RealOf<Scalar>(1));
  auto A = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  const auto fit = [&](double a, double b, double c, double d) {
    A.values = {as_scalar<Scalar>(a), as_scalar<Scalar>(b), as_scalar<Scalar>(c), as_scalar<Scalar>(d)};
    const auto on_device = to_space<Space>(A);
    return lutra::Impl::scales_fit(Space(), on_device.pattern(), on_device.values, ones, ones,
                                   MemoryBudget());
  };
  CHECK(fit(1, -1, 1, 1));
  CHECK(fit(1, 1, 1024, 1));
  CHECK_FALSE(fit(1, 1, 1025, 1));
  CHECK_FALSE(fit(1, 1025, 1, 1025));
  CHECK(fit(1, 1, 0, 0));  // a row of zeros has no scale
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_CrsMatrix.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestDevice.hpp"

namespace lutra::Test {

TEST_CASE("a Kokkos Kernels matrix is solved as it is", "[common]") {
  using Space = Kokkos::DefaultExecutionSpace;
  using Device = Kokkos::Device<Space, Space::memory_space>;
  const auto row_map = to_space<Space>(std::vector<std::int64_t>{0, 2, 4});
  const auto entries = to_space<Space>(std::vector<int>{0, 1, 0, 1});
  const auto values = to_space<Space>(std::vector<double>{1, 2, 3, 4});
  const KokkosSparse::CrsMatrix<double, int, Device, void, std::int64_t> matrix("A", 2, 2, 4, values, row_map,
                                                                                entries);
  SparseLU<double> solver;
  solver.analyze(make_view(matrix));
  solver.factorize(make_view(matrix));
  const auto b = to_space<Space>(std::vector<double>{5, 11});  // x = (1, 2)
  REQUIRE(solver.solve(b, b) == Status::success);
  const auto x = to_vector(b);
  CHECK(std::abs(x[0] - 1.0) < 1e-14);
  CHECK(std::abs(x[1] - 2.0) < 1e-14);
}

}  // namespace lutra::Test

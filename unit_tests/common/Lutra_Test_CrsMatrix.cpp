// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosSparse_CrsMatrix.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <limits>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Test {

namespace {

/// A Kokkos Kernels matrix [1 2; 3 4] whose row map holds `Integer`.
template <class Types, class Integer>
auto crs_matrix() {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Device = Kokkos::Device<Space, typename Types::Memory>;
  const auto row_map = to_space<Space>(std::vector<Integer>{0, 2, 4});
  const auto entries = to_space<Space>(std::vector<Ordinal>{0, 1, 0, 1});
  const auto values = to_space<Space>(std::vector<Scalar>{Scalar(1), Scalar(2), Scalar(3), Scalar(4)});
  return KokkosSparse::CrsMatrix<Scalar, Ordinal, Device, void, Integer>("A", 2, 2, 4, values, row_map,
                                                                         entries);
}

/// Solves [1 2; 3 4]·x = (5, 11) and its multiple by 2, whose solution is x = (1, 2).
template <class Types, class Matrix>
void check_solved(const Matrix& A) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  Solver<Types> solver;
  succeed(solver.analyze(A));
  for (const double factor : {1.0, 2.0}) {
    auto scaled = A;
    scaled.values =
        to_space<Space>(std::vector<Scalar>{as_scalar<Scalar>(factor), as_scalar<Scalar>(2 * factor),
                                            as_scalar<Scalar>(3 * factor), as_scalar<Scalar>(4 * factor)});
    succeed(solver.factorize(scaled));
    const auto b =
        to_space<Space>(std::vector<Scalar>{as_scalar<Scalar>(5 * factor), as_scalar<Scalar>(11 * factor)});
    REQUIRE(solver.solve(b, b) == Status::success);
    const auto x = to_vector(b);
    CHECK(Kokkos::abs(x[0] - Scalar(1)) < 20 * epsilon_of<Scalar>);
    CHECK(Kokkos::abs(x[1] - Scalar(2)) < 20 * epsilon_of<Scalar>);
  }
}

/// [1 2; 3 4] with columns of 64 bits.
template <class Types, class Integer>
CsrView<typename Types::Scalar, std::int64_t, Integer, typename Types::Memory> wide_columns() {
  using Space = typename Types::Space;
  using Scalar = typename Types::Scalar;
  return {2, 2, to_space<Space>(std::vector<Integer>{0, 2, 4}),
          to_space<Space>(std::vector<std::int64_t>{0, 1, 0, 1}),
          to_space<Space>(std::vector<Scalar>{as_scalar<Scalar>(1), as_scalar<Scalar>(2),
                                              as_scalar<Scalar>(3), as_scalar<Scalar>(4)})};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Kokkos Kernels matrices are solved with every offset type", "[common]", AllTypes) {
  check_solved<TestType>(make_view(crs_matrix<TestType, int>()));
  check_solved<TestType>(make_view(crs_matrix<TestType, std::int64_t>()));
  check_solved<TestType>(make_view(crs_matrix<TestType, std::size_t>()));
}

TEMPLATE_LIST_TEST_CASE("matrices with 64-bit columns are solved with every offset type", "[common]",
                        AllTypes) {
  check_solved<TestType>(wide_columns<TestType, int>());
  check_solved<TestType>(wide_columns<TestType, std::int64_t>());
  check_solved<TestType>(wide_columns<TestType, std::size_t>());
}

TEMPLATE_LIST_TEST_CASE("only arrays of other index widths are converted", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  lutra::Impl::MatrixReader<typename TestType::Scalar, Space> reader;
  const auto read = [&](const auto& matrix) { return reader.read(Space(), matrix, MemoryBudget()); };
  const auto narrow = crs_matrix<TestType, int>();
  const auto A = read(make_view(narrow));
  CHECK(to_vector(A.row_map) == std::vector<std::int64_t>{0, 2, 4});
  CHECK(A.entries.data() == narrow.graph.entries.data());
  CHECK(A.values.data() == narrow.values.data());
  CHECK(read(make_view(narrow)).row_map.data() == A.row_map.data());  // no new memory
  const auto wide = crs_matrix<TestType, std::size_t>();
  const auto B = read(make_view(wide));
  CHECK(static_cast<const void*>(B.row_map.data()) == wide.graph.row_map.data());
  CHECK(to_vector(B.row_map) == std::vector<std::int64_t>{0, 2, 4});
  CHECK(B.entries.data() == wide.graph.entries.data());
  CHECK(B.values.data() == wide.values.data());
  const auto columns = wide_columns<TestType, std::int64_t>();
  const auto C = read(columns);
  CHECK(to_vector(C.entries) == std::vector<int>{0, 1, 0, 1});
  CHECK(C.row_map.data() == columns.row_map.data());
  CHECK(C.values.data() == columns.values.data());
}

TEMPLATE_LIST_TEST_CASE("64-bit columns out of range are named, not truncated", "[common]", AllTypes) {
  using Space = typename TestType::Space;
  auto A = wide_columns<TestType, std::int64_t>();
  const std::int64_t far = (std::int64_t(1) << 32) + 1;  // 1 in 32 bits
  A.entries = to_space<Space>(std::vector<std::int64_t>{0, far, 0, 1});
  Solver<TestType> solver;
  CHECK_THROWS_WITH(solver.analyze(A), Catch::Matchers::ContainsSubstring("column 4294967297"));
  const auto good = wide_columns<TestType, std::int64_t>();
  static_cast<void>(solver.analyze(good));
  CHECK_THROWS_AS(solver.factorize(A), InputError);
  A = good;
  A.n_rows = A.n_cols = std::int64_t(1) << 31;
  CHECK_THROWS_WITH(solver.analyze(A), Catch::Matchers::ContainsSubstring("2147483648 rows"));
}

TEMPLATE_LIST_TEST_CASE("64-bit columns in the unread triangle are not checked", "[common]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  auto A = wide_columns<TestType, std::int64_t>();
  const Scalar nan(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  A.values = to_space<Space>(std::vector<Scalar>{Scalar(1), nan, Scalar(3), Scalar(4)});
  LdltOptions options;
  options.triangle = Triangle::lower;
  MemoryBudget budget;
  SparseLDLT<Scalar, Space> solver(options, Space(), budget);
  CHECK(solver.analyze(A) == Status::success);
  CHECK(solver.factorize(A) == Status::success);
  SparseLU<Scalar, Space> lu({}, Space(), budget);
  const std::size_t used = budget.used_bytes();
  CHECK_THROWS_AS(lu.analyze(A), InputError);
  CHECK(budget.used_bytes() == used);
}

TEMPLATE_LIST_TEST_CASE("triangles of a Kokkos Kernels matrix are solved", "[common]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto matrix = crs_matrix<TestType, std::size_t>();
  TriangularSolver<Scalar, Space> solver;
  solver.analyze(make_view(matrix), TriangleSide::lower, DiagonalKind::stored);
  const auto b = to_space<Space>(std::vector<Scalar>{Scalar(1), Scalar(11)});  // [1 0; 3 4]·(1, 2)
  solver.solve(b, b);
  solver.wait();
  CHECK(to_vector(b) == std::vector<Scalar>{Scalar(1), Scalar(2)});
}

TEMPLATE_LIST_TEST_CASE("matrices in any accessible memory space are solved", "[common]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto matrix = crs_matrix<TestType, std::size_t>();
  using Anywhere = Kokkos::AnonymousSpace;  // accessible from every execution space, like unified memory
  const CsrView<Scalar, Ordinal, std::size_t, Anywhere> A{
      2, 2, Kokkos::View<const std::size_t*, Anywhere>(matrix.graph.row_map.data(), 3),
      Kokkos::View<const Ordinal*, Anywhere>(matrix.graph.entries.data(), 4),
      Kokkos::View<const Scalar*, Anywhere>(matrix.values.data(), 4)};
  const auto b = to_space<typename TestType::Space>(std::vector<Scalar>{Scalar(5), Scalar(11)});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  REQUIRE(solver.solve(b, b) == Status::success);
  CHECK(Kokkos::abs(to_vector(b)[1] - Scalar(2)) < 20 * epsilon_of<Scalar>);
}

TEMPLATE_LIST_TEST_CASE("the matrix check refuses an offset that is too large", "[common]", AllTypes) {
  auto matrix = crs_matrix<TestType, std::size_t>();
  auto A = make_view(matrix);
  A.row_map = to_space<typename TestType::Space>(
      std::vector<std::size_t>{0, std::numeric_limits<std::size_t>::max(), 4});
  Solver<TestType> solver;
  CHECK_THROWS_AS(solver.analyze(A), InputError);
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_Error.hpp"
#include "Lutra_SymmetricPattern.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

/// S = S(A) with its values, on the host.
template <class Types>
Matrix<Types> filled(
    const Matrix<Types>& A, Triangle triangle, Symmetry symmetry,
    const Kokkos::View<const RealOf<typename Types::Scalar>*, typename Types::Memory>& shift = {}) {
  using Scalar = typename Types::Scalar;
  const typename Types::Space exec;
  const auto S = fill_triangles(exec, make_view(A).pattern(), triangle, MemoryBudget());
  const auto device_A = to_space<typename Types::Space>(A);
  check_symmetry(exec, device_A, S, symmetry);
  const Kokkos::View<Scalar*, typename Types::Memory> values("values", S.source.extent(0));
  gather_triangles<Scalar>(exec, S, symmetry, device_A.values, values, shift);
  return {A.n_rows, A.n_cols, lutra::Impl::to_host(exec, S.pattern.row_map),
          lutra::Impl::to_host(exec, S.pattern.entries), lutra::Impl::to_host(exec, values)};
}

template <class MatrixType>
bool same(const MatrixType& A, const MatrixType& B) {
  return A.row_map == B.row_map && A.entries == B.entries && A.values == B.values;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("symmetric pattern: both triangles from one", "[symmetric]", AllTypes) {
  const double o = nothing;
  using MatrixType = Matrix<TestType>;
  const auto full = from_dense<MatrixType>({{1, 2, o, 4}, {2, o, 5, o}, {o, 5, 6, 7}, {4, o, 7, o}});
  const auto lower = from_dense<MatrixType>({{1, o, o, o}, {2, o, o, o}, {o, 5, 6, o}, {4, o, 7, o}});
  const auto upper = from_dense<MatrixType>({{1, 2, o, 4}, {o, o, 5, o}, {o, o, 6, 7}, {o, o, o, o}});
  const auto result = from_dense<MatrixType>({{1, 2, o, 4}, {2, 0, 5, o}, {o, 5, 6, 7}, {4, o, 7, 0}});
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    CHECK(same(filled<TestType>(full, Triangle::both, symmetry), result));
    CHECK(same(filled<TestType>(full, Triangle::lower, symmetry), result));
    CHECK(same(filled<TestType>(full, Triangle::upper, symmetry), result));
    CHECK(same(filled<TestType>(lower, Triangle::lower, symmetry), result));
    CHECK(same(filled<TestType>(upper, Triangle::upper, symmetry), result));
  }
  const auto diagonal = from_dense<MatrixType>({{1, o}, {o, 0}});
  for (const Triangle triangle : {Triangle::lower, Triangle::upper, Triangle::both})
    CHECK(same(filled<TestType>(from_dense<MatrixType>({{1, o}, {o, o}}), triangle, Symmetry::symmetric),
               diagonal));
}

TEMPLATE_LIST_TEST_CASE("symmetric pattern: an empty triangle is not the one to read", "[symmetric]",
                        AllTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  const auto fill = [](const std::vector<std::vector<double>>& picture, Triangle triangle) {
    return filled<TestType>(from_dense<MatrixType>(picture), triangle, Symmetry::symmetric);
  };
  CHECK_THROWS_AS(fill({{1, o, o}, {o, 2, o}, {o, 9, 3}}, Triangle::upper), InputError);
  CHECK_THROWS_WITH(
      fill({{1, o, o}, {o, 2, o}, {o, 9, 3}}, Triangle::upper),
      Equals("triangle: the upper triangle is to be read, but all entries beside the diagonal, row "
             "2, column 1 (counted from 0) first, are in the lower one; set triangle to lower"));
  CHECK_THROWS_WITH(
      fill({{1, 9}, {o, o}}, Triangle::lower),
      Equals("triangle: the lower triangle is to be read, but all entries beside the diagonal, row "
             "0, column 1 (counted from 0) first, are in the upper one; set triangle to upper"));
  // one entry in the triangle that is read suffices; the others may have another purpose
  CHECK(same(fill({{1, 8, 7}, {o, 2, 6}, {o, 9, 3}}, Triangle::lower),
             from_dense<MatrixType>({{1, o, o}, {o, 2, 9}, {o, 9, 3}})));
}

TEMPLATE_LIST_TEST_CASE("symmetric pattern: a shifted diagonal", "[symmetric]", AllTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  const Kokkos::View<RealOf<typename TestType::Scalar>*, typename TestType::Memory> shift("shift", 2);
  Kokkos::deep_copy(shift, 3);
  CHECK(same(
      filled<TestType>(from_dense<MatrixType>({{1, 9}, {9, o}}), Triangle::both, Symmetry::hermitian, shift),
      from_dense<MatrixType>({{4, 9}, {9, 3}})));
}

TEMPLATE_LIST_TEST_CASE("symmetric pattern: conjugates of Hermitian matrices", "[symmetric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const double o = nothing;
    auto lower = from_dense<Matrix<TestType>>({{1, o}, {2, 3}});
    lower.values = {Scalar(1, 4 * epsilon_of<Scalar>), Scalar(2, 4), Scalar(3)};
    const auto hermitian = filled<TestType>(lower, Triangle::lower, Symmetry::hermitian);
    CHECK(hermitian.values == std::vector<Scalar>{Scalar(1), Scalar(2, -4), Scalar(2, 4), Scalar(3)});
    lower.values[0] = Scalar(1, 5);
    const auto symmetric = filled<TestType>(lower, Triangle::lower, Symmetry::symmetric);
    CHECK(symmetric.values == std::vector<Scalar>{Scalar(1, 5), Scalar(2, 4), Scalar(2, 4), Scalar(3)});
    CHECK_NOTHROW(filled<TestType>(hermitian, Triangle::both, Symmetry::hermitian));
    CHECK_THROWS_WITH(filled<TestType>(hermitian, Triangle::both, Symmetry::symmetric),
                      ContainsSubstring("not symmetric: row 0, column 1"));
    CHECK_THROWS_WITH(filled<TestType>(symmetric, Triangle::both, Symmetry::hermitian),
                      ContainsSubstring("not Hermitian: the diagonal entry of row 0"));
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric pattern: a Hermitian diagonal is real", "[symmetric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    auto A = from_dense<Matrix<TestType>>({{1, 2, nothing}, {2, 3, 4}, {nothing, 4, 5}});
    for (const Triangle triangle : {Triangle::lower, Triangle::upper, Triangle::both}) {
      A.values[3] = Scalar(3, 1);
      CHECK_THROWS_AS(filled<TestType>(A, triangle, Symmetry::hermitian), InputError);
      CHECK_THROWS_WITH(
          filled<TestType>(A, triangle, Symmetry::hermitian),
          Equals("matrix: it is not Hermitian: the diagonal entry of row 1 (counted from 0) has an "
                 "imaginary part"));
      CHECK_NOTHROW(filled<TestType>(A, triangle, Symmetry::symmetric));
      A.values[3] = Scalar(3, 4 * epsilon_of<Scalar>);
      CHECK(filled<TestType>(A, triangle, Symmetry::hermitian).values[3] == Scalar(3));
      A.values[3] = Scalar(0, 1);
      CHECK_THROWS_AS(filled<TestType>(A, triangle, Symmetry::hermitian), InputError);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric pattern: entries that differ from their mirror images", "[symmetric]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  auto A = from_dense<MatrixType>({{1, 2, o}, {2, 3, 4}, {o, 4, 5}});
  const auto refuses = [](const MatrixType& matrix, const std::string& message) {
    CHECK_THROWS_AS(filled<TestType>(matrix, Triangle::both, Symmetry::symmetric), InputError);
    CHECK_THROWS_WITH(filled<TestType>(matrix, Triangle::both, Symmetry::symmetric),
                      ContainsSubstring(message));
  };
  SECTION("by less than the tolerance") {
    A.values[5] *= as_scalar<Scalar>(1 + 4 * static_cast<double>(epsilon_of<Scalar>));
    CHECK_NOTHROW(filled<TestType>(A, Triangle::both, Symmetry::symmetric));
  }
  SECTION("by more") {
    A.values[5] *= as_scalar<Scalar>(1 + 16 * static_cast<double>(epsilon_of<Scalar>));
    refuses(A, "row 1, column 2");
    CHECK_NOTHROW(filled<TestType>(A, Triangle::lower, Symmetry::symmetric));
  }
  SECTION("that are not there") {
    refuses(from_dense<MatrixType>({{1, o, o}, {2, 3, 4}, {o, 4, 5}}), "row 1, column 0");
    refuses(from_dense<MatrixType>({{1, o, 6}, {o, 3, o}, {o, o, 5}}), "row 0, column 2");
  }
  SECTION("stored zeros need no mirror image") {
    CHECK_NOTHROW(filled<TestType>(from_dense<MatrixType>({{1, o, 0}, {0, 3, o}, {o, o, 5}}), Triangle::both,
                                   Symmetry::symmetric));
  }
}

}  // namespace lutra::Test

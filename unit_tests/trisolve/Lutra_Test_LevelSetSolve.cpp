// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_LevelSetSolve.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Columns = std::vector<std::vector<typename Types::Scalar>>;

/// A lower triangle, dense by rows, as the stage takes it: off-diagonal entries and, unless unit, the diagonal.
template <class Types>
struct DeviceTriangle {
  Triangle<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset, typename Types::Memory> triangle;
  Levels<typename Types::Ordinal, typename Types::Memory> levels;
};

/// Stores row i as its off-diagonal entries and then, if `unit` is false, its diagonal.
template <class Types>
DeviceTriangle<Types> make_triangle(const Columns<Types>& rows, bool upper, bool unit, bool conjugate) {
  using Ordinal = typename Types::Ordinal;
  using Offset = typename Types::Offset;
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  std::vector<Offset> begin, end, diagonal;
  std::vector<Ordinal> entries;
  std::vector<Scalar> values;
  std::vector<std::vector<std::size_t>> successors(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    begin.push_back(static_cast<Offset>(entries.size()));
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if ((upper ? j <= i : j >= i) || rows[i][j] == Scalar(0)) continue;
      entries.push_back(static_cast<Ordinal>(j));
      values.push_back(rows[i][j]);
      successors[j].push_back(i);
    }
    end.push_back(static_cast<Offset>(entries.size()));
    if (unit) continue;
    diagonal.push_back(static_cast<Offset>(entries.size()));
    entries.push_back(static_cast<Ordinal>(i));
    values.push_back(rows[i][i]);
  }
  std::vector<Offset> s_begin, s_end;
  std::vector<Ordinal> s_entries;
  for (const auto& list : successors) {
    s_begin.push_back(static_cast<Offset>(s_entries.size()));
    for (const std::size_t w : list) s_entries.push_back(static_cast<Ordinal>(w));
    s_end.push_back(static_cast<Offset>(s_entries.size()));
  }
  const auto n = static_cast<Ordinal>(rows.size());
  DeviceTriangle<Types> result;
  result.triangle = {n, to_space<Space>(begin), to_space<Space>(end), 0, to_space<Space>(entries),
                     to_space<Space>(values), {}, conjugate};
  if (!unit) result.triangle.diagonal = to_space<Space>(diagonal);
  using Graph = DependencyGraph<Ordinal, Offset, typename Types::Memory>;
  result.levels = levelize(
      Space(), Graph{n, {to_space<Space>(s_begin), to_space<Space>(s_end), to_space<Space>(s_entries), 0}, {}},
      MemoryBudget());
  return result;
}

/// Solves for the right-hand sides in the columns of B ([n][k]).
template <class Types>
Columns<Types> run(const DeviceTriangle<Types>& device, const Columns<Types>& B, bool reversed = false) {
  using Scalar = typename Types::Scalar;
  Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Types::Memory> X("X", B.size(), B[0].size());
  auto host = Kokkos::create_mirror_view(X);
  for (std::size_t i = 0; i < B.size(); ++i) {
    for (std::size_t c = 0; c < B[0].size(); ++c) host(i, c) = B[i][c];
  }
  Kokkos::deep_copy(X, host);
  const typename Types::Space exec;
  solve_by_levels(exec, device.triangle, device.levels, reversed, X);
  exec.fence();
  Kokkos::deep_copy(host, X);
  Columns<Types> result = B;
  for (std::size_t i = 0; i < B.size(); ++i) {
    for (std::size_t c = 0; c < B[0].size(); ++c) result[i][c] = host(i, c);
  }
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("triangular solves worked by hand", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto s = [](double value) { return as_scalar<Scalar>(value); };
  SECTION("lower, with a diagonal, two right-hand sides") {
    const Columns<TestType> L{{s(2), s(0), s(0)}, {s(1), s(4), s(0)}, {s(0), s(3), s(1)}};
    const auto X = run<TestType>(make_triangle<TestType>(L, false, false, false),
                                 {{s(2), s(4)}, {s(5), s(6)}, {s(4), s(5)}});
    CHECK(X == Columns<TestType>{{s(1), s(2)}, {s(1), s(1)}, {s(1), s(2)}});
  }
  SECTION("upper, unit diagonal") {
    const Columns<TestType> U{{s(1), s(2), s(0)}, {s(0), s(1), s(3)}, {s(0), s(0), s(1)}};
    const auto X = run<TestType>(make_triangle<TestType>(U, true, true, false), {{s(3)}, {s(4)}, {s(1)}});
    CHECK(X == Columns<TestType>{{s(1)}, {s(1)}, {s(1)}});
  }
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const Columns<TestType> L{{Scalar(0, 2), s(0)}, {Scalar(1, 1), s(1)}};
    CHECK(run<TestType>(make_triangle<TestType>(L, false, false, true), {{s(2)}, {s(0)}}) ==
          Columns<TestType>{{Scalar(0, 1)}, {Scalar(-1, -1)}});
  }
}

TEMPLATE_LIST_TEST_CASE("triangular solves give back what was multiplied", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double bound = 1e3 * static_cast<double>(epsilon_of<Scalar>);
  std::mt19937 random(12);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (const std::size_t n : {std::size_t(1), std::size_t(7), std::size_t(90)}) {
    for (const std::size_t k : {std::size_t(1), std::size_t(3), std::size_t(17)}) {
      for (const bool upper : {false, true}) {
        Columns<TestType> T(n, std::vector<Scalar>(n, Scalar(0)));
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            const bool inside = upper ? j > i : j < i;
            if (inside && unit(random) < 4.0 / static_cast<double>(n)) T[i][j] = random_value<Scalar>(random, 0);
          }
          T[i][i] = as_scalar<Scalar>(8.0);
        }
        Columns<TestType> expected(n, std::vector<Scalar>(k)), B = expected;
        for (auto& row : expected) {
          for (auto& value : row) value = random_value<Scalar>(random, 0);
        }
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t c = 0; c < k; ++c) {
            Scalar sum(0);
            for (std::size_t j = 0; j < n; ++j) sum += T[i][j] * expected[j][c];
            B[i][c] = sum;
          }
        }
        const auto X = run<TestType>(make_triangle<TestType>(T, upper, false, false), B);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t c = 0; c < k; ++c) {
            REQUIRE(static_cast<double>(Kokkos::abs(X[i][c] - expected[i][c])) <= bound);
          }
        }
      }
    }
  }
}

}  // namespace lutra::Test

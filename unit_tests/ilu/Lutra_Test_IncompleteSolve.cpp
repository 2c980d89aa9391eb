// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_IncompleteSolve.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Solve = IncompleteSolve<typename Types::Scalar, typename Types::Space>;
template <class Types>
using Dense = std::vector<std::vector<typename Types::Scalar>>;
template <class Types>
using Block = typename Solve<Types>::Rows;

/// Factors with every diagonal entry, diagonally dominant, as a host matrix.
template <class Types>
Matrix<Types> random_factors(int n, std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  auto factors = random_matrix<Matrix<Types>>(n, 4.0 / n, 0, random);
  std::vector<std::vector<double>> picture(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n), nothing));
  for (std::size_t i = 0; i < picture.size(); ++i) {
    for (auto p = factors.row_map[i]; p < factors.row_map[i + 1]; ++p)
      picture[i][static_cast<std::size_t>(factors.entries[static_cast<std::size_t>(p)])] = 1;
    picture[i][i] = 8;
  }
  auto result = from_dense<Matrix<Types>>(picture);
  std::size_t p = 0;
  for (std::size_t i = 0; i < picture.size(); ++i) {
    for (; p < static_cast<std::size_t>(result.row_map[i + 1]); ++p)
      result.values[p] = random_value<Scalar>(random, 0.5) * result.values[p];
  }
  return result;
}

template <class Types>
auto to_factors(const Matrix<Types>& host) {
  using Space = typename Types::Space;
  typename Solve<Types>::Factors factors;
  factors.n = host.n_rows;
  factors.row_map = to_space<Space>(host.row_map);
  factors.entries = to_space<Space>(host.entries);
  factors.values = to_space<Space>(host.values);
  std::vector<typename Types::Offset> diagonal;
  for (std::size_t i = 0; i < static_cast<std::size_t>(host.n_rows); ++i) {
    auto p = host.row_map[i];
    while (host.entries[static_cast<std::size_t>(p)] != static_cast<typename Types::Ordinal>(i)) ++p;
    diagonal.push_back(p);
  }
  factors.diagonal = to_space<Space>(diagonal);
  return factors;
}

/// Order and scales of the user, on the host.
template <class Types>
struct HostOrder {
  using Real = RealOf<typename Types::Scalar>;
  std::vector<typename Types::Ordinal> rows, columns;
  std::vector<Real> row_scale, column_scale;

  HostOrder(int n, std::mt19937& random) : rows(static_cast<std::size_t>(n)) {
    std::iota(rows.begin(), rows.end(), typename Types::Ordinal(0));
    columns = rows;
    std::ranges::shuffle(rows, random);
    std::ranges::shuffle(columns, random);
    for (int i = 0; i < n; ++i) {
      row_scale.push_back(Real(1 << (i % 3)));
      column_scale.push_back(Real(0.5) * Real(1 << (i % 4)));
    }
  }
  auto on_device() const {
    using Space = typename Types::Space;
    return typename Solve<Types>::Order{to_space<Space>(rows), to_space<Space>(columns),
                                        to_space<Space>(row_scale), to_space<Space>(column_scale)};
  }
};

template <class Types>
Dense<Types> zeros(std::size_t n, std::size_t k) {
  return Dense<Types>(n, std::vector<typename Types::Scalar>(k));
}

/// A = R⁻¹·Pᵀ·(L·U)·Qᵀ·C⁻¹, the matrix that the factors represent.
template <class Types>
Dense<Types> product_of(const Matrix<Types>& factors, const HostOrder<Types>& order) {
  using Scalar = typename Types::Scalar;
  const auto n = static_cast<std::size_t>(factors.n_rows);
  auto L = zeros<Types>(n, n), U = L, A = L;
  for (std::size_t i = 0; i < n; ++i) {
    L[i][i] = Scalar(1);
    for (auto p = factors.row_map[i]; p < factors.row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p), j = static_cast<std::size_t>(factors.entries[at]);
      (j < i ? L : U)[i][j] = factors.values[at];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = 0; l < n; ++l) {
      const auto i = static_cast<std::size_t>(order.rows[k]), j = static_cast<std::size_t>(order.columns[l]);
      Scalar sum(0);
      for (std::size_t m = 0; m < n; ++m) sum += L[k][m] * U[m][l];
      A[i][j] = sum / Scalar(order.row_scale[i] * order.column_scale[j]);
    }
  }
  return A;
}

template <class Scalar>
Scalar entry_of(const std::vector<std::vector<Scalar>>& A, Transposition op, std::size_t i, std::size_t j) {
  return op == Transposition::none         ? A[i][j]
         : op == Transposition::transposed ? A[j][i]
                                           : ScalarTraits<Scalar>::conjugate(A[j][i]);
}

/// op(A)·X
template <class Types>
Dense<Types> multiply(const Dense<Types>& A, Transposition op, const Dense<Types>& X) {
  auto B = zeros<Types>(A.size(), X[0].size());
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j < A.size(); ++j) {
      for (std::size_t c = 0; c < X[0].size(); ++c) B[i][c] += entry_of(A, op, i, j) * X[j][c];
    }
  }
  return B;
}

template <class Types>
Block<Types> to_block(const Dense<Types>& host) {
  Block<Types> block("test", host.size(), host[0].size());
  const auto mirror = Kokkos::create_mirror_view(block);
  for (std::size_t i = 0; i < host.size(); ++i)
    for (std::size_t c = 0; c < host[0].size(); ++c) mirror(i, c) = host[i][c];
  Kokkos::deep_copy(block, mirror);
  return block;
}

/// The largest difference of elements, in rounding units of the largest element.
template <class Types>
double difference(const Dense<Types>& expected, const Block<Types>& found) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
  double most = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t c = 0; c < expected[0].size(); ++c) {
      using Scalar = typename Types::Scalar;
      most = std::max<double>(most, ScalarTraits<Scalar>::magnitude(host(i, c) - expected[i][c]));
      size = std::max<double>(size, ScalarTraits<Scalar>::magnitude(expected[i][c]));
    }
  }
  return most / size / static_cast<double>(epsilon_of<typename Types::Scalar>);
}

template <class Types>
Dense<Types> some_columns(std::size_t n, std::size_t k, std::mt19937& random) {
  auto X = zeros<Types>(n, k);
  for (auto& row : X)
    for (auto& x : row) x = random_value<typename Types::Scalar>(random, 1);
  return X;
}

constexpr Transposition all_ops[] = {Transposition::none, Transposition::transposed, Transposition::adjoint};

}  // namespace

TEMPLATE_LIST_TEST_CASE("exact application equals as many sweeps as there are levels", "[ilu]", AllTypes) {
  using T = TestType;
  const typename T::Space exec;
  std::mt19937 random(1);
  const int n = 60;
  const auto host = random_factors<T>(n, random);
  const HostOrder<T> order(n, random);
  const auto A = product_of(host, order);
  for (const IluApply apply : {IluApply::exact, IluApply::jacobi, IluApply::automatic}) {
    Solve<T> solve(exec, to_factors<T>(host), {apply, n, {}}, MemoryBudget(), order.on_device());
    solve.update_values(exec);
    CHECK(solve.uses_jacobi() == (apply == IluApply::jacobi));
    for (const Transposition op : all_ops) {
      for (const std::size_t k : {std::size_t(1), std::size_t(3), std::size_t(20)}) {
        const auto expected = some_columns<T>(static_cast<std::size_t>(n), k, random);
        const auto B = to_block<T>(multiply<T>(A, op, expected));
        const Block<T> X("X", B.extent(0), k), Y("Y", B.extent(0), k);
        solve.apply(exec, op, B, X);
        // both parts in turn, in place, equal the full solve
        Kokkos::deep_copy(exec, Y, B);
        if (op == Transposition::none) solve.apply_lower(exec, op, Y, Y);
        solve.apply_upper(exec, op, Y, Y);
        if (op != Transposition::none) solve.apply_lower(exec, op, Y, Y);
        solve.apply(exec, op, B, B);
        exec.fence();
        CHECK(difference<T>(expected, X) < 1e3);
        CHECK(difference<T>(expected, Y) < 1e3);
        CHECK(difference<T>(expected, B) < 1e3);
      }
    }
    CHECK(solve.consume_timeout(exec) == -1);
  }
}

TEMPLATE_LIST_TEST_CASE("a Jacobi sweep by hand", "[ilu]", AllTypes) {
  using T = TestType;
  const typename T::Space exec;
  // L = [1; 2 1; 4 8 1], U = [2 4 8; 0 4 8; 0 0 2]
  const auto host = from_dense<Matrix<T>>({{2, 4, 8}, {2, 4, 8}, {4, 8, 2}});
  const auto factors = to_factors<T>(host);
  Solve<T> solve(exec, factors, {IluApply::jacobi, 1, {}}, MemoryBudget());
  solve.update_values(exec);
  CHECK(solve.method() == "jacobi");
  const auto block = [](std::initializer_list<double> values) {
    Dense<T> rows;
    for (const double value : values) rows.push_back({as_scalar<typename T::Scalar>(value)});
    return rows;
  };
  const auto B = to_block<T>(block({1, 2, 4})), X = to_block<T>(block({0, 0, 0}));
  // lower: x₀ = b, x₁ = b − S·b
  solve.apply_lower(exec, Transposition::none, B, X);
  CHECK(difference<T>(block({1, 0, -16}), X) == 0);
  // upper: x₀ = D⁻¹·b = (1/2, 1/2, 2), x₁ = D⁻¹·(b − S·x₀)
  solve.apply_upper(exec, Transposition::none, B, X);
  CHECK(difference<T>(block({-8.5, -3.5, 2}), X) == 0);
  // Uᵀ: x₀ = D⁻¹·b, x₁ = D⁻¹·(b − Sᵀ·x₀) = (1/2, (2 − 2)/4, (4 − 4 − 4)/2)
  solve.apply_upper(exec, Transposition::transposed, B, X);
  CHECK(difference<T>(block({0.5, 0, -2}), X) == 0);
}

TEMPLATE_LIST_TEST_CASE("values of incomplete factors are updated in place", "[ilu]", AllTypes) {
  using T = TestType;
  const typename T::Space exec;
  std::mt19937 random(2);
  const int n = 40;
  auto host = random_factors<T>(n, random);
  const auto factors = to_factors<T>(host);
  const HostOrder<T> order(n, random);
  for (const IluApply apply : {IluApply::exact, IluApply::jacobi}) {
    Solve<T> solve(exec, factors, {apply, n, {}}, MemoryBudget(), order.on_device());
    for (int step = 0; step < 2; ++step) {
      for (auto& value : host.values) value *= as_scalar<typename T::Scalar>(1.25);
      Kokkos::deep_copy(factors.values, to_space<typename T::Space>(host.values));
      solve.update_values(exec);
      const auto A = product_of(host, order);
      for (const Transposition op : all_ops) {
        const auto expected = some_columns<T>(static_cast<std::size_t>(n), 1, random);
        const auto B = to_block<T>(multiply<T>(A, op, expected));
        solve.apply(exec, op, B, B);
        CHECK(difference<T>(expected, B) < 1e4);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the model chooses Jacobi if it is predicted to be faster and is accurate", "[ilu]",
                        AllTypes) {
  using T = TestType;
  const typename T::Space exec;
  // a bidiagonal triangle: as many levels as rows; `size` below the diagonal decides how fast sweeps converge
  const auto chain = [](double size) {
    std::vector<std::vector<double>> picture(50, std::vector<double>(50, nothing));
    for (std::size_t i = 0; i < 50; ++i) {
      if (i > 0) picture[i][i - 1] = size;
      picture[i][i] = 1;
    }
    return to_factors<T>(from_dense<Matrix<T>>(picture));
  };
  TriangularOptions triangular;
  triangular.method = TrisolveMethod::levels;
  triangular.device_model = h200_device_model();
  triangular.device_model->trisolve.methods.start_seconds = 1;  // exact solves cost a second, sweeps do not
  const auto uses_jacobi = [&](double size) {
    Solve<T> solve(exec, chain(size), {IluApply::automatic, 3, triangular}, MemoryBudget());
    solve.update_values(exec);
    CHECK_FALSE(solve.reason().empty());
    return solve.uses_jacobi();
  };
  CHECK(uses_jacobi(0.25));
  CHECK_FALSE(uses_jacobi(1.0));
  CHECK_FALSE(uses_jacobi(std::numeric_limits<double>::quiet_NaN()));
}

TEMPLATE_LIST_TEST_CASE("factors of an empty matrix are applied to empty vectors", "[ilu]", AllTypes) {
  using T = TestType;
  const typename T::Space exec;
  Matrix<T> empty;
  empty.row_map = {0};
  for (const IluApply apply : {IluApply::exact, IluApply::jacobi, IluApply::automatic}) {
    Solve<T> solve(exec, to_factors<T>(empty), {apply, 2, {}}, MemoryBudget());
    solve.update_values(exec);
    const Block<T> X("X", 0, 2);
    CHECK_NOTHROW(solve.apply(exec, Transposition::none, X, X));
    CHECK_NOTHROW(solve.apply_lower(exec, Transposition::adjoint, X, X));
  }
  CHECK_THROWS_AS(Solve<T>(exec, to_factors<T>(empty), {IluApply::jacobi, 0, {}}, MemoryBudget()),
                  InputError);
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "Lutra_KrylovTestSystems.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra::Test {
namespace {

/// Rows of 0 to 3 entries, among them one of n entries and one of half as many; a column without entries.
template <class MatrixType>
MatrixType uneven_matrix(int n, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(n);
  matrix.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    const int step = i == n / 3 ? 1 : i == n / 2 ? 2 : n / (1 + i % 3);
    for (int j = i % 4; i % 7 != 6 && j < n; j += step) {
      if (j == n - 2) continue;
      matrix.entries.push_back(static_cast<Ordinal>(j));
      matrix.values.push_back(random_value<Scalar>(random, 4));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// The norms that the kernels gather for one column, in long double.
struct ExactMaxima {
  long double ratio = 0, residual = 0, solution = 0, right_side = 0;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("products and residuals agree with sums in long double", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using std::abs;
  std::mt19937 random(7);
  const auto n = std::size_t(700);
  const auto A = uneven_matrix<Matrix<TestType>>(static_cast<int>(n), random);
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    const DeviceOperator<TestType> device(A, op);
    const auto op_A = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    for (const std::size_t k : {1, 2, 3, 16, 19, 40}) {
      CAPTURE(k, static_cast<int>(op));
      std::vector<std::vector<Scalar>> b, x;
      for (std::size_t c = 0; c < k; ++c) {
        b.push_back(random_vector<Scalar>(n, random));
        x.push_back(random_vector<Scalar>(n, random));
        if (c == 1) x.back().assign(n, Scalar(0));
      }
      const auto B = to_device<TestType>(b), X = to_device<TestType>(x);
      const Rows<TestType> R("R", n, k), Y("Y", n, k);
      MemoryReservation reservation{MemoryBudget()};
      const ResidualMaxima<Space> maxima(Space(), reservation, k);
      maxima.clear(Space());
      device.A.apply(Space(), X, Y);
      device.A.residual(Space(), B, X, R, maxima);
      device.A.gather_norm(Space(), {}, {}, maxima);
      maxima.fetch(Space());
      long double norm = 0;
      for (std::size_t c = 0; c < k; ++c) {
        const auto product = to_host(Y, c), residual = to_host(R, c);
        ExactMaxima exact;
        int far_off = 0;
        for (std::size_t i = 0; i < n; ++i) {
          Reference::Wide<Scalar> sum(0);
          long double size = 0, row_sum = 0;
          std::size_t length = 0;
          Reference::for_row(op_A, i, [&](std::size_t j, const Scalar& value) {
            sum += Reference::widen(value) * Reference::widen(x[c][j]);
            size += abs(Reference::widen(value)) * abs(Reference::widen(x[c][j]));
            row_sum += abs(Reference::widen(value));
            ++length;
          });
          const auto rest = Reference::widen(b[c][i]) - sum;
          size += abs(Reference::widen(b[c][i]));
          norm = std::max(norm, row_sum);
          const long double bound =
              4 * static_cast<long double>(epsilon_of<Scalar>) * static_cast<long double>(length + 2) * size;
          far_off += abs(Reference::widen(product[i]) - sum) <= bound ? 0 : 1;
          far_off += abs(Reference::widen(residual[i]) - rest) <= bound ? 0 : 1;
          const long double r = abs(Reference::widen(residual[i]));  // the kernels' own residual
          exact.ratio = std::max(exact.ratio, Reference::relative(r, size));
          exact.residual = std::max(exact.residual, r);
          exact.solution = std::max(exact.solution, static_cast<long double>(abs(Reference::widen(x[c][i]))));
          exact.right_side =
              std::max(exact.right_side, static_cast<long double>(abs(Reference::widen(b[c][i]))));
        }
        CHECK(far_off == 0);
        const auto is_close = [&](lutra::Impl::ColumnMaximum which, long double expected) {
          return abs(maxima.host(lutra::Impl::slot_of(c, which)) - expected) <=
                 1000 * static_cast<long double>(epsilon_of<Scalar>) * expected;
        };
        CHECK(is_close(lutra::Impl::ColumnMaximum::ratio, exact.ratio));
        CHECK(is_close(lutra::Impl::ColumnMaximum::residual, exact.residual));
        CHECK(is_close(lutra::Impl::ColumnMaximum::solution, exact.solution));
        CHECK(is_close(lutra::Impl::ColumnMaximum::right_side, exact.right_side));
      }
      CHECK(abs(maxima.norm() - norm) <= 1000 * static_cast<long double>(epsilon_of<Scalar>) * norm);
      const auto errors = maxima.errors(k, maxima.norm());
      REQUIRE(errors.componentwise.size() == k);
      CHECK(errors.componentwise[0] ==
            maxima.host(lutra::Impl::slot_of(0, lutra::Impl::ColumnMaximum::ratio)));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("residuals worked by hand", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename TestType::Space;
  const double o = nothing;
  const DeviceOperator<TestType> device(from_dense<Matrix<TestType>>({{2, o, 1}, {o, o, o}, {-3, 4, 0}}));
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const auto B = to_device<TestType>({{5, 0, 2}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}});
  const auto X = to_device<TestType>({{1, 1, 2}, {0, 0, 0}, {1, Scalar(nan), 1}, {1, 0, Scalar(infinity)}});
  const Rows<TestType> R("R", 3, 4);
  MemoryReservation reservation{MemoryBudget()};
  const ResidualMaxima<Space> maxima(Space(), reservation, 4);
  maxima.clear(Space());
  device.A.residual(Space(), B, X, R, maxima);
  device.A.gather_norm(Space(), {}, {}, maxima);
  maxima.fetch(Space());
  CHECK(to_host(R) == std::vector<Scalar>{1, 0, 1});
  CHECK(maxima.norm() == 7);
  const auto errors = maxima.errors(4, maxima.norm());
  const double ratio = static_cast<double>(Real(1) / Real(9));  // rows: 1/9, 0/0, 1/9
  CHECK(std::abs(errors.componentwise[0] - ratio) <= 1e-7 * ratio);
  CHECK(std::abs(errors.normwise[0] - 1.0 / (7 * 2 + 5)) <= 1e-7);
  CHECK(errors.componentwise[1] == 0);  // 0/0 counts as 0
  CHECK(errors.normwise[1] == 0);
  for (const std::size_t c : {2, 3}) {  // NaN and infinity are never lost
    CHECK(errors.componentwise[c] == std::numeric_limits<double>::infinity());
    CHECK(errors.normwise[c] == std::numeric_limits<double>::infinity());
  }
  for (std::size_t c = 0; c < 4; ++c) {  // a column alone has the same errors
    CAPTURE(c);
    const auto b = to_device<TestType>({to_host(B, c)}), x = to_device<TestType>({to_host(X, c)});
    const Rows<TestType> r("r", 3, 1);
    const ResidualMaxima<Space> alone(Space(), reservation, 1);
    alone.clear(Space());
    device.A.residual(Space(), b, x, r, alone);
    alone.fetch(Space());
    CHECK(alone.errors(1, maxima.norm()).componentwise[0] == errors.componentwise[c]);
    CHECK(alone.errors(1, maxima.norm()).normwise[0] == errors.normwise[c]);
    CHECK(alone.errors(1, maxima.norm()).amplification[0] == errors.amplification[c]);
    if (c < 2) CHECK(to_host(r) == to_host(R, c));
  }
}

namespace {

/// Errors of X with the residuals in R, as a solve gathers them: the norm first.
template <class Types>
BackwardErrors gather_errors(const DeviceOperator<Types>& device,
                             const std::vector<std::vector<typename Types::Scalar>>& b,
                             const std::vector<std::vector<typename Types::Scalar>>& x,
                             const Rows<Types>& R) {
  using Space = typename Types::Space;
  MemoryReservation reservation{MemoryBudget()};
  const ResidualMaxima<Space> maxima(Space(), reservation, x.size());
  maxima.clear(Space());
  device.A.gather_norm(Space(), {}, {}, maxima);
  device.A.residual(Space(), to_device<Types>(b), to_device<Types>(x), R, maxima);
  maxima.fetch(Space());
  return maxima.errors(x.size(), maxima.norm());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("one column: the residuals and errors of a block", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(8);
  const std::size_t n = 1300;  // in chunks of 512 rows
  const DeviceOperator<TestType> device(uneven_matrix<Matrix<TestType>>(static_cast<int>(n), random));
  auto x = random_vector<Scalar>(n, random), b = random_vector<Scalar>(n, random);
  for (std::size_t i = 0; i < n; i += 3) x[i] = b[i] = Scalar(0);
  const Rows<TestType> r("r", n, 1), R("R", n, 2);
  const auto alone = gather_errors(device, {b}, {x}, r), block = gather_errors(device, {b, b}, {x, x}, R);
  CHECK(to_host(r) == to_host(R, 0));
  CHECK(alone.componentwise[0] == block.componentwise[0]);
  CHECK(alone.normwise[0] == block.normwise[0]);
  CHECK(alone.amplification[0] == block.amplification[0]);
}

TEMPLATE_LIST_TEST_CASE("denormal entries of x and b count as the smallest normal number", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  const Real smallest = std::numeric_limits<Real>::min(), large = Real(1LL << 40);
  // Row 1 and row 2 hold no other x, and their entries are as large as the norm.
  const double o = nothing;
  const DeviceOperator<TestType> device(
      from_dense<Matrix<TestType>>({{2, 1, o}, {o, large, o}, {o, o, large}}));
  const Real of_b = large * smallest;
  for (const std::size_t k : {1, 2}) {
    CAPTURE(k);
    const Rows<TestType> R("R", 3, k);
    const auto error = [&](const std::vector<Scalar>& b, const std::vector<Scalar>& x) {
      return gather_errors<TestType>(device, std::vector(k, b), std::vector(k, x), R).componentwise[0];
    };
    // |b − a·x| / (|b| + |a|·smallest); row 0 is solved exactly
    CHECK(error({6, of_b, 0}, {3, 0, 0}) == 0.5);
    CHECK(error({6, of_b, 0}, {3, smallest / 4, 0}) == 0.375);
    CHECK(error({6, 0, of_b / 4}, {3, 0, smallest}) == 0.75 / 1.25);
    CHECK(error({6, large, 0}, {3, Real(0.5), 0}) == 0.5 / 1.5);
  }
}

TEMPLATE_LIST_TEST_CASE("the scaled norm worked by hand", "[krylov]", AllTypes) {
  using Real = RealOf<typename TestType::Scalar>;
  using Space = typename TestType::Space;
  const DeviceOperator<TestType> device(from_dense<Matrix<TestType>>({{2, -1}, {4, 8}}));
  MemoryReservation reservation{MemoryBudget()};
  const ResidualMaxima<Space> maxima(Space(), reservation, 1);
  maxima.clear(Space());
  device.A.gather_norm(Space(), to_space<Space>(std::vector<Real>{16, 1}),
                       to_space<Space>(std::vector<Real>{1, 2}), maxima);
  maxima.fetch(Space());
  CHECK(maxima.norm() == 64);  // 16·(2 + 2), 4 + 16
}

TEMPLATE_LIST_TEST_CASE("copying B finds the first non-finite row", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Scalar nan(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  const Scalar infinity(-std::numeric_limits<RealOf<Scalar>>::infinity());
  const auto B =
      to_device<TestType>({{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 8, nan, infinity}, {1, infinity, 1, 1}});
  const Rows<TestType> to("to", 4, 3);
  MemoryReservation reservation{MemoryBudget()};
  const ResidualMaxima<Space> maxima(Space(), reservation, 1);
  const auto first_bad_row = [&](std::size_t begin, std::size_t copied, std::size_t end) {
    maxima.clear(Space());
    lutra::Impl::copy_and_check(Space(), B, begin, copied, end, to, maxima.slots(), maxima.bad_row_slot());
    maxima.fetch(Space());
    return maxima.first_bad_row(4);
  };
  CHECK_FALSE(first_bad_row(0, 2, 2).has_value());
  CHECK(to_host(to, 0) == std::vector<Scalar>{1, 2, 3, 4});
  CHECK(to_host(to, 1) == std::vector<Scalar>{5, 6, 7, 8});
  CHECK(to_host(to, 2) == std::vector<Scalar>(4, Scalar(0)));  // columns past the last are zero
  CHECK(first_bad_row(0, 2, 3) == 2);
  CHECK(first_bad_row(0, 2, 4) == 1);
  CHECK(first_bad_row(1, 2, 3) == 2);
  CHECK(first_bad_row(3, 1, 4) == 1);
  const std::optional<std::int64_t> expected[] = {std::nullopt, std::nullopt, 2, 1};
  for (std::size_t c = 0; c < 4; ++c) {  // contiguous columns
    CAPTURE(c);
    const auto column = to_device<TestType>({to_host(B, c)});
    const Rows<TestType> copy("copy", 4, 1);
    maxima.clear(Space());
    lutra::Impl::copy_and_check(Space(), column, 0, 1, 1, copy, maxima.slots(), maxima.bad_row_slot());
    maxima.fetch(Space());
    CHECK(maxima.first_bad_row(4) == expected[c]);
    if (c < 2) CHECK(to_host(copy) == to_host(B, c));
  }
}

}  // namespace lutra::Test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "Lutra_FrontSchedule.hpp"
#include "Lutra_HostThreads.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {
namespace {

using lutra::Impl::DenseFront;
using lutra::Impl::ProductKernel;
using lutra::Impl::ProductTask;

using HostScalars = std::tuple<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;

/// The kernels this machine runs, by name.
template <class Real>
std::vector<ProductKernel<Real>> runnable_kernels() {
  std::vector<ProductKernel<Real>> kernels{lutra::Impl::plain_product<Real>(),
                                           lutra::Impl::best_product<Real>()};
  if (std::string(kernels.back().instructions) == "AVX-512") {
    if (const auto avx2 = lutra::Impl::avx2_product<Real>(); avx2.real != nullptr) kernels.push_back(avx2);
  }
  return kernels;
}

template <class Scalar>
std::vector<Scalar> random_numbers(std::size_t n, std::mt19937& random) {
  std::vector<Scalar> numbers(n);
  for (Scalar& number : numbers) number = random_value<Scalar>(random, 1);
  return numbers;
}

struct Edges {
  int rows, columns, depth;
};

/// C −= A·B by a kernel and entry by entry, in arrays with room to spare that must stay as it is.
template <class Scalar>
void compare_product(const ProductKernel<RealOf<Scalar>>& kernel, const Edges& edges, bool b_by_rows,
                     std::mt19937& random) {
  using Real = RealOf<Scalar>;
  const auto [rows, columns, depth] = edges;
  const std::int64_t lda = rows + 3, ldc = rows + 5, ldb = (b_by_rows ? columns : depth) + 2;
  const auto A = random_numbers<Scalar>(static_cast<std::size_t>(lda * (depth - 1) + rows), random);
  const auto B =
      random_numbers<Scalar>(static_cast<std::size_t>(ldb * (b_by_rows ? depth : columns)), random);
  auto C = random_numbers<Scalar>(static_cast<std::size_t>(ldc * columns), random);
  const std::int64_t b_row = b_by_rows ? ldb : 1, b_column = b_by_rows ? 1 : ldb;
  auto expected = C;
  std::vector<double> size;  // |C| + |A||B|, of which rounding is a small part
  for (const Scalar& number : C) size.push_back(static_cast<double>(Kokkos::abs(number)));
  for (int j = 0; j < columns; ++j) {
    for (int p = 0; p < depth; ++p) {
      for (int i = 0; i < rows; ++i) {
        const auto at = static_cast<std::size_t>(i + j * ldc);
        const Scalar product =
            A[static_cast<std::size_t>(i + p * lda)] * B[static_cast<std::size_t>(p * b_row + j * b_column)];
        expected[at] -= product;
        size[at] += static_cast<double>(Kokkos::abs(product));
      }
    }
  }
  const Kokkos::View<Real*, Kokkos::HostSpace> buffer("buffer", lutra::Impl::product_buffer);
  const ProductTask<Real> task{rows,
                               columns,
                               depth,
                               reinterpret_cast<const Real*>(A.data()),
                               lda,
                               reinterpret_cast<const Real*>(B.data()),
                               b_row,
                               b_column,
                               reinterpret_cast<Real*>(C.data()),
                               ldc};
  (ScalarTraits<Scalar>::is_complex ? kernel.complex : kernel.real)(task, buffer.data());
  INFO(kernel.instructions << ": " << rows << " × " << columns << " of depth " << depth);
  const double bound = 2.0 * (depth + 2) * static_cast<double>(epsilon_of<Scalar>);
  for (std::size_t at = 0; at < C.size(); ++at)
    REQUIRE(static_cast<double>(Kokkos::abs(C[at] - expected[at])) <= bound * size[at]);
}

/// A front and the flags of its pivots.
template <class Scalar>
struct StoredFront {
  int pivots, cb_rows;
  std::vector<Scalar> lower, upper, contribution;
  std::vector<unsigned char> flags;

  DenseFront<Scalar> dense() { return {lower.data(), upper.data(), contribution.data(), pivots, cb_rows}; }
};

constexpr double min_pivot = 0.5;

/// Random numbers and a large diagonal; the third pivot is zero and stays so.
template <class Scalar>
StoredFront<Scalar> random_front(int size, int pivots, std::mt19937& random) {
  const int cb_rows = size - pivots;
  const auto numbers = [&](int n) { return random_numbers<Scalar>(static_cast<std::size_t>(n), random); };
  StoredFront<Scalar> stored{pivots,
                             cb_rows,
                             numbers(size * pivots),
                             numbers(pivots * cb_rows),
                             numbers(cb_rows * cb_rows),
                             std::vector<unsigned char>(static_cast<std::size_t>(pivots), 9)};
  const auto front = stored.dense();
  for (int i = 0; i < size; ++i) front.at(i, i) = as_scalar<Scalar>(4.0 * size);
  if (pivots > 2) {
    for (int i = 0; i < pivots; ++i) front.at(2, i) = front.at(i, 2) = Scalar(0);
  }
  return stored;
}

template <class Scalar, class Loop>
StoredFront<Scalar> factorize(StoredFront<Scalar> stored, const Loop& loop) {
  const auto kernel = lutra::Impl::best_product<RealOf<Scalar>>();
  lutra::Impl::HostFront<Scalar, Loop>(kernel, loop)
      .factorize(stored.dense(), {RealOf<Scalar>(min_pivot)}, [&](int j, bool is_perturbed) {
        stored.flags[static_cast<std::size_t>(j)] = is_perturbed ? 1 : 0;
      });
  return stored;
}

/// The same, entry by entry.
template <class Scalar>
StoredFront<Scalar> eliminate(StoredFront<Scalar> stored) {
  const auto front = stored.dense();
  for (int j = 0; j < front.pivots; ++j) {
    const bool small = ScalarTraits<Scalar>::magnitude(front.at(j, j)) < RealOf<Scalar>(min_pivot);
    stored.flags[static_cast<std::size_t>(j)] = small ? 1 : 0;
    if (small) front.at(j, j) = as_scalar<Scalar>(min_pivot);  // of zero
    for (int i = j + 1; i < front.size(); ++i) {
      front.at(i, j) /= front.at(j, j);
      for (int c = j + 1; c < front.size(); ++c) front.at(i, c) -= front.at(i, j) * front.at(j, c);
    }
  }
  return stored;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("products of every instruction set agree with plain loops", "[numeric]",
                        HostScalars) {
  std::mt19937 random(11);
  for (const auto& kernel : runnable_kernels<RealOf<TestType>>()) {
    for (const Edges& edges :
         {Edges{1, 1, 1}, Edges{2, 3, 4}, Edges{7, 5, 9}, Edges{24, 8, 16}, Edges{23, 9, 7}, Edges{48, 64, 8},
          Edges{49, 65, 33}, Edges{97, 70, 300}, Edges{400, 75, 20}, Edges{30, 530, 12}, Edges{60, 3, 270}}) {
      compare_product<TestType>(kernel, edges, false, random);
      compare_product<TestType>(kernel, edges, true, random);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("products skip entries above a diagonal and no others", "[numeric]", HostScalars) {
  using Scalar = TestType;
  using Real = RealOf<Scalar>;
  std::mt19937 random(12);
  const Kokkos::View<Real*, Kokkos::HostSpace> buffer("buffer", lutra::Impl::product_buffer);
  for (const auto& kernel : runnable_kernels<Real>()) {
    for (const auto& [rows, columns, depth] :
         {Edges{1, 1, 1}, Edges{40, 33, 5}, Edges{90, 90, 20}, Edges{430, 150, 9}}) {
      for (const int diagonal : {0, 7, -5, 60}) {
        const auto size = [](int a, int b) {
          return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
        };
        const auto A = random_numbers<Scalar>(size(rows, depth), random);
        const auto B = random_numbers<Scalar>(size(depth, columns), random);
        const auto C = random_numbers<Scalar>(size(rows, columns), random);
        auto all = C, some = C;
        const auto run = [&](std::vector<Scalar>& to, bool is_part) {
          ProductTask<Real> task{rows,
                                 columns,
                                 depth,
                                 reinterpret_cast<const Real*>(A.data()),
                                 rows,
                                 reinterpret_cast<const Real*>(B.data()),
                                 1,
                                 depth,
                                 reinterpret_cast<Real*>(to.data()),
                                 rows};
          if (is_part) task.diagonal = diagonal;
          (ScalarTraits<Scalar>::is_complex ? kernel.complex : kernel.real)(task, buffer.data());
        };
        run(all, false);
        run(some, true);
        int different = 0, left_out = 0;
        for (int j = 0; j < columns; ++j) {
          for (int i = 0; i < rows; ++i) {
            const auto at = static_cast<std::size_t>(i + j * rows);
            if (i + diagonal >= j) {
              different += some[at] == all[at] ? 0 : 1;
            } else {
              left_out += some[at] == C[at] ? 1 : 0;
            }
          }
        }
        INFO(kernel.instructions << ": " << rows << " × " << columns << ", diagonal " << diagonal);
        CHECK(different == 0);
        if (columns >= 90 && diagonal <= 0) CHECK(left_out > columns * columns / 5);
      }
    }
  }
}

TEMPLATE_TEST_CASE("products with a column agree with plain loops", "[numeric]", float, double) {
  using Real = TestType;
  std::mt19937 random(13);
  constexpr int slack = lutra::Impl::product_slack;
  for (const auto& kernel : runnable_kernels<Real>()) {
    for (const int n : {1, 2, 7, 8, 9, 33, 100}) {
      for (const int depth : {0, 1, 3, 4, 5, 17}) {
        const int lda = n + 2;
        const auto A = random_numbers<Real>(static_cast<std::size_t>(lda * (depth + 1) + slack), random);
        const auto x = random_numbers<Real>(static_cast<std::size_t>(std::max(n, depth)), random);
        auto v = random_numbers<Real>(static_cast<std::size_t>(n + slack), random);
        auto w = random_numbers<Real>(static_cast<std::size_t>(depth + 1), random);
        const auto v_before = v, w_before = w;
        const auto a = [&](int i, int p) {
          return static_cast<double>(A[static_cast<std::size_t>(i + p * lda)]);
        };
        const Real largest = kernel.column(n, depth, v.data(), A.data(), lda, x.data(), v.data());
        kernel.transposed(n, depth, A.data(), lda, x.data(), w.data());
        INFO(kernel.instructions << ": " << n << " rows, " << depth << " columns");
        const double bound = 4.0 * (n + depth) * static_cast<double>(epsilon_of<Real>);
        Real expected_largest(0);
        for (int i = 0; i < n + slack; ++i) {
          const auto at = static_cast<std::size_t>(i);
          double expected = static_cast<double>(v_before[at]);
          for (int p = 0; i < n && p < depth; ++p)
            expected -= a(i, p) * static_cast<double>(x[static_cast<std::size_t>(p)]);
          CHECK(std::abs(static_cast<double>(v[at]) - expected) <= bound);
          if (i < n) expected_largest = std::max(expected_largest, std::abs(v[at]));
        }
        CHECK(largest == expected_largest);
        for (int p = 0; p <= depth; ++p) {
          double expected = static_cast<double>(w_before[static_cast<std::size_t>(p)]);
          for (int i = 0; i < n && p < depth; ++i)
            expected -= a(i, p) * static_cast<double>(x[static_cast<std::size_t>(i)]);
          CHECK(std::abs(static_cast<double>(w[static_cast<std::size_t>(p)]) - expected) <= bound);
        }
        auto scaled = v_before;
        kernel.scale(n, Real(3), v_before.data(), scaled.data());
        for (int i = 0; i < n + slack; ++i)
          CHECK(scaled[static_cast<std::size_t>(i)] ==
                v_before[static_cast<std::size_t>(i)] * Real(i < n ? 3 : 1));
        // wherever a value is not finite
        for (const Real bad :
             {std::numeric_limits<Real>::quiet_NaN(), -std::numeric_limits<Real>::infinity()}) {
          auto broken = v_before;
          broken[static_cast<std::size_t>(n / 2)] = bad;
          CHECK(kernel.column(n, depth, broken.data(), A.data(), lda, x.data(), broken.data()) ==
                std::numeric_limits<Real>::infinity());
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("fronts factorized by host threads agree with plain elimination", "[numeric]",
                        HostScalars) {
  using Scalar = TestType;
  using Real = RealOf<Scalar>;
  std::mt19937 random(5);
  const Kokkos::DefaultHostExecutionSpace exec;
  const int threads = lutra::Impl::threads_of(exec);
  const Kokkos::View<Real*, Kokkos::HostSpace> buffers(
      "buffers", static_cast<std::size_t>(threads) * lutra::Impl::product_buffer);
  for (const auto& [size, pivots] : std::vector<std::pair<int, int>>{
           {1, 1}, {2, 1}, {9, 3}, {31, 8}, {33, 33}, {40, 32}, {77, 1}, {97, 64}, {260, 130}}) {
    auto front = random_front<Scalar>(size, pivots, random);
    auto got = factorize(front, lutra::Impl::AloneLoop<Real>{buffers.data()});
    auto expected = eliminate(front);
    INFO(pivots << " pivots of " << size << " rows");
    const double bound = 100.0 * size * static_cast<double>(epsilon_of<Scalar>);
    const auto compare = [&](const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
      for (std::size_t at = 0; at < a.size(); ++at)
        REQUIRE(static_cast<double>(Kokkos::abs(a[at] - b[at])) <=
                bound * (1 + static_cast<double>(Kokkos::abs(b[at]))));
    };
    compare(got.lower, expected.lower);
    compare(got.upper, expected.upper);
    compare(got.contribution, expected.contribution);
    CHECK(got.flags == expected.flags);
    // several threads: the same bits
    const auto shared = factorize(front, lutra::Impl::SharedLoop<Real, Kokkos::DefaultHostExecutionSpace>{
                                             exec, threads, buffers.data(), {}});
    CHECK(shared.lower == got.lower);
    CHECK(shared.upper == got.upper);
    CHECK(shared.contribution == got.contribution);
    CHECK(shared.flags == got.flags);
  }
}

}  // namespace lutra::Test

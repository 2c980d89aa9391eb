// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_BatchCases.hpp"

// Systems of a batch that are singular, although neither pivots nor growth nor X show it.

namespace lutra::Test {
namespace {

constexpr std::size_t K = 20, bad = 7;

/// BᵀB for B with rows (1, −ratio), its rows multiplied by powers of two unless it shall be symmetric. With a
/// ratio of 2 all pivots are 1 from the first row on, and no entry grows, but a relative change of 4⁻ⁿ makes
/// it singular: (1, 1/2, 1/4, …) is almost a null vector.
template <class Scalar>
HostMatrix<Scalar> graded(int n, bool symmetric, double ratio) {
  HostMatrix<Scalar> A;
  A.n_rows = A.n_cols = n;
  A.row_map = {0};
  for (int i = 0; i < n; ++i) {
    const double scale = symmetric ? 1.0 : std::ldexp(1.0, i % 3);
    for (int j = std::max(0, i - 1); j < std::min(n, i + 2); ++j) {
      A.entries.push_back(j);
      const double value = i != j ? -ratio : i > 0 ? 1.0 + ratio * ratio : 1.0;
      A.values.push_back(as_scalar<Scalar>(scale * value));
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

/// Regular systems, and a singular one with a right-hand side for which X is small.
template <class Types>
struct Case {
  using Scalar = typename Types::Scalar;
  int n;
  bool symmetric;
  HostMatrix<Scalar> pattern = graded<Scalar>(n, symmetric, 0.5), singular = graded<Scalar>(n, symmetric, 2);
  BatchArray<Types> values{pattern.values.size(), 1, K, Storage::interleaved};
  BatchArray<Types> B{static_cast<std::size_t>(n), 1, K, Storage::interleaved};

  explicit Case(bool is_symmetric) : n(sizeof(RealOf<Scalar>) == 8 ? 30 : 16), symmetric(is_symmetric) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t p = 0; p < pattern.values.size(); ++p)
        values(p, 0, k) = k == bad ? singular.values[p] : pattern.values[p];
      const auto& A = k == bad ? singular : pattern;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
             ++p)
          B(i, 0, k) += A.values[p];  // A times ones, for which X is small
    }
    values.to_device();
    B.to_device();
  }
};

template <class Types, class Batch>
void check_statuses(Batch& batch, const Case<Types>& of, Transposition op) {
  REQUIRE(batch.analyze(on_device<Types>(of.pattern)) == Status::success);
  for (int values = 0; values < 2; ++values) {  // also on an analysis that has served
    (void)batch.factorize(of.values.matrix());
    for (int solve = 0; solve < 2; ++solve) {
      BatchArray<Types> X(static_cast<std::size_t>(of.n), 1, K, Storage::interleaved);
      batch.solve(of.B.view(), X.view(), op);
      for (std::size_t k = 0; k < K; ++k) {
        CAPTURE(of.symmetric, values, solve, k);
        const Status status = batch.report().statuses[k];
        if (k == bad) {
          CHECK(status == Status::numerically_singular);
        } else {
          CHECK(status == Status::success);
        }
      }
      CHECK(batch.report().alone == std::vector<std::int64_t>{bad});
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: a singular system is found whatever the right-hand side", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Case<TestType> general(false), symmetric(true);
  LuOptions lu_options;
  lu_options.ordering = Ordering::natural;
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    BatchedLU<Scalar, Space> lu(lu_options);
    check_statuses(lu, general, op);
  }
  LdltOptions options;
  options.ordering = Ordering::natural;
  for (const bool positive_definite : {false, true}) {
    options.positive_definite = positive_definite;
    BatchedLDLT<Scalar, Space> ldlt(options);
    check_statuses(ldlt, symmetric, Transposition::none);
  }
}

}  // namespace lutra::Test

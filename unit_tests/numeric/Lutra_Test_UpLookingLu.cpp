// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra::Test {
namespace {

using Kokkos::HostSpace;

template <class Types>
using Plan = UpLookingLuPlan<typename Types::Ordinal, typename Types::Offset>;

/// L\U of a host matrix by rows, in a dense array, with what the library reports.
template <class Types>
struct Result {
  UpLookingLuOutcome outcome;
  std::vector<std::vector<typename Types::Scalar>> dense;
  std::vector<unsigned char> perturbed;
  Plan<Types> plan;
};

/// Columns of each row from the last to the first: they need not be sorted.
template <class MatrixType>
MatrixType reversed_rows(MatrixType matrix) {
  for (std::size_t i = 0; i + 1 < matrix.row_map.size(); ++i) {
    std::reverse(matrix.entries.begin() + matrix.row_map[i], matrix.entries.begin() + matrix.row_map[i + 1]);
    std::reverse(matrix.values.begin() + matrix.row_map[i], matrix.values.begin() + matrix.row_map[i + 1]);
  }
  return matrix;
}

/// @param threads for how many the plan shares work out
/// @param runs    how often it is factorized in one workspace, the last time with the matrix itself
template <class Types>
Result<Types> run(const Matrix<Types>& sorted, RealOf<typename Types::Scalar> threshold, int threads = 1,
                  int runs = 1) {
  using Scalar = typename Types::Scalar;
  const typename Types::Space exec;
  const Kokkos::DefaultHostExecutionSpace host;
  const auto matrix = reversed_rows(sorted);
  const auto filled = factorize_symbolic(host, make_view(sorted).pattern(), MemoryBudget());
  Result<Types> result;
  result.plan = plan_up_looking_lu(exec, filled, make_view(matrix).pattern(), MemoryBudget(), threads);
  const auto work = make_up_looking_lu_workspace<Scalar>(result.plan, MemoryBudget());
  const Kokkos::View<Scalar*, HostSpace> values("values", filled.entries.extent(0));
  const Kokkos::View<unsigned char*, HostSpace> perturbed("perturbed", matrix.values.size());
  for (int r = runs; r > 0; --r) {
    auto F = matrix.values;
    for (Scalar& value : F) value *= as_scalar<Scalar>(r);
    result.outcome = factorize_up_looking<Scalar>(exec, result.plan,
                                                  Kokkos::View<const Scalar*, HostSpace>(F.data(), F.size()),
                                                  threshold, work, values, perturbed);
  }
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  result.dense.assign(n, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = filled.row_map(i); p < filled.row_map(i + 1); ++p)
      result.dense[i][static_cast<std::size_t>(filled.entries(p))] = values(p);
  }
  result.perturbed = to_vector(perturbed);
  result.perturbed.resize(n);
  for (const Scalar& left : to_vector(work.working_rows)) REQUIRE(left == Scalar(0));
  return result;
}

/// The same by columns, the portable device kernel.
template <class Types>
std::vector<std::vector<typename Types::Scalar>> run_columns(const Matrix<Types>& matrix) {
  using Scalar = typename Types::Scalar;
  const Kokkos::DefaultHostExecutionSpace exec;
  const auto filled = factorize_symbolic(exec, make_view(matrix).pattern(), MemoryBudget());
  const auto plan = plan_right_looking_lu(exec, filled, MemoryBudget());
  const auto columns = to_rows(plan.columns.pattern);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<std::vector<Scalar>> dense(n, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { dense[i][j] = value; });
  std::vector<Scalar> scattered;
  for (std::size_t j = 0; j < n; ++j) {
    for (const std::size_t i : columns[j]) scattered.push_back(dense[i][j]);
  }
  const Kokkos::View<Scalar*, HostSpace> values(scattered.data(), scattered.size());
  const Kokkos::View<unsigned char*, HostSpace> perturbed("perturbed", n);
  auto work = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  factorize_right_looking<Scalar>(exec, plan, work, values, RealOf<Scalar>(0), perturbed);
  std::size_t position = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (const std::size_t i : columns[j]) dense[i][j] = scattered[position++];
  }
  return dense;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("LU by rows of matrices worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  if constexpr (!lutra::Impl::is_host_space<typename TestType::Space>) {
    CHECK_THROWS_AS(run<TestType>(from_dense<Matrix<TestType>>({{1}}), 0), InputError);
  } else {
    SECTION("3 × 3, dense") {
      // L = [1; 2 1; 4 3 1], U = [2 1 1; 0 1 1; 0 0 2]
      const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0);
      CHECK(result.dense == std::vector<std::vector<Scalar>>{{Scalar(2), Scalar(1), Scalar(1)},
                                                             {Scalar(2), Scalar(1), Scalar(1)},
                                                             {Scalar(4), Scalar(3), Scalar(2)}});
      CHECK(result.outcome.perturbed == 0);
      CHECK(result.outcome.largest == 4.0);
      CHECK(result.plan.level_widths.size() == 3);
      CHECK(result.plan.flops == 2 + 2 * 2 * 2 + 1 + 2 * 1 * 1);
      CHECK(to_vector(result.plan.run_end) == std::vector<typename TestType::Ordinal>{3, 3, 3});
    }
    SECTION("rows of which only some agree right of their diagonals are in one run") {
      const auto result = run<TestType>(
          from_dense<Matrix<TestType>>(
              {{4, 1, o, 1, o}, {o, 4, o, 1, o}, {1, o, 4, o, 1}, {o, 1, o, 4, 1}, {1, o, 1, o, 4}}),
          0);
      // U: {1, 3}, {3}, {3, 4}, {4}, {}
      CHECK(to_vector(result.plan.run_end) == std::vector<typename TestType::Ordinal>{2, 2, 5, 5, 5});
    }
    SECTION("a diagonal matrix has one level and nothing to do") {
      const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, o}, {o, 3}}), 0);
      CHECK(result.plan.level_widths == std::vector<typename TestType::Ordinal>{2});
      CHECK(result.plan.flops == 0);
      CHECK(result.dense[1][1] == Scalar(3));
    }
    SECTION("a pivot that cancels to zero is replaced by the threshold") {
      const auto result =
          run<TestType>(from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}}), 0.5f);
      CHECK(result.outcome.perturbed == 1);
      CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
      CHECK(result.dense[1][1] == Scalar(0.5));
      CHECK(result.dense[2][1] == Scalar(2));
      CHECK(result.dense[2][2] == Scalar(-1));
    }
    SECTION("a small negative pivot keeps its sign") {
      const auto result = run<TestType>(from_dense<Matrix<TestType>>({{-0.25, 1}, {1, 1}}), 0.5f);
      CHECK(result.dense[0][0] == Scalar(-0.5));
      CHECK(result.outcome.perturbed == 1);
    }
    SECTION("overflow is told") {
      const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
      const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}}), 0);
      CHECK_FALSE(std::isfinite(result.outcome.largest));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("LU by rows agrees with plain elimination and with columns", "[numeric]", AllTypes) {
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    using Scalar = typename TestType::Scalar;
    const double bound = 200.0 * static_cast<double>(epsilon_of<Scalar>);
    std::mt19937 random(7);
    for (const int n : {1, 4, 30, 150, 400}) {
      for (const double mean : {1.5, 2.5, 4.0, 20.0}) {
        const auto matrix = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
        const auto result = run<TestType>(matrix, 0);
        const auto by_columns = run_columns<TestType>(matrix);
        const auto expected = Reference::factorize(matrix, Reference::lu_pattern(matrix), RealOf<Scalar>(0));
        INFO("n " << n << ", about " << mean << " entries a row");
        double largest = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          for (std::size_t k = 0; k < expected.pattern[i].size(); ++k) {
            const std::size_t j = expected.pattern[i][k];
            const auto size = static_cast<double>(Kokkos::abs(expected.values[i][k]));
            largest = std::max(largest, static_cast<double>(Kokkos::abs(result.dense[i][j])));
            const double most = bound * (size + result.outcome.largest * 1e-3);
            REQUIRE(static_cast<double>(Kokkos::abs(result.dense[i][j] - expected.values[i][k])) <= most);
            REQUIRE(static_cast<double>(Kokkos::abs(result.dense[i][j] - by_columns[i][j])) <= 2 * most);
          }
        }
        CHECK(result.outcome.largest == largest);
        // several threads and memory used before: the same bits
        const auto shared = run<TestType>(matrix, 0, 3, 3);
        REQUIRE(shared.dense == result.dense);
        CHECK(shared.outcome.largest == largest);
        CHECK(shared.plan.order.size() == static_cast<std::size_t>(n));
      }
    }
  }
}

}  // namespace lutra::Test

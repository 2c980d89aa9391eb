// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SimplicialLu.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra::Test {
namespace {

using Kokkos::HostSpace;

template <class Types>
using Plan = UpLookingLuPlan;

/// L\U of a host matrix by rows, in a dense array, with what the library reports.
template <class Types>
struct Result {
  UpLookingLuOutcome outcome;
  std::vector<std::vector<typename Types::Scalar>> dense;
  std::vector<unsigned char> perturbed;
  Plan<Types> plan;
  std::size_t levels = 0;
  double flops = 0;
};

/// Rows are factorized on host threads only.
template <class Space>
concept can_plan = requires(const Space& exec, const LuPattern<HostSpace>& rows,
                            const CsrPattern<Ordinal, Offset, HostSpace>& F, const MemoryBudget& budget) {
  plan_up_looking_lu(exec, rows, F, budget);
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
  result.levels = result.plan.level_widths.size();
  result.flops = result.plan.flops;
  for (const Scalar& left : to_vector(work.working_rows)) REQUIRE(left == Scalar(0));
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("row LU of matrices worked by hand", "[numeric]", AllTypes) {
  const double o = nothing;
  STATIC_CHECK(can_plan<typename TestType::Space> == lutra::Impl::is_host_space<typename TestType::Space>);
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    using Rows = std::vector<typename TestType::Ordinal>;
    check_worked_by_hand<TestType>([](const auto& matrix, float threshold) {
      return run<TestType>(matrix, RealOf<typename TestType::Scalar>(threshold));
    });
    SECTION("rows that agree right of their diagonals are in one run") {
      const auto dense = run<TestType>(from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0);
      CHECK(to_vector(dense.plan.run_end) == Rows{3, 3, 3});
      const auto some = run<TestType>(
          from_dense<Matrix<TestType>>(
              {{4, 1, o, 1, o}, {o, 4, o, 1, o}, {1, o, 4, o, 1}, {o, 1, o, 4, 1}, {1, o, 1, o, 4}}),
          0);
      // U: {1, 3}, {3}, {3, 4}, {4}, {}
      CHECK(to_vector(some.plan.run_end) == Rows{2, 2, 5, 5, 5});
    }
    SECTION("rows of a diagonal matrix are on one level") {
      const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, o}, {o, 3}}), 0);
      CHECK(result.plan.level_widths == Rows{2});
    }
  }
}

TEMPLATE_LIST_TEST_CASE("row LU agrees with plain elimination", "[numeric]", AllTypes) {
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    using Scalar = typename TestType::Scalar;
    std::mt19937 random(7);
    for (const int n : {1, 4, 30, 150, 400}) {
      for (const double mean : {1.5, 2.5, 4.0, 20.0}) {
        const auto matrix = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
        const auto result = run<TestType>(matrix, 0);
        INFO("n " << n << ", about " << mean << " entries a row");
        check_entries(result.dense,
                      Reference::factorize(matrix, Reference::lu_pattern(matrix), RealOf<Scalar>(0)),
                      result.outcome.largest);
        double largest = 0;
        for (const auto& row : result.dense) {
          for (const Scalar& entry : row)
            largest = std::max(largest, static_cast<double>(Kokkos::abs(entry)));
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

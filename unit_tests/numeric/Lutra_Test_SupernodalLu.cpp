// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

#include "Lutra_Error.hpp"
#include "Lutra_SimplicialLu.hpp"
#include "Lutra_SupernodalLu.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {
namespace {

/// Plan of a host matrix, on its exact pattern.
template <class Types>
SupernodalLuPlan<typename Types::Memory> plan_of(const Matrix<Types>& matrix,
                                                 const SupernodeOptions& options) {
  using Space = typename Types::Space;
  const Space exec;
  const auto device = to_space<Space>(matrix);
  return plan_supernodal_lu(exec, factorize_symbolic(exec, device.pattern(), MemoryBudget()), MemoryBudget(),
                            options);
}

/// L\U of a host matrix in a dense array. The matrix is factorized `times` times with one plan.
template <class Types>
ColumnResult<Types> factorize_by_supernodes(const Matrix<Types>& matrix,
                                            RealOf<typename Types::Scalar> threshold,
                                            const SupernodeOptions& options, int times = 1) {
  using Space = typename Types::Space;
  using Scalar = typename Types::Scalar;
  const auto plan = plan_of<Types>(matrix, options);
  const auto rows = to_rows(plan.rows);
  const auto at = to_vector(plan.row_to_panel);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  ColumnResult<Types> result;
  result.dense.assign(n, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { result.dense[i][j] = value; });
  std::vector<Scalar> scattered(static_cast<std::size_t>(plan.n_values), Scalar(0));
  std::size_t p = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::size_t j : rows[i]) scattered[static_cast<std::size_t>(at[p++])] = result.dense[i][j];
  }
  const Kokkos::View<unsigned char*, typename Types::Memory> perturbed("perturbed", n);
  const auto work = make_supernodal_lu_workspace(Space(), MemoryBudget());
  Kokkos::View<Scalar*, typename Types::Memory> values;
  for (int time = 0; time < times; ++time) {
    values = to_space<Space>(scattered);
    result.outcome = factorize_supernodal<Scalar>(Space(), plan, work, values, threshold, perturbed);
  }
  const auto factored = to_vector(values);
  p = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::size_t j : rows[i]) result.dense[i][j] = factored[static_cast<std::size_t>(at[p++])];
  }
  result.perturbed = to_vector(perturbed);
  result.levels = plan.levels.size();
  result.flops = plan.flops;
  return result;
}

template <class Types>
void check_against_reference(const Matrix<Types>& matrix, const SupernodeOptions& options,
                             RealOf<typename Types::Scalar> threshold, int times) {
  INFO("n " << matrix.n_rows << ", max_size " << options.max_size << ", relaxation " << options.relaxation);
  const auto result = factorize_by_supernodes<Types>(matrix, threshold, options, times);
  const auto expected = Reference::factorize(matrix, Reference::lu_pattern(matrix), threshold);
  check_entries(result.dense, expected, result.outcome.largest);
  CHECK(result.outcome.perturbed == static_cast<std::int64_t>(expected.perturbed));
  CHECK(result.outcome.finite);
}

const SupernodeOptions all_options[] = {{1, 0}, {3, 0}, {32, 0}, {32, 0.3}, {200, 10.0}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("supernodal LU of cases worked by hand", "[numeric][supernodal]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  SECTION("a dense matrix is one supernode") {
    // L = [1; 2 1; 4 3 1], U = [2 1 1; 0 1 1; 0 0 2]
    const auto result = factorize_by_supernodes<TestType>(
        from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0, {32, 0});
    CHECK(result.dense == std::vector<std::vector<Scalar>>{{Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(4), Scalar(3), Scalar(2)}});
    CHECK(result.levels == 1);
    CHECK(result.flops == 2 + 2 * 2 * 2 + 1 + 2 * 1 * 1);
    CHECK(result.outcome.largest == 4.0);
  }
  SECTION("a small pivot within a supernode is perturbed") {
    const auto matrix = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
    for (const SupernodeOptions& options : all_options) {
      const auto result = factorize_by_supernodes<TestType>(matrix, 0.5f, options, 2);
      CHECK(result.outcome.perturbed == 1);
      CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
      CHECK(result.dense[1][1] == Scalar(0.5));
      CHECK(result.dense[2][1] == Scalar(2));
      CHECK(result.dense[2][2] == Scalar(-1));
    }
  }
  SECTION("rows of U that are equal, columns of L that are not") {
    // T3: rows 0 and 1 have the same columns of U; row 2 has L(2, 1) but not L(2, 0).
    const auto matrix =
        from_dense<Matrix<TestType>>({{4, 1, o, 1}, {1, 4, o, 1}, {o, 1, 4, o}, {o, o, o, 4}});
    const auto exact = plan_of<TestType>(matrix, {32, 0});
    CHECK(exact.zeros == 0);
    const auto relaxed = plan_of<TestType>(matrix, {32, 0.3});
    CHECK(relaxed.zeros == 1);
    CHECK(relaxed.count < exact.count);
    check_against_reference<TestType>(matrix, {32, 0.3}, 0, 1);
  }
  SECTION("a diagonal matrix has one level") {
    const auto result =
        factorize_by_supernodes<TestType>(from_dense<Matrix<TestType>>({{2, o}, {o, 3}}), 0, {32, 0});
    CHECK(result.levels == 1);
    CHECK(result.flops == 0);
    CHECK(result.dense[1][1] == Scalar(3));
  }
  SECTION("overflow is reported") {
    const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
    CHECK_FALSE(
        factorize_by_supernodes<TestType>(from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}}), 0, {32, 0})
            .outcome.finite);
  }
}

TEMPLATE_LIST_TEST_CASE("supernodal LU agrees with plain elimination", "[numeric][supernodal]", AllTypes) {
  std::mt19937 random(7);
  for (const int n : {1, 4, 30, 150, 400}) {
    for (const double mean : {1.5, 2.5, 4.0, 20.0}) {
      const auto one_sided = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
      for (const SupernodeOptions& options : all_options)
        check_against_reference<TestType>(one_sided, options, 0, 1);
      check_against_reference<TestType>(
          hermitian_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), 1.0, random), {32, 0.3}, 0, 1);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("supernodal LU gives the same factors in every run", "[numeric][supernodal]",
                        AllTypes) {
  std::mt19937 random(17);
  const auto filled = dominant_matrix<Matrix<TestType>>(170, 0.1, random);
  check_against_reference<TestType>(filled, {32, 0.3}, 0, 3);
}

TEMPLATE_LIST_TEST_CASE("panels of supernodes hold the pattern and few zeros", "[numeric][supernodal]",
                        AllTypes) {
  std::mt19937 random(23);
  for (const double mean : {1.5, 2.5, 6.0}) {
    const auto matrix = dominant_matrix<Matrix<TestType>>(300, mean / 300, random);
    for (const SupernodeOptions& options : all_options) {
      const auto plan = plan_of<TestType>(matrix, options);
      const auto at = to_vector(plan.row_to_panel);
      const std::set<Offset> distinct(at.begin(), at.end());
      CHECK(distinct.size() == at.size());
      CHECK(*distinct.rbegin() < plan.n_values);
      CHECK(plan.zeros == plan.n_values - static_cast<Offset>(at.size()));
      CHECK(static_cast<double>(plan.zeros) <= options.relaxation * static_cast<double>(plan.n_values));
      const auto begin = to_vector(plan.begin);
      for (std::size_t s = 0; s + 1 < begin.size(); ++s) CHECK(begin[s + 1] - begin[s] <= options.max_size);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a supernodal plan needs its memory and valid options", "[numeric][supernodal]",
                        AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(3);
  const auto matrix = dominant_matrix<Matrix<TestType>>(40, 0.1, random);
  CHECK_THROWS_AS(plan_of<TestType>(matrix, {0, 0}), InputError);
  CHECK_THROWS_AS(plan_of<TestType>(matrix, {8, -1}), InputError);
  const auto filled = factorize_symbolic(Space(), to_space<Space>(matrix).pattern(), MemoryBudget());
  CHECK_THROWS_AS(plan_supernodal_lu(Space(), filled, MemoryBudget(2000), {32, 0}), OutOfMemoryError);
}

}  // namespace lutra::Test

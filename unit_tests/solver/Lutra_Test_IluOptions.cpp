// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_CsrOperator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Ilu = SparseILU<typename Types::Scalar, typename Types::Space>;

SparseIluOptions parilut_options() {
  SparseIluOptions options;
  options.method = IluMethod::parilut;
  options.apply = IluApply::exact;
  options.step_tolerance = 0;
  return options;
}

/// Entries of L and of U's strict triangle in each row.
template <class Types>
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> row_lengths(const Ilu<Types>& ilu) {
  const auto& factors = ilu.factorization().factors();
  const auto row_map = to_vector(factors.row_map), diagonal = to_vector(factors.diagonal);
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> lengths;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    lengths.first.push_back(diagonal[i] - row_map[i]);
    lengths.second.push_back(row_map[i + 1] - diagonal[i] - 1);
  }
  return lengths;
}

}  // namespace

TEST_CASE("options of incomplete factorizations out of range are refused", "[solver][errors]") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_NOTHROW(check_options(SparseIluOptions()));
  const auto refused = [](const auto& set) {
    SparseIluOptions options;
    set(options);
    CHECK_THROWS_AS(check_options(options), InputError);
  };
  refused([](IluOptions& ilu) { ilu.fill_level = -1; });
  refused([](IluOptions& ilu) { ilu.fill_factor = 0; });
  refused([&](IluOptions& ilu) { ilu.fill_factor = infinity; });
  refused([](IluOptions& ilu) { ilu.drop_tolerance = -1e-3; });
  refused([&](IluOptions& ilu) { ilu.drop_tolerance = infinity; });
  refused([](IluOptions& ilu) { ilu.steps = -1; });
  refused([](IluOptions& ilu) { ilu.step_tolerance = -1; });
  refused([](IluOptions& ilu) { ilu.sweeps = -1; });
  refused([](IluOptions& ilu) { ilu.sweep_tolerance = std::numeric_limits<double>::quiet_NaN(); });
  refused([](IluOptions& ilu) { ilu.shift = -1e-3; });
  refused([](IluOptions& ilu) { ilu.max_shifts = -1; });
  refused([](IluOptions& ilu) { ilu.jacobi_sweeps = 0; });
}

TEMPLATE_LIST_TEST_CASE("fill limits and drop tolerances affect the factors", "[solver]", AllTypes) {
  std::mt19937 random(61);
  const int n = 80;
  const auto A = dominant_matrix<Matrix<TestType>>(n, 0.08, random);
  const auto factors_of = [&](const SparseIluOptions& options) {
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    REQUIRE(ilu.factorize(A) == Status::success);
    return ilu;
  };
  auto options = parilut_options();
  const auto plain = factors_of(options);
  for (const double factor : {0.5, 2.0}) {
    options = parilut_options();
    options.fill_factor = factor;
    const auto total = factors_of(options);
    CHECK(*total.report().factors.nnz_l <= static_cast<std::int64_t>(factor * 0.5 * double(A.nnz())));
    CHECK((*total.report().factors.nnz_l < *plain.report().factors.nnz_l) == (factor < 1));
    options.fill_rule = FillRule::row;
    const auto by_row = row_lengths<TestType>(factors_of(options));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      std::int64_t lower = 0, upper = 0;
      Reference::for_row(A, i, [&](std::size_t j, const auto&) { ++(j < i ? lower : upper); });
      CHECK(by_row.first[i] <= static_cast<std::int64_t>(factor * double(lower)));
      CHECK(by_row.second[i] <= static_cast<std::int64_t>(factor * double(upper - 1)));
    }
  }
  options = parilut_options();
  options.drop_tolerance = 10;  // all but the diagonal
  const auto diagonal = factors_of(options);
  CHECK(diagonal.report().factors.nnz_l == 0);
  CHECK(diagonal.report().factors.nnz_u == n);
  options = parilut_options();
  options.steps = 0;  // the pattern of ILU(0), within its limits
  CHECK(factors_of(options).report().factors.fill_ratio == 1.0);
  for (const bool approximate : {false, true}) {
    options = parilut_options();
    options.fill_level = 1;
    options.selection = approximate ? IluSelection::approximate : IluSelection::exact;
    CHECK(*factors_of(options).report().factors.fill_ratio <= 1.0);
  }
}

TEMPLATE_LIST_TEST_CASE("refinement accepts incomplete factors like complete ones", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Space exec;
  std::mt19937 random(62);
  const auto host = dominant_matrix<Matrix<TestType>>(60, 0.1, random);
  const auto A = to_space<Space>(host);
  CsrOperator<Scalar, Space> op(exec, A.pattern(), {}, false, MemoryBudget());
  op.set_values(A.values);
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    auto options = parilut_options();
    options.method = method;
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    REQUIRE(ilu.factorize(A) == Status::success);
    SolveWorkspace<Scalar, Space> work(exec, 60, 1, MemoryBudget());
    const auto b = to_space<Space>(known_system(host).b);
    Kokkos::deep_copy(Kokkos::subview(work.B, Kokkos::ALL, 0), b);
    work.maxima.clear(exec);
    const auto outcome = solve_refined(exec, op, ilu.factorization(), Transposition::none, {100, 0}, work);
    CHECK(outcome.steps > 0);
    CHECK(outcome.errors.componentwise[0] <= 8 * static_cast<double>(epsilon_of<Scalar>));
  }
}

}  // namespace lutra::Test

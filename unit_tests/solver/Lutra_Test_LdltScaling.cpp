// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scaling that SparseLDLT chooses, with device models set by hand.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// A model in which the auction takes a share of the time of the exact matching.
DeviceModel with_auction(double share) {
  DeviceModel model = host_device_model();
  model.auction = {.exact_row_seconds = 1, .start_seconds = 1e-9, .row_seconds = share};
  return model;
}

template <class Types>
Report report_of(const Matrix<Types>& A, LdltOptions options, const DeviceModel& model) {
  options.symmetry = Symmetry::hermitian;
  options.device_model = model;
  Symmetric<Types> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  check_solution(solver, A);
  return solver.report();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("LDLᵀ is scaled by auction if the model predicts it to be faster", "[ldlt][scaling]",
                        AllTypes) {
  std::mt19937 random(119);
  const int n = 200;
  const auto picture =
      symmetric_picture(n, 0.05, random, [](std::size_t i) { return i % 3 == 0 ? -9.0 : 7.0; });
  const auto A = from_dense<Matrix<TestType>>(picture);
  const Report slow = report_of<TestType>(A, {}, with_auction(2)),
               fast = report_of<TestType>(A, {}, with_auction(0.5));
  CHECK(slow.choice.matching == "exact");
  CHECK(slow.choice.why.find("auction") == std::string::npos);
  CHECK(fast.choice.matching == "auction");
  CHECK_THAT(fast.choice.why, ContainsSubstring("scaling: by auction, predicted to take"));
  CHECK(fast.inertia.positive == slow.inertia.positive);
  CHECK(fast.inertia.negative == slow.inertia.negative);
  CHECK(fast.structural_rank == slow.structural_rank);
  SECTION("pairs, zeros on the diagonal and limits on memory need the exact matching") {
    LdltOptions options;
    options.pair_ordering = true;
    CHECK(report_of<TestType>(A, options, with_auction(0.5)).choice.matching == "exact");
    options = {};
    options.memory_limit = 1 << 28;
    CHECK(report_of<TestType>(A, options, with_auction(0.5)).choice.matching == "exact");
    auto zero = A;
    for (std::size_t e = 0; e < zero.values.size(); ++e)
      if (e < static_cast<std::size_t>(zero.row_map[1]) && zero.entries[e] == 0)
        zero.values[e] = typename TestType::Scalar(0);
    CHECK(report_of<TestType>(zero, {}, with_auction(0.5)).choice.matching == "exact");
  }
  SECTION("the user's choice") {
    LdltOptions options;
    options.matching = Matching::exact;
    CHECK(report_of<TestType>(A, options, with_auction(0.5)).choice.matching == "exact");
    options.matching = Matching::auction;
    CHECK(report_of<TestType>(A, options, with_auction(2)).choice.matching == "auction");
  }
}

TEMPLATE_LIST_TEST_CASE("a matrix with equilibrated rows is not singular because of its scales",
                        "[ldlt][scaling]", AllTypes) {
  // det = −δ, and no change of entries below their own size makes it singular. Its rows have maxima of 1, but
  // after the pivots of rows 1 and 2 the last one is δ. The matching's scales 2^-30, 2^30, 2^30 make it 1.
  for (const double delta : {0x1p-60, -0x1p-60}) {
    const auto A =
        from_dense<Matrix<TestType>>({{nothing, 1, 1}, {1, nothing, nothing}, {1, nothing, delta}});
    LdltOptions options;
    options.symmetry = Symmetry::hermitian;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    check_inertia(solver.report(), delta > 0 ? 2 : 1, delta > 0 ? 1 : 2, 0);
    CHECK(solver.report().singular_rows.empty());
    REQUIRE(solver.report().escalations.size() == 1);
    CHECK_THAT(solver.report().escalations[0], ContainsSubstring("scaled by the matching"));
    check_solution(solver, A);
    CHECK(solver.report().errors.condition.value_or(1) < 100);
    succeed(solver.factorize(A));  // keeps the scales
    CHECK(solver.report().escalations.empty());
  }
  auto options = LdltOptions();
  options.matching = Matching::none;  // the caller's choice stays
  Symmetric<TestType> solver(options);
  const auto A =
      from_dense<Matrix<TestType>>({{nothing, 1, 1}, {1, nothing, nothing}, {1, nothing, 0x1p-60}});
  succeed(solver.analyze(A));
  CHECK(solver.factorize(A) == Status::numerically_singular);
}

TEST_CASE("an auction that leaves many rows is replaced by the exact matching", "[ldlt][scaling]") {
  using Types = std::tuple_element_t<0, AllTypes>;
  // All rows want the first 90 columns alike, far more than their own, so that prices rise by epsilon alone.
  std::mt19937 random(120);
  constexpr std::size_t hubs = 90;
  auto picture = symmetric_picture(200, 0, random, [](std::size_t) { return 1e-30; });
  for (std::size_t i = hubs; i < picture.size(); ++i)
    for (std::size_t hub = 0; hub < hubs; ++hub) picture[hub][i] = picture[i][hub] = 1;
  LdltOptions options;
  options.device_model = with_auction(0.5);
  Symmetric<Types> solver(options);
  succeed(solver.analyze(from_dense<Matrix<Types>>(picture)));
  CHECK(solver.report().choice.matching == "exact");
  CHECK_THAT(solver.report().choice.why, ContainsSubstring("the auction leaves too many rows"));
  CHECK(solver.report().structural_rank == 200);
}

}  // namespace lutra::Test

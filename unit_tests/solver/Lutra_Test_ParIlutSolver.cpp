// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>

#include "Lutra_Error.hpp"
#include "Lutra_Reference_Ilu.hpp"
#include "Lutra_Reference_ParIlut.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

template <class Types>
using Ilu = SparseILU<typename Types::Scalar, typename Types::Space>;

/// ParILUT of the paper on A itself: the start by the pattern, exact thresholds, all steps.
SparseIluOptions paper_options(int steps) {
  SparseIluOptions options;
  options.method = IluMethod::parilut;
  options.ordering = Ordering::natural;
  options.matching = Matching::none;
  options.start = IluStart::pattern;
  options.finish = IluFinish::sweeps;
  options.selection = IluSelection::exact;
  options.steps = steps;
  options.step_tolerance = 0;
  options.sweeps = 0;
  options.sweep_tolerance = 0;
  options.deterministic = true;
  options.nonlinear_residual = true;
  options.max_shifts = 0;
  options.apply = IluApply::exact;
  return options;
}

template <class Types>
Ilu<Types> factorized(const Matrix<Types>& A, const SparseIluOptions& options) {
  Ilu<Types> ilu(options);
  succeed(ilu.analyze(A));
  REQUIRE(ilu.factorize(A) == Status::success);
  return ilu;
}

/// Rows of L without its diagonal, and of U.
template <class Types>
std::vector<std::map<std::size_t, typename Types::Scalar>> rows_of(const Ilu<Types>& ilu) {
  const auto& factors = ilu.factorization().factors();
  const auto row_map = to_vector(factors.row_map);
  const auto entries = to_vector(factors.entries);
  const auto values = to_vector(factors.values);
  std::vector<std::map<std::size_t, typename Types::Scalar>> rows(row_map.size() - 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p)
      rows[i][static_cast<std::size_t>(entries[p])] = values[p];
  }
  return rows;
}

/// Requires the entries of L and U to be those of `expected`, row by row.
/// @param size  of entries whose error is relative to it rather than to themselves
template <class Types, class Row>
void require_entries(const Ilu<Types>& ilu, const std::vector<Row>& expected, double size = 1e-2) {
  const double tolerance = 1e3 * static_cast<double>(epsilon_of<typename Types::Scalar>);
  const auto rows = rows_of<Types>(ilu);
  REQUIRE(rows.size() == expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == expected[i].size());
    for (const auto& [j, value] : rows[i]) {
      REQUIRE(expected[i].count(j) == 1);
      const auto wanted = Reference::widen(expected[i].at(j));
      INFO("entry " << i << ", " << j);
      REQUIRE(double(std::abs(Reference::widen(value) - wanted)) <=
              tolerance * (double(std::abs(wanted)) + size));
    }
  }
}

/// Requires L and U to be the incomplete factors of A on their own pattern.
template <class Types>
void require_exact(const Ilu<Types>& ilu, const Matrix<Types>& A) {
  Reference::Rows pattern;
  for (const auto& row : rows_of<Types>(ilu)) {
    pattern.emplace_back();
    for (const auto& [j, value] : row) pattern.back().push_back(j);
  }
  const auto values = Reference::incomplete_lu(A, pattern);
  std::vector<std::map<std::size_t, typename Types::Scalar>> expected(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    for (std::size_t t = 0; t < pattern[i].size(); ++t) expected[i][pattern[i][t]] = values[i][t];
  }
  require_entries<Types>(ilu, expected, 1);  // sweeps end at rounding errors of the largest entry of A
}

template <class Number>
void require_threshold(const std::optional<double>& threshold, long double expected, Number tolerance) {
  REQUIRE(threshold.has_value() == (expected > 0));
  if (threshold) REQUIRE(std::abs(*threshold / double(expected) - 1) < tolerance);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("ParILUT from the pattern, by hand", "[solver][parilut]", AllTypes) {
  // Candidates are (1, 2) = −1 and (2, 1) = −1/4, with keys 1/4; entries of A have keys 1.
  const auto A = from_dense<Matrix<TestType>>({{4, 2, 2}, {2, 4, nothing}, {2, nothing, 4}});
  using Row = std::map<std::size_t, double>;
  auto options = paper_options(1);
  const auto plain = factorized<TestType>(A, options);
  require_entries<TestType>(plain,
                            std::vector<Row>{{{0, 4}, {1, 2}, {2, 2}}, {{0, .5}, {1, 3}}, {{0, .5}, {2, 3}}});
  REQUIRE(plain.report().parilut_steps.size() == 1);
  const ParIlutStep& step = plain.report().parilut_steps[0];
  CHECK(step.nnz_l == 2);
  CHECK(step.nnz_u == 5);
  CHECK(step.candidates == 2);
  CHECK(step.threshold_l == 1);
  CHECK(step.threshold_u == 1);
  CHECK(step.sweeps == 2);
  CHECK(step.nonlinear_residual == 0);
  CHECK_FALSE(step.is_taken_back);
  options.fill_factor = 1.5;
  options.nonlinear_residual = false;
  const auto full = factorized<TestType>(A, options);
  require_entries<TestType>(
      full, std::vector<Row>{
                {{0, 4}, {1, 2}, {2, 2}}, {{0, .5}, {1, 3}, {2, -1}}, {{0, .5}, {1, -1. / 3}, {2, 8. / 3}}});
  REQUIRE(full.report().parilut_steps.size() == 1);
  CHECK(full.report().parilut_steps[0].nnz_u == 6);
  CHECK_FALSE(full.report().parilut_steps[0].threshold_l);
  CHECK_FALSE(full.report().parilut_steps[0].nonlinear_residual);
}

TEMPLATE_LIST_TEST_CASE("ParILUT from the pattern takes and records the steps of its reference",
                        "[solver][parilut]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(81);
  const double close = 1e5 * static_cast<double>(epsilon_of<Scalar>);
  for (const auto& [n, fill_factor] : {std::pair{30, 1.0}, {60, 1.6}, {60, 0.6}, {1, 1.0}}) {
    const auto A = dominant_matrix<Matrix<TestType>>(n, 0.1, random);
    for (const int steps : {0, 1, 2, 3}) {
      if (steps == 0 && fill_factor < 1) continue;  // the start is reduced to the limits
      Reference::ParIlut<Scalar> reference(A);
      auto options = paper_options(steps);
      options.fill_factor = fill_factor;
      const auto ilu = factorized<TestType>(A, options);
      const auto& records = ilu.report().parilut_steps;
      const auto limit = [&, factor = fill_factor](std::size_t entries) {
        return static_cast<std::size_t>(factor * double(entries));
      };
      CHECK(ilu.factorization().steps().sweeps == 0);
      for (std::size_t s = 0; s < records.size(); ++s) {
        const auto before = reference;
        reference.step(limit(reference.n_lower), limit(reference.n_upper));
        std::size_t n_lower = 0, n_all = 0;
        for (std::size_t i = 0; i < reference.factors.size(); ++i) {
          for (const auto& [j, value] : reference.factors[i]) n_lower += j < i ? 1 : 0, ++n_all;
        }
        CHECK(records[s].nnz_l == static_cast<std::int64_t>(n_lower));
        CHECK(records[s].nnz_u == static_cast<std::int64_t>(n_all - n_lower));
        CHECK(records[s].candidates == static_cast<std::int64_t>(reference.n_candidates));
        CHECK(records[s].sweeps == 2);
        require_threshold(records[s].threshold_l, reference.threshold(0), close);
        require_threshold(records[s].threshold_u, reference.threshold(1), close);
        const auto residual = static_cast<double>(reference.nonlinear_residual());
        REQUIRE(records[s].nonlinear_residual);
        CHECK(std::abs(*records[s].nonlinear_residual - residual) <= close * (residual + 1e-2));
        if (records[s].is_taken_back) reference = before;
      }
      if (steps > 0 && n > 1) CHECK(!records.empty());
      require_entries<TestType>(ilu, reference.factors);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("ParILUT finishes by sweeps that converge to the factors on its pattern",
                        "[solver][parilut]", AllTypes) {
  std::mt19937 random(82);
  const auto A = dominant_matrix<Matrix<TestType>>(70, 0.08, random);
  auto B = A;
  for (std::size_t p = 0; p < B.values.size(); ++p)
    B.values[p] *= as_scalar<typename TestType::Scalar>(p % 3 == 0 ? 1.1 : 1.0);
  for (const IluStart start : {IluStart::ilu0, IluStart::pattern}) {
    for (const IluFinish finish : {IluFinish::exact, IluFinish::sweeps}) {
      for (const bool deterministic : {false, true}) {
        for (const int steps : {0, 2}) {
          auto options = paper_options(steps);
          options.start = start;
          options.finish = finish;
          options.deterministic = deterministic;
          options.fill_factor = 1.3;
          options.sweeps = 200;
          auto ilu = factorized<TestType>(A, options);
          require_exact<TestType>(ilu, A);
          const int sweeps = ilu.factorization().steps().sweeps;
          if (finish == IluFinish::exact) CHECK(sweeps == 0);
          if (finish == IluFinish::sweeps && start == IluStart::pattern && steps == 0) CHECK(sweeps > 0);
          CHECK((ilu.report().parilut_steps.size() > 0) == (steps > 0));
          REQUIRE(ilu.factorize(B) == Status::success);  // on the pattern found for A
          require_exact<TestType>(ilu, B);
          CHECK(ilu.report().parilut_steps.empty());
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("starts of ParILUT reach the same factors where these do not depend on thresholds",
                        "[solver][parilut]", AllTypes) {
  std::mt19937 random(83);
  const auto A = dominant_matrix<Matrix<TestType>>(40, 0.1, random);
  auto options = paper_options(30);  // all fill fits, so both end at L and U of A
  options.fill_factor = 100;
  options.sweeps = 100;
  const auto from_pattern = factorized<TestType>(A, options);
  options.start = IluStart::ilu0;
  options.finish = IluFinish::exact;
  const auto from_ilu0 = factorized<TestType>(A, options);
  require_entries<TestType>(from_pattern, rows_of<TestType>(from_ilu0));
}

TEMPLATE_LIST_TEST_CASE("a pivot that ParILUT's pattern lacks leads to a shift", "[solver][parilut]",
                        AllTypes) {
  const auto A = from_dense<Matrix<TestType>>({{2, 1, nothing}, {1, nothing, 1}, {nothing, 1, 2}});
  for (const IluFinish finish : {IluFinish::exact, IluFinish::sweeps}) {
    auto options = paper_options(2);
    options.finish = finish;
    options.max_shifts = 6;
    options.sweeps = 5;
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    CHECK(ilu.factorize(A) == Status::success);
    CHECK(*ilu.report().pivots.shift > 0);
  }
}

TEST_CASE("ParILUT of sweeps alone has no schedule", "[solver][errors]") {
  auto options = paper_options(1);
  options.schedule = IluSchedule::levels;
  CHECK_THROWS_MATCHES(check_options(options), InputError,
                       Catch::Matchers::MessageMatches(ContainsSubstring("no elimination")));
  options.finish = IluFinish::exact;
  CHECK_NOTHROW(check_options(options));
  options.finish = IluFinish::sweeps;
  options.start = IluStart::ilu0;
  CHECK_NOTHROW(check_options(options));
}

}  // namespace lutra::Test

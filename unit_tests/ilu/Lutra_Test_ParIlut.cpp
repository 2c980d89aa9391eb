// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Reference_ParIlut.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestKokkosTools.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Factors = IncompleteFactors<typename Types::Scalar, typename Types::Memory>;

/// L and U on the host, by rows.
template <class Scalar>
using Rows = std::vector<std::map<std::size_t, Scalar>>;

/// A in place of L and U, with its diagonal, and with the lower part divided by the pivots.
template <class Types>
Factors<Types> first_guess(const Matrix<Types>& matrix) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const Reference::ParIlut<Scalar> reference(matrix);
  std::vector<typename Types::Offset> row_map{0}, diagonal;
  std::vector<typename Types::Ordinal> entries;
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < reference.factors.size(); ++i) {
    for (const auto& [j, value] : reference.factors[i]) {
      if (i == j) diagonal.push_back(static_cast<typename Types::Offset>(entries.size()));
      entries.push_back(static_cast<typename Types::Ordinal>(j));
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        using Real = RealOf<Scalar>;
        values.emplace_back(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
      } else {
        values.push_back(static_cast<Scalar>(value));
      }
    }
    row_map.push_back(static_cast<typename Types::Offset>(entries.size()));
  }
  return {matrix.n_rows,           to_space<Space>(row_map),  to_space<Space>(entries),
          to_space<Space>(values), to_space<Space>(diagonal), {}};
}

/// Rows of L and U. Requires sorted rows, with a diagonal entry if `diagonal`.
template <class FactorsType>
auto rows_of(const FactorsType& factors) {
  using Scalar = typename decltype(factors.values)::non_const_value_type;
  const auto row_map = to_vector(factors.row_map), diagonal = to_vector(factors.diagonal);
  const auto entries = to_vector(factors.entries);
  const auto values = to_vector(factors.values);
  Rows<Scalar> rows(diagonal.size());
  REQUIRE(static_cast<std::size_t>(row_map.back()) == entries.size());
  REQUIRE(values.size() == entries.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p) {
      if (p > static_cast<std::size_t>(row_map[i])) REQUIRE(entries[p - 1] < entries[p]);
      rows[i][static_cast<std::size_t>(entries[p])] = values[p];
    }
    REQUIRE(static_cast<std::size_t>(entries[static_cast<std::size_t>(diagonal[i])]) == i);
  }
  return rows;
}

struct Counts {
  std::size_t lower = 0, upper = 0;
};
template <class Scalar>
Counts count(const Rows<Scalar>& rows) {
  Counts counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [j, value] : rows[i]) ++(j < i ? counts.lower : counts.upper);
  }
  counts.upper -= rows.size();
  return counts;
}

/// A random matrix with a strong diagonal, a full row and a full column.
template <class Types>
Matrix<Types> arrow_matrix(int n, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  auto picture = std::vector<std::vector<double>>(n, std::vector<double>(n, nothing));
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) picture[i][random() % n] = unit(random);
    picture[i][n / 2] = unit(random);
    picture[n / 3][i] = unit(random);
  }
  for (int i = 0; i < n; ++i) picture[i][i] = 4 + unit(random);
  for (int i = 0; i < n; ++i) {  // rows of different units
    for (double& a : picture[i]) a = a == nothing ? a : a * std::pow(10.0, i % 5 - 2);
  }
  return from_dense<Matrix<Types>>(picture);
}

IluOptions exact_options(int steps) {
  IluOptions options;
  options.method = IluMethod::parilut;
  options.steps = steps;
  options.step_tolerance = 0;
  options.deterministic = true;
  options.selection = IluSelection::exact;
  return options;
}

/// Scales the rows of L.
template <class FactorsType>
struct ScaleLower {
  FactorsType factors;
  KOKKOS_FUNCTION void operator()(int) const {
    for (auto i = 0; i < factors.n; ++i) {
      for (auto p = factors.row_map(i); p < factors.diagonal(i); ++p)
        factors.values(p) *=
            RealOf<typename decltype(factors.values)::non_const_value_type>(0.1 + 0.2 * (i % 5));
    }
  }
};

template <class Types>
ParIlutOutcome run(const Matrix<Types>& matrix, const IluOptions& options, Factors<Types>& factors,
                   double shift = 0, const MemoryBudget& budget = MemoryBudget()) {
  using Space = typename Types::Space;
  const Space exec;
  const auto A = to_space<Space>(matrix);
  const ParIlutOutcome outcome = parilut(exec, A, shift, options, budget, factors);
  exec.fence();
  return outcome;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("ParILUT takes the steps of its reference", "[ilu][parilut]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(3);
  const auto matrix = arrow_matrix<TestType>(70, random);
  int n_taken_back = 0;
  for (const auto& [steps, fill_factor, shift] :
       {std::tuple{1, 1.0, 0.0}, {3, 1.0, 0.0}, {2, 1.7, 0.5}, {2, 0.4, 0.0}}) {
    Reference::ParIlut<Scalar> reference(matrix, shift);
    IluOptions options = exact_options(steps);
    options.fill_factor = fill_factor;
    auto factors = first_guess<TestType>(matrix);
    const auto outcome = run<TestType>(matrix, options, factors, shift);
    const auto limit = [&](std::size_t n) { return static_cast<std::size_t>(fill_factor * double(n)); };
    CHECK(std::abs(outcome.first_residual / double(reference.residual()) - 1) < 1e-4);
    int step = 0;
    bool is_taken_back = false;
    while (step < steps && !is_taken_back) {
      const auto before = reference;
      reference.step(limit(reference.n_lower), limit(reference.n_upper));
      ++step;
      is_taken_back = reference.residual() > before.residual() && !(step == 1 && fill_factor < 1);
      if (is_taken_back) reference = before;
    }
    const auto rows = rows_of(factors);
    CHECK(outcome.steps == step);
    CHECK(outcome.is_taken_back == is_taken_back);
    n_taken_back += is_taken_back ? 1 : 0;
    CHECK(std::abs(outcome.residual / double(reference.residual()) - 1) < 1e-4);
    CHECK(count(rows).lower == limit(reference.n_lower));
    CHECK(count(rows).upper == limit(reference.n_upper));
    const double tolerance = 1e3 * epsilon_of<Scalar>;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(rows[i].size() == reference.factors[i].size());
      for (const auto& [j, value] : rows[i]) {
        REQUIRE(reference.factors[i].count(j) == 1);
        const auto expected = reference.factors[i].at(j);
        REQUIRE(std::abs(Reference::widen(value) - expected) <= tolerance * (std::abs(expected) + 1e-2L));
      }
    }
  }
  CHECK(n_taken_back > 0);
  CHECK(n_taken_back < 4);
}

TEMPLATE_LIST_TEST_CASE("ParILUT keeps its fill limits among equal values", "[ilu][parilut]", AllTypes) {
  std::vector<int> label(64);
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int>(i * 37 % 64);
  auto matrix = grid_matrix<Matrix<TestType>>(8, label);
  using Scalar = typename TestType::Scalar;
  for (std::size_t i = 0; i < 64; ++i) {
    for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      matrix.values[at] = Scalar(static_cast<std::size_t>(matrix.entries[at]) == i ? 4 : -1);
    }
  }
  const std::size_t n_lower = static_cast<std::size_t>(matrix.nnz() - 64) / 2;
  for (const bool approximate : {false, true}) {
    for (const bool symmetric : {false, true}) {
      for (const FillRule rule : {FillRule::total, FillRule::row}) {
        for (const double fill_factor : {0.5, 1.0, 1.9}) {
          IluOptions options = exact_options(3);
          options.selection = approximate ? IluSelection::approximate : IluSelection::exact;
          options.symmetric = symmetric;
          options.fill_rule = rule;
          options.fill_factor = fill_factor;
          auto factors = first_guess<TestType>(matrix);
          CHECK(run<TestType>(matrix, options, factors).is_finite);
          const auto rows = rows_of(factors);
          const auto limit = static_cast<std::size_t>(fill_factor * static_cast<double>(n_lower));
          const Counts counts = count(rows);
          if (rule == FillRule::total) {
            CHECK(counts.lower == limit);
            CHECK(counts.upper == limit);
          }
          for (std::size_t i = 0; i < rows.size(); ++i) {
            Counts of_A, of_row;
            Reference::for_row(matrix, i,
                               [&](std::size_t j, const Scalar&) { ++(j < i ? of_A.lower : of_A.upper); });
            for (const auto& [j, value] : rows[i]) {
              ++(j < i ? of_row.lower : of_row.upper);
              if (symmetric) REQUIRE(rows[j].count(i) == 1);
            }
            if (rule == FillRule::total) continue;
            const auto of = [&](std::size_t n) { return static_cast<std::size_t>(fill_factor * double(n)); };
            REQUIRE(of_row.upper - 1 <= of(of_A.upper - 1));
            if (!symmetric) REQUIRE(of_row.lower <= of(of_A.lower));
          }
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric ParILUT keeps entries only in pairs", "[ilu][parilut]", AllTypes) {
  std::mt19937 random(21);
  std::uniform_real_distribution<double> unit(-1, 1);
  auto picture = std::vector<std::vector<double>>(80, std::vector<double>(80, nothing));
  for (std::size_t i = 0; i < 80; ++i) {
    picture[i][i] = 5 + unit(random);
    for (int k = 0; k < 2; ++k) {
      const std::size_t j = random() % 80;
      if (j != i) picture[i][j] = picture[j][i] = unit(random);
    }
  }
  const auto matrix = from_dense<Matrix<TestType>>(picture);
  auto factors = first_guess<TestType>(matrix);
  Kokkos::parallel_for(  // L does not mirror U, so that thresholds select different candidates in L and in U
      Kokkos::RangePolicy<typename TestType::Space>(0, 1), ScaleLower<Factors<TestType>>{factors});
  IluOptions options = exact_options(3);
  options.symmetric = true;
  options.fill_factor = 1.3;
  const auto limit = static_cast<std::size_t>(1.3 * static_cast<double>(count(rows_of(factors)).upper));
  CHECK(run<TestType>(matrix, options, factors).steps == 3);
  const auto rows = rows_of(factors);
  CHECK(count(rows).lower == count(rows).upper);
  CHECK(count(rows).upper <= limit);
  CHECK(count(rows).upper > limit * 9 / 10);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [j, value] : rows[i]) REQUIRE(rows[j].count(i) == 1);
  }
}

TEMPLATE_LIST_TEST_CASE("ParILUT without a fill limit finds the complete LU", "[ilu][parilut]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(8);
  const auto matrix = arrow_matrix<TestType>(30, random);
  IluOptions options = exact_options(40);
  options.fill_factor = 1e300;
  options.deterministic = false;
  auto factors = first_guess<TestType>(matrix);
  const auto outcome = run<TestType>(matrix, options, factors);
  CHECK(outcome.residual < 1e2 * epsilon_of<Scalar>);
  CHECK(outcome.steps < 40);  // the steps end when the residual is at rounding level
  const auto rows = rows_of(factors);
  const auto expected = Reference::factorize(matrix, Reference::lu_pattern(matrix), RealOf<Scalar>(0));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < expected.pattern[i].size(); ++k) {
      const Scalar value = expected.values[i][k];
      const auto at = rows[i].find(expected.pattern[i][k]);
      const Scalar found = at == rows[i].end() ? Scalar(0) : at->second;
      const auto size = std::abs(Reference::widen(value));
      REQUIRE(std::abs(Reference::widen(found - value)) <= 1e4 * epsilon_of<Scalar> * (size + 1e-2L));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("ParILUT on triangular, small and singular matrices", "[ilu][parilut]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double _ = nothing;
  const auto options = exact_options(3);
  SECTION("triangular: nothing to do") {
    const auto matrix =
        from_dense<Matrix<TestType>>({{2, 1, _, 3}, {_, 4, 1, _}, {_, _, 8, 5}, {_, _, _, 1}});
    auto factors = first_guess<TestType>(matrix);
    const auto outcome = run<TestType>(matrix, options, factors);
    CHECK(outcome.steps == 0);
    CHECK(outcome.first_residual == 0);
    CHECK(to_vector(factors.values) == matrix.values);
  }
  SECTION("empty") {
    const auto matrix = from_dense<Matrix<TestType>>({});
    auto factors = first_guess<TestType>(matrix);
    CHECK(run<TestType>(matrix, options, factors).steps == 0);
  }
  SECTION("1 x 1, and a shift away from zero") {
    const auto matrix = from_dense<Matrix<TestType>>({{-3}});
    auto factors = first_guess<TestType>(matrix);
    const auto outcome = run<TestType>(matrix, options, factors, 0.5);
    CHECK(outcome.first_residual == 0.5);
    CHECK(to_vector(factors.values) == std::vector<Scalar>{Scalar(-4.5)});
  }
  SECTION("a row of zeros, a missing diagonal") {
    const auto matrix = from_dense<Matrix<TestType>>({{_, 2, _}, {1, _, 1}, {_, _, _}});
    auto factors = first_guess<TestType>(matrix);
    CHECK(run<TestType>(matrix, options, factors).is_finite);
    CHECK(rows_of(factors)[2].at(2) == Scalar(0));  // for the inspection to find
  }
  SECTION("overflow is reported") {
    const double large = std::numeric_limits<RealOf<Scalar>>::max() / 4;
    const auto matrix = from_dense<Matrix<TestType>>({{1 / large, large}, {large, 1}});
    auto factors = first_guess<TestType>(matrix);
    CHECK_FALSE(run<TestType>(matrix, options, factors).is_finite);
  }
  SECTION("no square matrix") {
    auto matrix = from_dense<Matrix<TestType>>({{1, _}, {_, 1}});
    auto factors = first_guess<TestType>(matrix);
    matrix.n_cols = 3;
    CHECK_THROWS_AS(run<TestType>(matrix, options, factors), InputError);
  }
}

TEMPLATE_LIST_TEST_CASE("ParILUT under a memory limit processes candidates in chunks of rows",
                        "[ilu][parilut]", AllTypes) {
  std::mt19937 random(4);
  for (const bool symmetric : {false, true}) {
    const auto matrix = symmetric ? hermitian_matrix<Matrix<TestType>>(300, 0.02, 0.1, random)
                                  : arrow_matrix<TestType>(90, random);
    auto options = exact_options(2);
    options.symmetric = symmetric;
    const auto start = first_guess<TestType>(matrix);
    auto unlimited = start;
    const auto best = run<TestType>(matrix, options, unlimited);
    CHECK(best.chunks == 1);
    const auto run_within = [&](std::size_t limit, Factors<TestType>& factors) {
      const MemoryBudget budget(limit);
      const auto outcome = run<TestType>(matrix, options, factors, 0, budget);
      CHECK(budget.peak_bytes() <= limit);
      CHECK(outcome.is_finite);
      const auto rows = rows_of(factors), rows_before = rows_of(start);
      const Counts counts = count(rows), before = count(rows_before);
      if (!symmetric) CHECK(counts.lower == before.lower);
      CHECK(counts.upper <= before.upper);
      for (std::size_t i = 0; symmetric && i < rows.size(); ++i)
        for (const auto& [j, value] : rows[i]) REQUIRE(rows[j].count(i) == 1);
      return outcome;
    };
    int max_chunks = 1;
    std::size_t last_enough = 0;
    for (std::size_t limit = 1 << 21; limit > 1000; limit -= limit / 64) {
      auto factors = start;
      CAPTURE(limit, symmetric);
      try {
        const auto outcome = run_within(limit, factors);
        max_chunks = std::max(max_chunks, outcome.chunks);
        last_enough = limit;
        // on hosts with little memory rows are computed in each pass, not once, which must make no difference
        if (outcome.chunks == 1) REQUIRE(rows_of(factors) == rows_of(unlimited));
        if (outcome.chunks > 1) {  // the residual is that of all rows
          auto next = factors;
          const double residual = run<TestType>(matrix, options, next).first_residual;
          CHECK(std::abs(residual - outcome.residual) <= 1e-4 * residual);
        }
        // candidates in chunks are about as good
        CHECK(outcome.residual <= best.first_residual);
        CHECK(outcome.residual <= best.residual + 0.25 * (best.first_residual - best.residual));
      } catch (const OutOfMemoryError& error) {
        CHECK(factors.values.data() == start.values.data());
        const std::size_t wanted = error.needed_bytes();
        CHECK(wanted > limit);
        CHECK(std::string(error.what())
                  .find("ParILUT needs a memory limit of " + std::to_string(wanted) + " bytes instead of " +
                        std::to_string(limit)) == 0);
        auto again = start;
        run_within(wanted, again);
        if (lutra::Impl::is_serial_space<typename TestType::Space>) CHECK(wanted < 3 * last_enough / 2);
        break;
      }
    }
    CHECK(max_chunks > 2);
  }
}

TEMPLATE_LIST_TEST_CASE("a step of ParILUT synchronizes with the host once", "[ilu][parilut]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(5);
  const Space exec;
  const auto matrix = dominant_matrix<Matrix<TestType>>(200, 0.03, random);
  const auto A = to_space<Space>(matrix);
  const auto start = first_guess<TestType>(matrix);
  std::vector<int> reads;
  for (const int steps : {1, 2}) {
    auto options = exact_options(steps);
    options.fill_factor = 1.5;
    auto factors = start;
    std::string events_of_run;
    {
      const DeviceEvents<Space> events;
      const auto outcome = parilut(exec, A, 0.0, options, MemoryBudget(), factors);
      events_of_run = events.describe();
      CHECK(outcome.steps == steps);
      CHECK(outcome.limited_steps == 0);
    }
    const std::string read = "results are on the host";
    reads.push_back(0);
    for (auto at = events_of_run.find(read); at != std::string::npos; at = events_of_run.find(read, at + 1))
      ++reads.back();
  }
  CHECK(reads[1] == reads[0] + 1);
}

TEMPLATE_LIST_TEST_CASE("ParILUT drops entries below the tolerance and limits a given pattern",
                        "[ilu][parilut]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(9);
  const auto matrix = arrow_matrix<TestType>(50, random);
  IluOptions options = exact_options(3);
  options.fill_factor = 4;
  options.drop_tolerance = 0.05;
  auto factors = first_guess<TestType>(matrix);
  run<TestType>(matrix, options, factors);
  const auto rows = rows_of(factors);
  CHECK(count(rows).upper > 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double largest = 0;
    Reference::for_row(matrix, i, [&](std::size_t, const Scalar& a) {
      largest = std::max(largest, double(std::abs(Reference::widen(a))));
    });
    for (const auto& [j, value] : rows[i]) {
      if (i == j) continue;
      const double pivot = j < i ? double(std::abs(Reference::widen(rows[j].at(j)))) : 1;
      // the last sweep changes the kept values
      REQUIRE(double(std::abs(Reference::widen(value))) * pivot > 0.5 * 0.05 * largest);
    }
  }
  // without a step the given pattern is only reduced
  options = exact_options(0);
  options.fill_factor = 0.5;
  auto cut = first_guess<TestType>(matrix);
  const auto before = count(rows_of(cut));
  CHECK(run<TestType>(matrix, options, cut).steps == 0);
  CHECK(count(rows_of(cut)).lower == before.lower / 2);
  CHECK(count(rows_of(cut)).upper == before.upper / 2);
}

TEMPLATE_LIST_TEST_CASE("deterministic ParILUT gives the same bits each time", "[ilu][parilut]", AllTypes) {
  std::mt19937 random(12);
  const auto matrix = arrow_matrix<TestType>(400, random);
  IluOptions options = exact_options(2);
  options.selection = IluSelection::approximate;
  auto first = first_guess<TestType>(matrix);
  const auto start = first;
  run<TestType>(matrix, options, first);
  for (int k = 0; k < 5; ++k) {
    auto factors = start;
    run<TestType>(matrix, options, factors);
    REQUIRE(to_vector(factors.entries) == to_vector(first.entries));
    REQUIRE(to_vector(factors.values) == to_vector(first.values));
  }
}

}  // namespace lutra::Test

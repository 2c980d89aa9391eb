// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what the campaign relies on: its references, its transformations and its measure of growth.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_CampaignExamination.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Soak.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Campaign {
namespace {

using Matrix = HostMatrix<double>;
using Test::nothing;

Matrix dense(const std::vector<std::vector<double>>& picture) {
  return Test::from_dense<Matrix>(picture);
}

}  // namespace

TEST_CASE("generated matrices have sorted rows, finite values and the shapes in turn", "[campaign]") {
  for (std::uint64_t k = 0; k < 400; ++k) {
    const auto [name, A] = generated(k);
    INFO(name);
    CHECK(name == shape_names()[k % shape_names().size()] + " " + std::to_string(k));
    REQUIRE(A.row_map.size() == static_cast<std::size_t>(A.n_rows) + 1);
    REQUIRE(A.entries.size() == A.values.size());
    CHECK(A.n_rows >= 1);
    CHECK(A.n_rows <= 400);
    const auto entries = entries_of(A);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      CHECK(entries[e].column < static_cast<std::size_t>(A.n_rows));
      CHECK(std::isfinite(entries[e].value));
      if (e > 0 && entries[e].row == entries[e - 1].row) CHECK(entries[e].column > entries[e - 1].column);
    }
  }
}

TEST_CASE("the generator gives the same matrices on every machine", "[campaign]") {
  Random random(1);
  CHECK(random.next() == 0x910a2dec89025cc1U);  // splitmix64 of its authors
  CHECK(random.next() == 0xbeeb8da1658eec67U);
  CHECK(generated(7).A.values == generated(7).A.values);
  CHECK(generated(7).A.values != generated(7 + shape_names().size()).A.values);
}

TEST_CASE("exact singularity is decided to the last bit", "[campaign]") {
  CHECK(is_exactly_singular(dense({{1, 2}, {2, 4}})));
  CHECK_FALSE(is_exactly_singular(dense({{1, 2}, {2, 4 + 0x1p-50}})));
  CHECK(is_exactly_singular(dense({{0x1p900, 0x1p-900}, {0x1p1000, 0x1p-800}})));
  CHECK_FALSE(is_exactly_singular(dense({{0x1p900, 0x1p-900}, {0x1p1000, 0x1.8p-800}})));
  CHECK(is_exactly_singular(dense({{0.1, -0.3}, {-0.1, 0.3}})));
  CHECK_FALSE(is_exactly_singular(dense({{nothing, 3.5}, {-1e-300, nothing}})));
  CHECK(is_exactly_singular(dense({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})));
  CHECK(is_exactly_singular(dense({{0}})));
}

TEST_CASE("the least condition number does not depend on scales", "[campaign]") {
  CHECK(least_condition(dense({{3e-200, nothing}, {nothing, -7e200}})) == Catch::Approx(1));
  for (const double gap : {1e-3, 1e-9, 1e-14}) {
    // A⁻¹ = [1 + g, −1; −1, 1] / g, and the spectral radius of |A⁻¹||A| is ((1 + √(1 + g))² / g
    const auto A = dense({{1, 1}, {1, 1 + gap}});
    const double expected = (1 + std::sqrt(1 + gap)) * (1 + std::sqrt(1 + gap)) / ((1 + gap) - 1);
    CHECK(least_condition(A) == Catch::Approx(expected).epsilon(1e-6));
    CHECK(least_condition(scaled(A, {40, -30}, {-300, 200})) == Catch::Approx(expected).epsilon(1e-6));
  }
  CHECK(least_condition(dense({{1, 2}, {2, 4}})) > 1e15);
}

TEST_CASE("a vector proves a matrix near to a singular one", "[campaign]") {
  const std::vector<double> v{1, -1};
  CHECK(distance_to_singular(dense({{1, 1}, {1, 1 + 1e-9}}), v) == Catch::Approx(5e-10).epsilon(1e-6));
  CHECK(distance_to_singular(dense({{1, 1}, {1, 1}}), v) == 0);
  CHECK(distance_to_singular(dense({{1, 1}, {1, 1}}), {0, 0}) == 1);
  // the third row does not touch the null vector, whose third entry is a rounding error
  const auto A = dense({{1, 1, nothing}, {1, 1, nothing}, {nothing, nothing, 5}});
  CHECK(distance_to_singular(A, {1, -1, 1e-17}) == 0);
}

TEST_CASE("the reference has an inertia only where eigenvalues are away from zero", "[campaign]") {
  CHECK(separated_inertia(dense({{2, 1}, {1, -3}})) == Reference::Inertia{1, 1, 0});
  CHECK_FALSE(separated_inertia(dense({{1, 1}, {1, 1 + 1e-13}})));
  CHECK_FALSE(separated_inertia(dense({{1, 2}, {2, 4}})));
}

TEST_CASE("transformations move and change the entries that they should", "[campaign]") {
  const auto A = dense({{1, nothing, 2}, {0, 3, nothing}, {nothing, 4, 5}});
  const auto twice = doubled(A);
  CHECK(twice.n_rows == 6);
  CHECK(twice.entries == std::vector<int>{0, 4, 1, 5, 0, 2, 1, 3, 2, 4, 3, 5});
  CHECK(twice.values == std::vector<double>{1, 2, 1, 2, 0, 3, 0, 3, 4, 5, 4, 5});
  CHECK(without_zeros(A).values == std::vector<double>{1, 2, 3, 4, 5});
  CHECK(negated(A, {false, true, true}).values == std::vector<double>{1, 2, 0, -3, -4, -5});
  const auto moved = permuted(A, {2, 0, 1}, {1, 2, 0});  // entry (0, 2) goes to (2, 0)
  CHECK(moved.entries == std::vector<int>{1, 2, 0, 2, 0, 1});
  CHECK(moved.values == std::vector<double>{0, 3, 5, 4, 2, 1});
  CHECK(scaled(A, {1, 0, 0}, {0, 0, 3}).values == std::vector<double>{2, 32, 0, 3, 4, 40});
  Random random(3);
  const auto with = with_zeros(A, 50, true, random);
  CHECK(with.values.size() == 9);
  CHECK(without_zeros(with).values == without_zeros(A).values);
  CHECK_FALSE(is_symmetric(A));
  CHECK(is_symmetric(dense({{1, 2, nothing}, {2, 1, 0}, {nothing, nothing, 1}})));
}

TEST_CASE("complex matrices are symmetric, Hermitian, both or neither", "[campaign]") {
  using Complex = Kokkos::complex<double>;
  HostMatrix<Complex> A = Test::from_dense<HostMatrix<Complex>>({{1, 2}, {2, 3}});
  CHECK((is_symmetric(A) && is_hermitian(A)));
  A.values[0] = Complex(1, 1);
  CHECK((is_symmetric(A) && !is_hermitian(A)));
  A.values = {Complex(1), Complex(2, 1), Complex(2, -1), Complex(3)};
  CHECK((!is_symmetric(A) && is_hermitian(A)));
  A.values = {Complex(4, 1), Complex(1), Complex(1), Complex(4)};
  Findings findings;
  Examination<Complex> examination({"complex symmetric", A}, 1, {}, findings);
  CHECK(examination.run());
  CHECK(findings.failures().empty());
}

// Entries grow by 10⁹ in most of these factors, and in one of 300 the first estimate of the distance to a
// singular matrix is that of rounding errors.
TEST_CASE("a singular matrix whose factors grow is singular whatever its scales", "[campaign]") {
  const Matrix A = generated(7127).A;  // 38 rows
  REQUIRE(is_exactly_singular(A));
  const auto n = static_cast<std::size_t>(A.n_rows);
  Random random(1);
  for (int k = 0; k < 600; ++k) {
    std::vector<int> rows(n), columns(n);
    for (int& exponent : columns) exponent = random.integer(-8, 8);
    if (k % 2 == 1)
      for (int& exponent : rows) exponent = random.integer(-8, 8);
    const Matrix B = scaled(A, rows, columns);
    const std::vector<double> ones(n, 1.0);
    std::vector<double> b(n);
    for (std::size_t i = 0; i < n; ++i)
      Reference::for_row(B, i, [&](std::size_t, double value) { b[i] += value; });
    for (const Way way : {Way::lu, Way::lu_threshold}) {
      INFO(k << ", " << name_of(way));
      CHECK(run(way, B, b, Limits().flops).status == Status::numerically_singular);
    }
  }
}

TEST_CASE("wrong answers and changed outcomes are failures unless the matrix is nearly singular",
          "[campaign]") {
  Findings findings;
  const Case<double> regular{"regular", dense({{4, 1}, {1, 4}})};
  Examination<double> examination(regular, 1, {}, findings);
  CHECK(examination.run());
  for (const auto& failure : findings.failures())
    UNSCOPED_INFO(failure.relation << ", " << failure.way << ": " << failure.text);
  CHECK(findings.failures().empty());
  CHECK(findings.counts("scale all", Way::ldlt).compared == 1);
  Outcome<double> wrong;
  wrong.status = Status::success;
  wrong.error = 1e-9;
  examination.require_sound("itself", Way::lu, wrong);
  REQUIRE(findings.failures().size() == 1);
  CHECK(findings.failures()[0].text == "a success with the error 1e-09");
  Outcome<double> singular;
  singular.status = Status::numerically_singular;
  examination.judge(Way::lu, singular);
  REQUIRE(findings.failures().size() == 2);
  examination.compare("double", Way::lu, {regular.A, {5, 5}}, singular);
  REQUIRE(findings.failures().size() == 3);
  CHECK(findings.failures()[2].text.starts_with(
      "numerically_singular in place of success, least condition 1."));
  Outcome<double> other_signs;
  other_signs.status = Status::success;
  other_signs.inertia = Reference::Inertia{1, 1, 0};
  examination.judge(Way::ldlt, other_signs);
  CHECK(findings.failures().size() == 4);
  examination.compare("negate all", Way::ldlt,
                      {regular.A, {5, 5}, Transposition::none, Variant<double>::Signs::swapped}, other_signs);
  CHECK(findings.failures().size() == 5);
  const auto reversed = dense({{1, 4}, {4, 1}});  // symmetric, not congruent
  examination.compare("permute rows and columns", Way::ldlt,
                      {reversed, {5, 5}, Transposition::none, Variant<double>::Signs::unrelated},
                      other_signs);
  CHECK(findings.failures().size() == 5);
  Outcome<double> other_bits;
  other_bits.status = Status::success;
  other_bits.x = {1, 1 + 0x1p-52};
  examination.compare("scale all", Way::lu,
                      {regular.A, {5, 5}, Transposition::none, Variant<double>::Signs::same, 0}, other_bits);
  CHECK(findings.failures().size() == 6);
}

TEST_CASE("a singular matrix may not be solved", "[campaign]") {
  Findings findings;
  Examination<double> examination({"singular", dense({{1, 2}, {2, 4}})}, 1, {}, findings);
  CHECK(examination.run());
  CHECK(findings.failures().empty());
  Outcome<double> solved;
  solved.status = Status::success;
  examination.judge(Way::automatic, solved);
  REQUIRE(findings.failures().size() == 1);
  CHECK(findings.failures()[0].text == "is singular to the last bit, and ended as success");
}

TEST_CASE("times that grow by a third and memory that grows by a tenth are found", "[campaign]") {
  const auto tasks = small_tasks();
  SoakRecord record;
  record.times.resize(tasks.size());
  for (std::size_t tenth = 0; tenth < n_tenths; ++tenth) {
    for (auto& times : record.times)
      for (int k = 0; k < 9; ++k) times[tenth].add(1e-3 * (1 + 0.01 * k));
    record.resident[tenth] = tenth == 0 ? 50e6 : 100e6;
  }
  CHECK(record.times[0][3].median() == Catch::Approx(1.04e-3).epsilon(0.02));
  CHECK(growth_in(record, tasks).empty());
  for (std::size_t tenth = n_tenths - 3; tenth < n_tenths; ++tenth)
    for (int k = 0; k < 100; ++k) record.times[2][tenth].add(1.4e-3);
  REQUIRE(growth_in(record, tasks).size() == 1);
  CHECK(growth_in(record, tasks)[0].starts_with("poisson2d 10, cholesky: a step took"));
  record.resident[n_tenths - 1] = 110e6;
  REQUIRE(growth_in(record, tasks).size() == 2);
  CHECK(growth_in(record, tasks)[1] == "memory of the process grew from 100.0 to 110.0 MB");
  record.references = record.times;  // whatever made the steps slower has made these slower, too
  REQUIRE(growth_in(record, tasks).size() == 1);
  CHECK(growth_in(record, tasks)[0].starts_with("memory"));
}

}  // namespace lutra::Campaign

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Ilu =
    SparseILU<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset, typename Types::Space>;

constexpr Transposition all_ops[] = {Transposition::none, Transposition::transposed, Transposition::adjoint};

/// op(A)·x on the host.
template <class MatrixType, class Scalar>
std::vector<Scalar> multiply(const MatrixType& A, Transposition op, const std::vector<Scalar>& x) {
  std::vector<Scalar> b(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      if (op == Transposition::none) b[i] += value * x[j];
      if (op == Transposition::transposed) b[j] += value * x[i];
      if (op == Transposition::adjoint) b[j] += ScalarTraits<Scalar>::conjugate(value) * x[i];
    });
  }
  return b;
}

/// max |x − y| / max |x|, in rounding units.
template <class Scalar>
double difference(const std::vector<Scalar>& x, const std::vector<Scalar>& y) {
  double most = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto d = static_cast<double>(ScalarTraits<Scalar>::magnitude(x[i] - y[i]));
    most = d > most || !(d == d) ? d : most;
    size = std::max<double>(size, ScalarTraits<Scalar>::magnitude(x[i]));
  }
  return most / size / static_cast<double>(epsilon_of<Scalar>);
}

/// Applies to the right-hand side of a known solution; how far the result is from that.
template <class Types, class MatrixType>
double apply_difference(Ilu<Types>& ilu, const MatrixType& A, Transposition op) {
  const auto x = known_system(A).x;
  const auto b = to_space<typename Types::Space>(multiply(A, op, x));
  ilu.apply(b, b, op);
  return difference(x, to_vector(b));
}

SparseIluOptions complete_options() {
  SparseIluOptions options;
  options.ilu.fill_level = 1000;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("incomplete factors with all fill are an inverse, in any order", "[driver]",
                        AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(31);
  const auto A = permuted_matrix<Matrix<TestType>>(80, 2.0, random);
  for (const Ordering ordering : {Ordering::automatic, Ordering::rcm, Ordering::amd, Ordering::natural}) {
    for (const Matching matching : {Matching::automatic, Matching::exact, Matching::auction}) {
      SparseIluOptions options = complete_options();
      options.ordering = ordering;
      options.matching = matching;
      Ilu<TestType> ilu(options);
      ilu.analyze(A);
      REQUIRE(ilu.factorize(A) == Status::not_solved);
      CAPTURE(ilu.report().choice.ordering, ilu.report().choice.matching);
      for (const Transposition op : all_ops) CHECK(apply_difference<TestType>(ilu, A, op) < 1e4);
      CHECK(ilu.report().choice.matching == (matching == Matching::auction ? "auction" : "exact"));
      CHECK(ilu.report().pivots.shift == 0.0);
      // the parts, one after the other, are the whole
      const auto x = known_system(A).x;
      using Rows = typename Ilu<TestType>::factorization_type::Rows;
      const auto b = to_space<Space>(known_system(A).b);
      const Rows block(b.data(), b.extent(0), 1);
      auto& parts = *ilu.factorization().parts();
      parts.apply_lower(Space(), Transposition::none, block, block);
      parts.apply_upper(Space(), Transposition::none, block, block);
      CHECK(difference(x, to_vector(b)) < 1e4);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("every method is exact on triangles, and keeps its pattern for new values",
                        "[driver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  auto A = from_dense<Matrix<TestType>>({{4, 1, o, 2}, {o, 2, 1, o}, {o, o, 8, 1}, {o, o, o, 2}});
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    SparseIluOptions options;
    options.ilu.method = method;
    Ilu<TestType> ilu(options);
    ilu.analyze(A);
    for (int step = 0; step < 3; ++step) {
      for (Scalar& value : A.values) value *= as_scalar<Scalar>(1.5);
      REQUIRE(ilu.factorize(A) == Status::not_solved);
      CHECK(apply_difference<TestType>(ilu, A, Transposition::none) < 100);
      CHECK(ilu.report().factors.nnz_l == 0);
      CHECK(ilu.report().factors.nnz_u == 8);
    }
    CHECK(ilu.report().choice.precond == std::string(name_of(options.ilu)));
    CHECK(ilu.report().times.numeric.has_value());
    CHECK(ilu.report().times.refactor.has_value());
  }
}

TEMPLATE_LIST_TEST_CASE("a zero pivot leads to a diagonal shift, and to a breakdown where none helps",
                        "[driver]", AllTypes) {
  SparseIluOptions options;
  options.matching = Matching::none;
  SECTION("0 1; 1 0: no pivot without fill from the left") {
    const auto A = from_dense<Matrix<TestType>>({{0, 1}, {1, 0}});
    Ilu<TestType> ilu(options);
    ilu.analyze(A);
    CHECK(ilu.factorize(A) == Status::not_solved);
    CHECK(ilu.report().pivots.shift == 1e-3);
    REQUIRE(ilu.report().escalations.size() == 1);
    CHECK(ilu.report().escalations[0].find("row 0") != std::string::npos);
    options.ilu.max_shifts = 0;
    Ilu<TestType> stubborn(options);
    stubborn.analyze(A);
    CHECK(stubborn.factorize(A) == Status::breakdown);
  }
  SECTION("a row of zeros") {
    const auto A = from_dense<Matrix<TestType>>({{1, 2}, {0, 0}});
    for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
      options.ilu.method = method;
      Ilu<TestType> ilu(options);
      ilu.analyze(A);
      CHECK(ilu.factorize(A) == Status::breakdown);
      CHECK(ilu.report().status == Status::breakdown);
      const auto b = to_space<typename TestType::Space>(std::vector<typename TestType::Scalar>(2));
      CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
      // other values are no worse for it
      const auto better = from_dense<Matrix<TestType>>({{1, 2}, {0, 4}});
      CHECK(ilu.factorize(better) == Status::not_solved);
      CHECK(apply_difference<TestType>(ilu, better, Transposition::none) < 10);
    }
  }
  SECTION("overflow") {
    const double large =
        0.5 * static_cast<double>(Kokkos::Experimental::finite_max_v<RealOf<typename TestType::Scalar>>);
    const auto A = from_dense<Matrix<TestType>>({{1e-10, large}, {large, 1}});
    Ilu<TestType> ilu(options);
    ilu.analyze(A);
    const Status status = ilu.factorize(A);
    if (status == Status::not_solved) CHECK(*ilu.report().pivots.shift > 0);
  }
  SECTION("a pivot of the wrong sign, in factors of positive definite matrices") {
    options.ilu.symmetric = true;
    const auto A = from_dense<Matrix<TestType>>({{1, 2}, {2, 1}});
    Ilu<TestType> ilu(options);
    ilu.analyze(A);
    CHECK(ilu.factorize(A) == Status::not_solved);
    CHECK(*ilu.report().pivots.shift > 0.2);  // 1 + 2·s has to be above 2
  }
}

TEMPLATE_LIST_TEST_CASE("a matching that is asked for names a structurally singular pattern", "[driver]",
                        AllTypes) {
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{1, o, o}, {1, o, o}, {1, 1, 1}});
  SparseIluOptions options;
  Ilu<TestType> ilu(options);
  ilu.analyze(A);
  CHECK(ilu.report().status == Status::structurally_singular);
  CHECK(ilu.factorize(A) == Status::structurally_singular);
  CHECK_THROWS_AS(ilu.factorization(), CallOrderError);
}

TEMPLATE_LIST_TEST_CASE("incomplete factors are applied to Views of any layout", "[driver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Memory = typename TestType::Memory;
  std::mt19937 random(32);
  const auto A = permuted_matrix<Matrix<TestType>>(30, 2.0, random);
  Ilu<TestType> ilu(complete_options());
  ilu.analyze(A);
  REQUIRE(ilu.factorize(A) == Status::not_solved);
  const auto known = known_system(A);
  const auto check = [&](const auto& block) {
    const auto host = Kokkos::create_mirror_view(block);
    for (std::size_t i = 0; i < known.b.size(); ++i)
      for (std::size_t c = 0; c < block.extent(1); ++c)
        host(i, c) = known.b[i] * as_scalar<Scalar>(static_cast<double>(c + 1));
    Kokkos::deep_copy(block, host);
    ilu.apply(block, block);
    Kokkos::deep_copy(host, block);
    for (std::size_t c = 0; c < block.extent(1); ++c) {
      std::vector<Scalar> x;
      for (std::size_t i = 0; i < known.x.size(); ++i)
        x.push_back(host(i, c) / as_scalar<Scalar>(static_cast<double>(c + 1)));
      CHECK(difference(known.x, x) < 1e4);
    }
  };
  check(Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>("B", 30, 3));
  check(Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory>("B", 30, 5));
}

TEMPLATE_LIST_TEST_CASE("incomplete factors are a Factorization", "[driver]", AllTypes) {
  std::mt19937 random(33);
  const auto A = permuted_matrix<Matrix<TestType>>(20, 2.0, random);
  Ilu<TestType> ilu(complete_options());
  ilu.analyze(A);
  REQUIRE(ilu.factorize(A) == Status::not_solved);
  Factorization<typename TestType::Scalar, typename TestType::Space>& factors = ilu.factorization();
  const auto pivots = factors.pivots({});
  REQUIRE(pivots.size() == 20);
  std::vector<bool> rows(20), columns(20);
  for (const Pivot& pivot : pivots) {
    rows[static_cast<std::size_t>(pivot.row)] = columns[static_cast<std::size_t>(pivot.column)] = true;
    CHECK_FALSE(pivot.perturbed);
  }
  CHECK(rows == std::vector<bool>(20, true));
  CHECK(columns == std::vector<bool>(20, true));
  CHECK(factors.consume_timeout({}) == -1);
}

TEMPLATE_LIST_TEST_CASE("what an incomplete factorization refuses changes nothing", "[driver][errors]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 4}});
  Ilu<TestType> ilu;
  const auto b = to_space<Space>(std::vector<Scalar>{Scalar(1), Scalar(2)});
  CHECK_THROWS_AS(ilu.factorize(A), CallOrderError);
  CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
  ilu.analyze(A);
  CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
  REQUIRE(ilu.factorize(A) == Status::not_solved);
  CHECK_THROWS_AS(ilu.factorize(from_dense<Matrix<TestType>>({{4, nothing}, {1, 4}})), InputError);
  CHECK_THROWS_AS(
      ilu.factorize(from_dense<Matrix<TestType>>({{4, 1}, {std::numeric_limits<double>::quiet_NaN(), 4}})),
      InputError);
  CHECK_THROWS_AS(ilu.analyze(from_dense<Matrix<TestType>>({{1, 2, 3}, {4, 5, 6}}, 3)), InputError);
  const auto longer = to_space<Space>(std::vector<Scalar>(3));
  CHECK_THROWS_AS(ilu.apply(longer, longer), InputError);
  CHECK(apply_difference<TestType>(ilu, A, Transposition::none) < 10);
  SparseIluOptions options;
  options.ilu.symmetric = true;
  options.matching = Matching::exact;
  CHECK_THROWS_AS(Ilu<TestType>(options), InputError);
  options = {};
  options.ilu.memory_limit = 100;
  CHECK_THROWS_AS(Ilu<TestType>(options).analyze(A), OutOfMemoryError);
}

}  // namespace lutra::Test

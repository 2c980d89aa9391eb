// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <thread>
#include <type_traits>

#include "Lutra_Error.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Ilu = SparseILU<typename Types::Scalar, typename Types::Space>;

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
  options.apply = IluApply::exact;  // a device's model may prefer sweeps
  options.fill_level = 1000;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("incomplete factors with all fill give an exact inverse in any ordering", "[solver]",
                        AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(31);
  const auto A = permuted_matrix<Matrix<TestType>>(80, 2.0, random);
  std::vector<std::int64_t> reversed;
  for (std::int64_t j = 80; j-- > 0;) reversed.push_back(j);
  for (const Ordering ordering : {Ordering::automatic, Ordering::rcm, Ordering::amd, Ordering::metis,
                                  Ordering::user, Ordering::natural}) {
    for (const Matching matching : {Matching::automatic, Matching::exact, Matching::auction}) {
      SparseIluOptions options = complete_options();
      options.ordering = ordering;
      if (ordering == Ordering::user) options.user_permutation = reversed;
      options.matching = matching;
      Ilu<TestType> ilu(options);
      succeed(ilu.analyze(A));
      REQUIRE(ilu.factorize(A) == Status::success);
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

TEMPLATE_LIST_TEST_CASE("every method is exact on triangles and keeps its pattern for new values", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  auto A = from_dense<Matrix<TestType>>({{4, 1, o, 2}, {o, 2, 1, o}, {o, o, 8, 1}, {o, o, o, 2}});
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    SparseIluOptions options;
    options.method = method;
    options.apply = IluApply::exact;
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    for (int step = 0; step < 3; ++step) {
      for (Scalar& value : A.values) value *= as_scalar<Scalar>(1.5);
      REQUIRE(ilu.factorize(A) == Status::success);
      CHECK(apply_difference<TestType>(ilu, A, Transposition::none) < 100);
      CHECK(ilu.report().factors.nnz_l == 0);
      CHECK(ilu.report().factors.nnz_u == 8);
    }
    CHECK(ilu.report().choice.precond == std::string(name_of(options)));
    CHECK(ilu.report().times.numeric.has_value());
    CHECK(ilu.report().times.refactor.has_value());
  }
}

TEMPLATE_LIST_TEST_CASE("a zero pivot leads to a diagonal shift, or to a breakdown if none helps", "[solver]",
                        AllTypes) {
  SparseIluOptions options;
  options.matching = Matching::none;
  SECTION("0 1; 1 0: no pivot without fill from the left") {
    const auto A = from_dense<Matrix<TestType>>({{0, 1}, {1, 0}});
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    CHECK(ilu.factorize(A) == Status::success);
    CHECK(ilu.report().pivots.shift == 1e-3);
    REQUIRE(ilu.report().escalations.size() == 1);
    CHECK(ilu.report().escalations[0].find("row 0") != std::string::npos);
    options.max_shifts = 0;
    Ilu<TestType> stubborn(options);
    succeed(stubborn.analyze(A));
    CHECK(stubborn.factorize(A) == Status::breakdown);
  }
  SECTION("a row of zeros") {
    const auto A = from_dense<Matrix<TestType>>({{1, 2}, {0, 0}});
    for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
      options.method = method;
      Ilu<TestType> ilu(options);
      succeed(ilu.analyze(A));
      CHECK(ilu.factorize(A) == Status::breakdown);
      CHECK(ilu.report().status == Status::breakdown);
      const auto b = to_space<typename TestType::Space>(std::vector<typename TestType::Scalar>(2));
      CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
      // other values are no worse for it
      const auto better = from_dense<Matrix<TestType>>({{1, 2}, {0, 4}});
      CHECK(ilu.factorize(better) == Status::success);
      CHECK(apply_difference<TestType>(ilu, better, Transposition::none) < 10);
    }
  }
  SECTION("overflow") {
    const double large =
        0.5 * static_cast<double>(Kokkos::Experimental::finite_max_v<RealOf<typename TestType::Scalar>>);
    const auto A = from_dense<Matrix<TestType>>({{1e-10, large}, {large, 1}});
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    const Status status = ilu.factorize(A);
    if (status == Status::success) CHECK(*ilu.report().pivots.shift > 0);
  }
  SECTION("a pivot of the wrong sign, in factors of positive definite matrices") {
    options.symmetric = true;
    const auto A = from_dense<Matrix<TestType>>({{1, 2}, {2, 1}});
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    CHECK(ilu.factorize(A) == Status::success);
    CHECK(*ilu.report().pivots.shift > 0.2);  // 1 + 2·s has to be above 2
  }
}

TEMPLATE_LIST_TEST_CASE("a requested matching detects a structurally singular pattern", "[solver]",
                        AllTypes) {
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{1, o, o}, {1, o, o}, {1, 1, 1}});
  SparseIluOptions options;
  Ilu<TestType> ilu(options);
  CHECK(ilu.analyze(A) == Status::structurally_singular);
  CHECK(ilu.report().status == Status::structurally_singular);
  CHECK(ilu.factorize(A) == Status::structurally_singular);
  CHECK_THROWS_AS(ilu.factorization(), CallOrderError);
}

TEMPLATE_LIST_TEST_CASE("incomplete factors are applied to Views of any layout", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Memory = typename TestType::Memory;
  std::mt19937 random(32);
  const auto A = permuted_matrix<Matrix<TestType>>(30, 2.0, random);
  Ilu<TestType> ilu(complete_options());
  succeed(ilu.analyze(A));
  REQUIRE(ilu.factorize(A) == Status::success);
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

TEMPLATE_LIST_TEST_CASE("incomplete factors implement Factorization", "[solver]", AllTypes) {
  std::mt19937 random(33);
  const auto A = permuted_matrix<Matrix<TestType>>(20, 2.0, random);
  Ilu<TestType> ilu(complete_options());
  succeed(ilu.analyze(A));
  REQUIRE(ilu.factorize(A) == Status::success);
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

TEMPLATE_LIST_TEST_CASE("factorizations over one incomplete plan keep their own values", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Space exec;
  std::mt19937 random(34);
  auto A = permuted_matrix<Matrix<TestType>>(40, 2.0, random);
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    auto options = complete_options();
    options.method = method;
    options.sweep_tolerance = 0;
    options.sweeps = 100;
    options.fill_factor = 1e6;
    const auto first = to_space<Space>(A);
    const auto analysis = analyze(exec, first, options, MemoryBudget());
    const FactorizationPlan<Scalar, Space>& plan = *analysis->plan;
    FactorStructure structure;
    plan.write_pattern(exec, structure);
    CHECK(structure.row_map.size() == 41);
    CHECK(static_cast<std::int64_t>(structure.entries.size()) == *plan.counts.nnz_l + *plan.counts.nnz_u);
    const auto one = plan.make_factorization(exec, MemoryBudget());
    const auto other = plan.make_factorization(exec, MemoryBudget());
    auto B = A;
    for (std::size_t p = 0; p < B.values.size(); ++p) B.values[p] *= as_scalar<Scalar>(p % 2 == 0 ? 2 : 1.5);
    const auto second = to_space<Space>(B);
    CHECK(one->factorize(exec, {first.values, {}, {}}, 0).is_finite());
    CHECK(other->factorize(exec, {second.values, {}, {}}, 0).is_finite());
    for (const Transposition op : all_ops) {
      const auto x = known_system(A).x;
      const auto a = to_space<Space>(multiply(A, op, x)), b = to_space<Space>(multiply(B, op, x));
      using Rows = typename Factorization<Scalar, Space>::Rows;
      const Rows of_one(a.data(), a.extent(0), 1), of_other(b.data(), b.extent(0), 1);
      one->apply(exec, op, of_one, of_one);
      other->apply(exec, op, of_other, of_other);
      CHECK(difference(x, to_vector(a)) < 1e5);
      CHECK(difference(x, to_vector(b)) < 1e5);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("two SparseILU share an analysis on two threads", "[solver][threads]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
#ifdef LUTRA_HAS_OPENMP
  if (std::is_same_v<Space, Kokkos::OpenMP> && Space().concurrency() < 2) return;
#endif
  const auto parts = Kokkos::Experimental::partition_space(Space(), 1, 1);
  std::mt19937 random(35);
  const auto A = permuted_matrix<Matrix<TestType>>(200, 2.0, random);
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilut}) {
    auto options = complete_options();
    options.fill_level = 1;
    options.method = method;
    options.deterministic = true;
    Ilu<TestType> first(options, parts[0]);
    CHECK(first.analysis() == nullptr);
    succeed(first.analyze(A));
    std::vector<Scalar> results[2];
    const auto run = [&](Ilu<TestType>& ilu, std::size_t which) {
      auto values = A;
      for (int step = 0; step < 4; ++step) {
        for (Scalar& value : values.values) value *= as_scalar<Scalar>(which == 0 ? 2 : 0.5);
        if (ilu.factorize(values) != Status::success) return;
        const auto b = to_space<Space>(known_system(A).b);
        ilu.apply(b, b);
        parts[which].fence();
        results[which] = to_vector(b);
      }
    };
    Ilu<TestType> second(first.analysis(), parts[1]);
    {
      std::thread other([&] { run(second, 1); });
      run(first, 0);
      other.join();
    }
    CHECK(first.analysis() == second.analysis());
    REQUIRE(results[0].size() == 200);
    REQUIRE(results[1].size() == 200);
    // factors of 16·A and of A/16: powers of two change no bits
    for (std::size_t i = 0; i < 200; ++i) CHECK(results[0][i] * as_scalar<Scalar>(256) == results[1][i]);
  }
}

TEMPLATE_LIST_TEST_CASE("the report names how the model chose to apply the factors", "[solver]", AllTypes) {
  std::mt19937 random(36);
  const auto A = permuted_matrix<Matrix<TestType>>(40, 2.0, random);
  for (const bool sweeps_pay : {false, true}) {
    auto options = complete_options();
    options.apply = IluApply::automatic;
    options.jacobi_sweeps = 40;  // exact
    options.device_model = h200_device_model();
    auto& costs = options.device_model->trisolve;
    for (double* const start : {&costs.methods.start_seconds, &costs.level_sets.start_seconds,
                                &costs.portable_level_sets.start_seconds})
      *start = sweeps_pay ? 1 : 0;
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    REQUIRE(ilu.factorize(A) == Status::success);
    const Choice& choice = ilu.report().choice;
    CHECK((choice.trisolve == "jacobi") == sweeps_pay);
    CHECK(choice.why.find(sweeps_pay ? "applied by Jacobi sweeps: predicted"
                                     : "applied exactly: predicted") != std::string::npos);
    CHECK(choice.why.find("exact matching") == 0);
    const std::string before = choice.why;
    REQUIRE(ilu.factorize(A) == Status::success);
    CHECK(ilu.report().choice.why == before);  // not once more
    CHECK(apply_difference<TestType>(ilu, A, Transposition::none) < 1e4);
  }
}

TEMPLATE_LIST_TEST_CASE("every method solves lower triangles and 1 x 1 systems exactly", "[solver]",
                        AllTypes) {
  const double o = nothing;
  const auto lower = from_dense<Matrix<TestType>>({{4, o, o, o}, {1, 2, o, o}, {o, 3, 8, o}, {2, o, 1, 2}});
  const auto single = from_dense<Matrix<TestType>>({{-3}});
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    for (const Ordering ordering : {Ordering::natural, Ordering::rcm, Ordering::amd, Ordering::metis}) {
      SparseIluOptions options;
      options.method = method;
      options.apply = IluApply::exact;
      options.ordering = ordering;
      for (const auto& A : {lower, single}) {
        Ilu<TestType> ilu(options);
        succeed(ilu.analyze(A));
        REQUIRE(ilu.factorize(A) == Status::success);
        if (A.n_rows == 1 || ordering == Ordering::natural)
          for (const Transposition op : all_ops) CHECK(apply_difference<TestType>(ilu, A, op) < 100);
        CHECK(ilu.report().pivots.shift == 0.0);
      }
    }
  }
  Matrix<TestType> empty;
  empty.row_map = {0};
  CHECK_THROWS_AS(Ilu<TestType>().analyze(empty), InputError);
}

TEMPLATE_LIST_TEST_CASE("element growth leads to a diagonal shift", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto small = static_cast<double>(epsilon_of<Scalar>) * 10;
  const auto A = from_dense<Matrix<TestType>>({{small, 1}, {1, 1}});  // u_11 = 1 − 1/small
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    SparseIluOptions options;
    options.method = method;
    options.matching = Matching::none;
    Ilu<TestType> ilu(options);
    succeed(ilu.analyze(A));
    REQUIRE(ilu.factorize(A) == Status::success);
    CHECK(*ilu.report().pivots.shift >= 1e-3);
    CHECK(*ilu.report().pivots.growth < 2e3);
    REQUIRE(ilu.report().escalations.size() == 1);
    CHECK(ilu.report().escalations[0].find("grow") != std::string::npos);
    // a shift from the start does as well, and is no escalation
    options.shift = 0.25;
    Ilu<TestType> shifted(options);
    succeed(shifted.analyze(A));
    REQUIRE(shifted.factorize(A) == Status::success);
    CHECK(shifted.report().pivots.shift == 0.25);
    CHECK(shifted.report().escalations.empty());
  }
}

TEMPLATE_LIST_TEST_CASE("running out of memory in a factorization is reported and leaves no factors",
                        "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(37);
  const auto A = permuted_matrix<Matrix<TestType>>(60, 2.0, random);
  auto options = complete_options();
  options.fill_level = 0;
  options.method = IluMethod::parilut;  // finds its pattern, and the memory for it, when it factorizes
  bool was_short = false, was_enough = false;
  for (std::size_t limit = 1 << 16; limit < (1 << 22); limit += limit / 4) {
    options.memory_limit = limit;
    Ilu<TestType> ilu(options);
    try {
      succeed(ilu.analyze(A));
    } catch (const OutOfMemoryError&) {
      continue;
    }
    const auto b = to_space<typename TestType::Space>(std::vector<Scalar>(60));
    try {
      const Status status = ilu.factorize(A);
      CHECK(status == Status::success);
      was_enough = true;
      ilu.apply(b, b);
    } catch (const OutOfMemoryError&) {
      was_short = was_short || ilu.report().status == Status::out_of_memory;
      CHECK(ilu.report().status == Status::out_of_memory);
      CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
    }
    CHECK(ilu.report().memory.device_peak_bytes <= limit);
    if (was_enough) break;
  }
  CHECK(was_short);
  CHECK(was_enough);
}

TEMPLATE_LIST_TEST_CASE("incomplete factors of host data are applied to host arrays", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(38);
  const auto A = permuted_matrix<Matrix<TestType>>(30, 2.0, random);
  Ilu<TestType> ilu(complete_options());
  std::vector<Scalar> X(60);
  CHECK_THROWS_AS(ilu.apply_host(X, X), CallOrderError);
  succeed(ilu.analyze(A));
  REQUIRE(ilu.factorize(A) == Status::success);
  for (const Transposition op : all_ops) {
    const auto x = known_system(A).x;
    std::vector<Scalar> B = multiply(A, op, x);
    B.insert(B.end(), B.begin(), B.begin() + 30);
    ilu.apply_host(B, X, op);
    CHECK(difference(x, std::vector<Scalar>(X.begin(), X.begin() + 30)) < 1e4);
    CHECK(difference(x, std::vector<Scalar>(X.begin() + 30, X.end())) < 1e4);
  }
  std::vector<Scalar> longer(90), odd(31);
  CHECK_THROWS_AS(ilu.apply_host(X, longer), InputError);
  CHECK_THROWS_AS(ilu.apply_host(odd, odd), InputError);
}

TEMPLATE_LIST_TEST_CASE("a refused call leaves an incomplete factorization unchanged", "[solver][errors]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 4}});
  Ilu<TestType> ilu;
  const auto b = to_space<Space>(std::vector<Scalar>{Scalar(1), Scalar(2)});
  CHECK_THROWS_AS(ilu.factorize(A), CallOrderError);
  CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
  succeed(ilu.analyze(A));
  CHECK_THROWS_AS(ilu.apply(b, b), CallOrderError);
  REQUIRE(ilu.factorize(A) == Status::success);
  CHECK_THROWS_AS(ilu.factorize(from_dense<Matrix<TestType>>({{4, nothing}, {1, 4}})), InputError);
  CHECK_THROWS_AS(
      ilu.factorize(from_dense<Matrix<TestType>>({{4, 1}, {std::numeric_limits<double>::quiet_NaN(), 4}})),
      InputError);
  CHECK_THROWS_AS(ilu.analyze(from_dense<Matrix<TestType>>({{1, 2, 3}, {4, 5, 6}}, 3)), InputError);
  const auto longer = to_space<Space>(std::vector<Scalar>(3));
  CHECK_THROWS_AS(ilu.apply(longer, longer), InputError);
  CHECK(apply_difference<TestType>(ilu, A, Transposition::none) < 10);
  SparseIluOptions options;
  options.symmetric = true;
  options.matching = Matching::exact;
  CHECK_THROWS_AS(Ilu<TestType>(options), InputError);
  options = {};
  options.apply = IluApply::jacobi;
  options.trisolve = TrisolveMethod::levels;
  CHECK_THROWS_AS(Ilu<TestType>(options), InputError);
  options = {};
  options.method = IluMethod::parilu;
  options.schedule = IluSchedule::levels;
  CHECK_THROWS_AS(Ilu<TestType>(options), InputError);
  options = {};
  options.user_permutation = {1, 0};
  CHECK_THROWS_AS(Ilu<TestType>(options), InputError);
  options.ordering = Ordering::user;
  options.user_permutation = {1, 1};
  CHECK_THROWS_AS(Ilu<TestType>(options).analyze(A), InputError);
  options = {};
  options.memory_limit = 100;
  CHECK_THROWS_AS(Ilu<TestType>(options).analyze(A), OutOfMemoryError);
}

}  // namespace lutra::Test

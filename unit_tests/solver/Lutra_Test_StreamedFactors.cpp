// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors that exceed the memory: those streamed from host memory are those of the whole tree.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "Lutra_FrontLu.hpp"
#include "Lutra_Generated.hpp"
#include "Lutra_LdltEngine.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

/// What a solver computes for a matrix and the same with other values.
template <class Scalar>
struct Results {
  std::vector<Scalar> x, x_transposed, x_many, x_refactored;
  FactorValues<Scalar> factors;
  Report report;
  std::size_t peak = 0, of_analysis = 0;
  std::size_t parts = 0, least_moved = 0, most_moved = 0;  ///< bytes, by a factorization
  std::size_t of_last = 0;                                 ///< bytes of the last part

  /// Bits, not values: NaN equals NaN, and 0 differs from −0.
  bool same_bits(const Results& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    return same(x, other.x) && same(x_transposed, other.x_transposed) && same(x_many, other.x_many) &&
           same(x_refactored, other.x_refactored);
  }
};

/// A factorization moves the panels of all parts but the last, whose place no other one needs, and twice the
/// blocks that wait in host memory; on devices inverses as well.
template <class Scalar, class Space>
void count_moved(const FactorizationPlan<Scalar, Space>* plan, Results<Scalar>& results) {
  const auto* const ldlt = dynamic_cast<const lutra::Impl::LdltEnginePlan<Scalar, Space>*>(plan);
  const auto* const fronts =
      dynamic_cast<const MultifrontalPlan<Scalar, Space>*>(ldlt != nullptr ? ldlt->in_place.get() : plan);
  if (fronts == nullptr || !fronts->streamed) return;
  const auto& streamed = *fronts->streamed;
  results.parts = streamed.parts.size();
  std::size_t entries = 2 * static_cast<std::size_t>(streamed.passed.on_host), inverses = 0;
  for (std::size_t p = 0; p + 1 < streamed.parts.size(); ++p) {
    entries += streamed.parts[p].panels();
    inverses += streamed.parts[p].most_inverses;
  }
  results.least_moved = entries * sizeof(Scalar);
  results.most_moved = results.least_moved + inverses * sizeof(Scalar);
  const auto& last = streamed.parts.back();
  results.of_last = (last.panels() + last.most_inverses) * sizeof(Scalar);
}

template <class SolverType, class MatrixType, class Options>
auto run(const MatrixType& A, const Options& options, bool limited = false) {
  using Space = typename SolverType::numeric_type::execution_space;
  using Scalar = typename SolverType::numeric_type::scalar_type;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Space::memory_space>;
  const auto device_A = to_space<Space>(A);
  const auto n = static_cast<std::size_t>(A.n_rows);
  const auto system = known_system(A);
  const auto b = to_space<Space>(system.b);
  const MemoryBudget budget(options.memory_limit);
  SolverType solver(options, Space(), budget);
  Results<Scalar> results;
  succeed(solver.analyze(device_A));
  results.of_analysis = budget.peak_bytes();
  count_moved<Scalar, Space>(solver.analysis()->plan.get(), results);
  succeed(solver.factorize(device_A));
  const auto solve = [&](Transposition op) {
    const auto x = to_space<Space>(system.b);
    CHECK(solver.solve(b, x, op) == Status::success);
    return to_vector(x);
  };
  results.x = solve(Transposition::none);
  CHECK(Reference::backward_errors(A, results.x, system.b).componentwise <= tight_bound<Scalar>());
  results.report = solver.report();
  results.peak = budget.peak_bytes();
  if (!limited) {
    constexpr std::size_t columns = 7;
    results.x_transposed = solve(Transposition::transposed);
    const Columns B("B", n, columns), X("X", n, columns);
    for (std::size_t c = 0; c < B.extent(1); ++c) Kokkos::deep_copy(Kokkos::subview(B, Kokkos::ALL, c), b);
    CHECK(solver.solve(B, X) == Status::success);
    const auto on_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
    results.x_many.assign(on_host.data(), on_host.data() + on_host.size());
  }
  results.factors = solver.factors();
  auto scaled = A;
  for (std::size_t e = 0; e < scaled.values.size(); ++e)
    scaled.values[e] *= as_scalar<Scalar>(1.0 + 0.001 * static_cast<double>(e % 2));
  if constexpr (std::is_same_v<Options, LdltOptions>) scaled = A;  // remains symmetric
  succeed(solver.factorize(to_space<Space>(scaled)));
  results.x_refactored = solve(Transposition::none);
  return results;
}

/// Bitwise equality on hosts. On devices the order of sums depends on the tasks of a tree, so that values are
/// those of other roundings.
template <class Space, class Scalar>
bool are_equal(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  using Real = typename ScalarTraits<Scalar>::Real;
  if (a.size() != b.size()) return false;
  if constexpr (lutra::Impl::is_host_space<Space>) return a == b;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, static_cast<double>(ScalarTraits<Scalar>::magnitude(b[i])));
    difference = std::max(difference, static_cast<double>(ScalarTraits<Scalar>::magnitude(a[i] - b[i])));
  }
  return difference <= 100 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * largest;
}

/// Entries and orders of factors are the same.
template <class Space, class Scalar>
void check_same_factors(const FactorValues<Scalar>& one, const FactorValues<Scalar>& other) {
  CHECK((one.row_order == other.row_order));
  CHECK((one.col_order == other.col_order));
  CHECK((one.rows == other.rows));
  CHECK((one.columns == other.columns));
  CHECK(are_equal<Space>(one.values, other.values));
  CHECK((one.diagonal == other.diagonal));
}

template <class Space, class Results>
void check_same_report(const Results& streamed, const Results& resident) {
  const Report &a = streamed.report, &b = resident.report;
  CHECK(a.pivots.perturbed == b.pivots.perturbed);
  CHECK(a.pivots.interchanged == b.pivots.interchanged);
  REQUIRE(a.pivots.growth);
  REQUIRE(b.pivots.growth);
  CHECK(are_equal<Space>(std::vector{*a.pivots.growth}, std::vector{*b.pivots.growth}));
  CHECK(a.pivots.two_by_two == b.pivots.two_by_two);
  CHECK(a.inertia.positive == b.inertia.positive);
  CHECK(a.inertia.negative == b.inertia.negative);
  CHECK(a.factors.nnz_l == b.factors.nnz_l);
  CHECK(a.factors.nnz_u == b.factors.nnz_u);
  CHECK(a.factors.supernodes == b.factors.supernodes);
  CHECK(a.factors.levels == b.factors.levels);
  if constexpr (lutra::Impl::is_host_space<Space>)
    CHECK(a.errors.backward_componentwise == b.errors.backward_componentwise);
  CHECK(b.choice.why.find("streamed") == std::string::npos);
  CHECK(a.choice.why.find("factors: streamed from host memory in ") != std::string::npos);
  CHECK_FALSE(b.memory.host_peak_bytes);
  REQUIRE(a.memory.host_peak_bytes);
  REQUIRE(a.memory.forecast);
  CHECK(*a.memory.host_peak_bytes - a.memory.forecast->factorization.host <= 8);  // padding
  CHECK(*a.memory.host_peak_bytes >= a.memory.forecast->factorization.host);
  REQUIRE(a.memory.moved_by_factorization);
  REQUIRE(a.memory.moved_by_solve);
  CHECK(*a.memory.moved_by_factorization >= streamed.least_moved);
  CHECK(*a.memory.moved_by_factorization <= streamed.most_moved);
  // The first solve stores the last part.
  CHECK(*a.memory.moved_by_solve <= 2 * a.memory.forecast->factors.host + streamed.of_last);
}

/// The same bits on hosts; on devices the same up to rounding, and `run` has checked backward errors.
template <class Space, class Results>
void check_same_results(const Results& streamed, const Results& resident) {
  if (lutra::Impl::is_host_space<Space>) CHECK(streamed.same_bits(resident));
  check_same_factors<Space>(streamed.factors, resident.factors);
  check_same_report<Space>(streamed, resident);
}

/// Solves with resident factors, then with streamed ones under ever lower limits, until one is refused.
/// @returns the number of limits that sufficed
template <class SolverType, class MatrixType, class Options>
int check_limits(const MatrixType& A, Options options) {
  using Space = typename SolverType::numeric_type::execution_space;
  options.factor_storage = FactorStorage::resident;
  const auto resident = run<SolverType>(A, options, true);
  options.factor_storage = FactorStorage::streamed;
  int sufficient = 0;
  // Buffers of threads are the same for any factors: with many threads they are most of the peak.
  const std::size_t of_threads =
      bytes_of_product_buffers<typename SolverType::numeric_type::scalar_type, Space>(Space().concurrency());
  for (std::size_t limit = resident.peak; limit > of_threads;
       limit = of_threads + (limit - of_threads) * 7 / 8) {
    INFO("limit " << limit << " of " << resident.peak);
    options.memory_limit = limit;
    try {
      const auto streamed = run<SolverType>(A, options, true);
      CHECK(streamed.peak <= limit);
      check_same_results<Space>(streamed, resident);
      const double forecast = static_cast<double>(streamed.report.memory.forecast->solve.device);
      const double measured = static_cast<double>(std::max(streamed.peak, streamed.of_analysis));
      if (streamed.peak > streamed.of_analysis)
        CHECK(std::abs(forecast - measured) <= 0.1 * measured + 65536);
      const std::string& why = streamed.report.choice.why;
      CHECK(why.find("host memory in " + std::to_string(streamed.parts) + " part") != why.npos);
      CHECK(streamed.parts > 1);
      ++sufficient;
    } catch (const OutOfMemoryError& error) {
      const std::string text = error.what();
      INFO(text);
      CHECK(error.needed_bytes() > 0);
      break;
    }
  }
  return sufficient;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("streamed factors of LU are those of the whole tree, bit by bit", "[solver]",
                        AllTypes) {
  for (const Pivoting pivoting : {Pivoting::static_perturbed, Pivoting::threshold}) {
    LuOptions options;
    options.engine = Engine::multifrontal;
    options.pivoting = pivoting;
    for (const std::string kind : {"convdiff3d", "poisson2d", "circuit"}) {
      INFO(kind);
      const auto A = generated<TestType>(kind, kind == "convdiff3d" ? 12 : kind == "circuit" ? 2000 : 50);
      options.factor_storage = FactorStorage::resident;
      const auto resident = run<Solver<TestType>>(A, options);
      options.factor_storage = FactorStorage::streamed;
      const auto streamed = run<Solver<TestType>>(A, options);
      check_same_results<typename TestType::Space>(streamed, resident);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("streamed factors of LU fit into limits down to the largest front", "[solver]",
                        AllTypes) {
  LuOptions options;
  options.engine = Engine::multifrontal;
  CHECK(check_limits<Solver<TestType>>(generated<TestType>("poisson3d", 12), options) >= 3);
  options.pivoting = Pivoting::threshold;
  CHECK(check_limits<Solver<TestType>>(generated<TestType>("convdiff3d", 11), options) >= 2);
}

TEMPLATE_LIST_TEST_CASE("streamed factors of LDLᵀ and Cholesky are those of pivots in place", "[solver]",
                        AllTypes) {
  using Ldlt = SparseLDLT<typename TestType::Scalar, typename TestType::Space>;
  LdltOptions options;
  options.in_place_first = true;
  for (const bool positive_definite : {false, true}) {
    options.positive_definite = positive_definite;
    CHECK(check_limits<Ldlt>(generated<TestType>("poisson3d", 12), options) >= 2);
  }
  options.positive_definite = false;
  auto indefinite = generated<TestType>("poisson3d", 12);
  for (std::size_t i = 0; i < static_cast<std::size_t>(indefinite.n_rows); ++i)
    for (auto e = indefinite.row_map[i]; e < indefinite.row_map[i + 1]; ++e)
      if (static_cast<std::size_t>(indefinite.entries[static_cast<std::size_t>(e)]) == i && i % 3 == 0)
        indefinite.values[static_cast<std::size_t>(e)] = as_scalar<typename TestType::Scalar>(-6.5);
  CHECK(check_limits<Ldlt>(indefinite, options) >= 2);
}

TEMPLATE_LIST_TEST_CASE("LDLᵀ whose pivots in place fail has resident factors, and says so", "[solver]",
                        AllTypes) {
  const auto A = generated<TestType>("kkt", 400);
  LdltOptions options;
  options.factor_storage = FactorStorage::streamed;
  SparseLDLT<typename TestType::Scalar, typename TestType::Space> solver(options);
  succeed(solver.analyze(to_space<typename TestType::Space>(A)));
  succeed(solver.factorize(to_space<typename TestType::Space>(A)));
  const auto system = known_system(A);
  const auto x = to_space<typename TestType::Space>(system.b);
  CHECK(solver.solve(to_space<typename TestType::Space>(system.b), x) == Status::success);
  const Report& report = solver.report();
  const bool failed = report.pivots.attempt == "delays";
  const bool streamed = report.memory.moved_by_factorization.has_value();
  CHECK(streamed != failed);
  const auto says = [](const std::string& event) { return event.find("not streamed") != std::string::npos; };
  CHECK(std::ranges::any_of(report.escalations, says) ==
        (failed && report.choice.why.find("streamed") != std::string::npos));
}

TEMPLATE_LIST_TEST_CASE("LDLᵀ is streamed again after values whose delayed pivots did not fit", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = generated<TestType>("poisson2d", 30);
  auto indefinite = A;  // zeros on the diagonal
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
         ++e) {
      const std::size_t j = static_cast<std::size_t>(A.entries[e]);
      indefinite.values[e] =
          as_scalar<Scalar>(i == j ? 0.0 : static_cast<double>((i + j) * 7919 % 101) - 50.5);
    }
  LdltOptions options;
  options.in_place_first = true;
  options.factor_storage = FactorStorage::streamed;
  const auto solve = [&](SparseLDLT<Scalar, Space>& solver) {
    const auto system = known_system(A);
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::success);
    return x;
  };
  const MemoryBudget all;
  SparseLDLT<Scalar, Space> unlimited(options, Space(), all);
  succeed(unlimited.analyze(A));
  succeed(unlimited.factorize(A));
  solve(unlimited);
  options.memory_limit = all.peak_bytes();
  SparseLDLT<Scalar, Space> solver(options, Space(), MemoryBudget(options.memory_limit));
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto x = solve(solver);
  CHECK_THROWS_AS(static_cast<void>(solver.factorize(indefinite)), OutOfMemoryError);
  succeed(solver.factorize(A));
  CHECK(solver.report().pivots.attempt == "diagonal");
  CHECK((solve(solver) == x));
}

TEMPLATE_LIST_TEST_CASE("a limit below the largest front with its children is refused with the need",
                        "[solver]", AllTypes) {
  const auto A = to_space<typename TestType::Space>(generated<TestType>("poisson3d", 14));
  LuOptions options;
  options.factor_storage = FactorStorage::streamed;
  Solver<TestType> unlimited(options);
  succeed(unlimited.analyze(A));
  options.memory_limit = unlimited.forecast()->factorization.device / 4;
  Solver<TestType> limited(options);
  std::size_t needed = 0;
  try {
    static_cast<void>(limited.analyze(A));
    FAIL("an analysis within too little memory");
  } catch (const OutOfMemoryError& error) {
    INFO(error.what());
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("the largest front with the blocks of its"));
    needed = error.needed_bytes();
  }
  CHECK(needed > options.memory_limit);
  // what the message names suffices, with a little for lists that depend on the parts
  options.memory_limit = needed + needed / 10;
  Solver<TestType> enough(options);
  succeed(enough.analyze(A));
  succeed(enough.factorize(A));
  const auto system = known_system(generated<TestType>("poisson3d", 14));
  const auto x = to_space<typename TestType::Space>(system.b);
  CHECK(enough.solve(to_space<typename TestType::Space>(system.b), x) == Status::success);
}

TEMPLATE_LIST_TEST_CASE("options that streamed factors cannot have are refused", "[solver]", AllTypes) {
  using Space = typename TestType::Space;
  LuOptions lu;
  lu.factor_storage = FactorStorage::streamed;
  CHECK_NOTHROW(check_options(lu));
  const auto refused = [](LuOptions options, const auto& set) {
    set(options);
    CHECK_THROWS_AS(check_options(options), InputError);
  };
  refused(lu, [](LuOptions& o) { o.engine = Engine::simplicial; });
  refused(lu, [](LuOptions& o) { o.trisolve = TrisolveMethod::levels; });
  refused(lu, [](LuOptions& o) { o.solve_precision = FactorPrecision::single; });
  LdltOptions ldlt;
  ldlt.factor_storage = FactorStorage::streamed;
  CHECK_NOTHROW(check_options(ldlt));
  ldlt.in_place_first = false;
  CHECK_THROWS_AS(check_options(ldlt), InputError);
  ldlt.in_place_first.reset();
  ldlt.pivoting = Pivoting::static_perturbed;
  CHECK_THROWS_AS(check_options(ldlt), InputError);
  // on hosts, a limit alone does not stream: it is one of the memory where streamed factors would be
  if constexpr (std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>) {
    const auto A = to_space<Space>(generated<TestType>("poisson3d", 10));
    Solver<TestType> solver{LuOptions()};
    succeed(solver.analyze(A));
    LuOptions limited;
    limited.memory_limit = solver.forecast()->factorization.device * 9 / 10;
    Solver<TestType> second(limited);
    succeed(second.analyze(A));
    CHECK(second.report().choice.why.find("streamed") == std::string::npos);
  }
}

}  // namespace lutra::Test

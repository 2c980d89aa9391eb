// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_Generated.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_Predict.hpp"
#include "Lutra_SchurComplement.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestBits.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// A stop is asked for at the first query of a call of a solver, at the second, and so on. After each the
// status is `cancelled`, the solver has what it had before or says that it has nothing, and works on.

namespace lutra::Test {
namespace {

using Type = std::tuple_element_t<0, HostTypes>;
using Scalar = Type::Scalar;
using Space = Type::Space;
using Numbers = std::vector<Scalar>;

template <class Solver>
using OptionsOf = std::decay_t<decltype(std::declval<const Solver&>().options())>;

/// Counts queries, and is raised from one of them on.
class CountingFlag : public StopFlag {
 public:
  bool is_raised() const noexcept override { return ++m_queries >= m_first; }
  void start(long first = std::numeric_limits<long>::max()) {
    m_queries = 0;
    m_first = first;
  }
  long queries() const { return m_queries; }

 private:
  mutable std::atomic<long> m_queries = 0;
  std::atomic<long> m_first = std::numeric_limits<long>::max();
};

/// A solver and its calls.
/// @tparam Solver of the library, or with its calls
template <class Solver>
class StoppedCase {
 public:
  explicit StoppedCase(OptionsOf<Solver> options) : solver(with_flag(std::move(options))) {}

  void cycle(const Matrix<Type>& A) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
  }
  Status solve(Numbers& x, Transposition op) {
    const Numbers b(x.size(), Scalar(1));
    if constexpr (requires { solver.apply_host(b, x, op); }) {
      try {
        solver.apply_host(b, x, op);
      } catch (const CancelledError&) {
        return Status::cancelled;
      }
      return Status::success;
    } else {
      return solver.solve_host(b, x, op);
    }
  }
  /// Solutions with A and its transpose; nothing where the solver says that it has no factors.
  std::optional<Numbers> answer(std::size_t n) {
    Numbers result, x(n, Scalar(0));
    try {
      for (const auto op : {Transposition::none, Transposition::transposed}) {
        const Status status = solve(x, op);
        REQUIRE(status != Status::cancelled);
        result.insert(result.end(), x.begin(), x.end());
      }
    } catch (const CallOrderError&) {
      return std::nullopt;
    }
    return result;
  }

  std::shared_ptr<CountingFlag> flag = std::make_shared<CountingFlag>();
  Solver solver;

 private:
  OptionsOf<Solver> with_flag(OptionsOf<Solver> options) const {
    options.stop = flag;
    return options;
  }
};

/// Matrices of one pattern with different values, and one of another pattern.
struct Matrices {
  Matrix<Type> A, other_values, other_pattern;
};

Matrix<Type> times(Matrix<Type> A, double factor) {
  for (std::size_t p = 0; p < A.values.size(); ++p)
    A.values[p] *= factor * (1 + 0.001 * static_cast<double>(p % 3));
  return A;
}
/// Symmetric positive definite.
Matrices definite(int size) {
  const auto A = generated<Type>("poisson2d", size);
  auto values = A;
  for (Ordinal i = 0; i < A.n_rows; ++i)
    for (auto p = A.row_map[static_cast<std::size_t>(i)]; p < A.row_map[static_cast<std::size_t>(i) + 1]; ++p)
      if (A.entries[static_cast<std::size_t>(p)] == i) values.values[static_cast<std::size_t>(p)] += 1;
  return {A, values, generated<Type>("poisson2d", size + 1)};
}
Matrices unsymmetric(int size) {
  const auto A = generated<Type>("circuit", size);
  return {A, times(A, 1.5), generated<Type>("circuit", size + 7)};
}
Matrices indefinite(int size) {
  const auto A = generated<Type>("kkt", size);
  auto values = A;
  for (auto& value : values.values) value *= 1.25;
  return {A, values, generated<Type>("kkt", size + 8)};
}

enum class Call { analyze, factorize, solve, solve_transposed };

std::string name_of(Call call) {
  constexpr const char* names[] = {"analyze", "factorize", "solve", "solve transposed"};
  return names[static_cast<int>(call)];
}

template <class Solver>
Status make_call(StoppedCase<Solver>& test, Call call, const Matrices& given) {
  Numbers x(static_cast<std::size_t>(given.A.n_rows), Scalar(0));
  switch (call) {
    case Call::analyze:
      return test.solver.analyze(given.other_pattern);
    case Call::factorize:
      return test.solver.factorize(given.other_values);
    default:
      return test.solve(x, call == Call::solve ? Transposition::none : Transposition::transposed);
  }
}

/// @param step every how many-th query is tested
template <class Solver>
void check_stops(const OptionsOf<Solver>& options, const Matrices& given, long step = 1) {
  const auto n = static_cast<std::size_t>(given.A.n_rows);
  const auto same = [by_bits = repeats_bits<Space>(options)](const auto& a, const auto& b) {
    return agree(a, b, by_bits);
  };
  const auto fresh = [&](const Matrix<Type>& A) {
    auto test = std::make_unique<StoppedCase<Solver>>(options);
    test->cycle(A);
    return test;
  };
  const auto answer_to = [&](const Matrix<Type>& A) {
    return fresh(A)->answer(static_cast<std::size_t>(A.n_rows));
  };
  const auto former = answer_to(given.A), expected = answer_to(given.other_pattern);
  const auto again = fresh(given.A);
  succeed(again->solver.factorize(given.other_values));
  const auto renewed = again->answer(n);
  again->cycle(given.other_values);
  const auto anew = again->answer(n);  // other than `renewed` where sweeps start from former factors
  for (const Call call : {Call::analyze, Call::factorize, Call::solve, Call::solve_transposed}) {
    const auto count = fresh(given.A);
    count->flag->start();
    static_cast<void>(make_call(*count, call, given));
    const long queries = count->flag->queries();
    CHECK(queries > 0);
    for (long query = 1; query <= queries; query += step) {
      INFO(name_of(call) << ", query " << query << " of " << queries);
      const auto test = fresh(given.A);
      const auto report = to_json(ReportRecord{.report = test->solver.report()});
      test->flag->start(query);
      const Status status = make_call(*test, call, given);
      if (test->flag->queries() < query) continue;  // threads that wait for others ask as long as they wait
      REQUIRE(status == Status::cancelled);
      test->flag->start();
      const auto answer = test->answer(n);
      if (call == Call::factorize) {
        REQUIRE((!answer || same(answer, former)));
        if (!answer) REQUIRE(test->solver.report().status == Status::cancelled);
        succeed(test->solver.factorize(given.other_values));
        const auto repeated = test->answer(n);
        REQUIRE((same(repeated, renewed) || same(repeated, anew)));
      } else {
        REQUIRE(same(answer, former));  // nothing has changed
      }
      test->cycle(given.other_pattern);
      REQUIRE(same(test->answer(static_cast<std::size_t>(given.other_pattern.n_rows)), expected));
    }
  }
}

LuOptions lu(Engine engine, Pivoting pivoting = Pivoting::automatic) {
  LuOptions options;
  options.engine = engine;
  options.pivoting = pivoting;
  return options;
}
SparseIluOptions ilu(IluMethod method) {
  SparseIluOptions options;
  options.method = method;
  options.fill_level = 1;
  options.deterministic = true;
  return options;
}

}  // namespace

TEST_CASE("stops at every query of LU", "[cancel]") {
  const auto small = unsymmetric(30);
  check_stops<SparseLU<Scalar, Space>>(lu(Engine::simplicial), small);
  check_stops<SparseLU<Scalar, Space>>(lu(Engine::multifrontal), small);
  check_stops<SparseLU<Scalar, Space>>(lu(Engine::multifrontal, Pivoting::threshold), small);
  auto options = lu(Engine::simplicial);
  options.columns.supernodes = ColumnSupernodes::on;
  options.symbolic = SymbolicMethod::fill2;
  options.matching = Matching::auction;
  check_stops<SparseLU<Scalar, Space>>(options, small);
  options = lu(Engine::simplicial);
  for (const auto method : {SymbolicMethod::etree, SymbolicMethod::ancestors}) {
    options.symbolic = method;
    check_stops<SparseLU<Scalar, Space>>(options, small);
  }
}

TEST_CASE("stops at every query of LDLT and Cholesky", "[cancel]") {
  LdltOptions options;
  check_stops<SparseLDLT<Scalar, Space>>(options, indefinite(30));
  options.in_place_first = true;
  check_stops<SparseLDLT<Scalar, Space>>(options, indefinite(30));
  options = {};
  options.pair_ordering = true;
  options.estimate_condition = true;
  check_stops<SparseLDLT<Scalar, Space>>(options, indefinite(30));
  options = {};
  options.positive_definite = true;
  check_stops<SparseLDLT<Scalar, Space>>(options, definite(6));
}

TEST_CASE("stops at every query of incomplete factors", "[cancel]") {
  for (const auto method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut})
    check_stops<SparseILU<Scalar, Space>>(ilu(method), definite(6));
  auto options = ilu(IluMethod::iluk);
  options.apply = IluApply::jacobi;
  check_stops<SparseILU<Scalar, Space>>(options, definite(6));
}

TEST_CASE("stops at every query of Krylov methods", "[cancel]") {
  KrylovSolverOptions options;
  for (const auto method : {KrylovMethod::gmres, KrylovMethod::bicgstab, KrylovMethod::cg}) {
    options.method = method;
    for (const auto preconditioning : {Preconditioning::none, Preconditioning::ilu, Preconditioning::lu}) {
      options.preconditioning = preconditioning;
      check_stops<KrylovSolver<Scalar, Space>>(options, definite(6));
    }
  }
}

TEST_CASE("stops at every query of a solver that chooses its method", "[cancel]") {
  check_stops<lutra::Solver<Scalar, Space>>({}, definite(6));
  check_stops<lutra::Solver<Scalar, Space>>({}, indefinite(30));
  check_stops<lutra::Solver<Scalar, Space>>({}, unsymmetric(30));
}

TEST_CASE("solves on a large front are stopped within it", "[cancel]") {
  constexpr std::size_t n = 300;  // rows of the front, which all host threads share
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, 1));
  for (std::size_t i = 0; i < n; ++i) picture[i][i] = 2.0 * n + static_cast<double>(i);
  StoppedCase<SparseLU<Scalar, Space>> test(lu(Engine::multifrontal));
  test.cycle(from_dense<Matrix<Type>>(picture));
  const auto former = test.answer(n);
  Numbers x(n);
  test.flag->start();
  succeed(test.solve(x, Transposition::none));
  const long queries = test.flag->queries();
  CHECK(queries > static_cast<long>(2 * n / 16));  // one after each block of 16 pivots, up and down
  for (long query = 1; query <= queries; query += 7) {
    INFO("query " << query << " of " << queries);
    test.flag->start(query);
    REQUIRE(test.solve(x, Transposition::none) == Status::cancelled);
    test.flag->start();
    REQUIRE(test.answer(n) == former);
  }
}

TEST_CASE("stops in dissection and in searches of larger graphs", "[cancel]") {
  LuOptions options = lu(Engine::multifrontal);
  options.ordering = Ordering::nd;
  check_stops<SparseLU<Scalar, Space>>(options, definite(40), 97);
  options.ordering = Ordering::amd;
  check_stops<SparseLU<Scalar, Space>>(options, definite(40), 193);
}

TEST_CASE("a Cholesky factorization that gives way to LDLT is stopped without factors", "[cancel]") {
  const auto A = generated<Type>("poisson2d", 6);
  auto indefinite = A;
  indefinite.values[0] = -4;
  const auto flag = std::make_shared<CountingFlag>();
  SolverOptions options;
  options.stop = flag;
  DeviceModel model = host_device_model();  // by which the symmetric methods take half of LU's time
  model.symmetric.cholesky = model.symmetric.ldlt = model.symmetric.ldlt_zero_diagonals = 0.5;
  model.numeric.min_flops_per_entry = 0;
  options.device_model = model;
  const auto analyzed = [&] {
    flag->start();
    lutra::Solver<Scalar, Space> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    return solver;
  };
  auto complete = analyzed();
  REQUIRE(complete.method() == Method::cholesky);
  flag->start();
  succeed(complete.factorize(indefinite));
  REQUIRE(complete.method() == Method::ldlt);
  const long queries = flag->queries();
  for (long query = 1; query <= queries; ++query) {
    INFO("query " << query << " of " << queries);
    auto solver = analyzed();
    flag->start(query);
    REQUIRE(solver.factorize(indefinite) == Status::cancelled);
    flag->start();
    Numbers b(36, 1), x(36);
    succeed(solver.factorize(indefinite));
    succeed(solver.solve_host(b, x));
    CHECK(solver.method() == Method::ldlt);
  }
}

TEST_CASE("stops at every query of a Schur complement", "[cancel]") {
  const auto A = generated<Type>("circuit", 30);
  const auto on_device = to_space<Space>(A);
  const auto flag = std::make_shared<CountingFlag>();
  LuOptions options;
  options.stop = flag;
  using Schur = SchurComplement<SparseLU, Scalar, Space>;
  const auto matrix_of = [&](Schur& schur) {
    flag->start();
    succeed(schur.analyze(on_device, {2, 5}));
    succeed(schur.factorize(on_device));
    const auto S = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), schur.matrix());
    return Numbers{S(0, 0), S(1, 0), S(0, 1), S(1, 1)};
  };
  Schur fresh{SparseLU<Scalar, Space>(options)};
  const auto expected = matrix_of(fresh);
  flag->start();
  static_cast<void>(fresh.analyze(on_device, {2, 5}));
  const long of_analysis = flag->queries();
  static_cast<void>(fresh.factorize(on_device));
  const long all = flag->queries();
  for (long query = 1; query <= all; ++query) {
    INFO("query " << query << " of " << all);
    Schur schur{SparseLU<Scalar, Space>(options)};
    flag->start(query);
    Status status = schur.analyze(on_device, {2, 5});
    CHECK((status == Status::cancelled) == (query <= of_analysis));
    if (status == Status::success) status = schur.factorize(on_device);
    REQUIRE(status == Status::cancelled);
    REQUIRE(matrix_of(schur) == expected);
  }
}

TEST_CASE("a deadline ends calls, and is per call", "[cancel]") {
  const auto A = generated<Type>("poisson3d", 12);
  LuOptions options;
  options.deadline = 1e-9;
  SparseLU<Scalar, Space> solver(options);
  CHECK(solver.analyze(A) == Status::cancelled);
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  solver.run_control().set_deadline(1000);
  for (int call = 0; call < 3; ++call) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
  }
  solver.run_control().set_deadline(1e-9);
  CHECK(solver.factorize(A) == Status::cancelled);
  solver.run_control().set_deadline(0);
  succeed(solver.factorize(A));
  CHECK_THROWS_AS((SparseLU<Scalar, Space>([] {
                    LuOptions negative;
                    negative.deadline = -1;
                    return negative;
                  }())),
                  InputError);
}

TEST_CASE("an observer is told stages in order with shares, and stops the call", "[cancel]") {
  const auto A =
      generated<Type>("poisson3d", 34);  // whose factorization takes longer than the observer waits
  std::vector<std::string> stages;
  double last = 0;
  bool goes_on = true, in_range = true;
  Observers observers;
  observers.progress = [&](const Progress& now) {
    if (stages.empty() || stages.back() != now.stage) stages.emplace_back(now.stage);
    in_range = in_range && now.share >= 0 && now.share <= 1 && now.seconds >= last;
    last = now.seconds;
    return goes_on;
  };
  LuOptions options;
  options.observers = std::make_shared<const Observers>(observers);
  SparseLU<Scalar, Space> solver(options);
  succeed(solver.analyze(A));
  last = 0;
  succeed(solver.factorize(A));
  CHECK(in_range);
  REQUIRE(!stages.empty());
  CHECK(std::find(stages.begin(), stages.end(), "numeric") != stages.end());
  goes_on = false;
  last = 0;
  CHECK(solver.factorize(A) == Status::cancelled);
}

TEST_CASE("numeric objects on one analysis are stopped one by one", "[cancel]") {
  const auto A = generated<Type>("poisson2d", 9);
  SparseLU<Scalar, Space> solver;
  succeed(solver.analyze(A));
  LuOptions options;
  options.stop = std::make_shared<StopFlag>();
  SparseLU<Scalar, Space>::numeric_type stopped(solver.analysis(), options), free(solver.analysis());
  options.stop->raise();
  const auto values = to_space<Space>(A);
  CHECK(stopped.factorize(values) == Status::cancelled);
  succeed(free.factorize(values));
  succeed(solver.factorize(A));
  options.stop->clear();
  succeed(stopped.factorize(values));
}

TEST_CASE("a prediction is stopped at each of its queries", "[cancel]") {
  const auto A = generated<Type>("poisson2d", 40);
  const auto flag = std::make_shared<CountingFlag>();
  PredictOptions options;
  options.lu.stop = flag;
  options.ranks = 64;
  flag->start();
  const std::size_t grids = predict_solves(make_view(A), options).grids.size();
  REQUIRE(grids == 7);
  const long queries = flag->queries();
  CHECK(queries > 28);  // one at least for each simulation
  for (long query = 1; query <= queries; query += 1 + query / 8) {
    flag->start(query);
    const Prediction stopped = predict_solves(make_view(A), options);
    CHECK(stopped.report.status == Status::cancelled);
    CHECK(stopped.grids.empty());
  }
  flag->start();
  CHECK(predict_solves(make_view(A), options).grids.size() == grids);
}

}  // namespace lutra::Test

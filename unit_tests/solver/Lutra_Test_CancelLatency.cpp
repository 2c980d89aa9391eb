// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_Generated.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Another thread raises the stop flag at some time of a call. The call answers within 0.1 s on an idle
// machine; the test allows for a busy one.

namespace lutra::Test {
namespace {

using Type = std::tuple_element_t<0, HostTypes>;
using Scalar = Type::Scalar;
using Space = Type::Space;
using Clock = std::chrono::steady_clock;

template <class Solver>
using OptionsOf = std::decay_t<decltype(std::declval<const Solver&>().options())>;

constexpr double allowed = 0.3;  // seconds

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds from a raised flag to the answer of call(), which returns a Status, the flag being raised after
/// `delay` seconds; 0 if the call was faster.
template <class Call>
double latency(StopFlag& flag, double delay, const Call& call) {
  flag.clear();
  std::atomic<Clock::time_point::rep> raised{0};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    raised = Clock::now().time_since_epoch().count();
    flag.raise();
  });
  const Status status = call();
  const auto answered = Clock::now();
  other.join();
  flag.clear();
  const Clock::time_point began{Clock::duration(raised.load())};
  return status == Status::cancelled ? std::chrono::duration<double>(answered - began).count() : 0.0;
}

/// Raises the flag at several times of a call, and prints the slowest answer.
template <class Call>
void check_latency(const std::string& what, StopFlag& flag, const Call& call) {
  constexpr int samples = 5;
  flag.clear();
  const auto begin = Clock::now();
  succeed(call());
  const double all = seconds_since(begin);
  double worst = 0;
  for (int k = 0; k < samples; ++k)  // fractions of the golden ratio are spread evenly
    worst = std::max(worst,
                     latency(flag, all * (0.618034 * (k + 1) - static_cast<int>(0.618034 * (k + 1))), call));
  std::printf("%-44s %6.3f s, stopped within %.3f s\n", what.c_str(), all, worst);
  CHECK(worst <= allowed);
}

template <class Solver>
void check_solver(const std::string& what, OptionsOf<Solver> options, const Matrix<Type>& A) {
  options.stop = std::make_shared<StopFlag>();
  Solver solver(options);
  check_latency(what + ": analyze", *options.stop, [&] { return solver.analyze(A); });
  check_latency(what + ": factorize", *options.stop, [&] { return solver.factorize(A); });
  if constexpr (requires(std::vector<Scalar> x) { solver.solve_host(x, x); }) {
    succeed(solver.factorize(A));
    const std::vector<Scalar> b(static_cast<std::size_t>(A.n_rows) * 8, Scalar(1));
    std::vector<Scalar> x(b.size());
    check_latency(what + ": solve 8", *options.stop, [&] { return solver.solve_host(b, x); });
  }
}

/// A dense symmetric matrix, one front: with a small diagonal its pivots are paired or interchanged.
Matrix<Type> dense(int n, double diagonal) {
  Matrix<Type> A;
  A.n_rows = A.n_cols = static_cast<Type::Ordinal>(n);
  A.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const auto low = static_cast<std::uint32_t>(std::min(i, j)),
                 high = static_cast<std::uint32_t>(std::max(i, j));
      const double value = static_cast<double>((low * 7919U + high * 104729U) % 2003U) / 1001.0 - 1;
      A.entries.push_back(static_cast<Type::Ordinal>(j));
      A.values.push_back(i == j ? diagonal : value);
    }
    A.row_map.push_back(static_cast<Type::Offset>(A.entries.size()));
  }
  return A;
}

LuOptions lu(Ordering ordering, Engine engine) {
  LuOptions options;
  options.ordering = ordering;
  options.engine = engine;
  return options;
}

void check_lu(int side) {
  const auto A = generated<Type>("poisson3d", side), smaller = generated<Type>("poisson3d", side / 2);
  check_solver<SparseLU<Scalar, Space>>("LU, nd, fronts", lu(Ordering::nd, Engine::multifrontal), A);
  check_solver<SparseLU<Scalar, Space>>("LU, amd, fronts", lu(Ordering::amd, Engine::multifrontal), A);
  check_solver<SparseLU<Scalar, Space>>("LU, amd, rows", lu(Ordering::amd, Engine::simplicial), smaller);
  auto supernodes = lu(Ordering::nd, Engine::simplicial);
  supernodes.columns.supernodes = ColumnSupernodes::on;
  check_solver<SparseLU<Scalar, Space>>("LU, nd, supernodes", supernodes, smaller);
}

void check_ldlt(int kkt_rows) {
  check_solver<SparseLDLT<Scalar, Space>>("LDLT, kkt with delays", LdltOptions(),
                                          generated<Type>("kkt", kkt_rows));
}

void check_dense(int n) {
  LdltOptions options;
  options.front_pivoting = FrontPivoting::columns;
  const auto A = dense(n, 1e-3);
  check_solver<SparseLDLT<Scalar, Space>>("LDLT, dense, columns", options, A);
  options.front_pivoting = FrontPivoting::blocks;
  check_solver<SparseLDLT<Scalar, Space>>("LDLT, dense, blocks", options, A);
  check_solver<SparseLU<Scalar, Space>>("LU, dense", lu(Ordering::natural, Engine::multifrontal),
                                        dense(n, n));
}

void check_iterative(int side) {
  const auto A = generated<Type>("poisson3d", side);
  SparseIluOptions ilu;
  ilu.method = IluMethod::iluk;
  ilu.fill_level = 3;
  check_solver<SparseILU<Scalar, Space>>("ILU(3)", ilu, A);
  ilu.method = IluMethod::parilut;
  ilu.fill_level = 0;
  check_solver<SparseILU<Scalar, Space>>("ParILUT", ilu, A);
  KrylovSolverOptions krylov;
  krylov.preconditioning = Preconditioning::jacobi;
  krylov.method = KrylovMethod::cg;
  check_solver<KrylovSolver<Scalar, Space>>("CG", krylov, A);
}

}  // namespace

TEST_CASE("stops are answered at once", "[cancel][latency]") {
  check_lu(20);
  check_ldlt(6000);
  check_dense(700);
  check_iterative(24);
}

TEST_CASE("stops are answered at once, large matrices", "[.large]") {
  check_lu(40);
  check_ldlt(40000);
  check_dense(2000);
  check_iterative(60);
}

}  // namespace lutra::Test

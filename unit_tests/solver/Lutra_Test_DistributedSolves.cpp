// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_GridRows.hpp"
#include "Lutra_HaloOperator.hpp"
#include "Lutra_TestStatus.hpp"

using namespace lutra;
using lutra::Test::grid_rows;
using lutra::Test::multiply;
using lutra::Test::succeed;

TEST_CASE("residuals of distributed rows need a halo of X", "[distributed]") {
  Communicator comm;
  const auto A = grid_rows<double>(9, comm.rank(), comm.size());
  const auto n = static_cast<std::size_t>(A.n), mine = A.rows.size(), k = std::size_t(3);
  std::vector<double> whole(n * n, 0.0);  // by columns
  const DistributedRows<double> all = grid_rows<double>(9, 0, 1);
  for (std::size_t i = 0; i < n; ++i)
    for (auto e = static_cast<std::size_t>(all.row_map[i]); e < static_cast<std::size_t>(all.row_map[i + 1]);
         ++e)
      whole[static_cast<std::size_t>(all.columns[e]) * n + static_cast<std::size_t>(all.rows[i])] =
          all.values[e];
  using Host = Kokkos::DefaultHostExecutionSpace;
  lutra::Impl::RankRows<double> rows(comm);
  rows.set_rows(A);
  lutra::Impl::ViewChannel<Host> channel(comm);
  lutra::Impl::DistributedOperator<double, Host> op(channel, rows);
  for (const double scale : {1.0, 3.0}) {
    if (scale != 1.0) {
      std::vector<double> values(A.values);
      for (double& value : values) value *= scale;
      rows.set_values(values);
      op.update_values();
    }
    for (const Transposition which : {Transposition::none, Transposition::transposed}) {
      std::vector<double> B(mine * k), X(mine * k), R;
      const auto b = [](std::size_t i, std::size_t c) { return static_cast<double>(i % 7 + c); };
      const auto x = [](std::size_t i, std::size_t c) {
        return static_cast<double>(i % 5) - static_cast<double>(c);
      };
      for (std::size_t e = 0; e < B.size(); ++e) {
        B[e] = b(static_cast<std::size_t>(A.rows[e % mine]), e / mine);
        X[e] = x(static_cast<std::size_t>(A.rows[e % mine]), e / mine);
      }
      SolveWorkspace<double, Host> work(Host(), mine, k, MemoryBudget());
      for (std::size_t e = 0; e < B.size(); ++e) {
        work.B(e % mine, e / mine) = B[e];
        work.X(e % mine, e / mine) = X[e];
      }
      const BackwardErrors errors = work.compute_errors(Host(), op.get(which));
      for (std::size_t e = 0; e < B.size(); ++e) R.push_back(work.R(e % mine, e / mine));
      std::vector<double> worst(k, 0.0);
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < n; ++i) {
          double r = b(i, c), size = std::abs(r);
          for (std::size_t j = 0; j < n; ++j) {
            const double a = scale * (which == Transposition::none ? whole[j * n + i] : whole[i * n + j]);
            r -= a * x(j, c);
            size += std::abs(a * x(j, c));
          }
          if (size > 0) worst[c] = std::max(worst[c], std::abs(r) / size);
          for (std::size_t own = 0; own < mine; ++own)
            if (A.rows[own] == static_cast<std::int64_t>(i))
              CHECK(std::abs(R[c * mine + own] - r) <= 1e-13 * size);
        }
      for (std::size_t c = 0; c < k; ++c) CHECK(std::abs(errors.componentwise[c] - worst[c]) <= 1e-13);
    }
  }
  comm.close();
}

TEST_CASE("GMRES follows on ranks where refinement stalls", "[distributed]") {
  Communicator comm;
  const auto A = grid_rows<double>(21, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.error_tolerance = 1e-19;  // out of reach
  DistributedLU<double> solver(comm, options);
  succeed(solver.factorize(A));
  const std::size_t mine = A.rows.size(), k = 2;
  const auto B = multiply(A, k);
  std::vector<double> X(mine * k);
  for (const Transposition op : {Transposition::none, Transposition::transposed}) {
    CHECK(solver.solve(B, X, k, op) == Status::error_above_tolerance);
    if (comm.rank() == 0 || comm.size() > 1) {
      REQUIRE(solver.report().escalations.size() == 1);
      CHECK(solver.report().escalations[0].find("refinement stalled") == 0);
    }
    CHECK(*solver.report().errors.backward_componentwise <= 1e-15);
    if (op != Transposition::none) continue;
    for (std::size_t e = 0; e < X.size(); ++e)
      CHECK(std::abs(X[e] - static_cast<double>(1 + A.rows[e % mine] % 5 + static_cast<int>(e / mine))) <
            1e-11);
  }
  solver.close();
  comm.close();
}

TEST_CASE("ranks do not take a matrix for regular that one process finds singular", "[distributed]") {
  Communicator comm;
  const auto solve = [&](std::int64_t n, double below, ProcessGrid grid = {0, 0}) {
    DistributedRows<double> A;  // a triangle of ones, and `below` beyond the diagonal: no pivot is small
    A.n = n;
    A.row_map.push_back(0);
    for (std::int64_t row = comm.rank(); row < n; row += comm.size()) {
      for (std::int64_t column = row; column < n; ++column) {
        A.columns.push_back(column);
        A.values.push_back(
            column == row ? 1 : below * (1 + 0.02 * static_cast<double>((7 * row + 13 * column) % 11)));
      }
      A.rows.push_back(row);
      A.row_map.push_back(static_cast<std::int64_t>(A.columns.size()));
    }
    LuOptions options;
    options.engine = Engine::multifrontal;
    DistributedOptions distribution;
    distribution.grid = grid;
    DistributedLU<double> solver(comm, options, distribution);
    Status status = solver.factorize(A);
    const auto B = multiply(A, 1);
    std::vector<double> X(B.size());
    if (status == Status::success) status = solver.solve(B, X);
    const bool alone =
        comm.size() > 1 && solver.report().choice.why.find("ill-conditioned") != std::string::npos;
    solver.close();
    return std::pair(status, alone);
  };
  for (const ProcessGrid grid : {ProcessGrid{0, 0}, ProcessGrid{1, comm.size()}}) {
    const auto [singular, alone] = solve(100, -0.8, grid);  // condition 1e27
    CHECK(singular == Status::numerically_singular);
    const auto [regular, also_alone] = solve(100, -0.001, grid);
    CHECK(regular == Status::success);
    if (comm.rank() == 0) CHECK(alone == (comm.size() > 1));
    if (comm.rank() == 0) CHECK(!also_alone);
  }
  comm.close();
}

TEST_CASE("one solver takes rows that are dealt anew", "[distributed]") {
  Communicator comm;
  DistributedLU<double> solver(comm);
  for (const int shift : {0, 1, 2}) {  // some ranks keep their number of rows
    const auto A = grid_rows<double>(7, (comm.rank() + shift) % comm.size(), comm.size());
    succeed(solver.factorize(A));
    const auto B = multiply(A, 1);
    std::vector<double> X(B.size());
    CHECK(solver.solve(B, X) == Status::success);
    for (std::size_t i = 0; i < X.size(); ++i)
      CHECK(std::abs(X[i] - static_cast<double>(1 + A.rows[i] % 5)) < 1e-11);
  }
  solver.close();
  comm.close();
}

TEST_CASE("ranks factorize new values of a known pattern", "[distributed]") {
  Communicator comm;
  const bool on_grid = GENERATE(false, true);
  LuOptions options;
  DistributedOptions distribution;
  if (on_grid) {  // rank 0 factorizes alone, and hands its factors over
    options.pivoting = Pivoting::threshold;
    distribution.grid = {comm.size(), 1};
  }
  DistributedLU<double> solver(comm, options, distribution);
  auto A = grid_rows<double>(8, comm.rank(), comm.size());
  CHECK_THROWS_AS(solver.refactorize(A.values), CallOrderError);
  succeed(solver.factorize(A));
  for (const double scale : {3.0, 0.25}) {
    for (double& value : A.values) value *= scale;
    succeed(solver.refactorize(A.values));
    const auto B = multiply(A, 1);
    std::vector<double> X(B.size());
    CHECK(solver.solve(B, X) == Status::success);
    for (std::size_t i = 0; i < X.size(); ++i)
      CHECK(std::abs(X[i] - static_cast<double>(1 + A.rows[i] % 5)) < 1e-11);
  }
  const std::vector<double> too_many(A.values.size() + 1, 1.0);
  CHECK_THROWS_AS(solver.refactorize(too_many), InputError);
  if (!A.values.empty()) A.values.back() = std::nan("");
  CHECK_THROWS_AS(solver.refactorize(A.values), InputError);
  solver.close();
  comm.close();
}

TEST_CASE("rows that are refused leave the matrix what it was", "[distributed]") {
  Communicator comm;
  const auto A = grid_rows<double>(7, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  DistributedLU<double> solver(comm, options);
  succeed(solver.factorize(A));
  auto other = grid_rows<double>(9, comm.rank(), comm.size());
  if (comm.rank() == comm.size() - 1) other.columns[0] = other.n;
  CHECK_THROWS_AS(solver.factorize(other), InputError);
  const Status again = solver.refactorize(A.values);
  const auto B = multiply(A, 1);
  std::vector<double> X(B.size());
  REQUIRE(again == Status::success);
  REQUIRE(solver.solve(B, X) == Status::success);
  for (std::size_t i = 0; i < X.size(); ++i)
    CHECK(std::abs(X[i] - static_cast<double>(1 + A.rows[i] % 5)) < 1e-11);
  solver.close();
  comm.close();
}

TEST_CASE("ranks that differ in a solve are told so", "[distributed]") {
  Communicator comm;
  if (comm.size() == 1) return;
  const auto A = grid_rows<double>(6, comm.rank(), comm.size());
  for (const Pivoting pivoting : {Pivoting::automatic, Pivoting::threshold}) {  // on fronts, and rank 0 alone
    LuOptions options;
    options.engine = Engine::multifrontal;
    options.pivoting = pivoting;
    DistributedLU<double> solver(comm, options);
    succeed(solver.factorize(A));
    const bool last = comm.rank() == comm.size() - 1;
    const std::size_t k = last ? 4 : 1;
    std::vector<double> X(A.rows.size() * k);
    CHECK_THROWS_WITH(solver.solve(multiply(A, k), X, k),
                      "solve: rank 0 has 1 right-hand sides of A, and rank " +
                          std::to_string(comm.size() - 1) + " has 4 right-hand sides of A");
    X.resize(A.rows.size());
    const Transposition op = last ? Transposition::transposed : Transposition::none;
    CHECK_THROWS_AS(solver.solve(multiply(A, 1), X, 1, op), InputError);
    CHECK(solver.solve(multiply(A, 1), X) == Status::success);  // goes on
    solver.close();
  }
  comm.close();
}

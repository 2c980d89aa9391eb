// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FirstRankSolver.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_PatternOnRanks.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_Upload.hpp"

// fill2 by all ranks for an analysis on rank 0.

namespace lutra::Test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;

LuOptions simplicial_fill2() {
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  return options;
}

/// Whether a part of a reason is in the report of rank 0.
bool says(const Report& report, const std::string& part) {
  return report.choice.why.find(part) != std::string::npos;
}

void check_same(const LuPattern<Kokkos::HostSpace>& found, const LuPattern<Kokkos::HostSpace>& expected) {
  CHECK(found.n == expected.n);
  CHECK(found.nnz_l == expected.nnz_l);
  CHECK(found.nnz_u == expected.nnz_u);
  CHECK(found.method == SymbolicMethod::fill2);
  CHECK(found.exact);
  CHECK(Impl::to_host(Host(), found.row_map) == Impl::to_host(Host(), expected.row_map));
  CHECK(Impl::to_host(Host(), found.diagonal) == Impl::to_host(Host(), expected.diagonal));
  CHECK(Impl::to_host(Host(), found.entries) == Impl::to_host(Host(), expected.entries));
}

std::int64_t sum_over_ranks(Communicator& comm, std::int64_t mine) {
  const auto all = comm.all_gather(mine);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

/// Lets rank 0 find patterns twice within one call.
template <class Searcher>
void check_patterns() {
  Communicator comm;
  Impl::PatternOnRanks<Searcher> ranks(comm, 0);
  CHECK_FALSE(ranks.statistics().sources);
  for (const auto& matrix :
       {generate("circuit", 400, 5), generate("convdiff3d", 6), HostMatrix<double>{1, 1, {0, 1}, {0}, {2.0}},
        HostMatrix<double>{0, 0, {0}, {}, {}}}) {
    const Pattern pattern = make_view(matrix).pattern();
    const auto expected =
        factorize_symbolic(Host(), pattern, MemoryBudget(), {.method = SymbolicMethod::fill1});
    int calls = 0;
    comm.agree("test", [&] {
      ranks.serve_during([&] {
        for (; calls < 2; ++calls) check_same(ranks.find(pattern, MemoryBudget()), expected);
      });
    });
    CHECK(calls == (comm.rank() == 0 ? 2 : 0));
    CHECK(sum_over_ranks(comm, *ranks.statistics().sources) == matrix.n_rows);
    CHECK(*ranks.statistics().sources <= (matrix.n_rows + comm.size() - 1) / comm.size());
    CHECK(*ranks.statistics().search_seconds >= 0);
  }
  comm.close();
}

}  // namespace

TEST_CASE("all ranks find a pattern for rank 0, as often as it asks", "[distributed]") {
  check_patterns<Host>();
}

TEST_CASE("devices of all ranks find a pattern, and rank 0's factorizes on it", "[distributed][device]") {
  using Device = Kokkos::DefaultExecutionSpace;
  if constexpr (!std::is_same_v<Device, Host>) {
    check_patterns<Device>();
    Communicator comm;
    DistributedOptions distribution;
    distribution.on_device = true;
    DistributedLU<double> solver(comm, simplicial_fill2(), distribution);
    const DistributedRows<double> rows = deal_rows(comm, generate("convdiff3d", 8));
    succeed(solver.factorize(rows));
    const std::vector<double> B(rows.rows.size(), 1.0);
    std::vector<double> X(B.size());
    CHECK(solver.solve(B, X) == Status::success);
    if (comm.rank() == 0) CHECK(says(solver.report(), "searched for by") == (comm.size() > 1));
    solver.close();
    comm.close();
  }
}

TEST_CASE("each rank follows its edges: their number is that of one rank", "[distributed]") {
  Communicator comm;
  HostMatrix<double> dense{20, 20, {0}, {}, {}};  // whose vertices no search visits again
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j) dense.entries.push_back(j);
    dense.row_map.push_back(dense.nnz());
  }
  const Pattern pattern = make_view(dense).pattern();
  Fill2Statistics alone;
  Impl::fill2(Host(), pattern, MemoryBudget(), {}, &alone);
  Impl::PatternOnRanks<Host> ranks(comm, 0);
  comm.agree("test", [&] { ranks.serve_during([&] { ranks.find(pattern, MemoryBudget()); }); });
  CHECK(alone.edges > 0);
  CHECK(sum_over_ranks(comm, *ranks.statistics().edges) == static_cast<std::int64_t>(alone.edges));
  comm.close();
}

TEST_CASE("errors of a search and of rank 0 leave the ranks able to go on", "[distributed]") {
  Communicator comm;
  const bool last = comm.rank() == comm.size() - 1;
  const auto matrix = generate("poisson2d", 20);
  const Pattern pattern = make_view(matrix).pattern();
  // the limit of one rank is too small: rank 0 learns of it, and all ranks wait for its next request
  Impl::PatternOnRanks<Host> ranks(comm, last ? 100 : 0);
  int errors = 0;
  comm.agree("test", [&] {
    ranks.serve_during([&] {
      for (int call = 0; call < 2; ++call) {
        try {
          ranks.find(pattern, MemoryBudget(last ? 100 : 0));
        } catch (const OutOfMemoryError&) {
          ++errors;
        }
      }
    });
  });
  CHECK(errors == (comm.rank() == 0 ? 2 : 0));
  // an error outside of a search is that of all ranks
  const auto fail = [&] {
    comm.agree("test", [&] { ranks.serve_during([] { throw InputError("of rank 0"); }); });
  };
  CHECK_THROWS_AS(fail(), InputError);
  Impl::PatternOnRanks<Host> unlimited(comm, 0);
  comm.agree("test", [&] { unlimited.serve_during([&] { unlimited.find(pattern, MemoryBudget()); }); });
  CHECK(sum_over_ranks(comm, *unlimited.statistics().sources) == matrix.n_rows);
  comm.close();
}

TEST_CASE("the pattern on rank 0 and its own rows count in the memory limit", "[distributed]") {
  Communicator comm;
  const auto matrix = generate("poisson2d", 30);
  const Pattern pattern = make_view(matrix).pattern();
  const auto expected =
      factorize_symbolic(Host(), pattern, MemoryBudget(), {.method = SymbolicMethod::fill1});
  const auto bytes = static_cast<std::size_t>(expected.nnz_l + expected.nnz_u) * sizeof(Ordinal);
  Impl::PatternOnRanks<Host> ranks(comm, 0);
  const MemoryBudget budget;
  comm.agree("test", [&] {
    ranks.serve_during([&] {
      const auto found = ranks.find(pattern, budget);
      CHECK(budget.used_bytes() >= bytes);
      CHECK(budget.used_bytes() <= bytes + 40 * static_cast<std::size_t>(matrix.n_rows));
      CHECK(budget.peak_bytes() >= bytes + bytes / (2 * static_cast<std::size_t>(comm.size())));
    });
  });
  CHECK(budget.used_bytes() == 0);
  comm.close();
}

TEST_CASE("with fill2 L, U and X have the bits of one rank", "[distributed]") {
  Communicator comm;
  const LuOptions options = simplicial_fill2();
  for (const auto& A : {generate("circuit", 700, 3), generate("convdiff3d", 8)}) {
    const bool first = comm.rank() == 0;
    SparseLU<double, Host> alone(options);
    succeed(alone.analyze(A));
    succeed(alone.factorize(A));
    const auto lu = Impl::make_first_rank_solver<double, Host>(comm, options);
    CHECK(lu->factorize(first ? A : HostMatrix<double>{}) == Status::not_solved);
    if (first) {
      const auto found = lu->factors(), expected = alone.factors();
      CHECK(found.rows == expected.rows);
      CHECK(found.columns == expected.columns);
      CHECK(found.values == expected.values);
      CHECK(found.row_order == expected.row_order);
      CHECK(found.col_order == expected.col_order);
    }
    const DistributedRows<double> rows = deal_rows(comm, A);
    const std::vector<double> B(rows.rows.size(), 1.0);
    DistributedLU<double> solver(comm, options);
    for (const double factor : {1.0, 3.0}) {  // new values on the pattern
      DistributedRows<double> scaled = rows;
      HostMatrix<double> whole = A;
      for (double& value : scaled.values) value *= factor;
      for (double& value : whole.values) value *= factor;
      succeed(solver.factorize(scaled));
      succeed(alone.factorize(whole));
      for (const Transposition op : {Transposition::none, Transposition::transposed}) {
        std::vector<double> X(B.size());
        CHECK(solver.solve(B, X, 1, op) == Status::success);
        const std::vector<double> whole_B(static_cast<std::size_t>(A.n_rows), 1.0);
        std::vector<double> expected(whole_B.size());
        CHECK(alone.solve_host(whole_B, expected, op) == Status::success);
        for (std::size_t i = 0; i < X.size(); ++i)
          REQUIRE(X[i] == expected[static_cast<std::size_t>(rows.rows[i])]);
      }
      if (!first) continue;
      CHECK(solver.report().choice.symbolic == "fill2");
      CHECK(says(solver.report(), "fill2: its rows were searched for by") == (comm.size() > 1));
    }
    std::int64_t sources = 0;
    for (const RankStatistics& rank : solver.statistics()) {
      CHECK(rank.sources.has_value() == (comm.size() > 1));
      sources += rank.sources.value_or(0);
    }
    if (first) CHECK(sources == (comm.size() > 1 ? A.n_rows : 0));
    solver.close();
  }
  comm.close();
}

TEST_CASE("values that need a new analysis find the ranks waiting", "[distributed]") {
  Communicator comm;
  LuOptions options = simplicial_fill2();
  options.matching = Matching::exact;
  // In each pair of rows the diagonal is large at first, then the two other entries: another matching, with
  // another pattern, since even rows have an entry in the next pair.
  DistributedRows<double> A{200, {}, {0}, {}, {}};
  for (std::int64_t row = comm.rank(); row < A.n; row += comm.size()) {
    const std::int64_t first = row - row % 2;
    A.rows.push_back(row);
    A.columns.insert(A.columns.end(), {first, first + 1});
    if (row % 2 == 0 && row + 2 < A.n) A.columns.push_back(row + 2);
    A.row_map.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  const auto set_values = [&A](const auto& value) {
    A.values.clear();
    for (std::size_t i = 0; i < A.rows.size(); ++i)
      for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
           ++e)
        A.values.push_back(value(A.rows[i], A.columns[e]));
  };
  const auto partner = [](std::int64_t row) { return row % 2 == 0 ? row + 1 : row - 1; };
  const auto size_of = [](std::int64_t row) { return row % 4 < 2 ? 1.0 : 0x1p60; };  // no scales fit both
  set_values([](std::int64_t row, std::int64_t column) { return row == column ? 1.0 : 1e-3; });
  DistributedLU<double> solver(comm, options);
  succeed(solver.factorize(A));
  set_values(
      [&](std::int64_t row, std::int64_t column) { return column == partner(row) ? size_of(row) : 0.0; });
  succeed(solver.factorize(A));
  std::vector<double> B(A.rows.size()), X(B.size());
  for (std::size_t i = 0; i < B.size(); ++i) B[i] = size_of(A.rows[i]) * static_cast<double>(A.rows[i]);
  CHECK(solver.solve(B, X) == Status::success);
  for (std::size_t i = 0; i < X.size(); ++i) {  // A exchanges the rows of a pair
    const auto exact = static_cast<double>(partner(A.rows[i]));
    CHECK(std::abs(X[i] - exact) <= 1e-13 * exact);
  }
  if (comm.rank() == 0) {
    REQUIRE(solver.report().escalations.size() == 1);
    CHECK(solver.report().escalations[0].find("analyzed anew") != std::string::npos);
    CHECK_FALSE(says(solver.report(), "plan: reused"));
    CHECK(solver.report().choice.symbolic == "fill2");
  }
  solver.close();
  comm.close();
}

TEST_CASE("a limit too small for fill2 ends all ranks; fronts name the method they take", "[distributed]") {
  Communicator comm;
  const auto A = generate("convdiff3d", 8);
  const DistributedRows<double> rows = deal_rows(comm, A);
  LuOptions options = simplicial_fill2();
  options.memory_limit = 60000;
  {
    DistributedLU<double> solver(comm, options);
    CHECK_THROWS_AS(solver.factorize(rows), OutOfMemoryError);
    solver.close();
  }
  options.memory_limit = 0;
  options.engine = Engine::multifrontal;
  DistributedLU<double> solver(comm, options);
  succeed(solver.factorize(rows));
  if (comm.rank() == 0) {
    CHECK(solver.report().choice.symbolic == "etree");
    CHECK(says(solver.report(), "takes etree instead of fill2"));
    CHECK_FALSE(says(solver.report(), "searched for by"));
  }
  for (const RankStatistics& rank : solver.statistics()) CHECK_FALSE(rank.sources);
  solver.close();
  comm.close();
}

TEST_CASE("all ranks find the pattern of a preconditioner, and of factors for a grid", "[distributed]") {
  Communicator comm;
  const auto A = generate("convdiff3d", 6);
  const bool first = comm.rank() == 0;
  KrylovSolverOptions options;
  options.preconditioning = Preconditioning::lu;
  options.lu.symbolic = SymbolicMethod::fill2;
  DistributedKrylov<double> krylov(comm, options);
  succeed(krylov.factorize(first ? A : HostMatrix<double>{}));
  const std::vector<double> B(first ? static_cast<std::size_t>(A.n_rows) : 0, 1.0);
  std::vector<double> X(B.size());
  CHECK(krylov.solve(B, X) == Status::success);
  if (first) CHECK(says(krylov.report(), "searched for by") == (comm.size() > 1));
  for (const RankStatistics& rank : krylov.statistics()) CHECK(rank.sources.has_value() == (comm.size() > 1));
  krylov.close();

  DistributedOptions distribution;
  distribution.grid = {comm.size(), 1};
  DistributedLU<double> lu(comm, simplicial_fill2(), distribution);
  const DistributedRows<double> rows = deal_rows(comm, A);
  succeed(lu.factorize(rows));
  const std::vector<double> own_B(rows.rows.size(), 1.0);
  std::vector<double> own_X(own_B.size());
  CHECK(lu.solve(own_B, own_X) == Status::success);
  for (const RankStatistics& rank : lu.statistics()) CHECK(rank.sources.has_value() == (comm.size() > 1));
  lu.close();
  comm.close();
}

}  // namespace lutra::Test

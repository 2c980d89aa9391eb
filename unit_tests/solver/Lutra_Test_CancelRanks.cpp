// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stop asked for on one rank ends the call on all.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_GridRows.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_RunControl.hpp"

using namespace lutra;
using lutra::Test::grid_rows;
using lutra::Test::multiply;

namespace {

constexpr long never = std::numeric_limits<long>::max();

/// Raised from the given query on.
class CountingFlag : public StopFlag {
 public:
  bool is_raised() const noexcept override { return ++m_queries >= m_first; }
  void start(long first) {
    m_queries = 0;
    m_first = first;
  }

 private:
  mutable std::atomic<long> m_queries = 0;
  std::atomic<long> m_first = never;
};

bool agree(Communicator& comm, Status status) {
  const auto all = comm.all_gather(static_cast<int>(status));
  return std::set<int>(all.begin(), all.end()).size() == 1;
}

/// Stops calls on `stopping` at one query after the other.
/// @param other has another pattern
/// @returns number of stopped factorizations
template <class Solver, class Options>
int stop_calls(Communicator& comm, const DistributedRows<double>& A, const DistributedRows<double>& other,
               Options options, int stopping) {
  const auto flag = std::make_shared<CountingFlag>();
  if (comm.rank() == stopping) options.stop = flag;
  Solver solver(comm, options);
  const std::vector<double> b = multiply(A, 2);
  std::vector<double> expected(b.size()), x(b.size());
  REQUIRE(solver.factorize(A) == Status::success);
  REQUIRE(solver.solve(b, expected, 2) == Status::success);

  int stopped = 0;
  for (const bool fresh : {true, false}) {  // with and without an analysis
    for (long query = 1;; query += 1 + query / 2) {
      if (fresh) {
        REQUIRE(solver.factorize(other) == Status::success);
      }
      flag->start(query);
      const Status status = fresh ? solver.factorize(A) : solver.refactorize(A.values);
      flag->start(never);
      REQUIRE(agree(comm, status));
      if (status == Status::success) break;
      ++stopped;
      CHECK(status == Status::cancelled);
      CHECK(solver.report().status == Status::cancelled);
      CHECK_THROWS_AS(solver.solve(b, x, 2), CallOrderError);
      CHECK(solver.factorize(A) == Status::success);
      CHECK(solver.solve(b, x, 2) == Status::success);
      CHECK(x == expected);
    }
  }
  flag->start(1);
  x.assign(x.size(), 7);
  const Status status = solver.solve(b, x, 2);
  flag->start(never);
  CHECK(status == Status::cancelled);
  CHECK(x == std::vector<double>(x.size(), 7));
  CHECK(solver.solve(b, x, 2) == Status::success);
  CHECK(x == expected);
  solver.close();
  return stopped;
}

/// Stops solves on `stopping` at one query after the other. @returns number of stopped solves
int stop_solves(Communicator& comm, LuOptions options, const DistributedOptions& distribution, int stopping) {
  const auto A = grid_rows<double>(31, comm.rank(), comm.size());
  const auto flag = std::make_shared<CountingFlag>();
  if (comm.rank() == stopping) options.stop = flag;
  DistributedLU<double> solver(comm, options, distribution);
  const std::vector<double> b = multiply(A, 2);
  std::vector<double> expected(b.size()), x(b.size());
  REQUIRE(solver.factorize(A) == Status::success);
  REQUIRE(solver.solve(b, expected, 2) == Status::success);
  int stopped = 0;
  for (long query = 1;; ++query) {
    x.assign(x.size(), 7);
    flag->start(query);
    const Status status = solver.solve(b, x, 2);
    flag->start(never);
    REQUIRE(agree(comm, status));
    if (status == Status::success) break;
    ++stopped;
    CHECK(status == Status::cancelled);
    CHECK(solver.report().status == Status::cancelled);
    CHECK(x == std::vector<double>(x.size(), 7));
    CHECK(solver.solve(b, x, 2) == Status::success);
    CHECK(x == expected);
  }
  solver.close();
  return stopped;
}

/// A with its transpose.
DistributedRows<double> symmetric_rows(std::int64_t m, int rank, int size) {
  auto A = grid_rows<double>(m, rank, size);
  for (double& value : A.values) value = value < 0 ? -1 : value;
  return A;
}

}  // namespace

LUTRA_IF_F64(TEST_CASE("a stop on one rank ends the factorization of all", "[distributed][cancel]") {
  Communicator comm;
  const auto A = grid_rows<double>(31, comm.rank(), comm.size());
  const auto other = grid_rows<double>(3, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.memory_limit = std::size_t{1} << 30;  // divides the fronts by memory, so that all ranks have some
  LuOptions alone;
  alone.engine = Engine::simplicial;
  for (const int rank : std::set<int>{0, comm.size() - 1}) {
    CHECK(stop_calls<DistributedLU<double>>(comm, A, other, options, rank) > 0);
    // Rank 0 alone has something to stop.
    if (rank == 0) CHECK(stop_calls<DistributedLU<double>>(comm, A, other, alone, rank) > 0);
  }
  LdltOptions symmetric;
  symmetric.in_place_first = true;
  symmetric.memory_limit = options.memory_limit;
  const auto S = symmetric_rows(31, comm.rank(), comm.size());
  for (const int rank : std::set<int>{0, comm.size() - 1})
    CHECK(stop_calls<DistributedLDLT<double>>(comm, S, symmetric_rows(3, comm.rank(), comm.size()), symmetric,
                                              rank) > 0);
  comm.close();
})

LUTRA_IF_F64(TEST_CASE("a stop on one rank ends the solves of all", "[distributed][cancel]") {
  Communicator comm;
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.memory_limit = std::size_t{1} << 30;
  DistributedOptions on_grid;
  on_grid.grid = {1, comm.size()};
  for (const int rank : std::set<int>{0, comm.size() - 1}) {
    // when the solve begins, and before its sweeps
    CHECK(stop_solves(comm, options, {}, rank) > 1);
    CHECK(stop_solves(comm, options, on_grid, rank) > 1);
  }
  comm.close();
})

LUTRA_IF_F64(TEST_CASE("a stop on one rank ends the factorization of fronts that ranks divide",
                       "[distributed][cancel]") {
  Communicator comm;
  const auto A = deal_rows(comm, generate("convdiff3d", 20));
  const std::vector<double> b = multiply(A, 1);
  std::vector<double> expected(b.size()), x(b.size());
  for (const int stopping : std::set<int>{0, comm.size() - 1}) {
    const auto flag = std::make_shared<CountingFlag>();
    LuOptions options;
    options.engine = Engine::multifrontal;
    options.ordering = Ordering::nd;
    if (comm.rank() == stopping) options.stop = flag;
    DistributedLU<double> solver(comm, options);
    REQUIRE(solver.factorize(A) == Status::success);
    REQUIRE(solver.solve(b, expected) == Status::success);
    if (comm.rank() == 0 && comm.size() > 1)
      CHECK(solver.report().choice.why.find("divided among ranks") != std::string::npos);
    int stopped = 0;
    for (long query = 1;; query *= 5) {  // also in the middle of a front
      flag->start(query);
      const Status status = solver.refactorize(A.values);
      flag->start(never);
      REQUIRE(agree(comm, status));
      if (status == Status::success) break;
      ++stopped;
      CHECK(status == Status::cancelled);
    }
    CHECK(stopped > 0);
    CHECK(solver.refactorize(A.values) == Status::success);
    CHECK(solver.solve(b, x) == Status::success);
    CHECK(x == expected);
    solver.close();
  }
  comm.close();
})

LUTRA_IF_F64(TEST_CASE("a stop on one rank ends the search of fill2 by all", "[distributed][cancel]") {
  Communicator comm;
  const auto A = grid_rows<double>(31, comm.rank(), comm.size());
  const auto other = grid_rows<double>(3, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  for (const int rank : std::set<int>{0, comm.size() - 1})
    CHECK(stop_calls<DistributedLU<double>>(comm, A, other, options, rank) > 5);
  comm.close();
})

LUTRA_IF_F64(TEST_CASE("a deadline on ranks that has passed stops them", "[distributed][cancel]") {
  Communicator comm;
  const auto A = grid_rows<double>(21, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.deadline = comm.rank() == 0 ? 1e-9 : 0;
  DistributedLU<double> solver(comm, options);
  CHECK(solver.factorize(A) == Status::cancelled);
  CHECK(solver.report().status == Status::cancelled);
  solver.close();
  comm.close();
})

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "Lutra_CalibrateRanks.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_GridRows.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"

using namespace lutra;
using lutra::Test::grid_rows;
using lutra::Test::multiply;
using lutra::Test::succeed;

namespace {

/// On all grids and, with the multifrontal engine, on fronts.
template <class Scalar>
void check_solves(const LuOptions& options = {}, DistributedOptions distribution = {}) {
  Communicator comm;
  const auto A = grid_rows<Scalar>(21, comm.rank(), comm.size());
  auto grids = grids_of(comm.size());
  const bool on_fronts = options.engine == Engine::multifrontal;
  if (on_fronts) grids.push_back({0, 0});
  for (const ProcessGrid& grid : grids) {
    if (distribution.on_device && grid.columns > 1) continue;  // kernels on shared devices take long
    distribution.grid = grid;
    DistributedLU<Scalar> solver(comm, options, distribution);
    CHECK_THROWS_AS(solver.solve({}, {}, 0), CallOrderError);
    CHECK(solver.factorize(A) == Status::success);
    CHECK(solver.grid() == grid);
    if (comm.rank() == 0)
      CHECK(solver.report().choice.trisolve == (grid.size() > 0 ? "distributed" : "distributed fronts"));
    for (const std::size_t k : {std::size_t{1}, std::size_t{4}}) {
      const std::vector<Scalar> b = multiply(A, k);
      std::vector<Scalar> x(b.size());
      REQUIRE(solver.solve(b, x, k) == Status::success);
      const bool is_single = sizeof(RealOf<Scalar>) == sizeof(float);
      CHECK(*solver.report().errors.backward_componentwise <= (is_single ? 1e-5 : 1e-12));
      double worst = 0;
      for (std::size_t e = 0; e < x.size(); ++e) {
        const auto exact = static_cast<RealOf<Scalar>>(1 + A.rows[e % A.rows.size()] % 5 +
                                                       static_cast<std::int64_t>(e / A.rows.size()));
        worst = std::max(worst, static_cast<double>(ScalarTraits<Scalar>::magnitude(x[e] - Scalar(exact))));
      }
      CHECK(worst <= (is_single ? 5e-3 : 1e-11));  // the tolerance times the condition
    }
    std::int64_t rows = 0;
    for (const RankStatistics& rank : solver.statistics()) rows += rank.rows;
    if (comm.rank() == 0) CHECK(rows == A.n);
    solver.close();
  }
  comm.close();
}

std::string message_of(Communicator& comm, const DistributedRows<double>& A) {
  DistributedLU<double> solver(comm);
  try {
    succeed(solver.factorize(A));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a distributed matrix is factorized and solved on the devices of the ranks",
          "[distributed][device]") {
  LuOptions options;
  options.engine = Engine::multifrontal;
  for (const CommBackend backend : {CommBackend::mpi, CommBackend::peer}) {
    if (!is_built(backend)) continue;
    DistributedOptions distribution;
    distribution.on_device = true;
    distribution.backend = backend;
    LUTRA_IF_F64(check_solves<double>(options, distribution);)
  }
}

TEST_CASE("a matrix distributed by rows is solved on every grid", "[distributed]") {
  LUTRA_IF_F64(check_solves<double>();)
  LUTRA_IF_C128(check_solves<Kokkos::complex<double>>();)
}

TEST_CASE("a matrix distributed by rows is solved on the fronts of the ranks", "[distributed]") {
  LuOptions options;
  options.engine = Engine::multifrontal;
  LUTRA_IF_F32(check_solves<float>(options);)
  LUTRA_IF_F64(check_solves<double>(options);)
  LUTRA_IF_C64(check_solves<Kokkos::complex<float>>(options);)
  LUTRA_IF_C128(check_solves<Kokkos::complex<double>>(options);)
}

TEST_CASE("a bad row on one rank ends all ranks with one message", "[distributed]") {
  Communicator comm;
  const bool last = comm.rank() == comm.size() - 1;
  const auto good = grid_rows<double>(4, comm.rank(), comm.size());
  auto bad = good;
  if (last) bad.columns[1] = 16;
  CHECK(message_of(comm, bad).find("column 16 is not in a matrix of 16") != std::string::npos);
  bad = good;
  if (last) bad.rows[0] = bad.rows[1];
  CHECK(message_of(comm, bad).find("is on two ranks, or twice on one") != std::string::npos);
  bad = good;
  if (last) bad.values[0] = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> row{good.rows[0]};
  comm.broadcast(row, comm.size() - 1);
  CHECK(message_of(comm, bad).find("row " + std::to_string(row[0])) != std::string::npos);

  DistributedLU<double> solver(comm);
  succeed(solver.factorize(good));
  std::vector<double> b(good.rows.size(), 1.0), x(b.size());
  if (last) b.back() = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(solver.solve(b, x), InputError);
  solver.close();
  comm.close();
}

TEST_CASE("a singular matrix gives its status on all ranks", "[distributed]") {
  Communicator comm;
  auto A = grid_rows<double>(5, comm.rank(), comm.size());
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      if (A.rows[i] == 7) A.values[e] = 0;
  DistributedLU<double> solver(comm);
  const Status status = solver.factorize(A);
  std::vector<double> b(A.rows.size(), 1.0), x(b.size(), 5.0);
  const Status after = solver.solve(b, x);
  CHECK((after == Status::numerically_singular || after == Status::structurally_singular ||
         after == Status::breakdown || after == Status::error_above_tolerance));
  if (status != Status::not_solved) CHECK(x == std::vector<double>(b.size(), 5.0));
  const auto all = comm.all_gather(after);
  for (const Status other : all) CHECK(other == after);
  solver.close();
  comm.close();
}

TEST_CASE("rank 0 distributes its rows", "[distributed]") {
  Communicator comm;
  HostMatrix<double> A;
  if (comm.rank() == 0) A = {5, 5, {0, 1, 3, 4, 5, 6}, {0, 0, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}};
  const DistributedRows<double> mine = deal_rows(comm, A);
  CHECK(mine.n == 5);
  const auto rows = comm.gather(mine.rows);
  const auto values = comm.gather(mine.values);
  std::vector<std::int64_t> all_rows;
  std::vector<double> all_values;
  for (const auto& part : rows) all_rows.insert(all_rows.end(), part.begin(), part.end());
  for (const auto& part : values) all_values.insert(all_values.end(), part.begin(), part.end());
  if (comm.rank() == 0) {
    CHECK(all_rows == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK(all_values == std::vector<double>{1, 2, 3, 4, 5, 6});
  }
  comm.close();
}

namespace {

/// Solves with a matrix that rank 0 has and checks it; B is a row of ones. @returns the report
Report solve_whole(Communicator& comm, const HostMatrix<double>& A, const LuOptions& options) {
  const auto mine = deal_rows(comm, A);
  DistributedLU<double> solver(comm, options);
  const Status factorized = solver.factorize(mine);
  std::vector<double> b(mine.rows.size(), 1.0), x(b.size());
  const Status solved = solver.solve(b, x);
  if (factorized != Status::success) CHECK(solved == factorized);
  solver.close();
  return solver.report();
}

}  // namespace

TEST_CASE("fronts are factorized on all ranks", "[distributed]") {
  Communicator comm;
  LuOptions options;
  options.engine = Engine::multifrontal;
  const Report report = solve_whole(comm, generate("convdiff3d", 7), options);
  CHECK(report.status == Status::success);
  CHECK(*report.errors.backward_componentwise <= 1e-12);
  if (comm.rank() == 0 && comm.size() > 1)
    CHECK(report.choice.why.find("parts of the assembly tree on") != std::string::npos);
  // zero pivots: what becomes of them is for SparseLU to say
  const HostMatrix<double> singular{3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {1, 2, 2, 4, 1}};
  CHECK(solve_whole(comm, singular, options).status == Status::numerically_singular);
  comm.close();
}

TEST_CASE("large fronts are divided among ranks", "[distributed]") {
  Communicator comm;
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.ordering = Ordering::nd;
  const Report report = solve_whole(comm, generate("convdiff3d", 24), options);
  CHECK(report.status == Status::success);
  CHECK(*report.errors.backward_componentwise <= 1e-12);
  if (comm.rank() == 0 && comm.size() > 1)
    CHECK(report.choice.why.find("divided among ranks by columns") != std::string::npos);
  comm.close();
}

TEST_CASE("the report says why and where rank 0 factorizes alone", "[distributed]") {
  Communicator comm;
  const auto reasons = [&](const HostMatrix<double>& A, const LuOptions& options, bool on_device = false,
                           const ProcessGrid& grid = {0, 0}) {
    const auto mine = deal_rows(comm, A);
    DistributedOptions distribution;
    distribution.on_device = on_device;
    distribution.grid = grid;
    DistributedLU<double> solver(comm, options, distribution);
    static_cast<void>(solver.factorize(mine));
    solver.close();
    return solver.report().choice.why;
  };
  const bool says = comm.rank() == 0 && comm.size() > 1;
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const HostMatrix<double> A = generate("convdiff3d", 7);
  LuOptions options;
  options.pivoting = Pivoting::threshold;
  const std::string threshold = reasons(A, options);
  if (says) has(threshold, "rank 0 factorized alone: threshold pivoting interchanges rows");
  options = {};
  options.engine = Engine::simplicial;
  const std::string simplicial = reasons(A, options, true, {comm.size(), 1});
  if (says) has(simplicial, "rank 0 factorized alone: the engine");
  if (comm.rank() == 0)
    has(simplicial, "factors computed on the device of rank 0, triangles on the ranks' devices");
  options.engine = Engine::multifrontal;
  const std::string on_grid = reasons(A, options, true, {comm.size(), 1});
  if (says) {
    has(on_grid, "fronts and triangles on the ranks' devices");
    CHECK(on_grid.find("alone") == std::string::npos);
  }
  if (comm.rank() == 0) {
    has(reasons(A, options, true), "solves on the fronts of the ranks' devices");
    has(reasons(A, options), "solves on the fronts of the ranks");
  } else {
    reasons(A, options, true);
    reasons(A, options);
  }
  const HostMatrix<double> singular{3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {1, 2, 2, 4, 1}};
  const std::string perturbed = reasons(singular, options);
  if (says) has(perturbed, "rank 0 factorized alone: pivots of the fronts had to be perturbed: 1");
  comm.close();
}

TEST_CASE("rank 0 alone takes the order that was found for all ranks", "[distributed]") {
  Communicator comm;
  const HostMatrix<double> A = generate("convdiff3d", 12);
  LuOptions once;  // so that plans of all ranks do not pay
  once.expected_factorizations = 1;
  const Report report = solve_whole(comm, A, once);
  CHECK(report.status == Status::success);
  if (comm.rank() == 0 && comm.size() > 1) {
    const Communicator::Work work(comm);
    SparseLU<double, Kokkos::DefaultHostExecutionSpace> alone(once);
    succeed(alone.analyze(A));
    const Report& expected = alone.report();
    INFO(report.choice.why);
    REQUIRE(report.choice.why.find("rank 0 factorized alone: ") != std::string::npos);
    CHECK(report.choice.engine == "multifrontal");
    CHECK(report.choice.ordering == expected.choice.ordering);
    CHECK(report.factors.nnz_l == expected.factors.nnz_l);
    CHECK(report.factors.tree_height == expected.factors.tree_height);
    CHECK(report.choice.why.starts_with(expected.choice.why.substr(0, expected.choice.why.find("; "))));
    const auto first = report.choice.why.find("matching: ");
    CHECK(report.choice.why.find("matching: ", first + 1) == std::string::npos);
  }
  comm.close();
}

TEST_CASE("a memory limit too small for one rank suffices for several", "[distributed]") {
  Communicator comm;
  const HostMatrix<double> A = generate("poisson3d", 20);
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.ordering = Ordering::amd;
  std::vector<std::int64_t> entries{0};
  if (comm.rank() == 0) {
    SparseLU<double, Kokkos::DefaultHostExecutionSpace> analysis(options);
    succeed(analysis.analyze(A));
    entries[0] = *analysis.report().factors.nnz_l + *analysis.report().factors.nnz_u;
  }
  comm.broadcast(entries);
  // panels, most of as much again, and buffers of threads: contributions of one rank are larger than panels
  using Exec = Kokkos::DefaultHostExecutionSpace;
  options.memory_limit = static_cast<std::size_t>(1.9 * sizeof(double) * static_cast<double>(entries[0])) +
                         bytes_of_product_buffers<double, Exec>(Exec().concurrency());
  if (comm.size() == 1) {
    CHECK_THROWS_AS(solve_whole(comm, A, options), OutOfMemoryError);
  } else {
    const Report report = solve_whole(comm, A, options);
    CHECK(report.status == Status::success);
    CHECK(*report.errors.backward_componentwise <= 1e-12);
  }
  comm.close();
}

namespace {

/// The largest |x − x*| of all ranks for op(A)·x = op(A)·x*, x* = 1 + row mod 5, on rank 0's matrix.
template <class Scalar>
double transposed_error(Communicator& comm, DistributedLU<Scalar>& solver, const DistributedRows<Scalar>& A,
                        Transposition op) {
  const auto n = static_cast<std::size_t>(A.n);
  std::vector<std::vector<Scalar>> sums(static_cast<std::size_t>(comm.size()), std::vector<Scalar>(n));
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
         ++e) {
      const Scalar value =
          op == Transposition::adjoint ? ScalarTraits<Scalar>::conjugate(A.values[e]) : A.values[e];
      const Scalar part = value * Scalar(static_cast<RealOf<Scalar>>(1 + A.rows[i] % 5));
      for (auto& sum : sums) sum[static_cast<std::size_t>(A.columns[e])] += part;
    }
  std::vector<Scalar> whole(n), b, x(A.rows.size());
  for (const auto& part : comm.all_to_all(sums))
    for (std::size_t j = 0; j < n; ++j) whole[j] += part[j];
  for (const std::int64_t row : A.rows) b.push_back(whole[static_cast<std::size_t>(row)]);
  CHECK(solver.solve(b, x, 1, op) == Status::success);
  CHECK(*solver.report().errors.backward_componentwise <= 1e-12);
  std::vector<double> worst{0};
  for (std::size_t i = 0; i < x.size(); ++i)
    worst[0] = std::max(worst[0], static_cast<double>(ScalarTraits<Scalar>::magnitude(
                                      x[i] - Scalar(static_cast<RealOf<Scalar>>(1 + A.rows[i] % 5)))));
  comm.all_max(worst);
  return worst[0];
}

template <class Scalar>
void check_transposed(const LuOptions& options = {}) {
  Communicator comm;
  auto A = grid_rows<Scalar>(12, comm.rank(), comm.size());
  if constexpr (ScalarTraits<Scalar>::is_complex)
    for (std::size_t e = 0; e < A.values.size(); ++e)
      A.values[e] += Scalar(0, 0.25 * static_cast<double>(1 + e % 3));
  DistributedLU<Scalar> solver(comm, options);
  for (int pass = 0; pass < 2; ++pass) {
    succeed(solver.factorize(A));
    CHECK(solver.grid().size() <= comm.size());
    for (const Transposition op : {Transposition::transposed, Transposition::adjoint})
      CHECK(transposed_error(comm, solver, A, op) <= 1e-11);
    if (comm.rank() == 0) CHECK(solver.report().times.refactor.has_value() == (pass > 0));
    for (Scalar& value : A.values) value *= Scalar(3);  // the pattern stays
  }
  solver.close();
  comm.close();
}

}  // namespace

TEST_CASE("ranks solve transposed systems and new values on the pattern", "[distributed]") {
  LuOptions on_fronts;
  on_fronts.engine = Engine::multifrontal;
  LUTRA_IF_F64(check_transposed<double>(); check_transposed<double>(on_fronts);)
  LUTRA_IF_C128(check_transposed<Kokkos::complex<double>>();
                check_transposed<Kokkos::complex<double>>(on_fronts);)
}

TEST_CASE("a preconditioner is rank 0's unless a grid is asked for", "[distributed]") {
  Communicator comm;
  const HostMatrix<double> A = generate("convdiff3d", 6);
  const bool first = comm.rank() == 0;
  KrylovSolverOptions options;
  options.preconditioning = Preconditioning::lu;
  for (const ProcessGrid grid : {ProcessGrid{0, 0}, ProcessGrid{1, 1}, ProcessGrid{1, comm.size()}}) {
    DistributedOptions distribution;
    distribution.grid = grid;
    DistributedKrylov<double> solver(comm, options, distribution);
    succeed(solver.factorize(first ? A : HostMatrix<double>{}));
    const std::vector<double> b(first ? static_cast<std::size_t>(A.n_rows) : 0, 1.0);
    std::vector<double> x(b.size());
    CHECK(solver.solve(b, x) == Status::success);
    CHECK(solver.grid() == grid);
    if (first) {
      CHECK(*solver.report().errors.backward_normwise <= 1e-10);
      CHECK((solver.report().choice.why.find("rank 0 iterates alone") != std::string::npos) ==
            (grid.size() == 0 && comm.size() > 1));
    }
    std::int64_t messages = 0;
    for (const RankStatistics& rank : solver.statistics()) messages += rank.messages;
    if (first) CHECK((messages > 0) == (grid.size() > 1));
    solver.close();
  }
  comm.close();
}

TEST_CASE("rank 0 solves alone what it factorized alone, also with new values", "[distributed]") {
  Communicator comm;
  LuOptions options;
  options.engine = Engine::simplicial;
  auto A = grid_rows<double>(11, comm.rank(), comm.size());
  const std::vector<double> b = multiply(A, 3);
  DistributedLU<double> solver(comm, options);
  for (const double scale : {1.0, 2.0}) {
    for (double& value : A.values) value *= scale;
    succeed(solver.factorize(A));
    std::vector<double> x(b.size());
    CHECK(solver.solve(b, x, 3) == Status::success);
    CHECK(solver.grid() == ProcessGrid{0, 0});
    CHECK(*solver.report().errors.backward_componentwise <= 1e-12);
    for (std::size_t e = 0; e < x.size(); ++e) {
      const auto exact = 1 + A.rows[e % A.rows.size()] % 5 + static_cast<std::int64_t>(e / A.rows.size());
      CHECK(std::abs(x[e] - static_cast<double>(exact) / scale) <= 1e-11);
    }
    for (const Transposition op : {Transposition::transposed, Transposition::adjoint})
      CHECK(transposed_error(comm, solver, A, op) <= 1e-11);
    if (comm.rank() == 0) {
      CHECK(solver.report().times.refactor.has_value() == (scale > 1));
      CHECK((solver.report().choice.why.find("rank 0 factorized alone") != std::string::npos) ==
            (comm.size() > 1));
    }
  }
  const auto statistics = solver.statistics();
  if (comm.rank() == 0) CHECK(statistics[0].rows == A.n);
  solver.close();
  comm.close();
}

TEST_CASE("ranks measure messages and blocks", "[distributed][device]") {
  Communicator comm;
  const bool on_device = GENERATE(false, true);
  if (comm.size() == 2) {  // takes some seconds
    const DistributedCosts costs = measure_distributed_costs<double>(comm, on_device);
    CHECK((costs.latency_seconds > 1e-8 && costs.latency_seconds < 1e-2));
    CHECK((costs.link_bandwidth > 1e6 && costs.link_bandwidth < 1e13));
    CHECK((costs.dependency_seconds > 1e-10 && costs.dependency_seconds < 1e-3));
    CHECK((costs.bandwidth > 1e7 && costs.bandwidth < 1e13));
    CHECK(comm.all_gather(costs)[0] == comm.all_gather(costs)[1]);
  }
  comm.close();
}

TEST_CASE("all ranks precondition a Krylov method of rank 0", "[distributed]") {
  Communicator comm;
  const HostMatrix<double> A = generate("convdiff3d", 8);
  const auto n = static_cast<std::size_t>(A.n_rows);
  const bool first = comm.rank() == 0;
  DistributedOptions distribution;
  distribution.grid = GENERATE(ProcessGrid{0, 0}, ProcessGrid{1, 1}, ProcessGrid{-1, 1});
  if (distribution.grid.rows < 0) distribution.grid.rows = comm.size();
  for (const Preconditioning kind : {Preconditioning::ilu, Preconditioning::lu}) {
    KrylovSolverOptions options;
    options.preconditioning = kind;
    KrylovSolver<double, Kokkos::DefaultHostExecutionSpace> alone(options);
    DistributedKrylov<double> solver(comm, options, distribution);
    CHECK_THROWS_AS(solver.solve({}, {}), CallOrderError);
    CHECK(solver.factorize(first ? A : HostMatrix<double>{}) == Status::success);
    std::vector<double> b(first ? 9 * n : 0, 1.0), x(b.size()), expected(b.size());
    for (const Transposition op : {Transposition::none, Transposition::transposed}) {
      CHECK(solver.solve(b, x, 9, op) == Status::success);
      if (!first) continue;
      succeed(alone.analyze(A));
      succeed(alone.factorize(A));
      alone.solve_host(b, expected, op);
      CHECK(*solver.report().iterations == *alone.report().iterations);
      CHECK(*solver.report().errors.backward_normwise <= 1e-10);
      for (std::size_t e = 0; e < x.size(); ++e) REQUIRE(std::abs(x[e] - expected[e]) <= 1e-8);
    }
    if (first) b.pop_back();
    CHECK_THROWS_AS(solver.solve(b, x, 9), InputError);
    std::int64_t messages = 0;
    for (const RankStatistics& rank : solver.statistics()) messages += rank.messages;
    if (first && solver.grid().size() > 1) CHECK(messages > 0);
    solver.close();
  }
  for (const Preconditioning kind : {Preconditioning::ilu, Preconditioning::lu}) {
    KrylovSolverOptions options;
    options.preconditioning = kind;
    DistributedKrylov<double> solver(comm, options, distribution);
    const HostMatrix<double> singular{2, 2, {0, 2, 2}, {0, 1}, {1.0, 1.0}};
    CHECK(solver.factorize(first ? singular : HostMatrix<double>{}) == Status::structurally_singular);
    std::vector<double> b(first ? 2 : 0, 1.0), x(first ? 2 : 0, 7.0);
    CHECK(solver.solve(b, x) == Status::structurally_singular);
    CHECK(x == std::vector<double>(x.size(), 7.0));
    if (first) CHECK(solver.report().structural_rank == 1);
    if (first) b.pop_back();
    CHECK_THROWS_AS(solver.solve(b, x), InputError);
    solver.close();
  }
  KrylovSolverOptions diagonal;
  diagonal.preconditioning = Preconditioning::jacobi;
  CHECK_THROWS_AS(DistributedKrylov<double>(comm, diagonal), InputError);
  comm.close();
}

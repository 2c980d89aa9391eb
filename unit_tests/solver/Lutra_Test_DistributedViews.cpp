// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_GridRows.hpp"
#include "Lutra_TestStatus.hpp"

using namespace lutra;
using Catch::Matchers::ContainsSubstring;
using lutra::Test::grid_rows;
using lutra::Test::multiply;
using lutra::Test::succeed;

namespace {

using Ranks = DistributedLU<double>;
using Values = Kokkos::View<double*, Ranks::DeviceMemory>;
using Columns = Ranks::DeviceColumns<double>;

Values to_space(const std::vector<double>& values) {
  const Values there("values", values.size());
  Kokkos::deep_copy(there, Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size()));
  return there;
}
/// Columns in an allocation with further rows.
Columns padded(const std::vector<double>& columns, std::size_t rows, std::size_t k) {
  const Columns all("columns", rows + 3, k);
  const Columns used = Kokkos::subview(all, std::pair<std::size_t, std::size_t>(0, rows), Kokkos::ALL);
  for (std::size_t c = 0; c < k; ++c)
    Kokkos::deep_copy(Kokkos::View<double*, Ranks::DeviceMemory>(used.data() + c * used.stride(1), rows),
                      Kokkos::View<const double*, Kokkos::HostSpace>(columns.data() + c * rows, rows));
  return used;
}

/// Aᵀ·x for x(row, c) = 1 + row mod 5 + c, by the rows of this rank.
std::vector<double> multiply_transposed(Communicator& comm, const DistributedRows<double>& A, std::size_t k) {
  std::vector<double> whole(static_cast<std::size_t>(A.n) * k, 0.0), mine;
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      for (std::size_t c = 0; c < k; ++c)
        whole[c * static_cast<std::size_t>(A.n) + static_cast<std::size_t>(A.columns[e])] +=
            A.values[e] * static_cast<double>(1 + A.rows[i] % 5 + static_cast<std::int64_t>(c));
  std::vector<double> sum(whole.size(), 0.0);
  for (const auto& part : comm.gather(whole))
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += part[e];
  comm.broadcast(sum);
  for (std::size_t c = 0; c < k; ++c)
    for (const std::int64_t row : A.rows)
      mine.push_back(sum[c * static_cast<std::size_t>(A.n) + static_cast<std::size_t>(row)]);
  return mine;
}

void check_solution(const DistributedRows<double>& A, const Columns& X) {
  const Columns contiguous("X by itself", X.extent(0), X.extent(1));
  Kokkos::deep_copy(contiguous, X);  // in one memory, whatever the strides
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), contiguous);
  for (std::size_t c = 0; c < X.extent(1); ++c)
    for (std::size_t i = 0; i < A.rows.size(); ++i)
      CHECK(std::abs(host(i, c) - static_cast<double>(1 + A.rows[i] % 5 + static_cast<std::int64_t>(c))) <
            1e-10);
}

DistributedOptions options_for(bool on_device) {
  DistributedOptions options;
  options.on_device = on_device;
  return options;
}

}  // namespace

TEST_CASE("values and vectors of ranks may be in the memory of the execution space",
          "[distributed][device]") {
  Communicator comm;
  const bool on_device = GENERATE(false, true);
  auto A = grid_rows<double>(13, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  Ranks solver(comm, options, options_for(on_device));
  succeed(solver.factorize(A));
  for (const double scale : {2.0, 0.5}) {
    for (std::size_t e = 0; e < A.values.size(); ++e)
      A.values[e] *= scale + 0.01 * static_cast<double>(e % 3);
    Values values = to_space(A.values);
    succeed(solver.refactorize(values));
    Kokkos::deep_copy(values, 0.0);  // the solver has a copy
    for (const std::size_t k : {std::size_t(1), std::size_t(3)}) {
      const Columns B = padded(multiply(A, k), A.rows.size(), k);
      const Columns X("X", A.rows.size(), k);
      REQUIRE(solver.solve(B, X) == Status::success);
      check_solution(A, X);
      for (const Transposition op : {Transposition::transposed, Transposition::adjoint}) {
        const Columns T = padded(multiply_transposed(comm, A, k), A.rows.size(), k);
        REQUIRE(solver.solve(T, T, op) == Status::success);  // in place
        check_solution(A, T);
      }
    }
  }
  CHECK(solver.solve(Columns("B", A.rows.size(), 0), Columns("X", A.rows.size(), 0)) == Status::success);
  solver.close();
  comm.close();
}

TEST_CASE("a matrix is analyzed anew from values in the memory of the execution space",
          "[distributed][device]") {
  Communicator comm;
  auto A = grid_rows<double>(6, comm.rank(), comm.size());
  const std::vector<double> good = A.values;
  LuOptions options;
  options.engine = Engine::multifrontal;
  Ranks solver(comm, options, options_for(true));
  succeed(solver.factorize(A));
  for (std::size_t i = 0; i < A.rows.size();
       ++i)  // row 0 has a zero on its diagonal, which is the first pivot
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      if (A.columns[e] == A.rows[i]) A.values[e] = 0;
  for (const bool zeros : {true, false}) {
    if (!zeros) A.values = good;
    succeed(solver.refactorize(to_space(A.values)));
    const Columns B = padded(multiply(A, 1), A.rows.size(), 1);
    const Columns X("X", A.rows.size(), 1);
    REQUIRE(solver.solve(B, X) == Status::success);
    check_solution(A, X);
  }
  solver.close();
  comm.close();
}

TEST_CASE("values and vectors in the memory of the execution space are checked", "[distributed][device]") {
  Communicator comm;
  const bool last = comm.rank() == comm.size() - 1;
  const auto A = grid_rows<double>(5, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  Ranks solver(comm, options, options_for(true));
  CHECK_THROWS_AS(solver.refactorize(to_space(A.values)), CallOrderError);
  const Columns X("X", A.rows.size(), 1);
  CHECK_THROWS_AS(solver.solve(X, X), CallOrderError);
  succeed(solver.factorize(A));
  std::vector<double> bad = A.values;
  std::vector<std::int64_t> row{A.rows[0]};
  comm.broadcast(row, comm.size() - 1);
  if (last) bad[0] = std::numeric_limits<double>::quiet_NaN();
  const std::string named = "row " + std::to_string(row[0]);
  CHECK_THROWS_WITH(solver.refactorize(to_space(bad)), ContainsSubstring(named));
  if (last) bad.pop_back();
  CHECK_THROWS_AS(solver.refactorize(to_space(bad)), InputError);
  succeed(solver.refactorize(to_space(A.values)));
  std::vector<double> b(A.rows.size(), 1.0);
  if (last) b[0] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(solver.solve(padded(b, b.size(), 1), X), ContainsSubstring(named + ", column 0"));
  CHECK_THROWS_AS(solver.solve(Columns("B", A.rows.size(), 2), X), InputError);
  if (last) CHECK_THROWS_AS(solver.solve(Columns("B", A.rows.size() + 1, 1), X), InputError);
  if (!last) CHECK_THROWS_AS(solver.solve(X, X), InputError);
  solver.close();
  comm.close();
}

TEST_CASE("ten refactorizations and solves under load", "[distributed][device]") {
  Communicator comm;
  auto A = grid_rows<double>(23, comm.rank(), comm.size());
  LuOptions options;
  options.engine = Engine::multifrontal;
  Ranks solver(comm, options, options_for(true));
  succeed(solver.factorize(A));
  const Columns X("X", A.rows.size(), 1);
  const char* const solves = std::getenv("LUTRA_RANK_SOLVES");  // scripts/ranks.sh
  for (int run = 0, runs = solves != nullptr ? std::atoi(solves) : 10; run < runs; ++run) {
    for (std::size_t e = 0; e < A.values.size(); ++e)
      A.values[e] *= (static_cast<std::size_t>(run) + e) % 5 == 0 ? 1.001 : 0.9995;
    REQUIRE(solver.refactorize(to_space(A.values)) == Status::success);
    REQUIRE(solver.solve(padded(multiply(A, 1), A.rows.size(), 1), X) == Status::success);
    check_solution(A, X);
  }
  solver.close();
  comm.close();
}

TEST_CASE("ranks without rows have empty Views", "[distributed][device]") {
  Communicator comm;
  for (const std::int64_t m : {1, 2}) {
    auto A = grid_rows<double>(m, comm.rank(), comm.size());
    LuOptions options;
    options.engine = Engine::multifrontal;
    Ranks solver(comm, options, options_for(true));
    succeed(solver.factorize(A));
    for (double& value : A.values) value *= 3;
    succeed(solver.refactorize(to_space(A.values)));
    for (const Transposition op : {Transposition::none, Transposition::transposed}) {
      const auto b = op == Transposition::none ? multiply(A, 2) : multiply_transposed(comm, A, 2);
      const Columns X("X", A.rows.size(), 2);
      REQUIRE(solver.solve(padded(b, A.rows.size(), 2), X, op) == Status::success);
      check_solution(A, X);
    }
    solver.close();
  }
  comm.close();
}

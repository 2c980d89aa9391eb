// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Instantiate.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"

// Augmented systems of grids, as aug2dc: the pivots that a matching chooses all have the magnitude of other
// entries, and along its paths entries of the factors double. Pivots from the diagonal keep them small.

namespace lutra::Test {
namespace {

/// [I B; Bᵀ 0] with the incidence B of edges and vertices of a side × side grid; columns are multiplied by
/// powers of two.
HostMatrix<double> augmented_system(int side, std::uint64_t seed) {
  const int vertices = side * side, edges = 2 * vertices;
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(edges + vertices));
  const auto add = [&](int edge, int vertex, double value) {
    rows[static_cast<std::size_t>(edge)].push_back({edges + vertex, value});
    rows[static_cast<std::size_t>(edges + vertex)].push_back({edge, value});
  };
  for (int v = 0, edge = 0; v < vertices; ++v) {
    for (const auto& [neighbour, inside] :
         {std::pair(v + 1, v % side + 1 < side), std::pair(v + side, v / side + 1 < side)}) {
      rows[static_cast<std::size_t>(edge)].push_back({edge, 1.0});
      add(edge, v, 1.0);
      if (inside) add(edge, neighbour, -1.0);
      ++edge;
    }
  }
  HostMatrix<double> A;
  A.n_rows = A.n_cols = edges + vertices;
  A.row_map = {0};
  for (auto& row : rows) {
    std::ranges::sort(row);
    for (const auto& [column, value] : row) {
      const auto mixed = (static_cast<std::uint64_t>(column) + seed) * 0x9E3779B97F4A7C15ull >> 40;
      A.entries.push_back(column);
      A.values.push_back(std::ldexp(value, static_cast<int>(mixed % 41) - 20));
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

std::vector<double> solve(SparseLU<double>& solver, const HostMatrix<double>& A) {
  const std::vector<double> b(static_cast<std::size_t>(A.n_rows), 1.0);
  std::vector<double> x(b.size());
  CHECK(solver.factorize(A) == Status::success);
  CHECK(solver.solve_host(b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, b).componentwise <= 1e-12);
  return x;
}

bool names_other_pivots(const Report& report) {
  bool found = false;
  for (const std::string& step : report.escalations)
    found = found || step.find("interchanged within fronts") != std::string::npos;
  return found;
}

}  // namespace

LUTRA_IF_F64(TEST_CASE("where entries of the factors grow, LU takes other pivots", "[solver]") {
  int changed = 0;
  for (const auto& [side, seed] : {std::pair(40, 3), std::pair(50, 5)}) {
    INFO(side << ", " << seed);
    const auto A = augmented_system(side, static_cast<std::uint64_t>(seed));
    SparseLU<double> solver;
    succeed(solver.analyze(A));
    solve(solver, A);
    changed += names_other_pivots(solver.report()) ? 1 : 0;

    // values that need none: the answer is that of a solver that has not seen the first ones
    auto other = A;
    for (std::size_t p = 0; p < other.values.size(); ++p)
      if (std::abs(A.values[p]) < 1) other.values[p] = std::copysign(1.0, A.values[p]);
    SparseLU<double> fresh;
    succeed(fresh.analyze(A));
    CHECK(solve(solver, other) == solve(fresh, other));
    CHECK(names_other_pivots(solver.report()) == names_other_pivots(fresh.report()));
  }
  CHECK(changed > 0);
})

LUTRA_IF_F64(TEST_CASE("options that name a matching or an engine keep their pivots", "[solver]") {
  const auto A = augmented_system(40, 3);
  LuOptions options;
  options.engine = Engine::simplicial;
  SparseLU<double> solver(options);
  succeed(solver.analyze(A));
  static_cast<void>(solver.factorize(A));
  const std::vector<double> b(static_cast<std::size_t>(A.n_rows), 1.0);
  std::vector<double> x(b.size());
  solver.solve_host(b, x);
  CHECK_FALSE(names_other_pivots(solver.report()));
})

}  // namespace lutra::Test

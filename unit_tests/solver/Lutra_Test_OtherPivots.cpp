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
#include "Lutra_TestSystems.hpp"

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

/// A matrix with rows and columns multiplied by powers of two.
HostMatrix<double> scaled(std::vector<std::vector<double>> picture, const std::vector<int>& rows,
                          const std::vector<int>& columns) {
  for (std::size_t i = 0; i < picture.size(); ++i)
    for (std::size_t j = 0; j < picture.size(); ++j)
      if (picture[i][j] != nothing) picture[i][j] = std::ldexp(picture[i][j], rows[i] + columns[j]);
  return from_dense<HostMatrix<double>>(picture);
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

// Pivots from the diagonal had scales that depended on those of the matrix, and the factors then misjudged
// it.

LUTRA_IF_F64(TEST_CASE("a singular saddle point with scaled rows and columns is not solved", "[solver]") {
  const double o = nothing;
  const auto A =
      scaled({{o, o, -1, o, o, o, o, 0, o},  //
              {o, o, o, -1.5, o, o, -1, o, o},
              {-1.5, o, 1.375, o, o, -1, o, 1.375, 1.0625},
              {o, 1.375, o, o, 1, 1.0625, o, o, o},
              {o, o, o, 2, 2, o, -1, -1, o},
              {o, o, -1, 2, o, o, o, 0, o},
              {o, 1.5, o, o, 1.5, o, -1, o, o},
              {-2.25, o, 2.0625, o, 0, -1.5, o, 2.0625, 1.59375},  // 3/2 of the third
              {o, o, 1.375, o, o, o, o, 1.375, 2}},
             {-88, 44, 74, -64, 45, -98, -65, -40, 33}, {-65, -61, -96, 77, -15, -82, 59, -100, 36});
  SparseLU<double> solver;
  succeed(solver.analyze(A));
  if (solver.factorize(A) != Status::success) {
    CHECK(solver.report().status == Status::numerically_singular);
    return;
  }
  std::vector<double> b(9), x(9);  // b = A·(1 … 1)
  for (std::size_t i = 0; i < b.size(); ++i)
    Reference::for_row(A, i, [&](std::size_t, double value) { b[i] += value; });
  CHECK(solver.solve_host(b, x) == Status::numerically_singular);
})

LUTRA_IF_F64(TEST_CASE("a regular matrix with scaled rows and columns is not singular", "[solver]") {
  const double o = nothing;
  const auto A = scaled({{o, -1, o, o, 1.375, 0, o, o},
                         {1.0625, o, o, o, o, 0, 2, o},
                         {o, o, 1.0625, o, o, -1.5, -1, -1},
                         {o, o, o, o, 2, -1, -1, 1.0625},
                         {1.375, o, o, -1, o, -1, o, o},
                         {1.375, -1.5, 0, -1, 2.062503933906555, -1, 0, o},
                         {o, 1.375, -1, 1.0625, o, -1, o, -1.5},
                         {o, o, -1.5, 1.0625, o, o, 1.375, 2}},
                        {49, -39, -9, -71, 27, -40, 75, 31}, {1, 1, 57, 96, -19, 54, 9, -43});
  SparseLU<double> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto system = known_system(A);
  std::vector<double> x(8);
  CHECK(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= 1e-12);
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Provokes each status and each exception of SparseLU and shows how a program can respond. Numerical events
// are a status in the report. Invalid calls and insufficient memory are exceptions.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"

using Matrix = lutra::HostMatrix<double>;
using lutra::Status;

struct Outcome {
  lutra::Report report;
  std::vector<double> x;
};

// The response of a program to each status.
std::string next_step(const lutra::Report& report) {
  switch (report.status) {
    case Status::success:
      return "use X";
    case Status::structurally_singular:  // report.singular_rows, report.singular_columns
      return "the model lacks an equation for the columns named: add it";
    case Status::numerically_singular:  // the rows and columns where it shows
      return "fix an unknown, or look for dependent equations at the rows named";
    case Status::error_above_tolerance:  // X is there, with report.errors.backward_componentwise
      return "accept X if that error will do; else scale the model, or try threshold pivoting";
    case Status::breakdown:
      return "do not use X: entries or solution leave the range of the type";
    case Status::not_solved:
    case Status::out_of_memory:
      return "no X: an exception said why";
  }
  return "";
}

Outcome solve(const Matrix& A, const std::vector<double>& b, const lutra::LuOptions& options = {}) {
  Outcome outcome{{}, std::vector<double>(b.size())};
  lutra::SparseLU<double> solver(options);
  if (solver.analyze(A) == Status::success && solver.factorize(A) == Status::success)
    solver.solve_host(b, outcome.x);
  outcome.report = solver.report();
  std::printf("%s\n  %s\n", lutra::describe(outcome.report).c_str(), next_step(outcome.report).c_str());
  return outcome;
}

// The Laplacian of a path of n vertices: rows (-1, 2, -1), at the ends (1, -1) and (-1, 1). Its rows sum to
// zero.
Matrix path_laplacian(int n) {
  Matrix A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = i - 1; j <= i + 1; ++j) {
      if (j < 0 || j >= n) continue;
      A.entries.push_back(j);
      A.values.push_back(j != i ? -1.0 : i == 0 || i == n - 1 ? 1.0 : 2.0);
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

// A with row `row` replaced by a one in column `column`.
Matrix with_unit_row(const Matrix& A, std::int64_t row, std::int64_t column) {
  Matrix changed{A.n_rows, A.n_cols, {0}, {}, {}};
  for (int i = 0; i < A.n_rows; ++i) {
    if (i == row) {
      changed.entries.push_back(static_cast<int>(column));
      changed.values.push_back(1);
    }
    for (std::int64_t p = A.row_map[i]; i != row && p < A.row_map[i + 1]; ++p) {
      changed.entries.push_back(A.entries[p]);
      changed.values.push_back(A.values[p]);
    }
    changed.row_map.push_back(static_cast<std::int64_t>(changed.entries.size()));
  }
  return changed;
}

bool success() {
  const Matrix A = lutra::generate("poisson2d", 20);
  return solve(A, std::vector<double>(A.n_rows, 1.0)).report.status == Status::success;
}

// Rows 1 and 2 have entries only in column 1, so one of them has no pivot, and neither has column 2.
bool structurally_singular() {
  const Matrix A{3, 3, {0, 1, 2, 3}, {0, 1, 1}, {4, 2, 1}};
  const std::vector<double> b{4, 2, 1};
  const Outcome outcome = solve(A, b);
  const lutra::Report& report = outcome.report;
  if (report.status != Status::structurally_singular || report.structural_rank != 2) return false;
  const Matrix repaired = with_unit_row(A, report.singular_rows[0], report.singular_columns[0]);
  return solve(repaired, b).report.status == Status::success;
}

// The solution of a pure Neumann problem is unique up to a constant. Fixing one unknown makes the matrix
// regular.
bool numerically_singular() {
  const Matrix A = path_laplacian(50);
  std::vector<double> b(50, 0.0);
  b.front() = 1;
  b.back() = -1;  // consistent: b sums to zero like the columns
  const Outcome outcome = solve(A, b);
  if (outcome.report.status != Status::numerically_singular) return false;

  lutra::LuOptions options;
  options.solve_singular = true;  // one of many solutions, from perturbed factors; the status stays
  const Outcome particular = solve(A, b, options);
  if (particular.report.status != Status::numerically_singular) return false;
  if (!(particular.report.errors.backward_componentwise < 1e-10)) return false;

  const std::int64_t row = outcome.report.singular_rows.at(0);
  b[row] = 0;
  return solve(with_unit_row(A, row, row), b).report.status == Status::success;
}

// No solution in double precision meets this tolerance. X is still computed, and the report has its error.
bool error_above_tolerance() {
  const Matrix A = lutra::generate("circuit", 200);
  lutra::LuOptions options;
  options.error_tolerance = 1e-30;
  const Outcome outcome = solve(A, std::vector<double>(A.n_rows, 1.0), options);
  return outcome.report.status == Status::error_above_tolerance &&
         outcome.report.errors.backward_componentwise < 1e-12;
}

// The solution, 1e400, is beyond the range of double.
bool breakdown() {
  const Matrix A{1, 1, {0, 1}, {0}, {1e-200}};
  return solve(A, {1e200}).report.status == Status::breakdown;
}

// The limit is doubled until the solver fits.
bool out_of_memory() {
  const Matrix A = lutra::generate("poisson2d", 20);
  const std::vector<double> b(A.n_rows, 1.0);
  lutra::LuOptions options;
  options.memory_limit = 1000;
  int refusals = 0;
  for (; refusals < 30; ++refusals) {
    try {
      return solve(A, b, options).report.status == Status::success && refusals > 0;
    } catch (const lutra::OutOfMemoryError& error) {
      std::printf("limit %zu: %s\n", options.memory_limit, error.what());
      options.memory_limit *= 2;
    }
  }
  return false;
}

// Columns must be sorted. The message names the row, and the solver is unchanged.
bool input_error() {
  lutra::SparseLU<double> solver;
  try {
    return solver.analyze(Matrix{2, 2, {0, 2, 3}, {1, 0, 1}, {1, 2, 3}}) != Status::success;
  } catch (const lutra::InputError& error) {
    std::printf("%s\n", error.what());
    return std::string(error.what()).find("row 0") != std::string::npos;
  }
  return false;
}

bool call_order_error() {
  lutra::SparseLU<double> solver;
  try {
    return solver.factorize(lutra::generate("poisson2d", 5)) != Status::success;
  } catch (const lutra::CallOrderError& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const std::vector<std::pair<const char*, bool (*)()>> cases{
      {"success", success},
      {"structurally_singular", structurally_singular},
      {"numerically_singular", numerically_singular},
      {"error_above_tolerance", error_above_tolerance},
      {"breakdown", breakdown},
      {"out_of_memory", out_of_memory},
      {"InputError", input_error},
      {"CallOrderError", call_order_error}};
  bool as_expected = true;
  for (const auto& [name, run] : cases) {
    std::printf("--- %s\n", name);
    const bool right = run();
    if (!right) std::printf("NOT AS EXPECTED\n");
    as_expected = as_expected && right;
  }
  return as_expected ? EXIT_SUCCESS : EXIT_FAILURE;
}

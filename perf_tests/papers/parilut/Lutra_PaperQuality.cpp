// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Table II and Figure 10: what the factors are like.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "Lutra_KrylovSolver.hpp"
#include "Lutra_PaperParilut.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_SparseILU.hpp"

namespace lutra::Perf {
namespace {

constexpr int most_steps = 5;

bool is_symmetric(const HostMatrix<double>& A) {
  for (int i = 0; i < A.n_rows; ++i) {
    for (auto p = A.row_map[static_cast<std::size_t>(i)]; p < A.row_map[static_cast<std::size_t>(i) + 1];
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[static_cast<std::size_t>(p)]);
      const auto begin = A.entries.begin() + A.row_map[j], end = A.entries.begin() + A.row_map[j + 1];
      const auto found = std::lower_bound(begin, end, i);
      if (found == end || *found != i ||
          A.values[static_cast<std::size_t>(found - A.entries.begin())] !=
              A.values[static_cast<std::size_t>(p)])
        return false;
    }
  }
  return true;
}

struct Solved {
  std::optional<std::int64_t> iterations;  ///< empty: not converged
  std::int64_t nnz = 0;                    ///< of L + U
};

/// ‖A − L·U‖_F / ‖A‖_F over all entries of both, with A scaled as for the factors.
double residual_of(const HostMatrix<double>& host, const IluChoices& choices) {
  SparseIluOptions options;
  static_cast<IluChoices&>(options) = choices;
  SparseILU<double> solver(options);
  const auto A = to_device(host);
  if (solver.analyze(A) != Status::success || solver.factorize(A) != Status::success)
    throw std::runtime_error(describe(solver.report()));
  const FactorValues<double> F = solver.factors();
  const auto n = F.row_order.size();
  std::vector<std::size_t> column_position(n);
  for (std::size_t k = 0; k < n; ++k) column_position[static_cast<std::size_t>(F.col_order[k])] = k;
  std::vector<std::vector<std::pair<std::size_t, double>>> rows(n);  // of L \ U
  for (std::size_t e = 0; e < F.rows.size(); ++e)
    rows[static_cast<std::size_t>(F.rows[e])].emplace_back(static_cast<std::size_t>(F.columns[e]),
                                                           F.values[e]);
  std::vector<double> difference(n, 0);
  std::vector<std::size_t> touched;
  double left = 0, whole = 0;
  const auto add = [&](std::size_t j, double value) {
    if (difference[j] == 0) touched.push_back(j);
    difference[j] += value;
  };
  const auto scale = [](const std::vector<double>& scales, std::size_t i) {
    return scales.empty() ? 1.0 : scales[i];  // without a matching there are none
  };
  const auto subtract_row = [&](std::size_t k, double l) {
    for (const auto& [j, u] : rows[k])
      if (j >= k) add(j, -l * u);
  };
  for (std::size_t k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(F.row_order[k]);
    for (auto p = static_cast<std::size_t>(host.row_map[i]);
         p < static_cast<std::size_t>(host.row_map[i + 1]); ++p) {
      const auto j = static_cast<std::size_t>(host.entries[p]);
      const double value = scale(F.row_scale, i) * host.values[p] * scale(F.col_scale, j);
      whole += value * value;
      add(column_position[j], value);
    }
    subtract_row(k, 1);
    for (const auto& [j, l] : rows[k])
      if (j < k) subtract_row(j, l);
    for (const std::size_t j : touched) {  // a column is touched twice if its sum was 0 in between
      left += difference[j] * difference[j];
      difference[j] = 0;
    }
    touched.clear();
  }
  return std::sqrt(left / whole);
}

/// Options of a preconditioned solve in the given order, to a relative residual of 1e-10 as in the paper.
KrylovSolverOptions solve_options(bool symmetric) {
  KrylovSolverOptions options;
  options.method = symmetric ? KrylovMethod::cg : KrylovMethod::gmres;
  options.residual_tolerance = 1e-10;
  options.max_iterations = 500;
  options.ilu.symmetric = symmetric;
  options.ilu.ordering = Ordering::natural;
  return options;
}

Solved solve(const HostMatrix<double>& host, const KrylovSolverOptions& options) {
  const auto A = to_device(host);
  const auto b = to_device(make_right_hand_side(host));
  const Kokkos::View<double*, MemorySpace> x("lutra::perf::x", b.extent(0));
  KrylovSolver<double> solver(options);
  Status status = solver.analyze(A);
  if (status == Status::success) status = solver.factorize(A);
  if (status == Status::success) status = solver.solve(b, x);
  const Report& report = solver.report();
  Solved result;
  if (status == Status::success) result.iterations = report.iterations;
  result.nnz = report.factors.nnz_l.value_or(0) + report.factors.nnz_u.value_or(0);
  return result;
}

std::string format_iterations(const Solved& solved) {
  return solved.iterations ? format_number(static_cast<double>(*solved.iterations)) : "none";
}

/// ParILUT as in the paper: from the triangles of A, with no elimination at the end.
KrylovSolverOptions paper_options(bool symmetric, int steps, IluSelection selection) {
  KrylovSolverOptions options = solve_options(symmetric);
  options.ilu.method = IluMethod::parilut;
  options.ilu.steps = steps;
  options.ilu.step_tolerance = 0;
  options.ilu.start = IluStart::pattern;
  options.ilu.finish = IluFinish::sweeps;
  options.ilu.sweeps = 0;
  options.ilu.selection = selection;
  return options;
}

KrylovSolverOptions own_options(bool symmetric) {
  KrylovSolverOptions options = solve_options(symmetric);
  options.ilu.method = IluMethod::parilut;
  options.ilu.steps = most_steps;
  return options;
}

}  // namespace

PaperTable test_matrices(const std::vector<IluMatrix>& matrices) {
  PaperTable table;
  table.place = "Table II";
  table.claim = "Test matrices: 11,397 to 1,228,045 rows, 86,227 to 8,802,544 entries";
  table.columns = {"matrix", "rows", "entries", "symmetric", "entries of ILU(0)", "of ILU(1)"};
  for (const auto& [name, A] : matrices) {
    std::vector<std::string> row{name, format_number(A->n_rows), format_number(static_cast<double>(A->nnz())),
                                 is_symmetric(*A) ? "yes" : "no"};
    for (const int level : {0, 1}) {
      KrylovSolverOptions options = solve_options(false);
      options.ilu.fill_level = level;
      row.push_back(format_number(static_cast<double>(solve(*A, options).nnz)));
    }
    table.add_row(row);
  }
  table.result = format_number(static_cast<double>(matrices.size())) + " matrices";
  table.note = "aniso2d is the paper's 2D anisotropic diffusion; others of its matrices with --matrix.";
  return table;
}

PaperTable step_quality(const std::vector<IluMatrix>& matrices) {
  PaperTable table;
  table.place = "Figure 10";
  table.claim =
      "Exact and approximate thresholds give preconditioners of the same quality, and a few steps "
      "need far fewer iterations than ILU(0)";
  table.columns = {"iterations, steps ="};
  for (int steps = 0; steps <= most_steps; ++steps) table.columns.push_back(std::to_string(steps));
  for (const char* const more : {"residual", "ILU(0)", "Lutra", "its residual"})
    table.columns.push_back(more);
  std::vector<double> gains, differences;
  for (const auto& [name, A] : matrices) {
    const bool symmetric = is_symmetric(*A);
    for (const bool cg : {false, true}) {
      if (cg && !symmetric) continue;
      const Solved ilu0 = solve(*A, solve_options(cg)), own = solve(*A, own_options(cg));
      std::optional<std::int64_t> last[2];
      for (const bool approximate : {false, true}) {
        std::vector<std::string> row{name + (cg ? ", CG, " : ", GMRES, ") +
                                     (approximate ? "approximate" : "exact")};
        const auto selection = approximate ? IluSelection::approximate : IluSelection::exact;
        const KrylovSolverOptions last_options = paper_options(cg, most_steps, selection);
        Solved solved;
        for (int steps = 0; steps <= most_steps; ++steps) {
          solved = solve(*A, paper_options(cg, steps, selection));
          row.push_back(format_iterations(solved));
        }
        last[approximate ? 1 : 0] = solved.iterations;
        row.push_back(cg ? "" : format_number(residual_of(*A, last_options.ilu)));
        row.push_back(format_iterations(ilu0));
        row.push_back(format_iterations(own));
        row.push_back(cg ? "" : format_number(residual_of(*A, own_options(false).ilu)));
        table.add_row(row);
      }
      if (last[0] && ilu0.iterations)
        gains.push_back(static_cast<double>(*ilu0.iterations) / static_cast<double>(*last[0]));
      if (last[0] && last[1])
        differences.push_back(static_cast<double>(*last[0]) / static_cast<double>(*last[1]));
    }
  }
  table.result = "iterations with ILU(0) over " + std::to_string(most_steps) +
                 " steps: " + format_ratios(gains) +
                 "; exact over approximate: " + format_ratios(differences);
  table.note =
      "GMRES(50) or CG to 1e-10 in at most 500 iterations; `none`: not converged. Steps are the "
      "paper's: from the triangles of A, values from their sweeps alone; a step that raises the "
      "residual over all entries is reverted. Lutra: its defaults, from ILU(0) to an elimination on "
      "the final pattern. Residual: ‖A − L·U‖_F / ‖A‖_F over all entries, after five steps. For CG, IC(0).";
  return table;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PaperEndToEnd.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "Lutra_Ordering.hpp"

namespace lutra::Perf {
namespace {

/// A(order, order), rows sorted, with all diagonal entries: a missing or zero one becomes 1,000, as in
/// section 4.4.
HostMatrix<double> permute(const HostMatrix<double>& A, const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    position[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  HostMatrix<double> F{A.n_rows, A.n_cols, {0}, {}, {}};
  std::vector<std::pair<int, double>> row;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto r = static_cast<std::size_t>(order[k]);
    row.clear();
    bool has_diagonal = false;
    for (auto p = A.row_map[r]; p < A.row_map[r + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const int column = position[static_cast<std::size_t>(A.entries[at])];
      const bool diagonal = column == static_cast<int>(k);
      has_diagonal = has_diagonal || diagonal;
      row.emplace_back(column, diagonal && A.values[at] == 0 ? 1000 : A.values[at]);
    }
    if (!has_diagonal) row.emplace_back(static_cast<int>(k), 1000);
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      F.entries.push_back(column);
      F.values.push_back(value);
    }
    F.row_map.push_back(static_cast<std::int64_t>(F.entries.size()));
  }
  return F;
}

}  // namespace

PaperCase::PaperCase(const PerfMatrix& matrix) : name(matrix.name) {
  const auto* const real = std::get_if<HostMatrix<double>>(&matrix.values);
  if (real == nullptr) throw std::runtime_error(name + ": the tables are of real matrices");
  original = *real;
  F = permute(original, order(make_view(original).pattern(), Ordering::nd));
  device = {F.n_rows, F.n_cols, to_device(F.row_map), to_device(F.entries)};
  filled = factorize_symbolic(ExecutionSpace(), device, MemoryBudget());
}

PaperReport run_paper(const PaperRun& run) {
  PaperReport report;
  report.paper = "End-to-End LU Factorization of Large Matrices on GPUs";
  std::vector<PaperCase> cases;
  for (const PerfMatrix& matrix : run.matrices_or(
           {"circuit:20000", "aniso2d:150", "convdiff3d:20", "poisson2d:200"}, {"circuit:600", "aniso2d:20"}))
    cases.emplace_back(matrix);
  report.tables.push_back(figure_3(cases, run));
  report.tables.push_back(figure_4(cases, run));
  for (const auto figure : {figure_5, figure_6, figure_7}) report.tables.push_back(figure(cases, run));
  report.tables.push_back(ablations(cases, run));
  report.tables.push_back(levelizations(cases, run));
  report.tables.push_back(table_4_of_paper());
  report.tables.push_back(figure_8(cases, run));
  return report;
}

}  // namespace lutra::Perf

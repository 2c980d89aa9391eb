// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PaperParilut.hpp"

namespace lutra::Perf {
namespace {

std::vector<IluMatrix> take_matrices(const PaperRun& run) {
  std::vector<IluMatrix> result;
  for (const PerfMatrix& matrix :
       run.matrices_or({"aniso2d:112", "convdiff3d:24", "poisson3d:24", "circuit:10000"},
                       {"aniso2d:12", "circuit:200"})) {
    const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values);
    const SharedMatrix A = values != nullptr ? with_diagonal(*values) : nullptr;
    if (A != nullptr) result.push_back({matrix.name, A});
  }
  return result;
}

}  // namespace

PaperReport run_paper(const PaperRun& run) {
  PaperReport report;
  report.paper = "ParILUT: A Parallel Threshold ILU for GPUs (Anzt, Ribizel, Flegar, Chow, Dongarra 2019)";
  const auto matrices = take_matrices(run);
  report.tables.push_back(test_matrices(matrices));
  report.tables.push_back(selection_throughput(run));
  report.tables.push_back(counting_passes(run));
  report.tables.push_back(selection_levels(run));
  report.tables.push_back(step_quality(matrices));
  report.tables.push_back(step_parts(run, matrices));
  report.tables.push_back(factorization_times(run, matrices));
  return report;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PaperSptrsv.hpp"

#include "Lutra_PaperRanks.hpp"

namespace lutra::Perf {

PaperReport run_paper(const PaperRun& run) {
  PaperReport report;
  report.paper =
      "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver (Ding, Liu, Williams, Li 2021)";
  std::vector<MeasuredTriangle> measured;
  for (const PerfMatrix& matrix :
       run.matrices_or({"poisson3d:24", "convdiff3d:20", "circuit:20000", "poisson2d:200"},
                       {"poisson3d:6", "circuit:200"})) {
    const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values);
    if (values == nullptr) continue;
    LowerTriangle triangle;
    {
      const Communicator::Work work(paper_ranks());
      triangle = lower_triangle(matrix.name, *values);
    }
    GridSeconds seconds = all_grid_seconds(run, triangle);
    measured.push_back({std::move(triangle), std::move(seconds)});
  }
  report.tables.push_back(test_matrices(measured));
  report.tables.push_back(one_device(run, measured));
  for (const char* const place : {"Figure 5a", "Figure 5b", "Figure 5c"})
    report.tables.push_back(decomposition(measured, place));
  report.tables.push_back(send_bandwidth(run));
  report.tables.push_back(predictions(run, measured));
  report.tables.push_back(modes(run, measured));
  return report;
}

}  // namespace lutra::Perf

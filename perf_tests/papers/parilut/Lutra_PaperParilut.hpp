// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERPARILUT_HPP
#define LUTRA_PAPERPARILUT_HPP

#include <string>
#include <utility>
#include <vector>

#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfIlu.hpp"

// H. Anzt, T. Ribizel, G. Flegar, E. Chow and J. Dongarra, "ParILUT – A Parallel Threshold ILU for GPUs",
// IPDPS 2019. A function for each table or figure.

namespace lutra::Perf {

/// A matrix that all solvers of a table can take.
struct IluMatrix {
  std::string name;
  SharedMatrix A;
};

/// Figure 8, left: throughput of selection algorithms over n.
PaperTable selection_throughput(const PaperRun& run);
/// Figure 8, right: one counting pass with atomics in shared and in device memory, aggregated or not.
PaperTable counting_passes(const PaperRun& run);
/// Figure 9: kernels of one level.
PaperTable selection_levels(const PaperRun& run);

/// Table II with what the incomplete factors are like.
PaperTable test_matrices(const std::vector<IluMatrix>& matrices);
/// Figure 10: GMRES iterations after each step, with exact or approximate thresholds.
PaperTable step_quality(const std::vector<IluMatrix>& matrices);
/// Figures 11 and 12: parts of a step.
PaperTable step_parts(const PaperRun& run, const std::vector<IluMatrix>& matrices);
/// Figure 13: the whole algorithm beside other incomplete factorizations.
PaperTable factorization_times(const PaperRun& run, const std::vector<IluMatrix>& matrices);

}  // namespace lutra::Perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfCudssPhases.hpp"
#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {

Measurement measure_cudss_symbolic(const PerfRun& run, const HostMatrix<double>& matrix,
                                   const std::vector<int>& permutation) {
  CudssPhases analysis(matrix, permutation);
  auto samples = measure(
      run.samples, [&] { analysis.reorder(); }, [&] { analysis.factorize_symbolic(); });
  Measurement result{std::move(samples), {}, permutation.empty() ? "its own order" : "METIS' order given"};
  result.counters["n"] = matrix.n_rows;
  result.counters["nnz_lu"] = analysis.nnz_lu();
  return result;
}

}  // namespace lutra::Perf

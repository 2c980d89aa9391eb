// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cudss.h>

#include <stdexcept>

#include "Lutra_PerfBatch.hpp"
#include "Lutra_PerfErrors.hpp"

namespace lutra::Perf {
namespace {

void check(cudssStatus_t status, const char* step) {
  if (status != CUDSS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(status));
}

/// cuDSS with its defaults and a uniform batch: one pattern, values one system after the other.
class CudssBatch final : public BatchSolver {
 public:
  explicit CudssBatch(const BatchProblem& problem)
      : m_problem(problem),
        m_row_map(
            to_device(std::vector<int>(problem.pattern.row_map.begin(), problem.pattern.row_map.end()))),
        m_entries(to_device(problem.pattern.entries)),
        m_values(to_device(problem.values)),
        m_b(to_device(problem.right_sides)),
        m_x("lutra::perf::X", problem.right_sides.size()) {
    const std::int64_t n = problem.pattern.n_rows, nnz = static_cast<std::int64_t>(m_entries.extent(0));
    const int K = static_cast<int>(problem.systems);
    check(cudssCreate(&m_library), "cudssCreate");
    check(cudssSetStream(m_library, ExecutionSpace().cuda_stream()), "cudssSetStream");
    check(cudssConfigCreate(&m_config), "cudssConfigCreate");
    check(cudssConfigSet(m_config, CUDSS_CONFIG_UBATCH_SIZE, &K, sizeof K), "size of the batch");
    check(cudssDataCreate(m_library, &m_data), "cudssDataCreate");
    check(cudssMatrixCreateCsr(&m_A, n, n, nnz, m_row_map.data(), nullptr, m_entries.data(), m_values.data(),
                               CUDA_R_32I, CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                               CUDSS_BASE_ZERO),
          "cudssMatrixCreateCsr");
    check(cudssMatrixCreateDn(&m_B, n, 1, n, m_b.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR), "B");
    check(cudssMatrixCreateDn(&m_X, n, 1, n, m_x.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR), "X");
    run(CUDSS_PHASE_ANALYSIS, "analysis");
    run(CUDSS_PHASE_FACTORIZATION, "factorization");
  }
  ~CudssBatch() override {
    cudssMatrixDestroy(m_A);
    cudssMatrixDestroy(m_B);
    cudssMatrixDestroy(m_X);
    cudssDataDestroy(m_library, m_data);
    cudssConfigDestroy(m_config);
    cudssDestroy(m_library);
  }
  CudssBatch(const CudssBatch&) = delete;
  CudssBatch& operator=(const CudssBatch&) = delete;

  void factorize() override { run(CUDSS_PHASE_REFACTORIZATION, "refactorization"); }
  /// Solves with the smallest number of refinement steps that meets the tolerance; the first call finds it.
  void solve() override {
    if (m_steps >= 0) return solve_refining(m_steps);
    for (m_steps = 0;; ++m_steps) {
      solve_refining(m_steps);
      if (m_steps == 10 || is_accurate()) return;
    }
  }
  std::vector<double> solutions() const override { return to_host(m_x); }
  std::string label() const override { return "uniform batch"; }

 private:
  void run(int phase, const char* step) {
    check(cudssExecute(m_library, phase, m_config, m_data, m_A, m_X, m_B), step);
  }
  void solve_refining(int steps) {
    check(cudssConfigSet(m_config, CUDSS_CONFIG_IR_N_STEPS, &steps, sizeof steps), "refinement steps");
    run(CUDSS_PHASE_SOLVE, "solve");
  }
  /// Whether every sixteenth system is.
  bool is_accurate() const {
    const auto X = solutions();
    const auto n = static_cast<std::ptrdiff_t>(m_problem.pattern.n_rows);
    for (std::size_t k = 0; k < m_problem.systems; k += (m_problem.systems + 15) / 16) {
      const auto begin = X.begin() + static_cast<std::ptrdiff_t>(k) * n;
      const std::vector<double> x(begin, begin + n);
      if (backward_errors(m_problem.matrix(k), m_problem.right_side(k), x).componentwise > tolerance)
        return false;
    }
    return true;
  }

  const BatchProblem& m_problem;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Kokkos::View<double*, MemorySpace> m_values, m_b, m_x;
  cudssHandle_t m_library = nullptr;
  cudssConfig_t m_config = nullptr;
  cudssData_t m_data = nullptr;
  cudssMatrix_t m_A = nullptr, m_B = nullptr, m_X = nullptr;
  int m_steps = -1;
};

}  // namespace

std::unique_ptr<BatchSolver> make_cudss_batch(const BatchProblem& problem) {
  return std::make_unique<CudssBatch>(problem);
}

}  // namespace lutra::Perf

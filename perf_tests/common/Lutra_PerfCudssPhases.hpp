// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFCUDSSPHASES_HPP
#define LUTRA_PERFCUDSSPHASES_HPP

#include <cudss.h>

#include <stdexcept>

#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {

/// cuDSS phase by phase, up to a factorization.
class CudssPhases {
 public:
  /// @param matrix      the whole matrix, for every type
  /// @param permutation empty: cuDSS finds the order
  /// @param threads     file of the threading layer of cuDSS, with which it orders on all cores; empty: one
  /// thread
  CudssPhases(const HostMatrix<double>& all, const std::vector<int>& permutation,
              PeerMatrix type = PeerMatrix::general, const std::string& threads = {})
      : m_permutation(permutation) {
    const HostMatrix<double> matrix = part_for_peer(all, type);
    m_row_map = to_device(std::vector<int>(matrix.row_map.begin(), matrix.row_map.end()));
    m_entries = to_device(matrix.entries);
    m_values = to_device(matrix.values);
    m_b = decltype(m_b)("lutra::perf::b", static_cast<std::size_t>(matrix.n_rows));
    m_x = decltype(m_x)("lutra::perf::x", static_cast<std::size_t>(matrix.n_rows));
    const std::int64_t n = matrix.n_rows;
    const bool is_general = type == PeerMatrix::general;
    check(cudssCreate(&m_handle), "cudssCreate");
    if (!threads.empty()) check(cudssSetThreadingLayer(m_handle, threads.c_str()), "cudssSetThreadingLayer");
    check(cudssConfigCreate(&m_config), "cudssConfigCreate");
    check(cudssMatrixCreateCsr(&m_A, n, n, matrix.nnz(), m_row_map.data(), nullptr, m_entries.data(),
                               m_values.data(), CUDA_R_32I, CUDA_R_32I, CUDA_R_64F,
                               is_general ? CUDSS_MTYPE_GENERAL : CUDSS_MTYPE_SYMMETRIC,
                               is_general ? CUDSS_MVIEW_FULL : CUDSS_MVIEW_UPPER, CUDSS_BASE_ZERO),
          "cudssMatrixCreateCsr");
    check(cudssMatrixCreateDn(&m_B, n, 1, n, m_b.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
          "cudssMatrixCreateDn");
    check(cudssMatrixCreateDn(&m_X, n, 1, n, m_x.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
          "cudssMatrixCreateDn");
  }
  ~CudssPhases() {
    cudssDataDestroy(m_handle, m_data);
    cudssMatrixDestroy(m_A);
    cudssMatrixDestroy(m_B);
    cudssMatrixDestroy(m_X);
    cudssConfigDestroy(m_config);
    cudssDestroy(m_handle);
  }
  CudssPhases(const CudssPhases&) = delete;
  CudssPhases& operator=(const CudssPhases&) = delete;

  /// Runs everything up to the end of the reordering phase.
  void reorder() {
    if (m_data != nullptr) cudssDataDestroy(m_handle, m_data);
    check(cudssDataCreate(m_handle, &m_data), "cudssDataCreate");
    if (!m_permutation.empty()) {
      check(cudssDataSet(m_handle, m_data, CUDSS_DATA_USER_PERM, m_permutation.data(),
                         m_permutation.size() * sizeof(int)),
            "cudssDataSet");
    }
    run(CUDSS_PHASE_REORDERING, "reordering");
  }
  void factorize_symbolic() { run(CUDSS_PHASE_SYMBOLIC_FACTORIZATION, "symbolic factorization"); }

  void factorize() { run(CUDSS_PHASE_FACTORIZATION, "factorization"); }

  /// The order found by the reordering phase: the k-th column eliminated.
  std::vector<int> permutation() const {
    std::vector<int> order(m_x.extent(0));
    std::size_t written = 0;
    check(cudssDataGet(m_handle, m_data, CUDSS_DATA_PERM_REORDER_COL, order.data(),
                       order.size() * sizeof(int), &written),
          "cudssDataGet");
    return order;
  }

  double nnz_lu() const {
    std::int64_t nnz = 0;
    std::size_t written = 0;
    check(cudssDataGet(m_handle, m_data, CUDSS_DATA_LU_NNZ, &nnz, sizeof nnz, &written), "cudssDataGet");
    return static_cast<double>(nnz);
  }

 private:
  static void check(cudssStatus_t status, const char* step) {
    if (status != CUDSS_STATUS_SUCCESS)
      throw std::runtime_error(std::string(step) + " ends with status " +
                               std::to_string(static_cast<int>(status)));
  }
  void run(int phase, const char* step) {
    check(cudssExecute(m_handle, phase, m_config, m_data, m_A, m_X, m_B), step);
  }

  std::vector<int> m_permutation;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Kokkos::View<double*, MemorySpace> m_values, m_b, m_x;
  cudssHandle_t m_handle = nullptr;
  cudssConfig_t m_config = nullptr;
  cudssData_t m_data = nullptr;
  cudssMatrix_t m_A = nullptr, m_B = nullptr, m_X = nullptr;
};

}  // namespace lutra::Perf

#endif

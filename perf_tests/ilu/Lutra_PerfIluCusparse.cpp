// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cusparse.h>

#include <stdexcept>
#include <string>

#include "Lutra_PerfIlu.hpp"

namespace lutra::Perf {
namespace {

void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuSPARSE: ") + cusparseGetErrorString(status));
}

/// csrilu02 with levels: the incomplete factorization of the legacy interface of cuSPARSE. It works in place.
class CusparseIlu final : public IluSolver {
 public:
  explicit CusparseIlu(const HostMatrix<double>& A)
      : m_pattern(A),
        m_row_map(to_device(std::vector<int>(A.row_map.begin(), A.row_map.end()))),
        m_entries(to_device(A.entries)),
        m_input(to_device(A.values)),
        m_values(to_device(A.values)) {
    check(cusparseCreate(&m_handle));
    check(cusparseCreateMatDescr(&m_descriptor));
    check(cusparseCreateCsrilu02Info(&m_info));
    int bytes = 0;
    check(cusparseDcsrilu02_bufferSize(m_handle, A.n_rows, nnz(), m_descriptor, m_values.data(),
                                       m_row_map.data(), m_entries.data(), m_info, &bytes));
    m_buffer = Kokkos::View<char*, MemorySpace>("lutra::perf::buffer", static_cast<std::size_t>(bytes));
  }
  ~CusparseIlu() override {
    cusparseDestroyCsrilu02Info(m_info);
    cusparseDestroyMatDescr(m_descriptor);
    cusparseDestroy(m_handle);
  }
  CusparseIlu(const CusparseIlu&) = delete;
  CusparseIlu& operator=(const CusparseIlu&) = delete;

  void analyze() override {
    check(cusparseDcsrilu02_analysis(m_handle, m_pattern.n_rows, nnz(), m_descriptor, m_values.data(),
                                     m_row_map.data(), m_entries.data(), m_info,
                                     CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
  }
  void factorize() override {
    Kokkos::deep_copy(ExecutionSpace(), m_values, m_input);
    Kokkos::fence();
    check(cusparseDcsrilu02(m_handle, m_pattern.n_rows, nnz(), m_descriptor, m_values.data(),
                            m_row_map.data(), m_entries.data(), m_info, CUSPARSE_SOLVE_POLICY_USE_LEVEL,
                            m_buffer.data()));
  }
  HostFactors factors() const override {
    HostFactors LU = m_pattern;
    LU.values = to_host(m_values);
    return LU;
  }

 private:
  int nnz() const { return static_cast<int>(m_pattern.nnz()); }

  HostMatrix<double> m_pattern;
  cusparseHandle_t m_handle = nullptr;
  cusparseMatDescr_t m_descriptor = nullptr;
  csrilu02Info_t m_info = nullptr;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Kokkos::View<double*, MemorySpace> m_input, m_values;
  Kokkos::View<char*, MemorySpace> m_buffer;
};

}  // namespace

std::vector<IluKind> cusparse_ilu_kinds() {
  IluKind kind;
  kind.name = "cusparse";
  kind.version = std::to_string(CUSPARSE_VERSION);
  kind.make = [](const HostMatrix<double>& A, const IluTask&) { return std::make_unique<CusparseIlu>(A); };
  return {kind};
}

}  // namespace lutra::Perf

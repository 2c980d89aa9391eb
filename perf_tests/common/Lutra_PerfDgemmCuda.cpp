// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cublas_v2.h>

#include <algorithm>

#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

double dgemm_flops_per_second() {
  constexpr int n = 4096;
  constexpr double one = 1, zero = 0;
  const Kokkos::View<double*, MemorySpace> a("lutra::perf::a", std::size_t(n) * n),
      b("lutra::perf::b", a.size()), c("lutra::perf::c", a.size());
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 0;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    Kokkos::fence("lutra::perf: dgemm is timed from here");
    const Kokkos::Timer timer;
    const auto status = cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), n, b.data(), n,
                                    &zero, c.data(), n);
    Kokkos::fence("lutra::perf: dgemm is timed to here");
    if (status == CUBLAS_STATUS_SUCCESS) best = std::max(best, 2.0 * n * n * n / timer.seconds());
  }
  cublasDestroy(handle);
  return best;
}

}  // namespace lutra::Perf

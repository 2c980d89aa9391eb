// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

extern "C" void dgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                       const double* beta, double* c, const int* ldc);

namespace lutra::Perf {

double dgemm_flops_per_second() {
  constexpr int n = 1024;
  constexpr double one = 1, zero = 0;
  const std::vector<double> a(std::size_t(n) * n, 0.5), b(a);
  std::vector<double> c(a.size());
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Kokkos::Timer timer;
    dgemm_("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(), &n);
    best = std::max(best, 2.0 * n * n * n / timer.seconds());
  }
  return best;
}

}  // namespace lutra::Perf

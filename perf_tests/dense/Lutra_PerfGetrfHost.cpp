// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexcept>

#include "Lutra_PerfGetrf.hpp"

extern "C" void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);

namespace lutra::Perf {

const char* const getrf_name = "lapack";

Samples measure_getrf(int samples, int n, const Kokkos::View<const double*, MemorySpace>& matrix) {
  const Kokkos::View<double*, MemorySpace> work("lutra::perf::getrf", matrix.extent(0));
  std::vector<int> pivots(static_cast<std::size_t>(n));
  int info = 0;
  auto result = measure(
      samples, [&] { Kokkos::deep_copy(work, matrix); },
      [&] { dgetrf_(&n, &n, work.data(), &n, pivots.data(), &info); });
  if (info != 0) throw std::runtime_error("dgetrf ends with " + std::to_string(info));
  return result;
}

}  // namespace lutra::Perf

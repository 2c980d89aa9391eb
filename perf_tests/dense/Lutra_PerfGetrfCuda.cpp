// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cusolverDn.h>

#include <memory>
#include <stdexcept>

#include "Lutra_PerfGetrf.hpp"

namespace lutra::Perf {
namespace {

void check(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error("cuSOLVER: " + std::to_string(status));
}

struct Closes {
  void operator()(cusolverDnHandle_t handle) const { cusolverDnDestroy(handle); }
};

}  // namespace

const char* const getrf_name = "cusolver";

Samples measure_getrf(int samples, int n, const Kokkos::View<const double*, MemorySpace>& matrix) {
  cusolverDnHandle_t opened = nullptr;
  check(cusolverDnCreate(&opened));
  const std::unique_ptr<cusolverDnContext, Closes> handle(opened);
  const Kokkos::View<double*, MemorySpace> work("lutra::perf::getrf", matrix.extent(0));
  int words = 0;
  check(cusolverDnDgetrf_bufferSize(handle.get(), n, n, work.data(), n, &words));
  const Kokkos::View<double*, MemorySpace> buffer("lutra::perf::getrf_buffer",
                                                  static_cast<std::size_t>(words));
  const Kokkos::View<int, MemorySpace> info("lutra::perf::getrf_info");
  return measure(
      samples, [&] { Kokkos::deep_copy(work, matrix); },
      [&] {
        check(cusolverDnDgetrf(handle.get(), n, n, work.data(), n, buffer.data(), nullptr, info.data()));
      });
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfLimits.hpp"

#include <algorithm>

#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {
namespace {

constexpr int repeats = 5;  // the fastest counts, since this is a limit

double copy_bytes_per_second() {
  constexpr std::size_t doubles = std::size_t(1) << 25;  // 256 MB, far larger than caches
  const Kokkos::View<double*, MemorySpace> from("lutra::perf::copy_from", doubles);
  const Kokkos::View<double*, MemorySpace> to("lutra::perf::copy_to", doubles);
  const ExecutionSpace exec;
  double best = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    exec.fence("lutra::perf: a copy is timed from here");
    const Kokkos::Timer timer;
    Kokkos::deep_copy(exec, to, from);
    exec.fence("lutra::perf: a copy is timed to here");
    best = std::max(best, 2.0 * sizeof(double) * doubles / timer.seconds());
  }
  return best;
}

double launch_seconds() {
  constexpr int launches = 1000;
  const ExecutionSpace exec;
  const Kokkos::RangePolicy<ExecutionSpace> one_index(exec, 0, 1);
  double best = 1;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    exec.fence("lutra::perf: launches are timed from here");
    const Kokkos::Timer timer;
    for (int launch = 0; launch < launches; ++launch) {
      Kokkos::parallel_for("lutra::perf::empty", one_index, KOKKOS_LAMBDA(const int){});
    }
    exec.fence("lutra::perf: launches are timed to here");
    best = std::min(best, timer.seconds() / launches);
  }
  return best;
}

}  // namespace

Limits measure_limits() {
  return {copy_bytes_per_second(), dgemm_flops_per_second(), launch_seconds()};
}

}  // namespace lutra::Perf

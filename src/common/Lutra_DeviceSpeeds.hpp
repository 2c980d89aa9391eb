// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICESPEEDS_HPP
#define LUTRA_DEVICESPEEDS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "Lutra_Allocate.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// Least time of some runs of work on a space, after one warm-up run. Fences.
template <class ExecutionSpace, class Work>
double least_seconds(const ExecutionSpace& exec, int runs, const Work& work) {
  double least = HUGE_VAL;
  for (int run = 0; run <= runs; ++run) {
    exec.fence("lutra::common: before a measurement");
    const Kokkos::Timer timer;
    work();
    exec.fence("lutra::common: after a measurement");
    if (run > 0) least = std::min(least, timer.seconds());
  }
  return least;
}

/// A kernel without work.
struct EmptyKernel {
  KOKKOS_FUNCTION void operator()(const int) const {}
};

/// One thread follows a cycle of links, one to a cache line.
template <class Links>
struct FollowLinks {
  static constexpr int n = 1 << 13, line = 32;  // a megabyte: more than the cache of one multiprocessor
  Links next;  ///< [n · line] of each line the first entry: the start of the line that follows
  KOKKOS_FUNCTION void operator()(const int) const {
    int at = 0;
    for (int step = 0; step < n; ++step) at = next(at);
    next(1) = at;  // which keeps the loop
  }
};

template <class Links>
struct LinkLines {
  Links next;
  KOKKOS_FUNCTION void operator()(const int k) const {
    using Follow = FollowLinks<Links>;
    next(k * Follow::line) = (k + 5003) % Follow::n * Follow::line;  // odd, so the cycle has all lines
  }
};

/// Each thread iterates x = a x + b on four numbers.
template <class Values>
struct MultiplyAdd {
  static constexpr int steps = 512;
  double a, b;
  Values x;  ///< [4]
  KOKKOS_FUNCTION void operator()(const int k) const {
    double x0 = k, x1 = k + a, x2 = k - a, x3 = k + b;
    for (int step = 0; step < steps; ++step) {
      x0 = a * x0 + b;
      x1 = a * x1 + b;
      x2 = a * x2 + b;
      x3 = a * x3 + b;
    }
    if (x0 + x1 + x2 + x3 < 0) x(0) = x0;  // never, which the compiler cannot know
  }
};

/// Bytes read and written per second by a copy of 64 MiB, more than caches hold; 0 without memory for two
/// such arrays.
template <class ExecutionSpace>
double measured_bandwidth(const ExecutionSpace& exec) {
  using Bytes = Kokkos::View<double*, typename ExecutionSpace::memory_space>;
  constexpr std::size_t n = std::size_t{1} << 23;
  try {
    const auto from = make_uncounted<Bytes>("lutra::common::copied", n),
               to = make_uncounted<Bytes>("lutra::common::copy", n);
    const double seconds = least_seconds(exec, 3, [&] { Kokkos::deep_copy(exec, to, from); });
    return 2.0 * sizeof(double) * static_cast<double>(n) / seconds;
  } catch (const OutOfMemoryError&) {
    return 0;
  }
}

/// Seconds of one of many empty kernels in a row.
template <class ExecutionSpace>
double measured_launch(const ExecutionSpace& exec) {
  constexpr int launches = 256;
  const Kokkos::RangePolicy<ExecutionSpace> one(exec, 0, 1);
  return least_seconds(exec, 5,
                       [&] {
                         for (int k = 0; k < launches; ++k)
                           Kokkos::parallel_for("lutra::common::launch", one, EmptyKernel());
                       }) /
         launches;
}

/// Measures the speeds of a space in some milliseconds, with 128 MiB outside any budget. Fences.
template <class ExecutionSpace>
DeviceSpeeds measure_device_speeds(const ExecutionSpace& exec = ExecutionSpace()) {
  using Memory = typename ExecutionSpace::memory_space;
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<int>>;
  using Links = Kokkos::View<int*, Memory>;
  using Values = Kokkos::View<double*, Memory>;
  DeviceSpeeds speeds;
  speeds.launch_seconds = measured_launch(exec);
  using Follow = FollowLinks<Links>;
  const auto links = make_uncounted<Links>("lutra::common::links", Follow::n * Follow::line);
  Kokkos::parallel_for("lutra::common::link", Range(exec, 0, Follow::n), LinkLines<Links>{links});
  speeds.read_seconds =
      least_seconds(
          exec, 1, [&] { Kokkos::parallel_for("lutra::common::follow", Range(exec, 0, 1), Follow{links}); }) /
      Follow::n;
  const auto values = make_uncounted<Values>("lutra::common::values", 4);
  const int threads = 4 * exec.concurrency();
  const double seconds = least_seconds(exec, 2, [&] {
    Kokkos::parallel_for("lutra::common::multiply_add", Range(exec, 0, threads),
                         MultiplyAdd<Values>{0.5, 1, values});
  });
  speeds.flops_per_second = 8.0 * MultiplyAdd<Values>::steps * threads / seconds;
  speeds.bandwidth = measured_bandwidth(exec);
  return speeds;
}

}  // namespace lutra::Impl

#endif

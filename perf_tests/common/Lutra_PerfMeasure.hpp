// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMEASURE_HPP
#define LUTRA_PERFMEASURE_HPP

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// Times of one operation.
struct Samples {
  std::vector<double> seconds;  ///< ascending
  double median() const;
};

/// Wall times and CPU times of all threads of the process for one operation, for solvers that take turns.
struct Times {
  Samples wall, cpu;

  /// Appends a sample of `timed`, which ends with a fence.
  void take(const std::function<void()>& timed);
  void sort();
};

/// Two warm-ups, then `wanted` samples of `timed`. Each timed region begins after a fence of all devices and
/// includes a fence at its end. If one run takes over a second: one warm-up and at most three samples.
/// @param prepare runs before each sample, untimed
Samples measure(int wanted, const std::function<void()>& prepare, const std::function<void()>& timed);
Samples measure(int wanted, const std::function<void()>& timed);

/// One benchmark of a report: times, backward errors, and the limits of the hardware.
struct Measurement {
  Samples samples;
  std::map<std::string, double> counters{};
  std::string label{};

  /// Adds backward errors.
  void add_errors(const Errors& errors);
  /// Adds backward errors; a solution with a larger componentwise error is counted and labelled as failed.
  void check_errors(const Errors& errors, double max_error = tolerance);
  /// Adds the lower bounds of the hardware on the time. A bound from 0 operations is omitted.
  void add_limits(const Limits& limits, double bytes, double flops = 0, double launches = 0);
};

/// Registers "<matrix>/<stage>/<solver>" with Google Benchmark. An exception of `body` becomes the error of
/// the benchmark.
void add_benchmark(const std::string& matrix, const std::string& stage, const std::string& solver,
                   std::function<Measurement()> body);

/// Bytes of a sparse matrix by rows: row map, column indices, and values if `with_values`.
double csr_bytes(double n, double nnz, bool with_values, std::size_t scalar_bytes = sizeof(double));

}  // namespace lutra::Perf

#endif

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

/// Two warm-ups, then `wanted` samples of `timed`, each begun and ended with a fence of all devices inside
/// the timed region. Where one run takes over a second, one warm-up and three samples do.
/// @param prepare runs before each, untimed
Samples measure(int wanted, const std::function<void()>& prepare, const std::function<void()>& timed);
Samples measure(int wanted, const std::function<void()>& timed);

/// A line of the result: the median, what it is worth, and what it could be.
struct Measurement {
  Samples samples;
  std::map<std::string, double> counters{};
  std::string label{};

  /// Adds backward errors.
  void note(const Errors& errors);
  /// Adds backward errors, and calls an answer beyond the tolerance a loss.
  void judge(const Errors& errors, double most = tolerance);
  /// Adds the least times the hardware allows; a limit of 0 operations is left out.
  void bound(const Limits& limits, double bytes, double flops = 0, double launches = 0);
};

/// Registers "<matrix>/<stage>/<solver>" with Google Benchmark. An exception of `body` becomes the line's
/// error.
void add_benchmark(const std::string& matrix, const std::string& stage, const std::string& solver,
                   std::function<Measurement()> body);

/// Bytes of a sparse matrix by rows: entries and where rows start, with values if asked.
double csr_bytes(double n, double nnz, bool with_values, std::size_t scalar_bytes = sizeof(double));

}  // namespace lutra::Perf

#endif

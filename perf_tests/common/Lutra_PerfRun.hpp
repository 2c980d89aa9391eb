// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFRUN_HPP
#define LUTRA_PERFRUN_HPP

#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// A dense front to be measured with.
struct PerfFront {
  int pivots = 0, below = 0;
};

/// What the command line asks of a program; lives as long as its benchmarks.
struct PerfRun {
  std::vector<PerfMatrix> matrices;
  std::vector<PerfFront> fronts;  ///< of lutra_perf_dense; empty: its own
  int samples = 10;
  Limits limits;
};

/// Takes --matrix=, --generate=, --front= and --samples= off the command line and leaves the rest to others.
/// @throws InputError
PerfRun take_arguments(int& argc, char** argv);

/// What `take_arguments` understands, for --help.
extern const char* const arguments_help;

/// Version, commit, Kokkos, threads, device, peers and hardware limits, into the context of Google
/// Benchmark's report.
void add_context(const Limits& limits);

/// Gives the BLAS that peers use as many threads as Kokkos has on the host, where it is OpenBLAS; returns how
/// many, 0 where unknown.
int limit_blas_threads();

/// Each program's own part: registers its benchmarks for all matrices of the run.
void register_benchmarks(const PerfRun& run);

}  // namespace lutra::Perf

#endif

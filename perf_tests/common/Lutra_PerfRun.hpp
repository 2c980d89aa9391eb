// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFRUN_HPP
#define LUTRA_PERFRUN_HPP

#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// Factorizations that solvers expect if refactorizations and solves are timed, so that a slower ordering can
/// pay off.
inline constexpr int repeated_factorizations = 100;

/// A dense front of the benchmarks.
struct PerfFront {
  int pivots = 0, off_diagonal_rows = 0;
};

/// The options of a program; lives as long as its benchmarks.
struct PerfRun {
  std::vector<PerfMatrix> matrices;
  std::vector<PerfFront> fronts;  ///< of lutra_perf_dense; empty: its defaults
  int samples = 10;
  Limits limits;
};

/// Removes --matrix=, --generate=, --front= and --samples= from the arguments and keeps the others.
/// @throws InputError
PerfRun take_arguments(int& argc, char** argv);

/// The same without default matrices.
PerfRun take_given_arguments(int& argc, char** argv);

/// Help on the arguments of `take_arguments`.
extern const char* const arguments_help;

/// Adds version, commit, Kokkos, threads, device, peers and hardware limits to the context of the Google
/// Benchmark report.
void add_context(const Limits& limits);

/// Gives OpenBLAS, which peers use, the number of host threads of Kokkos. Returns that number; 0 if another
/// BLAS is loaded.
int limit_blas_threads();

/// Registers the benchmarks of a program for all matrices of the run; each program defines it.
void register_benchmarks(const PerfRun& run);

}  // namespace lutra::Perf

#endif

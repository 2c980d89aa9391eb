// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFORDERED_HPP
#define LUTRA_PERFORDERED_HPP

#include <cstdint>
#include <vector>

#include "Lutra_PerfMatrix.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Perf {

using DevicePattern = CsrPattern<int, std::int64_t, MemorySpace>;
using DeviceFilled = LuPattern<MemorySpace>;

/// A pattern in METIS' order of A + Aᵀ, rows sorted: what all lines of a matrix start from.
struct Ordered {
  explicit Ordered(const PerfMatrix& matrix);

  std::vector<int> permutation;  ///< [n] row and column eliminated as k-th
  HostMatrix<char> host;
  DevicePattern device;
  std::uint64_t expected = 0;  ///< print of the pattern of L + U, by fill1's sweep on one thread
  double nnz_lu = 0;
};

/// A number that distinguishes patterns: of row maps and entries with their positions.
std::uint64_t print_of(const DeviceFilled& filled);

/// The line of a result that is `expected`.
/// @throws std::runtime_error for one that is not
Measurement describe_pattern(const PerfRun& run, Samples samples, const Ordered& ordered,
                             const DeviceFilled& filled);

// Peers, each in the build where its library was found.
Measurement measure_klu_symbolic(const PerfRun& run, const Ordered& ordered);
/// @param matrix that of `ordered` before it was ordered
Measurement measure_klu_search(const PerfRun& run, const Ordered& ordered, const HostMatrix<double>& matrix);
Measurement measure_umfpack_symbolic(const PerfRun& run, const Ordered& ordered);
/// SuperLU_DIST's `symbfact`, and `symbfact_dist` on all processes of MPI_COMM_WORLD, one or two.
Measurement measure_superlu_symbolic(const PerfRun& run, const Ordered& ordered);
Measurement measure_superlu_parallel_symbolic(const PerfRun& run, const Ordered& ordered);
#ifdef LUTRA_PERF_SYMBOLIC_CUDSS
/// cuDSS's symbolic phase alone, in the order given, or in its own where that is empty.
Measurement measure_cudss_symbolic(const PerfRun& run, const HostMatrix<double>& matrix,
                                   const std::vector<int>& permutation);
#endif

}  // namespace lutra::Perf

#endif

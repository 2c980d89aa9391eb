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

/// A pattern in the METIS order of A + Aᵀ with sorted rows, the common start of all lines of a matrix.
struct Ordered {
  explicit Ordered(const PerfMatrix& matrix);

  std::vector<int> permutation;  ///< [n] k-th row and column eliminated
  HostMatrix<char> host;
  DevicePattern device;
  std::uint64_t expected = 0;  ///< hash of the pattern of L + U, from fill1 on one thread
  double nnz_lu = 0;
};

/// A hash of a pattern, from row maps and entries with their positions.
std::uint64_t print_of(const DeviceFilled& filled);

/// The line of a result whose hash is `expected`.
/// @throws std::runtime_error for any other result
Measurement describe_pattern(const PerfRun& run, Samples samples, const Ordered& ordered,
                             const DeviceFilled& filled);

// Peers. Each is compiled if its library was found.
Measurement measure_klu_symbolic(const PerfRun& run, const Ordered& ordered);
/// @param matrix that of `ordered` before it was ordered
Measurement measure_klu_search(const PerfRun& run, const Ordered& ordered, const HostMatrix<double>& matrix);
Measurement measure_umfpack_symbolic(const PerfRun& run, const Ordered& ordered);
/// SuperLU_DIST's `symbfact`, and `symbfact_dist` on all processes of MPI_COMM_WORLD, one or two.
Measurement measure_superlu_symbolic(const PerfRun& run, const Ordered& ordered);
Measurement measure_superlu_parallel_symbolic(const PerfRun& run, const Ordered& ordered);
#ifdef LUTRA_PERF_SYMBOLIC_CUDSS
/// The symbolic phase of cuDSS alone, in the given order, or in its own order if that is empty.
Measurement measure_cudss_symbolic(const PerfRun& run, const HostMatrix<double>& matrix,
                                   const std::vector<int>& permutation);
#endif

}  // namespace lutra::Perf

#endif

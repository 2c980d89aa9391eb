// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFGETRF_HPP
#define LUTRA_PERFGETRF_HPP

#include "Lutra_PerfMeasure.hpp"

namespace lutra::Perf {

/// Name of the library whose dense LU is the peer; empty if there is none.
extern const char* const getrf_name;

/// Times its LU of an n × n matrix stored by columns. On CUDA it is without interchanges, as in fronts.
/// @param matrix [n²] is not changed
Samples measure_getrf(int samples, int n, const Kokkos::View<const double*, MemorySpace>& matrix);

}  // namespace lutra::Perf

#endif

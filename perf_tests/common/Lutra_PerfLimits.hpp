// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFLIMITS_HPP
#define LUTRA_PERFLIMITS_HPP

namespace lutra::Perf {

/// What the execution space's hardware can do at most, measured when a program starts.
struct Limits {
  double copy_bytes_per_second = 0;  ///< read and written, of a long copy
  double flops_per_second = 0;       ///< of a large dgemm; 0: there is no BLAS for this execution space
  double launch_seconds = 0;         ///< of each of many empty kernels in a row
};

Limits measure_limits();

/// Rate of C = A·B of order n by the BLAS of the default execution space; 0 where there is none.
double dgemm_flops_per_second();

}  // namespace lutra::Perf

#endif

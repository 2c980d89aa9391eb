// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFLIMITS_HPP
#define LUTRA_PERFLIMITS_HPP

namespace lutra::Perf {

/// Rates and latency of the hardware of the execution space, measured when a program starts.
struct Limits {
  double copy_bytes_per_second = 0;  ///< read and written, of a long copy
  double flops_per_second = 0;       ///< of a large dgemm; 0: no BLAS for this execution space
  double launch_seconds = 0;         ///< per kernel of a sequence of empty kernels
};

Limits measure_limits();

/// Flops per second of a large C = A·B by the BLAS of the default execution space; 0 if there is none.
double dgemm_flops_per_second();

}  // namespace lutra::Perf

#endif

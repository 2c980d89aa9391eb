// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANETASKS_HPP
#define LUTRA_LANETASKS_HPP

#include "Lutra_LaneLists.hpp"

namespace lutra::Impl {

/// Factorization of one group by one host thread. Arrays of `Real` hold host_lanes numbers per entry; complex
/// ones first the real parts, then the imaginary parts.
template <class Real>
struct LaneFactorTask {
  LaneLists at;
  const Real* row_scale;  ///< [n]
  const Real* col_scale;  ///< [n]
  const Real* A;          ///< [nnz(A)]
  Real* values;           ///< [nnz(L + U)]
  Real* inverse;          ///< [n]
  const Real* start;      ///< [n]
  Real* probe;            ///< [n]
  Real perturbation;      ///< smallest pivot, relative to the largest scaled entry of a system
  LaneStats<Real, host_lanes<Real>>* stats;
};

/// Solve of one group; as LaneSolve.
template <class Real>
struct LaneSolveTask {
  LaneLists at;
  bool transposed;
  Real sign;
  const Real* from_scale;
  const Real* to_scale;
  const Real* values;
  const Real* inverse;
  const Real* B;     ///< [columns × n]
  Real* Y;           ///< [columns × n]
  const Real* base;  ///< [columns × n] or null
  Real* X;           ///< [columns × n]
  int columns;
};

/// Residual of one group; as LaneResidual.
template <class Real>
struct LaneResidualTask {
  LaneRows rows;
  Ordinal n;
  Real sign;
  const Real* A;
  const Real* B;
  const Real* X;
  Real* R;
  int columns;
  LaneMaxima<Real, host_lanes<Real>>* maxima;  ///< [columns]
  Real* norm;                                  ///< [lanes] ‖op(A)‖∞
};

/// What the probe of one group amounts to; as LaneProbe.
template <class Real>
struct LaneProbeTask {
  Ordinal n;
  const Real* col_scale;  ///< [n]
  const Real* X;          ///< [n]
  Real* amplification;    ///< [lanes]
};

/// Kernels of one instruction set; the second of each pair is for complex numbers. Null if this compiler does
/// not support it.
template <class Real>
struct LaneKernelTable {
  void (*factorize[2])(const LaneFactorTask<Real>&) = {nullptr, nullptr};
  void (*solve[2])(const LaneSolveTask<Real>&) = {nullptr, nullptr};
  void (*residual[2])(const LaneResidualTask<Real>&) = {nullptr, nullptr};
  void (*amplify[2])(const LaneProbeTask<Real>&) = {nullptr, nullptr};
  const char* instructions = "";
};

template <class Real>
LaneKernelTable<Real> plain_lanes();
template <class Real>
LaneKernelTable<Real> avx2_lanes();
template <class Real>
LaneKernelTable<Real> avx512_lanes();

/// The best kernels this machine supports. Detected on each call: keep the result.
template <class Real>
LaneKernelTable<Real> best_lanes();

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BACKWARDERROR_HPP
#define LUTRA_BACKWARDERROR_HPP

#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_DenseRows.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// op(A) by rows, for residuals: entry p of a row has the value values(source(p)), or values(p) where
/// `source` is empty, conjugated if asked. So one set of values serves A, Aᵀ and Aᴴ.
template <class Scalar, class Ordinal, class Offset, class MemorySpace>
struct ResidualOperator {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;
  Kokkos::View<const Scalar*, MemorySpace> values;
  Kokkos::View<const Offset*, MemorySpace> source;
  bool conjugate = false;

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(Offset p) const {
    const Scalar stored = values(source.extent(0) == 0 ? p : source(p));
    return conjugate ? ScalarTraits<Scalar>::conjugate(stored) : stored;
  }
};

/// Backward errors of each right-hand side; infinity where the residual or the solution is not finite.
struct BackwardErrors {
  std::vector<double> componentwise;  ///< maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ; 0/0 counts as 0
  std::vector<double> normwise;       ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
};

/// ‖op(A)‖∞, the greatest sum of magnitudes in a row. Fences `exec`.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
double norm_inf(const ExecutionSpace& exec,
                const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A);

/// R = B − op(A)·X and the backward errors of X, in the precision of Scalar.
/// @param magnitudes [n × k] scratch: receives |A||X| + |B|
/// @param A_norm     ‖op(A)‖∞
/// Cost: one pass over A and 2·k reductions. Fences `exec`.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
BackwardErrors compute_residual(
    const ExecutionSpace& exec,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
    const DenseRows<RealOf<Scalar>, typename ExecutionSpace::memory_space>& magnitudes);

}  // namespace lutra

#endif

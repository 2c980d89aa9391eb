// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVCOLUMN_HPP
#define LUTRA_KRYLOVCOLUMN_HPP

#include "Lutra_Krylov.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// State of one right-hand side within a cycle. It lives on the device, where the method decides when the
/// column stops. A stopped column does not change, so the host may check rarely and the result does not
/// depend on when it checks. Residuals are divided by `scale`, so that their squares neither overflow nor
/// underflow.
template <class Scalar>
struct KrylovColumn {
  using Real = RealOf<Scalar>;
  static constexpr int history_length = 16;  ///< most iterations between two checks by the host

  Real scale = 0;         ///< power of two near max |b|; 0 for b = 0
  Real B_norm = 0;        ///< ‖b‖₂ / scale
  Real norm = 0;          ///< ‖b − A·x‖₂ / scale, computed from x
  Real inverse_unit = 1;  ///< inverse of the power of two near the largest entry of the cycle's first
                          ///< product; sums multiply products by it
  Real first = 0;         ///< norm, at the start of the cycle, of the residual that the method iterates on
  Real goal = 0;          ///< fraction of `first` at which the cycle ends
  Scalar alpha{}, beta{}, omega{}, rho{};  ///< coefficients of the method
  KrylovStop stop = KrylovStop::max_iterations;
  bool running = false;
  bool restore = false;               ///< x must be restored to its value before the cycle
  int iterations = 0;                 ///< in this cycle
  int limit = 0;                      ///< most iterations of this cycle
  Real history[history_length] = {};  ///< iteration i of the cycle: norm / first, at i mod history_length

  KOKKOS_FUNCTION void end(KrylovStop why) {
    stop = why;
    running = false;
  }
  /// Ends the cycle if a coefficient of the method is unusable.
  KOKKOS_FUNCTION void check(bool is_finite, bool is_usable) {
    if (!is_finite) return end(KrylovStop::not_finite);
    if (!is_usable) end(KrylovStop::breakdown);
  }
  /// Starts a cycle on a residual of this norm.
  KOKKOS_FUNCTION void begin(Real residual_norm) {
    first = residual_norm;
    check(Kokkos::isfinite(residual_norm), residual_norm != 0);
  }
  /// Counts an iteration with its residual norm, and ends the cycle if it is the last.
  KOKKOS_FUNCTION void count_iteration(Real residual_norm) {
    if (!Kokkos::isfinite(residual_norm)) return end(KrylovStop::not_finite);
    history[iterations++ % history_length] = residual_norm / first;
    if (residual_norm <= goal * first) {
      end(KrylovStop::converged);
    } else if (iterations >= limit) {
      end(KrylovStop::max_iterations);
    }
  }
};

/// The real part of an inner product that is real up to rounding.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> real_part(const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return value.real();
  } else {
    return value;
  }
}

/// conj(x)·y
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar dot(const Scalar& x, const Scalar& y) {
  return ScalarTraits<Scalar>::conjugate(x) * y;
}

/// ‖x‖₂ for `square` = xᴴ·x.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> root_of(const Scalar& square) {
  return Kokkos::sqrt(real_part(square));
}

/// Row i of column c of d += a·p, r −= a·q. Returns the new entry of r. P may be R.
template <class Rows>
KOKKOS_FORCEINLINE_FUNCTION typename Rows::value_type correct_row(const typename Rows::value_type& a,
                                                                  const Rows& P, const Rows& Q, const Rows& D,
                                                                  const Rows& R, std::int64_t i, int c) {
  D(i, c) += a * P(i, c);
  return R(i, c) = R(i, c) - a * Q(i, c);
}

}  // namespace lutra::Impl

#endif

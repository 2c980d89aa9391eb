// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTPIVOTS_HPP
#define LUTRA_LDLTPIVOTS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_FrontLdlt.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// F(j, i) for a given F(i, j).
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar mirrored(bool hermitian, const Scalar& value) {
  return hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
}

/// The magnitude; infinity for NaN.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> size_or_infinity(const Scalar& value) {
  using Real = RealOf<Scalar>;
  const Real size = ScalarTraits<Scalar>::magnitude(value);
  return size < Kokkos::Experimental::infinity_v<Real> ? size : Kokkos::Experimental::infinity_v<Real>;
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> real_part(const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return value.real();
  } else {
    return value;
  }
}

/// A 2 × 2 pivot D = [d1 ō; o d2] and its inverse, scaled by o as LAPACK's xSYTRS does, so that no product
/// overflows: det / (o·ō) = (d1/o)·(d2/ō) − 1.
template <class Scalar>
struct PivotPair {
  Scalar d1, d2, o, o_mirrored;
  Scalar over_o, over_o_mirrored, p, q, t;

  PivotPair() = default;
  KOKKOS_FUNCTION PivotPair(const Scalar& first, const Scalar& second, const Scalar& off, bool hermitian)
      : d1(first), d2(second), o(off), o_mirrored(mirrored(hermitian, off)) {
    over_o = Scalar(1) / o;
    over_o_mirrored = Scalar(1) / o_mirrored;
    p = d2 * over_o_mirrored;
    q = d1 * over_o;
    t = Scalar(1) / (q * p - Scalar(1));
  }
  /// Solves [l1 l2]·D = [x1 x2]
  KOKKOS_FORCEINLINE_FUNCTION void divide_row(const Scalar& x1, const Scalar& x2, Scalar& l1,
                                              Scalar& l2) const {
    const Scalar y1 = x1 * over_o, y2 = x2 * over_o_mirrored;
    l1 = t * (p * y1 - y2);
    l2 = t * (q * y2 - y1);
  }
  /// Solves D·y = z
  KOKKOS_FORCEINLINE_FUNCTION void divide_column(const Scalar& z1, const Scalar& z2, Scalar& y1,
                                                 Scalar& y2) const {
    y1 = t * over_o * (p * (z1)-z2);
    y2 = t * over_o_mirrored * (q * z2 - z1);
  }
  /// [x1 x2] = [l1 l2]·D
  KOKKOS_FORCEINLINE_FUNCTION void multiply_row(const Scalar& l1, const Scalar& l2, Scalar& x1,
                                                Scalar& x2) const {
    x1 = l1 * d1 + l2 * o;
    x2 = l1 * o_mirrored + l2 * d2;
  }
};

/// Threshold test of a 2 × 2 pivot (I. S. Duff, N. I. M. Gould, J. K. Reid, J. A. Scott and K. Turner, IMA J.
/// Numer. Anal. 11, 1991): all resulting entries of L are at most 1/u. Scaled by the square of the coupling.
template <class Scalar>
struct PairTest {
  using Real = RealOf<Scalar>;
  Scalar d1, d2, o;               ///< D = [d1 ō; o d2]
  Real size_1, size_2, coupling;  ///< magnitudes of the three
  Real below_1, below_2;          ///< the largest other magnitudes in the two columns

  KOKKOS_FUNCTION bool passes(bool hermitian, Real threshold) const {
    const Scalar product = d1 / o * (d2 / mirrored(hermitian, o));
    const Real size = ScalarTraits<Scalar>::magnitude(product);
    const Real det = ScalarTraits<Scalar>::magnitude(product - Scalar(1));
    if (!(det >= (size > Real(1) ? size : Real(1)) / 2)) return false;
    const Real bound = det * coupling / threshold;
    return size_2 / coupling * below_1 + below_2 <= bound && below_1 + size_1 / coupling * below_2 <= bound;
  }
};

/// a·b − c·d of real values, accurate to one rounding error of the result (W. Kahan).
template <class Real>
KOKKOS_FUNCTION Real difference_of_products(Real a, Real b, Real c, Real d) {
  const Real cd = c * d;
  return Kokkos::fma(a, b, -cd) + Kokkos::fma(-c, d, cd);
}

/// Signs of the eigenvalues of D.
struct PivotSigns {
  int positive = 0, negative = 0;

  KOKKOS_FUNCTION void count(bool is_positive) { ++(is_positive ? positive : negative); }
};

/// Whether d1·d2 > o², also where these products are out of range.
template <class Real>
KOKKOS_FUNCTION bool is_definite_pair(Real d1, Real d2, Real o) {
  constexpr Real epsilon = Kokkos::Experimental::epsilon_v<Real>;
  constexpr Real low = Kokkos::Experimental::norm_min_v<Real> / (epsilon * epsilon);
  constexpr Real high = Kokkos::Experimental::finite_max_v<Real> * epsilon;
  const auto is_in_range = [=](Real product) { return low < product && product < high; };
  if (is_in_range(Kokkos::abs(d1 * d2)) && is_in_range(o * o))
    return difference_of_products(d1, d2, o, o) > Real(0);
  if ((d1 > Real(0)) != (d2 > Real(0)) || d1 == Real(0) || d2 == Real(0)) return false;
  // compares roots: √|d1|·√|d2| neither overflows nor underflows
  return Kokkos::sqrt(Kokkos::abs(d1)) * Kokkos::sqrt(Kokkos::abs(d2)) > Kokkos::abs(o);
}

/// Signs of a 2 × 2 pivot, from its determinant, then its trace.
template <class Scalar>
KOKKOS_FUNCTION PivotSigns signs_of_pair(const Scalar& first, const Scalar& second, const Scalar& off) {
  using Real = RealOf<Scalar>;
  const Real d1 = real_part(first), d2 = real_part(second), o = ScalarTraits<Scalar>::magnitude(off);
  PivotSigns signs;
  const bool is_definite = is_definite_pair(d1, d2, o);
  signs.count(is_definite ? d1 + d2 > Real(0) : true);
  signs.count(is_definite ? d1 + d2 > Real(0) : false);
  return signs;
}

/// det| / max |entry| of a 2 × 2 pivot, at most twice the magnitude of its smaller eigenvalue.
template <class Scalar>
KOKKOS_FUNCTION double size_of_pair(const Scalar& first, const Scalar& second, const Scalar& off,
                                    bool hermitian) {
  using Real = RealOf<Scalar>;
  const Real largest =
      Kokkos::max(size_or_infinity(off), Kokkos::max(size_or_infinity(first), size_or_infinity(second)));
  if (!(largest > Real(0))) return 0;
  const Scalar d1 = first / largest, d2 = second / largest, o = off / largest;
  Real det;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    det = ScalarTraits<Scalar>::magnitude(d1 * d2 - o * mirrored(hermitian, o));
  } else {
    det = Kokkos::abs(difference_of_products(d1, d2, o, o));
  }
  return static_cast<double>(det) * static_cast<double>(largest);
}

}  // namespace lutra::Impl

#endif

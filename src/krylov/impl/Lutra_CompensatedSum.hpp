// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMPENSATEDSUM_HPP
#define LUTRA_COMPENSATEDSUM_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

/// A sum of products in double precision with its accumulated rounding error, as accurate as in twice the
/// precision (T. Ogita, S. M. Rump and S. Oishi, SIAM J. Sci. Comput. 26, 2005, Dot2).
struct CompensatedSum {
  double sum = 0;
  double error = 0;  ///< correction to add to `sum`

  KOKKOS_FORCEINLINE_FUNCTION void add(double value) {
    const double total = sum + value, part = total - sum;
    error += (sum - (total - part)) + (value - part);
    sum = total;
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_product(double a, double b) {
    const double product = a * b;
    error += Kokkos::fma(a, b, -product);
    add(product);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(const CompensatedSum& other) {
    add(other.sum);
    error += other.error;
  }
  KOKKOS_FORCEINLINE_FUNCTION double value() const { return sum + error; }
};

/// Compensated sum of products of scalars, real or complex.
struct CompensatedComplexSum {
  CompensatedSum real, imaginary;

  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION void add_product(Real a, Real b) {
    real.add_product(static_cast<double>(a), static_cast<double>(b));
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION void add_product(const Kokkos::complex<Real>& a,
                                               const Kokkos::complex<Real>& b) {
    const auto a_re = static_cast<double>(a.real()), a_im = static_cast<double>(a.imag());
    const auto b_re = static_cast<double>(b.real()), b_im = static_cast<double>(b.imag());
    real.add_product(a_re, b_re);
    real.add_product(-a_im, b_im);
    imaginary.add_product(a_re, b_im);
    imaginary.add_product(a_im, b_re);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(const CompensatedComplexSum& other) {
    real.add(other.real);
    imaginary.add(other.imaginary);
  }
  KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<double> value() const {
    return {real.value(), imaginary.value()};
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTLANES_HPP
#define LUTRA_HOSTLANES_HPP

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#define LUTRA_HOST_LANES_ONLY
#include "Lutra_LaneKernels.hpp"

// Numbers of a group of systems on hosts. Templates over `Isa`, which has the bytes of a register, as
// everything that is compiled for several instruction sets.
//
// Sources that include this are compiled with -ffp-contract=off. Left to the compiler, products and sums
// would be joined to one rounding in some kernels and not in others, and bits would depend on the number of
// columns.

namespace lutra::Impl {

/// a + x·y, rounded once where the instruction set has that.
template <class Real, class Register>
LUTRA_LANE_FUNCTION Register fused(const Register& a, const Register& x, const Register& y) {
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
#if defined(__AVX512F__)
  if constexpr (sizeof(Register) == 64 && is_double) return _mm512_fmadd_pd(x, y, a);
  if constexpr (sizeof(Register) == 64 && !is_double) return _mm512_fmadd_ps(x, y, a);
#endif
#if defined(__FMA__)
  if constexpr (sizeof(Register) == 32 && is_double) return _mm256_fmadd_pd(x, y, a);
  if constexpr (sizeof(Register) == 32 && !is_double) return _mm256_fmadd_ps(x, y, a);
#elif defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
  Register result;
  for (unsigned l = 0; l < sizeof(Register) / sizeof(Real); ++l)
    result[l] = is_double ? __builtin_fma(x[l], y[l], a[l]) : __builtin_fmaf(x[l], y[l], a[l]);
  return result;
#endif
  return a + x * y;
}

/// Numbers of all lanes: 64 bytes in registers of Isa::bytes each.
template <class Isa, class Real>
struct Pack {
  static constexpr int registers = 64 / Isa::bytes, lanes = Isa::bytes / static_cast<int>(sizeof(Real));
  typedef Real Register __attribute__((vector_size(Isa::bytes)));
  typedef Real Unaligned __attribute__((vector_size(Isa::bytes), aligned(sizeof(Real)), may_alias));
  Register part[registers];

  /// part = operation(part of a, part of b)
  template <class Operation>
  LUTRA_LANE_FUNCTION static Pack joined(const Pack& a, const Pack& b, const Operation& operation) {
    Pack result;
    for (int r = 0; r < registers; ++r) result.part[r] = operation(a.part[r], b.part[r]);
    return result;
  }
  LUTRA_LANE_FUNCTION friend Pack operator+(const Pack& a, const Pack& b) {
    return joined(a, b, [](const Register& x, const Register& y) { return x + y; });
  }
  LUTRA_LANE_FUNCTION friend Pack operator-(const Pack& a, const Pack& b) {
    return joined(a, b, [](const Register& x, const Register& y) { return x - y; });
  }
  LUTRA_LANE_FUNCTION friend Pack operator*(const Pack& a, const Pack& b) {
    return joined(a, b, [](const Register& x, const Register& y) { return x * y; });
  }
  LUTRA_LANE_FUNCTION friend Pack operator/(const Pack& a, const Pack& b) {
    return joined(a, b, [](const Register& x, const Register& y) { return x / y; });
  }
  LUTRA_LANE_FUNCTION friend Pack operator-(const Pack& a) { return Pack{} - a; }
  /// a + x·y and a − x·y
  LUTRA_LANE_FUNCTION static Pack plus_product(const Pack& a, const Pack& x, const Pack& y) {
    Pack result;
    for (int r = 0; r < registers; ++r) result.part[r] = fused<Real>(a.part[r], x.part[r], y.part[r]);
    return result;
  }
  LUTRA_LANE_FUNCTION static Pack minus_product(const Pack& a, const Pack& x, const Pack& y) {
    Pack result;
    for (int r = 0; r < registers; ++r)
      result.part[r] = fused<Real>(a.part[r], Register(-x.part[r]), y.part[r]);
    return result;
  }
  LUTRA_LANE_FUNCTION friend Pack operator*(const Pack& a, Real factor) {
    return joined(a, a, [&](const Register& x, const Register&) { return x * factor; });
  }
};

/// What real and complex numbers share.
template <class Isa, class RealType>
struct HostSizes {
  using Real = RealType;
  using Element = Real;
  using Vector = Pack<Isa, Real>;
  using Size = Vector;
  static constexpr int lanes = host_lanes<Real>;
  static constexpr bool is_double = sizeof(Real) == 8;
  static constexpr int at_once = 1;  // processors reorder loads
  static constexpr Real huge = is_double ? Real(1.7976931348623157e308) : Real(3.4028234e38F);
  static constexpr Real smallest = is_double ? Real(2.2250738585072014e-308) : Real(1.17549435e-38F);
  static constexpr Real infinity = Real(__builtin_inf());

  LUTRA_LANE_FUNCTION static Vector get(const Real* from) {
    Vector result;
    for (int r = 0; r < Vector::registers; ++r)
      result.part[r] = *reinterpret_cast<const typename Vector::Unaligned*>(from + r * Vector::lanes);
    return result;
  }
  LUTRA_LANE_FUNCTION static void put(Real* to, const Vector& value) {
    for (int r = 0; r < Vector::registers; ++r)
      *reinterpret_cast<typename Vector::Unaligned*>(to + r * Vector::lanes) = value.part[r];
  }
  LUTRA_LANE_FUNCTION static Size size(Real value) {
    Vector result;
    for (int r = 0; r < Vector::registers; ++r) result.part[r] = typename Vector::Register{} + value;
    return result;
  }
  LUTRA_LANE_FUNCTION static Size plus_product(const Size& a, const Size& x, const Size& y) {
    return Vector::plus_product(a, x, y);
  }
  LUTRA_LANE_FUNCTION static Vector is_less(const Vector& a, const Vector& b, const Vector& x,
                                            const Vector& y) {
    Vector result;
    for (int r = 0; r < Vector::registers; ++r) {
#ifdef __CUDACC__  // its front end does not know the operator
      for (int l = 0; l < Vector::lanes; ++l)
        result.part[r][l] = a.part[r][l] < b.part[r][l] ? x.part[r][l] : y.part[r][l];
#else
      result.part[r] = a.part[r] < b.part[r] ? x.part[r] : y.part[r];
#endif
    }
    return result;
  }
  LUTRA_LANE_FUNCTION static Vector absolute(const Vector& value) {
    return is_less(value, Vector{}, -value, value);
  }
};

template <class Isa, class Real>
struct RealLanes : HostSizes<Isa, Real> {
  using Base = HostSizes<Isa, Real>;
  using Base::is_less, Base::lanes;
  using typename Base::Size, typename Base::Vector;
  using Value = Vector;

  LUTRA_LANE_FUNCTION static Value load(const Real* base, Offset e) { return Base::get(base + e * lanes); }
  LUTRA_LANE_FUNCTION static void store(Real* base, Offset e, const Value& value) {
    Base::put(base + e * lanes, value);
  }
  LUTRA_LANE_FUNCTION static Value zero() { return Value{}; }
  LUTRA_LANE_FUNCTION static Value real_value(const Size& size) { return size; }
  LUTRA_LANE_FUNCTION static Size real_part(const Value& value) { return value; }
  LUTRA_LANE_FUNCTION static Value times(const Value& value, Real factor) { return value * factor; }
  LUTRA_LANE_FUNCTION static Value product(const Value& a, const Value& b) { return a * b; }
  LUTRA_LANE_FUNCTION static Value plus(const Value& a, const Value& b) { return a + b; }
  LUTRA_LANE_FUNCTION static Value minus_product(const Value& a, const Value& l, const Value& u) {
    return Vector::minus_product(a, l, u);
  }
  LUTRA_LANE_FUNCTION static Value conjugated(const Value& value, Real) { return value; }
  LUTRA_LANE_FUNCTION static Value reciprocal(const Value& value) { return Base::size(1) / value; }
  LUTRA_LANE_FUNCTION static Size max_norm(const Value& value) { return Base::absolute(value); }
  LUTRA_LANE_FUNCTION static Size magnitude(const Value& value) { return Base::absolute(value); }
};

/// Complex numbers: eight (or sixteen) real parts, then the imaginary ones.
template <class Isa, class Real>
struct ComplexLanes : HostSizes<Isa, Real> {
  using Base = HostSizes<Isa, Real>;
  using Base::lanes;
  using typename Base::Size, typename Base::Vector;
  struct Value {
    Vector re, im;
  };

  LUTRA_LANE_FUNCTION static Value load(const Real* base, Offset e) {
    const Real* const from = base + 2 * e * lanes;
    return {Base::get(from), Base::get(from + lanes)};
  }
  LUTRA_LANE_FUNCTION static void store(Real* base, Offset e, const Value& value) {
    Real* const to = base + 2 * e * lanes;
    Base::put(to, value.re);
    Base::put(to + lanes, value.im);
  }
  LUTRA_LANE_FUNCTION static Value zero() { return {Vector{}, Vector{}}; }
  LUTRA_LANE_FUNCTION static Value real_value(const Size& size) { return {size, Vector{}}; }
  LUTRA_LANE_FUNCTION static Size real_part(const Value& value) { return value.re; }
  LUTRA_LANE_FUNCTION static Vector is_less(const Vector& a, const Vector& b, const Vector& x,
                                            const Vector& y) {
    return Base::is_less(a, b, x, y);
  }
  LUTRA_LANE_FUNCTION static Value is_less(const Vector& a, const Vector& b, const Value& x, const Value& y) {
    return {Base::is_less(a, b, x.re, y.re), Base::is_less(a, b, x.im, y.im)};
  }
  LUTRA_LANE_FUNCTION static Value times(const Value& value, Real factor) {
    return {value.re * factor, value.im * factor};
  }
  LUTRA_LANE_FUNCTION static Value product(const Value& a, const Value& b) {
    return {Vector::plus_product(-(a.im * b.im), a.re, b.re), Vector::plus_product(a.im * b.re, a.re, b.im)};
  }
  LUTRA_LANE_FUNCTION static Value plus(const Value& a, const Value& b) { return {a.re + b.re, a.im + b.im}; }
  LUTRA_LANE_FUNCTION static Value minus_product(const Value& a, const Value& l, const Value& u) {
    return {Vector::plus_product(Vector::minus_product(a.re, l.re, u.re), l.im, u.im),
            Vector::minus_product(Vector::minus_product(a.im, l.re, u.im), l.im, u.re)};
  }
  LUTRA_LANE_FUNCTION static Value conjugated(const Value& value, Real sign) {
    return {value.re, value.im * sign};
  }
  LUTRA_LANE_FUNCTION static Value reciprocal(const Value& value) {
    const Vector scale = max_norm(value);
    const Vector re = value.re / scale, im = value.im / scale;
    const Vector norm = Vector::plus_product(im * im, re, re) * scale;
    return {re / norm, -im / norm};
  }
  LUTRA_LANE_FUNCTION static Size max_norm(const Value& value) {
    const Vector re = Base::absolute(value.re), im = Base::absolute(value.im);
    return Base::is_less(re, im, im, re) + (im - im);  // NaN of either part
  }
  LUTRA_LANE_FUNCTION static Size magnitude(const Value& value) {
    const Vector re = Base::absolute(value.re), im = Base::absolute(value.im);
    const Vector larger = Base::is_less(re, im, im, re), smaller = Base::is_less(re, im, re, im);
    const Vector ratio = Base::is_less(Vector{}, larger, smaller / larger, Vector{});
    Vector sum = Vector::plus_product(Base::size(1), ratio, ratio);
    for (int r = 0; r < Vector::registers; ++r)
      for (int l = 0; l < Vector::lanes; ++l) sum.part[r][l] = root(sum.part[r][l]);
    return larger * sum + (im - im);
  }
  LUTRA_LANE_FUNCTION static double root(double value) { return __builtin_sqrt(value); }
  LUTRA_LANE_FUNCTION static float root(float value) { return __builtin_sqrtf(value); }
};

}  // namespace lutra::Impl

#endif

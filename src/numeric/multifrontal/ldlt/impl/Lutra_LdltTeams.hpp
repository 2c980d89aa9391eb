// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTTEAMS_HPP
#define LUTRA_LDLTTEAMS_HPP

#include <algorithm>

#include "Lutra_FrontKernels.hpp"
#include "Lutra_HostProducts.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra::Impl {

/// A Kokkos team for the kernels of Lutra_LdltFront.hpp, one index per thread.
template <class Member, class Scalar>
struct KokkosFrontTeam {
  using Real = RealOf<Scalar>;
  static constexpr bool has_columns = false;
  const Member& member;

  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](const int i) { body(i, i + 1); });
    member.team_barrier();
  }
  template <class Body>
  KOKKOS_FUNCTION void columns(int n, int rows, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](const int c) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, rows), [&](const int r) { body(c, r, r + 1); });
    });
    member.team_barrier();
  }
  template <class Value>
  KOKKOS_FUNCTION Real max(int n, double, const Value& value) const {
    Real result(0);
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, n),
        [&](const int i, Real& largest) {
          const Real size = value(i, i + 1);
          if (size > largest) largest = size;
        },
        Kokkos::Max<Real>(result));
    member.team_barrier();
    return result > Real(0) ? result : Real(0);  // an empty reduction returns the reducer's identity
  }
  template <class Value>
  KOKKOS_FUNCTION int min(int n, double, int none, const Value& value) const {
    int result = none;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, n),
        [&](const int i, int& smallest) {
          // a range of one: its value, or `none` for an empty element
          const int found = value(i, i + 1);
          if (found < smallest) smallest = found;
        },
        Kokkos::Min<int>(result));
    member.team_barrier();
    return result < none ? result : none;
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    Kokkos::single(Kokkos::PerTeam(member), [&]() { body(); });
    member.team_barrier();
  }
  KOKKOS_FUNCTION void subtract(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    subtract_product(member, rows, columns, depth, A, lda, B, C, ldc);
  }
  KOKKOS_FUNCTION void subtract_lower(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                      const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    constexpr int edge = 64;
    for (int c = 0; c < columns; c += edge)
      subtract(rows - c, columns - c < edge ? columns - c : edge, depth, A + c, lda,
               {&B(0, c), B.row, B.column}, C + c + c * ldc, ldc);
  }
};

/// Host threads, with a loop as in HostFront.
template <class Scalar, class Loop>
struct HostFrontTeam {
  using Real = RealOf<Scalar>;
  static constexpr bool has_columns = true;
  const HostProducts<Scalar, Loop>& products;
  int column_rows;  ///< as in LdltPlanOptions

  KOKKOS_FUNCTION void barrier() const {}
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double flops, const Body& body) const {
    KOKKOS_IF_ON_HOST((
        products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) { body(begin, end); });))
  }
  template <class Body>
  KOKKOS_FUNCTION void columns(int n, int rows, const Body& body) const {
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, 2.0 * rows), [&](int begin, int end, Real*) {
      for (int c = begin; c < end; ++c) body(c, 0, rows);
    });))
  }
  template <class Value>
  KOKKOS_FUNCTION Real max(int n, double flops, const Value& value) const {
    Real result(0);
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) {
      const Real size = value(begin, end);
      if (size > Real(0)) Kokkos::atomic_max(&result, size);
    });))
    return result;
  }
  template <class Value>
  KOKKOS_FUNCTION int min(int n, double flops, int none, const Value& value) const {
    int result = none;
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) {
      const int found = value(begin, end);
      if (found < none) Kokkos::atomic_min(&result, found);
    });))
    return result;
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    body();
  }
  KOKKOS_FUNCTION void subtract(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    KOKKOS_IF_ON_HOST((products.subtract(rows, columns, depth, A, lda, B, C, ldc);))
  }
  KOKKOS_FUNCTION void subtract_lower(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                      const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    KOKKOS_IF_ON_HOST((products.subtract_lower(rows, columns, depth, A, lda, B, C, ldc);))
  }
  /// ProductKernel::column on the calling thread.
  KOKKOS_FUNCTION Real column(int n, int depth, const Scalar* from, const Scalar* A, std::int64_t lda,
                              const Scalar* x, Scalar* to) const {
    Real largest(0);
    if constexpr (!ScalarTraits<Scalar>::is_complex) {
      KOKKOS_IF_ON_HOST((largest = products.kernel.column(n, depth, from, A, lda, x, to);))
    } else {
      for (int i = 0; i < n; ++i) to[i] = from[i];
      for (int p = 0; p < depth; ++p) {
        for (int i = 0; i < n; ++i) to[i] -= A[i + p * lda] * x[p];
      }
      for (int i = 0; i < n; ++i) {
        const Real size = size_or_infinity(to[i]);
        if (size > largest) largest = size;
      }
    }
    return largest;
  }
  /// to = from / d on the calling thread.
  KOKKOS_FUNCTION void divide(int n, const Scalar& d, const Scalar* from, Scalar* to) const {
    if constexpr (!ScalarTraits<Scalar>::is_complex) {
      const Scalar inverse = Scalar(1) / d;
      if (ScalarTraits<Scalar>::is_finite(inverse)) {
        KOKKOS_IF_ON_HOST((products.kernel.scale(n, inverse, from, to);))
        return;
      }
    }
    for (int i = 0; i < n; ++i) to[i] = from[i] / d;
  }
};

}  // namespace lutra::Impl

#endif

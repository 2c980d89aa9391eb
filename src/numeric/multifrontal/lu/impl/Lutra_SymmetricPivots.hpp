// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICPIVOTS_HPP
#define LUTRA_SYMMETRICPIVOTS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

// Symmetric interchanges in a front of L·U whose matrix is symmetric or Hermitian. A column whose diagonal
// entry is at least PivotRule::strict times the largest other entry is a pivot. Otherwise the best remaining
// column is brought up, or two columns for a pivot of order two, as in J. R. Bunch and L. Kaufman, Math.
// Comp. 31, 1977. With Interchanges::pairs nothing is searched: of the columns 2k and 2k + 1 one follows the
// other, or they form a pivot of order two, by their 2 × 2 block alone. Of a pivot of order two the rows are
// interchanged:
//
//     ⎡ a  b̄ ⎤   rows      ⎡ b  c ⎤   ⎡  1       ⎤ ⎡ b     c    ⎤
//     ⎣ b  c ⎦  ───────►   ⎣ a  b̄ ⎦ = ⎣ a/b   1  ⎦ ⎣    b̄ − ac/b ⎦
//
// so that the elimination that follows is that of L·U with both pivots on the diagonal. The rows and columns
// of the pivots, `row_of_pivot` and `column_of_pivot`, differ in pairs only.

/// Quality of a pivot entry of this size beside others: the reciprocal of the largest entry of L it gives.
template <class Real>
KOKKOS_FUNCTION Real pivot_quality(Real pivot, Real largest_other) {
  if (largest_other > Real(0)) return pivot / largest_other;
  return pivot > Real(0) ? Kokkos::Experimental::infinity_v<Real> : Real(0);
}

/// Candidates for the next pivot: columns begin … end − 1 of the entries that remain.
/// @tparam At at(r, c) is an entry
template <class Scalar, class At>
struct SymmetricPivotSearch {
  using Real = RealOf<Scalar>;
  const At& at;
  int begin, end;
  int size;  ///< end of the rows that are compared

  KOKKOS_FUNCTION Real size_of(int r, int c) const { return ScalarTraits<Scalar>::magnitude(at(r, c)); }
  KOKKOS_FUNCTION Real largest_beside(int c) const {
    Real largest(0);
    for (int r = begin; r < size; ++r) {
      const Real own = r == c ? Real(0) : size_of(r, c);
      if (own > largest) largest = own;
    }
    return largest;
  }
  /// Quality of column c as a pivot of order one.
  KOKKOS_FUNCTION Real quality_alone(int c) const { return pivot_quality(size_of(c, c), largest_beside(c)); }
  /// The candidate with the largest entry in column c; c itself if all are zero.
  KOKKOS_FUNCTION int partner(int c) const {
    Real largest(0);
    int found = c;
    for (int r = begin; r < end; ++r) {
      const Real own = r == c ? Real(0) : size_of(r, c);
      if (!(own > largest)) continue;
      largest = own;
      found = r;
    }
    return found;
  }
  /// Quality of column c together with its partner.
  KOKKOS_FUNCTION Real quality_of_pair(int c) const {
    const int p = partner(c);
    if (p == c) return Real(0);
    const Real own = largest_beside(c), other = largest_beside(p);
    return pivot_quality(size_of(p, c), Kokkos::max(own, other));
  }
};

/// What becomes of two adjacent columns.
enum class PairOrder { kept, reversed, coupled };

/// Whether columns with the diagonal entries a and c, and b beside these, are eliminated in order, in reverse
/// order, or as a pivot of order two, whose determinant is then less than −¾·|b|².
template <class Scalar>
KOKKOS_FUNCTION PairOrder order_of_pair(const Scalar& a, const Scalar& b, const Scalar& c) {
  using Real = RealOf<Scalar>;
  const Real beside = ScalarTraits<Scalar>::magnitude(b) / 2;
  if (ScalarTraits<Scalar>::magnitude(a) >= beside) return PairOrder::kept;
  return ScalarTraits<Scalar>::magnitude(c) >= beside ? PairOrder::reversed : PairOrder::coupled;
}

/// The columns of the next pivot.
struct SymmetricPivot {
  int first;
  int second = -1;  ///< −1: a pivot of order one
};

}  // namespace lutra::Impl

#endif

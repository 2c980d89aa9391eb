// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANEKERNELS_HPP
#define LUTRA_LANEKERNELS_HPP

#include <Kokkos_Macros.hpp>

#include "Lutra_LaneLists.hpp"

/// Kernels are for devices, too, except in sources for lanes of hosts: nvcc rejects vector registers there.
#ifdef LUTRA_HOST_LANES_ONLY
#define LUTRA_LANE_FUNCTION inline __attribute__((always_inline))
#else
#define LUTRA_LANE_FUNCTION KOKKOS_FORCEINLINE_FUNCTION
#endif

// Rows of factorizations, solves and residuals for one lane or one register of lanes: the arithmetic of
// batches, for hosts and devices. `Lanes` gives the numbers (HostLanes, ThreadLane):
//
//   Element, Value, Size     stored number, one number per lane, one magnitude per lane
//   load(base, e), store     entry e of an array
//   at_once                  multiply-adds whose loads do not wait for one another
//   is_less(a, b, x, y)      a < b ? x : y, lane by lane
//   plus_product(a, x, y)    a + x·y of sizes, and
//   minus_product(a, x, y)   a − x·y of values, with the same rounding in all kernels
//
// Sources compiled for one instruction set include this file, so that everything is a template over Lanes and
// nothing else is included.

namespace lutra::Impl {

/// What a factorization finds in each lane; joined over rows.
template <class Lanes>
struct LaneFindings {
  using Size = typename Lanes::Size;
  Size factor = Lanes::size(0), factor_l = Lanes::size(0), poison = Lanes::size(0);
  Size pivot = Lanes::size(Lanes::huge);  ///< smallest
  Size perturbed = Lanes::size(0), negative = Lanes::size(0);

  LUTRA_LANE_FUNCTION void note_l(const Size& size) {
    factor_l = Lanes::is_less(factor_l, size, size, factor_l);
    poison = poison + (size - size);
  }
  LUTRA_LANE_FUNCTION void note_u(const Size& size) {
    factor = Lanes::is_less(factor, size, size, factor);
    poison = poison + (size - size);
  }
};

/// Factorization of the systems of one group, or of one of them.
template <class Lanes>
struct LaneFactorization {
  using Element = typename Lanes::Element;
  using Real = typename Lanes::Real;
  using Value = typename Lanes::Value;
  using Size = typename Lanes::Size;

  LaneLists at;
  const Real* row_scale;  ///< [n] by rows of A
  const Real* col_scale;  ///< [n] by columns of A
  const Element* A;       ///< [nnz(A)] values of this lane
  Element* values;        ///< [nnz(L + U)]
  Element* inverse;       ///< [n] of pivots
  const Real* weights;    ///< [n] start vector of probes
  Element* probe;         ///< [n] right-hand side of a probe

  LUTRA_LANE_FUNCTION Value scaled(Offset p, Real of_row) const {
    const Value value = Lanes::times(Lanes::load(A, p), of_row);
    return Lanes::times(value, col_scale[at.A.entries[p]]);
  }

  /// The largest scaled entry of row i of F. Also writes this row of the right-hand side of a probe: half of
  /// the start vector times the row sum of the scaled matrix, in the scale of b.
  LUTRA_LANE_FUNCTION Size largest_of_row(Ordinal i) const {
    const Ordinal row = at.row_order[i];
    const Real scale = row_scale[row];
    Size largest = Lanes::size(0), sum = Lanes::size(0);
    for (Offset p = at.A.map[row]; p < at.A.map[row + 1]; ++p) {
      const Size size = Lanes::max_norm(scaled(p, scale));
      largest = Lanes::is_less(largest, size, size, largest);
      sum = sum + size;
    }
    Lanes::store(probe, row, Lanes::times(Lanes::real_value(sum), Real(0.5) * weights[row] / scale));
    return largest;
  }

  /// Computes row i of L and U from the rows that it needs (up-looking, Davis 2006, chapter 6).
  /// @param threshold smallest magnitude of pivots
  LUTRA_LANE_FUNCTION void row(Ordinal i, const Size& threshold, LaneFindings<Lanes>& found) const {
    start(i);
    if (at.symmetric) {
      for (Offset s = at.columns.map[i]; s < at.column_diagonal[i]; ++s) subtract_row_above(i, s, found);
    } else {
      for (Offset p = at.row_map[i]; p < at.diagonal[i]; ++p) subtract_row_left(i, p, found);
    }
    complete(i, threshold, found);
  }

  // The same in parts, for rows on which threads work by and by.

  /// Row i of the scaled matrix.
  LUTRA_LANE_FUNCTION void start(Ordinal i) const {
    for (Offset q = at.row_map[i]; q < at.row_map[i + 1]; ++q) Lanes::store(values, q, Lanes::zero());
    const Ordinal row = at.row_order[i];
    for (Offset p = at.A.map[row]; p < at.A.map[row + 1]; ++p)
      if (at.place[p] >= 0) Lanes::store(values, at.place[p], scaled(p, row_scale[row]));
  }
  /// Subtracts the multiple of row k of U that belongs to one entry (i, k) of L.
  /// @param s position of the entry in L + U, or in `columns` if symmetric
  LUTRA_LANE_FUNCTION void step(Ordinal i, Offset s, LaneFindings<Lanes>& found) const {
    at.symmetric ? subtract_row_above(i, s, found) : subtract_row_left(i, s, found);
  }
  /// The pivot, after all steps.
  LUTRA_LANE_FUNCTION void complete(Ordinal i, const Size& threshold, LaneFindings<Lanes>& found) const {
    pivot(i, threshold, found);
    for (Offset q = at.diagonal[i] + 1; q < at.row_map[i + 1]; ++q)
      found.note_u(Lanes::max_norm(Lanes::load(values, q)));
  }

 private:
  LUTRA_LANE_FUNCTION void subtract_row_left(Ordinal i, Offset p, LaneFindings<Lanes>& found) const {
    const Ordinal k = at.entries[p];
    const Value factor = Lanes::product(Lanes::load(values, p), Lanes::load(inverse, k));
    Lanes::store(values, p, factor);
    found.note_l(Lanes::max_norm(factor));
    subtract(i, p, factor, at.diagonal[k] + 1, at.row_map[k + 1]);
  }
  /// The same for a symmetric matrix: L(i, k) = U(k, i) / D(k), conjugated if it is Hermitian.
  LUTRA_LANE_FUNCTION void subtract_row_above(Ordinal i, Offset s, LaneFindings<Lanes>& found) const {
    const Ordinal k = at.columns.entries[s];
    const Offset p = at.columns.at[s];
    const Value u = Lanes::conjugated(Lanes::load(values, p), at.hermitian ? Real(-1) : Real(1));
    const Value factor = Lanes::product(u, Lanes::load(inverse, k));
    found.note_l(Lanes::max_norm(factor));
    subtract(i, s, factor, p, at.row_map[k + 1]);
  }
  /// Subtracts factor · U(k, ·), entries [begin, end) of L + U, from row i.
  LUTRA_LANE_FUNCTION void subtract(Ordinal i, Offset step, const Value& factor, Offset begin,
                                    Offset end) const {
    const Offset first = at.row_map[i];
    if (at.targets_of != nullptr) {
      const int* const target = at.targets + at.targets_of[step];
      constexpr int at_once = Lanes::at_once;
      Offset q = begin;
      for (; q + at_once <= end; q += at_once)
        subtract_entries<at_once>(first, target + (q - begin), factor, q);
      for (; q < end; ++q) subtract_entries<1>(first, target + (q - begin), factor, q);
      return;
    }
    Offset to = first;
    const Offset last = at.row_map[i + 1];
    for (Offset q = begin; q < end; ++q) {
      while (to < last && at.entries[to] < at.entries[q]) ++to;
      if (to == last) return;
      if (at.entries[to] != at.entries[q]) continue;
      Lanes::store(values, to, Lanes::minus_product(Lanes::load(values, to), factor, Lanes::load(values, q)));
    }
  }
  /// Subtracts factor times entries [q, q + Count) of U from those of the row that begins at `first`. All are
  /// loaded before one is stored; where there is no target the load is of no use.
  template <int Count>
  LUTRA_LANE_FUNCTION void subtract_entries(Offset first, const int* target, const Value& factor,
                                            Offset q) const {
    int to[Count];
    Value a[Count], u[Count];
    for (int c = 0; c < Count; ++c) {
      to[c] = target[c];
      a[c] = Lanes::load(values, first + (to[c] < 0 ? 0 : to[c]));
      u[c] = Lanes::load(values, q + c);
    }
    for (int c = 0; c < Count; ++c)
      if (to[c] >= 0) Lanes::store(values, first + to[c], Lanes::minus_product(a[c], factor, u[c]));
  }
  LUTRA_LANE_FUNCTION void pivot(Ordinal i, const Size& threshold, LaneFindings<Lanes>& found) const {
    const Value computed = Lanes::load(values, at.diagonal[i]);
    const Size size = Lanes::max_norm(computed);
    found.note_u(size);
    found.pivot = Lanes::is_less(size, found.pivot, size, found.pivot);
    found.perturbed = found.perturbed + Lanes::is_less(size, threshold, Lanes::size(1), Lanes::size(0));
    found.negative = found.negative + Lanes::is_less(Lanes::real_part(computed), Lanes::size(0),
                                                     Lanes::size(1), Lanes::size(0));
    const Value value = Lanes::is_less(size, threshold, Lanes::real_value(threshold), computed);
    Lanes::store(values, at.diagonal[i], value);
    Lanes::store(inverse, i, Lanes::reciprocal(value));
  }
};

/// Solves op(F)·y = b for `Columns` right-hand sides, in the order of F, with b read from and the solution
/// written to the order of A.
template <class Lanes, int Columns>
struct LaneSolve {
  using Element = typename Lanes::Element;
  using Real = typename Lanes::Real;
  using Value = typename Lanes::Value;

  LaneLists at;
  bool transposed;         ///< Fᵀ, not for symmetric F
  Real sign;               ///< −1: values of F are conjugated
  const Real* from_scale;  ///< [n] of b
  const Real* to_scale;    ///< [n] of the solution
  const Element* values;
  const Element* inverse;
  const Element* B;     ///< [Columns × n]
  Element* Y;           ///< [Columns × n] work
  const Element* base;  ///< [Columns × n] to which the solution is added; null: none
  Element* X;           ///< [Columns × n]

  LUTRA_LANE_FUNCTION Offset of(int c, Ordinal i) const { return static_cast<Offset>(c) * at.n + i; }
  LUTRA_LANE_FUNCTION Value value(Offset p) const { return Lanes::conjugated(Lanes::load(values, p), sign); }

  /// Row i of the solve with L, Uᵀ, or L·D of a symmetric matrix; rows that it needs are complete.
  LUTRA_LANE_FUNCTION void forward(Ordinal i) const {
    const Ordinal from = (transposed ? at.col_order : at.row_order)[i];
    Value sum[Columns];
    for (int c = 0; c < Columns; ++c) sum[c] = Lanes::times(Lanes::load(B, of(c, from)), from_scale[from]);
    if (at.symmetric || transposed) {
      const bool hermitian = at.symmetric && at.hermitian;
      for (Offset s = at.columns.map[i]; s < at.column_diagonal[i]; ++s) {
        const Value u = Lanes::conjugated(value(at.columns.at[s]), hermitian ? Real(-1) : Real(1));
        for (int c = 0; c < Columns; ++c)
          sum[c] = Lanes::minus_product(sum[c], u, Lanes::load(Y, of(c, at.columns.entries[s])));
      }
      const Value pivot = Lanes::conjugated(Lanes::load(inverse, i), sign);
      for (int c = 0; c < Columns; ++c) Lanes::store(Y, of(c, i), Lanes::product(sum[c], pivot));
      return;
    }
    for (Offset p = at.row_map[i]; p < at.diagonal[i]; ++p) {
      const Value l = value(p);
      for (int c = 0; c < Columns; ++c)
        sum[c] = Lanes::minus_product(sum[c], l, Lanes::load(Y, of(c, at.entries[p])));
    }
    for (int c = 0; c < Columns; ++c) Lanes::store(Y, of(c, i), sum[c]);
  }

  /// Row i of the solve with U, Lᵀ, or the unit Lᵀ or Lᴴ of a symmetric matrix.
  LUTRA_LANE_FUNCTION void backward(Ordinal i) const {
    Value sum[Columns];
    if (transposed) {
      for (int c = 0; c < Columns; ++c) sum[c] = Lanes::load(Y, of(c, i));
      for (Offset s = at.column_diagonal[i] + 1; s < at.columns.map[i + 1]; ++s) {
        const Value l = value(at.columns.at[s]);
        for (int c = 0; c < Columns; ++c)
          sum[c] = Lanes::minus_product(sum[c], l, Lanes::load(Y, of(c, at.columns.entries[s])));
      }
    } else {
      for (int c = 0; c < Columns; ++c) sum[c] = at.symmetric ? Lanes::zero() : Lanes::load(Y, of(c, i));
      for (Offset p = at.diagonal[i] + 1; p < at.row_map[i + 1]; ++p) {
        const Value u = value(p);
        for (int c = 0; c < Columns; ++c)
          sum[c] = Lanes::minus_product(sum[c], u, Lanes::load(Y, of(c, at.entries[p])));
      }
      const Value pivot = Lanes::conjugated(Lanes::load(inverse, i), sign);
      for (int c = 0; c < Columns; ++c) sum[c] = Lanes::product(sum[c], pivot);
      if (at.symmetric)
        for (int c = 0; c < Columns; ++c) sum[c] = Lanes::plus(sum[c], Lanes::load(Y, of(c, i)));
    }
    const Ordinal to = (transposed ? at.row_order : at.col_order)[i];
    for (int c = 0; c < Columns; ++c) {
      Lanes::store(Y, of(c, i), sum[c]);
      const Value solution = Lanes::times(sum[c], to_scale[to]);
      Lanes::store(X, of(c, to),
                   base == nullptr ? solution : Lanes::plus(Lanes::load(base, of(c, to)), solution));
    }
  }
};

/// Maxima of one lane or register of lanes, as LaneMaxima.
template <class Lanes>
struct LaneErrors {
  using Size = typename Lanes::Size;
  Size ratio = Lanes::size(0), residual = Lanes::size(0), solution = Lanes::size(0),
       right_side = Lanes::size(0);

  LUTRA_LANE_FUNCTION static void raise(Size& maximum, const Size& value) {
    maximum = Lanes::is_less(maximum, value, value, maximum);
  }
};

/// R = B − op(A)·X with maxima, as ResidualRow of single solves.
template <class Lanes, int Columns>
struct LaneResidual {
  using Element = typename Lanes::Element;
  using Real = typename Lanes::Real;
  using Value = typename Lanes::Value;
  using Size = typename Lanes::Size;

  LaneRows rows;  ///< of op(A)
  Ordinal n;
  Real sign;  ///< −1: values of A are conjugated
  const Element* A;
  const Element* B;  ///< [Columns × n], as X and R
  const Element* X;
  Element* R;

  LUTRA_LANE_FUNCTION Offset of(int c, Ordinal i) const { return static_cast<Offset>(c) * n + i; }
  /// Numbers below the smallest normal one count as that one.
  LUTRA_LANE_FUNCTION static Size size_of(const Value& value) {
    const Size size = Lanes::magnitude(value), least = Lanes::size(Lanes::smallest);
    return Lanes::is_less(size, least, least, size);
  }

  /// @param norm raised to the sum of |A| over row i
  LUTRA_LANE_FUNCTION void row(Ordinal i, LaneErrors<Lanes>* errors, Size& norm) const {
    Value rest[Columns];
    Size size[Columns], sum = Lanes::size(0);
    for (int c = 0; c < Columns; ++c) {
      rest[c] = Lanes::load(B, of(c, i));
      size[c] = size_of(rest[c]);
    }
    for (Offset p = rows.map[i]; p < rows.map[i + 1]; ++p) {
      const Value a = Lanes::conjugated(Lanes::load(A, rows.at == nullptr ? p : rows.at[p]), sign);
      const Size size_of_a = Lanes::magnitude(a);
      sum = sum + size_of_a;
      for (int c = 0; c < Columns; ++c) {
        const Value x = Lanes::load(X, of(c, rows.entries[p]));
        rest[c] = Lanes::minus_product(rest[c], a, x);
        size[c] = Lanes::plus_product(size[c], size_of_a, size_of(x));
      }
    }
    LaneErrors<Lanes>::raise(norm, sum);
    for (int c = 0; c < Columns; ++c) finish(i, c, rest[c], size[c], errors[c]);
  }

 private:
  LUTRA_LANE_FUNCTION void finish(Ordinal i, int c, const Value& rest, const Size& size,
                                  LaneErrors<Lanes>& errors) const {
    const Size zero = Lanes::size(0), infinity = Lanes::size(Lanes::infinity);
    const Size b = Lanes::magnitude(Lanes::load(B, of(c, i)));  // before R, which may be B
    Lanes::store(R, of(c, i), rest);
    const Size r = Lanes::magnitude(rest);
    const Size x = Lanes::magnitude(Lanes::load(X, of(c, i)));
    const Size poison = (r - r) + (x - x) + (size - size);  // 0, or NaN
    const Size ratio = Lanes::is_less(zero, r, r / size, zero);
    // NaN is not less than 1, so that no comparison loses it.
    LaneErrors<Lanes>::raise(errors.ratio, Lanes::is_less(poison, Lanes::size(1), ratio, infinity));
    LaneErrors<Lanes>::raise(errors.residual, Lanes::is_less(poison, Lanes::size(1), r, infinity));
    LaneErrors<Lanes>::raise(errors.solution, x);
    LaneErrors<Lanes>::raise(errors.right_side, b);
  }
};

/// What the solution of a probe amounts to: one solve that tells how near a matrix is to a singular one, as
/// probe_condition of single solves.
template <class Lanes>
struct LaneProbe {
  using Element = typename Lanes::Element;
  using Real = typename Lanes::Real;
  using Size = typename Lanes::Size;

  const Real* col_scale;  ///< [n]
  const Element* X;       ///< [n]

  /// Row i of the unscaled solution. The maximum over rows is a lower bound of the condition number; infinity
  /// if it is not finite.
  LUTRA_LANE_FUNCTION Size amplification(Ordinal i) const {
    const Size size = Lanes::max_norm(Lanes::times(Lanes::load(X, i), Real(1) / col_scale[i]));
    return Lanes::is_less(size - size, Lanes::size(1), size, Lanes::size(Lanes::infinity));
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTKERNELS_HPP
#define LUTRA_LDLTKERNELS_HPP

#include "Lutra_FrontKernels.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra::Impl {

// Dense kernels of one symmetric front. A team of any kind does the work: a Kokkos team, or threads of a host
// (Lutra_LdltTeams.hpp). Its functions end with a barrier and return the same value to all threads:
//
//   team.ranges(n, flops, body)         body(begin, end) for ranges that partition [0, n)
//   team.columns(n, rows, body)         body(column, begin, end): ranges of [0, rows) of each of n columns
//   team.max(n, flops, value)           the greatest value(begin, end) ≥ 0
//   team.min(n, flops, none, value)     the least int value(begin, end) ≤ none
//   team.once(body)                     by one thread
//   team.barrier()
//   team.subtract(rows, columns, depth, A, lda, B, C, ldc)   C −= A·B
//
// `flops` is what one of the n costs. Sums have the same order whatever the ranges.

/// Pivots of a block column. Fronts of up to `ldlt_max_small` rows are eliminated column by column.
inline constexpr int ldlt_block = 32;
inline constexpr int ldlt_max_small = 64;

/// Entries of a workspace for a front of so many rows: D·Lᵀ of a block column, and its diagonal block.
KOKKOS_INLINE_FUNCTION std::int64_t ldlt_work(std::int64_t rows) {
  return rows > ldlt_max_small ? rows * ldlt_block + ldlt_block * ldlt_block : 0;
}

/// How a pivot is chosen among columns that are up to date.
enum class PivotChoice : unsigned char {
  diagonal,   ///< the next one
  definite,   ///< the same, which must be positive
  complete,   ///< the largest of what is left, unless all of it is below the zero tolerance
  perturbed,  ///< the same; what is too small is perturbed
  threshold,  ///< whichever passes the threshold test, column after column
  root        ///< the same, then complete pivoting: all columns are eliminated
};

template <class Scalar>
struct LdltTest {
  using Real = RealOf<Scalar>;
  PivotChoice choice;
  bool hermitian;
  Real threshold;  ///< u
  Real zero;       ///< magnitudes up to this are zeros
  Real min_pivot;  ///< of `perturbed`

  KOKKOS_FUNCTION LdltTest with(PivotChoice other) const {
    return {other, hermitian, threshold, zero, min_pivot};
  }
  KOKKOS_FUNCTION bool may_delay() const {
    return choice == PivotChoice::threshold || choice == PivotChoice::root;
  }
};

/// A front and its slots: `columns` columns, of which the lower triangle is used, and `rows` rows.
template <class Scalar, class Ordinal>
struct LdltFront {
  Scalar* panel;         ///< rows × columns by columns
  Scalar* contribution;  ///< (rows − columns)² by columns
  Scalar* diagonal;
  Scalar* off_diagonal;
  PivotKind* kind;
  Ordinal* variables;  ///< or none
  int* positions;      ///< or none
  int* swaps;          ///< what each slot was exchanged with when it got its pivot
  int rows, columns;

  KOKKOS_FUNCTION int cb_rows() const { return rows - columns; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& at(int i, int j) const {
    return panel[i + static_cast<std::int64_t>(j) * rows];
  }
  /// Column j; of the contribution block from `columns` on.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const {
    return j < columns ? panel + static_cast<std::int64_t>(j) * rows
                       : contribution + static_cast<std::int64_t>(j - columns) * cb_rows() - columns;
  }
  /// The magnitude of the entry in row i and column j, whichever triangle it is in.
  KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> size(int i, int j) const {
    return size_or_infinity(i >= j ? at(i, j) : at(j, i));
  }
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void exchange(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

/// What ended an elimination early.
enum class LdltFailure : unsigned char { none, not_definite, not_finite };

/// Columns eliminated so far.
struct LdltProgress {
  int done = 0;
  LdltFailure failure = LdltFailure::none;
};

/// Exchanges slots p < q: rows and columns, those of L among them.
template <class Team, class Front>
KOKKOS_FUNCTION void exchange_slots(const Team& team, const Front& front, int p, int q, bool hermitian) {
  if (p == q) return;
  team.ranges(front.rows, 4.0, [&](int begin, int end) {
    const auto from = [&](int first) { return begin > first ? begin : first; };
    const auto to = [&](int last) { return end < last ? end : last; };
    for (int j = begin; j < to(p); ++j) exchange(front.at(p, j), front.at(q, j));
    for (int i = from(p + 1); i < to(q); ++i) {
      const auto kept = mirrored(hermitian, front.at(i, p));
      front.at(i, p) = mirrored(hermitian, front.at(q, i));
      front.at(q, i) = kept;
    }
    for (int i = from(q + 1); i < end; ++i) exchange(front.at(i, p), front.at(i, q));
    if (begin <= p && p < end) exchange(front.at(p, p), front.at(q, q));
    if (begin <= q && q < end) front.at(q, p) = mirrored(hermitian, front.at(q, p));
  });
  if (front.variables == nullptr) return;
  team.once([&] {
    exchange(front.variables[p], front.variables[q]);
    exchange(front.positions[p], front.positions[q]);
  });
}

/// A pivot that was chosen: one column, or two. None where first < 0.
struct ChosenPivot {
  int first = -1, second = -1;
  bool is_zero = false;
};

/// Elimination column by column, right-looking, in the columns [begin, front.columns). Each pivot is brought
/// to the next slot and the columns behind it updated, with `last` = front.rows those of the contribution
/// block as well, with `last` = front.columns not.
template <class Team, class Scalar, class Ordinal>
struct ColumnElimination {
  using Real = RealOf<Scalar>;
  const Team& team;
  const LdltFront<Scalar, Ordinal>& front;
  const LdltTest<Scalar>& test;
  int last;

  KOKKOS_FUNCTION LdltProgress run(int begin) const {
    LdltProgress progress{begin};
    int candidate = begin, failed = 0;
    while (progress.done < front.columns) {
      const int done = progress.done;
      ChosenPivot pivot;
      switch (test.choice) {
        case PivotChoice::diagonal:
          if (!(front.size(done, done) > Real(0) && front.size(done, done) < infinity())) {
            progress.failure = LdltFailure::not_finite;
            return progress;
          }
          pivot.first = done;
          break;
        case PivotChoice::definite:
          if (!(real_part(front.at(done, done)) > Real(0)) || !(front.size(done, done) < infinity())) {
            progress.failure = LdltFailure::not_definite;
            return progress;
          }
          pivot.first = done;
          break;
        case PivotChoice::complete:
        case PivotChoice::perturbed:
          pivot = choose_largest(done, progress);
          if (pivot.first < 0 && test.choice == PivotChoice::perturbed) {
            pivot.first = done;
            if (!(test.min_pivot > Real(0))) progress.failure = LdltFailure::not_finite;
          }
          if (pivot.first < 0 || progress.failure != LdltFailure::none) return progress;
          break;
        default:
          if (failed == front.columns - done) {
            if (test.choice == PivotChoice::threshold) return progress;
            pivot = choose_largest(done, progress);
            if (pivot.first < 0) pivot = {done, -1, true};
          } else {
            if (candidate >= front.columns || candidate < done) candidate = done;
            pivot = choose_by_threshold(done, candidate, progress);
          }
          if (progress.failure != LdltFailure::none) return progress;
      }
      if (pivot.first < 0) {
        ++failed;
        ++candidate;
        continue;
      }
      failed = 0;
      progress.done += eliminate(done, pivot);
    }
    return progress;
  }

 private:
  KOKKOS_FUNCTION static constexpr Real infinity() { return Kokkos::Experimental::infinity_v<Real>; }

  /// The first of n magnitudes that is no smaller than `size`.
  template <class Value>
  KOKKOS_FUNCTION int first_of(int n, Real size, const Value& value) const {
    return team.min(n, 1.0, n, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) {
        if (value(i) >= size) return i;
      }
      return n;
    });
  }
  template <class Value>
  KOKKOS_FUNCTION Real largest_of(int n, const Value& value) const {
    return team.max(n, 1.0, [&](int begin, int end) {
      Real largest(0);
      for (int i = begin; i < end; ++i) {
        const Real size = value(i);
        if (size > largest) largest = size;
      }
      return largest;
    });
  }

  /// Complete pivoting (J. R. Bunch and B. N. Parlett, SIAM J. Numer. Anal. 8, 1971): the largest diagonal
  /// entry where it is at least half the largest of all, else the pair of the largest. |L| ≤ 2 either way.
  KOKKOS_FUNCTION ChosenPivot choose_largest(int done, LdltProgress& progress) const {
    const int left = front.columns - done;
    const auto of_column = [&](int c) {
      const int j = done + c;
      Real largest(0);
      for (int i = j; i < front.columns; ++i) {
        const Real size = size_or_infinity(front.at(i, j));
        if (size > largest) largest = size;
      }
      return largest;
    };
    const auto of_diagonal = [&](int c) { return size_or_infinity(front.at(done + c, done + c)); };
    const Real largest = largest_of(left, of_column);
    if (!(largest < infinity())) {
      progress.failure = LdltFailure::not_finite;
      return {};
    }
    const bool too_small =
        test.choice == PivotChoice::perturbed ? !(largest >= test.min_pivot) : !(largest > test.zero);
    if (too_small || largest == Real(0)) return {};
    const Real diagonal = largest_of(left, of_diagonal);
    if (diagonal >= largest / 2) return {done + first_of(left, diagonal, of_diagonal)};
    const int column = done + first_of(left, largest, of_column);
    const int below = front.columns - column;
    const int row = column + first_of(below, largest, [&](int i) { return front.size(column + i, column); });
    return {column, row};
  }

  /// The largest magnitude in column c and rows [begin, end), those of c and `other` left out.
  KOKKOS_FUNCTION Real largest_in(int c, int begin, int end, int other) const {
    return largest_of(end - begin, [&](int r) {
      const int i = begin + r;
      return i == c || i == other ? Real(0) : front.size(i, c);
    });
  }

  /// Column c alone, or with the row of its largest entry, if that passes the threshold test (I. S. Duff, N.
  /// I. M. Gould, J. K. Reid, J. A. Scott and K. Turner, IMA J. Numer. Anal. 11, 1991): all entries of L that
  /// it leads to are at most 1/u.
  KOKKOS_FUNCTION ChosenPivot choose_by_threshold(int done, int c, LdltProgress& progress) const {
    const Real inside = largest_in(c, done, front.columns, c);
    const Real outside = largest_in(c, front.columns, front.rows, c);
    const Real d = front.size(c, c), off = inside > outside ? inside : outside;
    if (!(d < infinity() && off < infinity())) {
      progress.failure = LdltFailure::not_finite;
      return {};
    }
    if (d <= test.zero && off <= test.zero) return {c, -1, true};
    if (d > test.zero && d >= test.threshold * off) return {c};
    if (!(inside > test.zero)) return {};
    const int left = front.columns - done;
    const int t = done + first_of(left, inside,
                                  [&](int i) { return done + i == c ? Real(-1) : front.size(done + i, c); });
    const Real of_c = largest_in(c, done, front.rows, t), of_t = largest_in(t, done, front.rows, c);
    const Real d_t = front.size(t, t);
    if (!(of_t < infinity() && d_t < infinity())) {
      progress.failure = LdltFailure::not_finite;
      return {};
    }
    // all over the square of the pair's coupling
    const auto coupling = c > t ? front.at(c, t) : front.at(t, c);
    const Scalar product = front.at(c, c) / coupling * (front.at(t, t) / mirrored(test.hermitian, coupling));
    const Real size = ScalarTraits<Scalar>::magnitude(product);
    const Real det = ScalarTraits<Scalar>::magnitude(product - Scalar(1));
    if (!(det >= (size > Real(1) ? size : Real(1)) / 2)) return {};
    const Real bound = det * inside / test.threshold;
    if (d_t / inside * of_c + of_t <= bound && of_c + d / inside * of_t <= bound)
      return c < t ? ChosenPivot{c, t} : ChosenPivot{t, c};
    return {};
  }

  /// @returns columns eliminated
  KOKKOS_FUNCTION int eliminate(int done, const ChosenPivot& pivot) const {
    team.barrier();  // all threads have read what the pivot was chosen by
    bring(done, pivot.first);
    if (pivot.second < 0) {
      eliminate_one(done, pivot.is_zero);
      return 1;
    }
    bring(done + 1, pivot.second);
    eliminate_two(done);
    return 2;
  }

  KOKKOS_FUNCTION void bring(int slot, int from) const {
    exchange_slots(team, front, slot, from, test.hermitian);
    if (front.swaps != nullptr) team.once([&] { front.swaps[slot] = from; });
  }

  KOKKOS_FUNCTION Scalar pivot_value(int j) const {
    const Scalar value = front.at(j, j);
    return test.hermitian ? Scalar(real_part(value)) : value;
  }

  KOKKOS_FUNCTION void eliminate_one(int j, bool is_zero) const {
    Scalar d = is_zero ? Scalar(0) : pivot_value(j);
    bool is_perturbed = false;
    if (test.choice == PivotChoice::perturbed) {
      const Real size = ScalarTraits<Scalar>::magnitude(d);
      is_perturbed = !(size >= test.min_pivot);
      if (is_perturbed) d = size > Real(0) ? d * (test.min_pivot / size) : Scalar(test.min_pivot);
    }
    team.once([&] {
      front.diagonal[j] = d;
      front.off_diagonal[j] = Scalar(0);
      front.kind[j] = is_zero ? PivotKind::zero : is_perturbed ? PivotKind::perturbed : PivotKind::one_by_one;
    });
    const Scalar* const x = front.column(j);
    if (!is_zero) {
      team.columns(last - j - 1, front.rows, [&](int c, int begin, int end) {
        const int column = j + 1 + c;
        const Scalar factor = mirrored(test.hermitian, x[column]) / d;
        Scalar* const KOKKOS_RESTRICT to = front.column(column);
        for (int i = begin > column ? begin : column; i < end; ++i) to[i] -= x[i] * factor;
      });
    }
    Scalar* const l = front.column(j);
    team.ranges(front.rows - j - 1, 1.0, [&](int begin, int end) {
      for (int i = j + 1 + begin; i < j + 1 + end; ++i) l[i] = is_zero ? Scalar(0) : l[i] / d;
    });
  }

  KOKKOS_FUNCTION void eliminate_two(int j) const {
    const PivotPair<Scalar> pair(pivot_value(j), pivot_value(j + 1), front.at(j + 1, j), test.hermitian);
    team.once([&] {
      front.diagonal[j] = pair.d1;
      front.diagonal[j + 1] = pair.d2;
      front.off_diagonal[j] = pair.o;
      front.off_diagonal[j + 1] = Scalar(0);
      front.kind[j] = PivotKind::first_of_two;
      front.kind[j + 1] = PivotKind::second_of_two;
    });
    Scalar* const x1 = front.column(j);
    Scalar* const x2 = front.column(j + 1);
    team.columns(last - j - 2, front.rows, [&](int c, int begin, int end) {
      const int column = j + 2 + c;
      Scalar f1, f2;
      pair.divide_column(mirrored(test.hermitian, x1[column]), mirrored(test.hermitian, x2[column]), f1, f2);
      Scalar* const KOKKOS_RESTRICT to = front.column(column);
      for (int i = begin > column ? begin : column; i < end; ++i) to[i] -= x1[i] * f1 + x2[i] * f2;
    });
    team.ranges(front.rows - j - 2, 6.0, [&](int begin, int end) {
      for (int i = j + 2 + begin; i < j + 2 + end; ++i) {
        const Scalar y1 = x1[i], y2 = x2[i];
        pair.divide_row(y1, y2, x1[i], x2[i]);
      }
    });
    team.once([&] { x1[j + 1] = Scalar(0); });
  }
};

template <class Team, class Scalar, class Ordinal>
KOKKOS_FUNCTION LdltProgress eliminate_columns(const Team& team, const LdltFront<Scalar, Ordinal>& front,
                                               const LdltTest<Scalar>& test, int begin, int last) {
  return ColumnElimination<Team, Scalar, Ordinal>{team, front, test, last}.run(begin);
}

/// Calls one(column) or two(first column, pair) for the pivots of the slots [begin, begin + count).
template <class Scalar, class Ordinal, class One, class Two>
KOKKOS_FUNCTION void for_each_pivot(const LdltFront<Scalar, Ordinal>& front, int begin, int count,
                                    bool hermitian, const One& one, const Two& two) {
  for (int c = 0; c < count; ++c) {
    const int j = begin + c;
    if (front.kind[j] == PivotKind::first_of_two) {
      two(c, PivotPair<Scalar>(front.diagonal[j], front.diagonal[j + 1], front.off_diagonal[j], hermitian));
      ++c;
    } else {
      one(c, front.diagonal[j]);
    }
  }
}

/// Elimination by block columns with a-posteriori pivoting (Hogg, Ovtchinnikov and Scott 2016), in the
/// columns [begin, front.columns). A block of columns [b, e), G being what is left of the front:
///
///     copy of G(b:e, b:e) = L11·D·L11ᴴ    complete pivoting; then the panel's slots in that order
///     W = conj(G(e:, b:e)·L11⁻ᴴ)          in the workspace: W = conj(L21·D). The panel keeps its values
///     passed = first column of conj(W)·D⁻¹ with an entry above 1/u, never between the columns of a pair
///     L21 = conj(W)·D⁻¹                   the columns before `passed`; the others are as they were
///     G −= L21·Wᵀ                         columns from b + passed on, failed ones of earlier blocks too
///     the failed columns go behind        all others; rows of L go with them
///
/// @param work ldlt_work(front.rows) entries
template <class Team, class Scalar, class Ordinal>
struct BlockElimination {
  using Real = RealOf<Scalar>;
  const Team& team;
  const LdltFront<Scalar, Ordinal>& front;
  const LdltTest<Scalar>& test;
  Scalar* work;

  /// One pass over the columns: those that failed stand at the end, up to date.
  KOKKOS_FUNCTION LdltProgress run(int begin) const {
    LdltProgress progress{begin};
    int end = front.columns;  // failed columns stand from here on
    while (progress.done < end && progress.failure == LdltFailure::none) {
      const int b = progress.done, width = end - b < ldlt_block ? end - b : ldlt_block;
      const int chosen = factorize_diagonal(b, width, progress.failure);
      if (progress.failure != LdltFailure::none) {
        if (!test.may_delay()) progress.done += chosen;
        return progress;
      }
      divide_rows(b, width, chosen);
      const int passed = test.may_delay() ? columns_passed(b, width, chosen) : chosen;
      store(b, width, passed);
      update(b, passed);
      // the last failed column goes to the last slot before `end`
      for (int failed = width - passed; failed > 0; --failed) {
        --end;
        exchange_slots(team, front, b + passed + failed - 1, end, test.hermitian);
      }
      progress.done += passed;
    }
    return progress;
  }

 private:
  KOKKOS_FUNCTION Scalar* diagonal_block() const {
    return work + static_cast<std::int64_t>(front.rows) * ldlt_block;
  }
  /// Column c of W, by rows of the front.
  KOKKOS_FUNCTION Scalar* w(int c) const { return work + static_cast<std::int64_t>(c) * front.rows; }

  /// @returns columns for which pivots were found
  KOKKOS_FUNCTION int factorize_diagonal(int b, int width, LdltFailure& failure) const {
    Scalar* const block = diagonal_block();
    team.columns(width, width, [&](int c, int begin, int end) {
      for (int i = begin > c ? begin : c; i < end; ++i) block[i + c * width] = front.at(b + i, b + c);
    });
    const LdltFront<Scalar, Ordinal> diagonal{block,
                                              nullptr,
                                              front.diagonal + b,
                                              front.off_diagonal + b,
                                              front.kind + b,
                                              nullptr,
                                              nullptr,
                                              front.swaps + b,
                                              width,
                                              width};
    const LdltProgress progress = eliminate_columns(
        team, diagonal, test.may_delay() ? test.with(PivotChoice::complete) : test, 0, width);
    failure = progress.failure;
    for (int c = 0; c < progress.done; ++c)
      exchange_slots(team, front, b + c, b + front.swaps[b + c], test.hermitian);
    return progress.done;
  }

  KOKKOS_FUNCTION void divide_rows(int b, int width, int chosen) const {
    const Scalar* const L = diagonal_block();
    const int first = b + width;
    team.ranges(front.rows - first, 1.0 * chosen * chosen, [&](int begin, int end) {
      for (int c = 0; c < chosen; ++c) {
        Scalar* const KOKKOS_RESTRICT to = w(c);
        const Scalar* const from = front.column(b + c);
        for (int i = first + begin; i < first + end; ++i) to[i] = mirrored(test.hermitian, from[i]);
        for (int j = 0; j < c; ++j) {
          const Scalar factor = L[c + j * width];
          const Scalar* const KOKKOS_RESTRICT other = w(j);
          for (int i = first + begin; i < first + end; ++i) to[i] -= other[i] * factor;
        }
      }
    });
  }

  KOKKOS_FUNCTION int columns_passed(int b, int width, int chosen) const {
    const int first = b + width;
    const Real bound = Real(1) / test.threshold;
    return team.min(front.rows - first, 4.0 * chosen, chosen, [&](int begin, int end) {
      int passed = chosen;
      const auto fails = [&](const Scalar& l) { return !(ScalarTraits<Scalar>::magnitude(l) <= bound); };
      for_each_pivot(
          front, b, chosen, test.hermitian,
          [&](int c, const Scalar& d) {
            if (c >= passed) return;
            bool any = false;
            for (int i = first + begin; i < first + end; ++i)
              any |= fails(mirrored(test.hermitian, w(c)[i]) / d);
            if (any) passed = c;
          },
          [&](int c, const PivotPair<Scalar>& pair) {
            if (c >= passed) return;
            bool any = false;
            for (int i = first + begin; i < first + end; ++i) {
              Scalar l1, l2;
              pair.divide_row(mirrored(test.hermitian, w(c)[i]), mirrored(test.hermitian, w(c + 1)[i]), l1,
                              l2);
              any |= fails(l1) || fails(l2);
            }
            if (any) passed = c;
          });
      return passed;
    });
  }

  /// L of the columns that passed; W of the rows of those that failed.
  KOKKOS_FUNCTION void store(int b, int width, int passed) const {
    const Scalar* const block = diagonal_block();
    team.ranges(front.rows - b, 4.0 * passed, [&](int range_begin, int range_end) {
      const int inner_end = range_end < width ? range_end : width;
      const int begin = b + (range_begin > width ? range_begin : width), end = b + range_end;
      for (int r = range_begin; r < inner_end; ++r) {
        for (int c = 0; c < passed && c < r; ++c) front.at(b + r, b + c) = block[r + c * width];
      }
      for_each_pivot(
          front, b, passed, test.hermitian,
          [&](int c, const Scalar& d) {
            Scalar* const l = front.column(b + c);
            for (int i = begin; i < end; ++i) l[i] = mirrored(test.hermitian, w(c)[i]) / d;
            for (int r = range_begin > passed ? range_begin : passed; r < inner_end; ++r)
              w(c)[b + r] = mirrored(test.hermitian, block[r + c * width] * d);
          },
          [&](int c, const PivotPair<Scalar>& pair) {
            Scalar* const l1 = front.column(b + c);
            Scalar* const l2 = front.column(b + c + 1);
            for (int i = begin; i < end; ++i)
              pair.divide_row(mirrored(test.hermitian, w(c)[i]), mirrored(test.hermitian, w(c + 1)[i]), l1[i],
                              l2[i]);
            for (int r = range_begin > passed ? range_begin : passed; r < inner_end; ++r) {
              Scalar x1, x2;
              pair.multiply_row(block[r + c * width], block[r + (c + 1) * width], x1, x2);
              w(c)[b + r] = mirrored(test.hermitian, x1);
              w(c + 1)[b + r] = mirrored(test.hermitian, x2);
            }
          });
    });
  }

  KOKKOS_FUNCTION void update(int b, int passed) const {
    if (passed == 0) return;
    constexpr int edge = 2 * ldlt_block;
    for (int c = b + passed; c < front.columns; c += edge) {
      const int columns = front.columns - c < edge ? front.columns - c : edge;
      team.subtract(front.rows - c, columns, passed, &front.at(c, b), front.rows, {w(0) + c, front.rows, 1},
                    &front.at(c, c), front.rows);
    }
  }
};

/// contribution −= L31·D·L31ᴴ of the first `done` columns, the lower triangle, by as many columns at once as
/// D·L31ᴴ has room for.
template <class Team, class Scalar, class Ordinal>
KOKKOS_FUNCTION void update_contribution(const Team& team, const LdltFront<Scalar, Ordinal>& front, int done,
                                         bool hermitian, Scalar* work) {
  const int n = front.cb_rows(), first = front.columns;
  if (n == 0) return;
  const std::int64_t room = ldlt_work(front.rows) / n;
  for (int b = 0; b < done;) {
    int depth = done - b < room ? done - b : static_cast<int>(room);
    if (front.kind[b + depth - 1] == PivotKind::first_of_two) --depth;
    team.ranges(n, 4.0 * depth, [&](int begin, int end) {
      const auto w = [&](int c) { return work + static_cast<std::int64_t>(c) * n; };
      for_each_pivot(
          front, b, depth, hermitian,
          [&](int c, const Scalar& d) {
            const Scalar* const l = front.column(b + c) + first;
            for (int i = begin; i < end; ++i) w(c)[i] = mirrored(hermitian, l[i] * d);
          },
          [&](int c, const PivotPair<Scalar>& pair) {
            const Scalar* const l1 = front.column(b + c) + first;
            const Scalar* const l2 = front.column(b + c + 1) + first;
            for (int i = begin; i < end; ++i) {
              Scalar x1, x2;
              pair.multiply_row(l1[i], l2[i], x1, x2);
              w(c)[i] = mirrored(hermitian, x1);
              w(c + 1)[i] = mirrored(hermitian, x2);
            }
          });
    });
    constexpr int edge = 4 * ldlt_block;
    for (int c = 0; c < n; c += edge) {
      const int columns = n - c < edge ? n - c : edge;
      team.subtract(n - c, columns, depth, &front.at(first + c, b), front.rows, {work + c, n, 1},
                    front.contribution + c + static_cast<std::int64_t>(c) * n, n);
    }
    b += depth;
  }
}

/// Partial L·D·Lᴴ of an assembled front: blocks as long as they eliminate a good part of what is left, then
/// column by column.
/// @param work ldlt_work(front.rows) entries
template <class Team, class Scalar, class Ordinal>
KOKKOS_FUNCTION LdltProgress eliminate_front(const Team& team, const LdltFront<Scalar, Ordinal>& front,
                                             const LdltTest<Scalar>& test, Scalar* work) {
  if (front.rows <= ldlt_max_small) return eliminate_columns(team, front, test, 0, front.rows);
  LdltProgress progress;
  bool again = true;
  while (again && front.columns - progress.done >= ldlt_block / 2) {
    const int before = progress.done;
    progress = BlockElimination<Team, Scalar, Ordinal>{team, front, test, work}.run(before);
    again = progress.failure == LdltFailure::none && 4 * (progress.done - before) >= front.columns - before;
  }
  // values that are not finite are found where all of a column is looked at
  if (progress.failure == LdltFailure::not_finite && test.may_delay()) progress.failure = LdltFailure::none;
  if (progress.failure == LdltFailure::none && progress.done < front.columns)
    progress = eliminate_columns(team, front, test, progress.done, front.columns);
  if (progress.failure == LdltFailure::none)
    update_contribution(team, front, progress.done, test.hermitian, work);
  return progress;
}

}  // namespace lutra::Impl

#endif

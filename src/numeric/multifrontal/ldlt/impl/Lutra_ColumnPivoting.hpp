// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNPIVOTING_HPP
#define LUTRA_COLUMNPIVOTING_HPP

#include "Lutra_LdltFront.hpp"

namespace lutra::Impl {

/// The chosen pivot: one column, or two. None if first < 0.
struct ChosenPivot {
  int first = -1, second = -1;
  bool is_zero = false;
};

/// Right-looking elimination column by column, in the columns [begin, front.columns). Each pivot moves to the
/// next slot and the columns after it are updated, including the contribution block if `last` = front.rows,
/// excluding it if `last` = front.columns.
/// @tparam Front LdltFront, or LdltDiagonalBlock
template <class Team, class Scalar, class Front>
struct ColumnPivoting {
  using Real = RealOf<Scalar>;
  const Team& team;
  const Front& front;
  const LdltTest<Scalar>& test;
  int last;

  KOKKOS_FUNCTION LdltProgress run(int begin) const {
    LdltProgress progress{begin};
    int candidate = begin, failed = 0;
    while (progress.done < front.columns) {
      if (must_stop(team)) {  // the caller throws, whatever the outcome
        progress.failure = LdltFailure::not_finite;
        return progress;
      }
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
          pivot = choose_bunch_parlett(done, progress);
          if (pivot.first < 0 && test.choice == PivotChoice::perturbed) {
            pivot.first = done;
            if (!(test.min_pivot > Real(0))) progress.failure = LdltFailure::not_finite;
          }
          if (pivot.first < 0 || progress.failure != LdltFailure::none) return progress;
          break;
        default:
          if (failed == front.columns - done) {
            if (test.choice == PivotChoice::threshold) return progress;
            pivot = choose_bunch_parlett(done, progress);
            if (pivot.first < 0) pivot = {done, -1, true};
          } else {
            if (candidate >= front.columns || candidate < done) candidate = done;
            pivot = choose_threshold_partial(done, candidate, progress);
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
  /// Whether the team has memory for a column of L. Each entry is then divided once, with fewer barriers.
  /// Results are identical either way.
  static constexpr bool keeps_factors = requires(const Team& t) { t.factors; };

  /// The first of n magnitudes ≥ `size`.
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
  /// entry if it is at least half the largest entry, else the pair of the largest entry. |L| ≤ 2 either way.
  KOKKOS_FUNCTION ChosenPivot choose_bunch_parlett(int done, LdltProgress& progress) const {
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

  /// The largest magnitude in column c and rows [begin, end), without rows c and `other`.
  KOKKOS_FUNCTION Real largest_in(int c, int begin, int end, int other) const {
    return largest_of(end - begin, [&](int r) {
      const int i = begin + r;
      return i == c || i == other ? Real(0) : front.size(i, c);
    });
  }

  /// Threshold partial pivoting: column c by itself, or paired with the row of its largest entry, if that
  /// passes the threshold test (PairTest).
  KOKKOS_FUNCTION ChosenPivot choose_threshold_partial(int done, int c, LdltProgress& progress) const {
    Real inside, outside;
    if constexpr (keeps_factors) {
      team.max_of_two(
          front.columns - done, front.rows - front.columns,
          [&](int r) { return done + r == c ? Real(0) : front.size(done + r, c); },
          [&](int r) { return front.size(front.columns + r, c); }, inside, outside);
    } else {
      inside = largest_in(c, done, front.columns, c);
      outside = largest_in(c, front.columns, front.rows, c);
    }
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
    Real of_c, of_t;
    if constexpr (keeps_factors) {
      const auto size_beside = [&](int r, int column) {
        const int i = done + r;
        return i == c || i == t ? Real(0) : front.size(i, column);
      };
      const int n = front.rows - done;
      team.max_of_two(
          n, n, [&](int r) { return size_beside(r, c); }, [&](int r) { return size_beside(r, t); }, of_c,
          of_t);
    } else {
      of_c = largest_in(c, done, front.rows, t);
      of_t = largest_in(t, done, front.rows, c);
    }
    const Real d_t = front.size(t, t);
    if (!(of_t < infinity() && d_t < infinity())) {
      progress.failure = LdltFailure::not_finite;
      return {};
    }
    const PairTest<Scalar> pair{
        front.at(c, c), front.at(t, t), c > t ? front.at(c, t) : front.at(t, c), d, d_t, inside, of_c, of_t};
    if (pair.passes(test.hermitian, test.threshold)) return c < t ? ChosenPivot{c, t} : ChosenPivot{t, c};
    return {};
  }

  /// @returns columns eliminated
  KOKKOS_FUNCTION int eliminate(int done, const ChosenPivot& pivot) const {
    const bool stays = pivot.first == done && pivot.second < 0;
    if (!(keeps_factors && stays)) team.barrier();  // all threads have read the entries that chose the pivot
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
    front.note_pivot(team, slot, from);
  }

  KOKKOS_FUNCTION void eliminate_one(int j, bool is_zero) const {
    Scalar d = is_zero ? Scalar(0) : test.pivot_of(front.at(j, j));
    const PivotKind kind = is_zero ? PivotKind::zero : test.perturb(d);
    const auto note = [&] { front.set_pivot(j, d, kind); };
    if constexpr (keeps_factors) return eliminate_one_with_factors(j, is_zero, d, note);
    team.once(note);
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

  /// Computes the column of L first. A thread owns the same rows at every pivot, so barriers are needed only
  /// for data that other threads read.
  template <class Note>
  KOKKOS_FUNCTION void eliminate_one_with_factors(int j, bool is_zero, const Scalar& d,
                                                  const Note& note) const {
    Scalar* const x = front.column(j);
    team.own_rows(j + 1, front.rows, [&](int i) { team.factors[i] = is_zero ? Scalar(0) : x[i] / d; });
    if (team.is_first()) note();
    team.barrier();
    if (!is_zero) {
      team.columns(last - j - 1, front.rows, [&](int c, int begin, int end) {
        const int column = j + 1 + c;
        const Scalar factor = mirrored(test.hermitian, team.factors[column]);
        Scalar* const KOKKOS_RESTRICT to = front.column(column);
        for (int i = begin > column ? begin : column; i < end; ++i) to[i] -= x[i] * factor;
      });
    }
    team.own_rows(j + 1, front.rows, [&](int i) { x[i] = team.factors[i]; });
  }

  KOKKOS_FUNCTION void eliminate_two(int j) const {
    const PivotPair<Scalar> pair(test.pivot_of(front.at(j, j)), test.pivot_of(front.at(j + 1, j + 1)),
                                 front.at(j + 1, j), test.hermitian);
    const auto note = [&] {
      front.set_pivot(j, pair.d1, PivotKind::first_of_two, pair.o);
      front.set_pivot(j + 1, pair.d2, PivotKind::second_of_two);
    };
    if constexpr (keeps_factors) {
      if (team.is_first()) note();
    } else {
      team.once(note);
    }
    Scalar* const x1 = front.column(j);
    Scalar* const x2 = front.column(j + 1);
    team.columns(last - j - 2, front.rows, [&](int c, int begin, int end) {
      const int column = j + 2 + c;
      Scalar f1, f2;
      pair.divide_column(mirrored(test.hermitian, x1[column]), mirrored(test.hermitian, x2[column]), f1, f2);
      Scalar* const KOKKOS_RESTRICT to = front.column(column);
      for (int i = begin > column ? begin : column; i < end; ++i) to[i] -= x1[i] * f1 + x2[i] * f2;
    });
    if constexpr (keeps_factors) {
      team.own_rows(j + 1, front.rows, [&](int i) {
        const Scalar y1 = x1[i], y2 = x2[i];
        if (i == j + 1) {
          x1[i] = Scalar(0);
        } else {
          pair.divide_row(y1, y2, x1[i], x2[i]);
        }
      });
      return;
    }
    team.ranges(front.rows - j - 2, 6.0, [&](int begin, int end) {
      for (int i = j + 2 + begin; i < j + 2 + end; ++i) {
        const Scalar y1 = x1[i], y2 = x2[i];
        pair.divide_row(y1, y2, x1[i], x2[i]);
      }
    });
    team.once([&] { x1[j + 1] = Scalar(0); });
  }
};

template <class Team, class Scalar, class Front>
KOKKOS_FUNCTION LdltProgress eliminate_columns(const Team& team, const Front& front,
                                               const LdltTest<Scalar>& test, int begin, int last) {
  return ColumnPivoting<Team, Scalar, Front>{team, front, test, last}.run(begin);
}

}  // namespace lutra::Impl

#endif

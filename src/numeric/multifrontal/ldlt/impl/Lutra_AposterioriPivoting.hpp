// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_APOSTERIORIPIVOTING_HPP
#define LUTRA_APOSTERIORIPIVOTING_HPP

#include "Lutra_ColumnPivoting.hpp"

namespace lutra::Impl {

/// Calls one(column) or two(first column, pair) for the pivots of the slots [begin, begin + count).
template <class Scalar, class One, class Two>
KOKKOS_FUNCTION void for_each_pivot(const LdltFront<Scalar>& front, int begin, int count, bool hermitian,
                                    const One& one, const Two& two) {
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

/// to = from − A·x for n rows and `depth` columns, by one thread. @returns the largest magnitude of `to`,
/// infinity if one is not finite
template <class Scalar>
KOKKOS_FUNCTION RealOf<Scalar> subtract_columns(int n, int depth, const Scalar* from, const Scalar* A,
                                                std::int64_t lda, const Scalar* x, Scalar* to) {
  for (int i = 0; i < n; ++i) to[i] = from[i];
  for (int p = 0; p < depth; ++p) {
    for (int i = 0; i < n; ++i) to[i] -= A[i + p * lda] * x[p];
  }
  RealOf<Scalar> largest(0);
  for (int i = 0; i < n; ++i) {
    const auto size = size_or_infinity(to[i]);
    if (size > largest) largest = size;
  }
  return largest;
}

/// Elimination by block columns with a-posteriori pivoting (Hogg, Ovtchinnikov and Scott 2016), in the
/// columns [begin, last). A block of columns [b, e), where G is the remainder of the front up to column
/// `last`:
///
///     copy of G(b:e, b:e) = L11·D·L11ᴴ    complete pivoting; then the panel's slots in that order
///     W = conj(G(e:, b:e)·L11⁻ᴴ)          in the workspace: W = conj(L21·D). The panel keeps its values
///     passed = first column of conj(W)·D⁻¹ with an entry above 1/u, never between the columns of a pair
///     L21 = conj(W)·D⁻¹                   the columns before `passed`; the others remain unchanged
///     G −= L21·Wᵀ                         columns from b + passed on, failed ones of earlier blocks too
///     failed columns move to the end, together with their rows of L
///
/// @param work ldlt_work(front.rows) entries
template <class Team, class Scalar>
struct AposterioriPivoting {
  using Real = RealOf<Scalar>;
  const Team& team;
  const LdltFront<Scalar>& front;
  const LdltTest<Scalar>& test;
  Scalar* work;
  int last;

  /// One pass over the columns; failed columns end up last, fully updated.
  KOKKOS_FUNCTION LdltProgress run(int begin) const {
    LdltProgress progress{begin};
    int end = last;  // failed columns start here
    while (progress.done < end && progress.failure == LdltFailure::none) {
      if (must_stop(team)) {  // the caller throws, whatever the outcome
        progress.failure = LdltFailure::not_finite;
        return progress;
      }
      const int b = progress.done, width = end - b < ldlt_block ? end - b : ldlt_block;
      const int chosen = factorize_diagonal(b, width, progress.failure);
      if (progress.failure != LdltFailure::none) {
        if (!test.may_delay()) progress.done += chosen;
        return progress;
      }
      const int passed = divide_rows(b, width, chosen);
      store(b, width, passed);
      update(b, passed);
      // the last failed column moves to the last slot before `end`
      for (int failed = width - passed; failed > 0; --failed) {
        --end;
        exchange_slots(team, front, b + passed + failed - 1, end, test.hermitian);
      }
      progress.done += passed;
    }
    return progress;
  }

 private:
  /// Whether the team updates and divides columns as LdltHostTeam does.
  static constexpr bool has_columns = requires(const Team& t) { t.column_rows; };

  KOKKOS_FUNCTION Scalar* diagonal_block() const {
    return work + static_cast<std::int64_t>(front.rows) * ldlt_block;
  }
  /// Column c of W, by rows of the front.
  KOKKOS_FUNCTION Scalar* w(int c) const { return work + static_cast<std::int64_t>(c) * front.rows; }

  /// @returns the number of columns with a pivot
  KOKKOS_FUNCTION int factorize_diagonal(int b, int width, LdltFailure& failure) const {
    Scalar* const block = diagonal_block();
    team.columns(width, width, [&](int c, int begin, int end) {
      for (int i = begin > c ? begin : c; i < end; ++i) block[i + c * width] = front.at(b + i, b + c);
    });
    const LdltDiagonalBlock<Scalar> diagonal{
        {block, front.diagonal + b, front.off_diagonal + b, front.kind + b, width, width}, front.swaps + b};
    const LdltProgress progress = eliminate_columns(
        team, diagonal, test.may_delay() ? test.with(PivotChoice::complete) : test, 0, width);
    failure = progress.failure;
    exchange_slots_of_block(team, front, b, width, progress.done, test.hermitian);
    return progress.done;
  }

  /// Computes W a few rows at a time, to stay in cache, and the largest entry of each column. @returns the
  /// number of columns that passed
  KOKKOS_FUNCTION int divide_rows(int b, int width, int chosen) const {
    // 96 × 32 doubles of W take 24 KiB of an L1 cache of 32 KiB or more.
    constexpr int at_once = 96;
    const Scalar* const L = diagonal_block();
    return team.min(front.rows - b - width, 1.0 * chosen * chosen, chosen, [&](int begin, int end) {
      int passed = chosen;
      for (int i = b + width + begin; i < b + width + end; i += at_once) {
        const int n = b + width + end - i < at_once ? b + width + end - i : at_once;
        for (int c = 0; c < chosen; ++c) {
          Scalar row[ldlt_block];
          for (int j = 0; j < c; ++j) row[j] = L[c + j * width];
          const Scalar* from = front.column(b + c) + i;
          if constexpr (ScalarTraits<Scalar>::is_complex) {
            for (int r = 0; r < n; ++r) w(c)[i + r] = mirrored(test.hermitian, from[r]);
            from = w(c) + i;
          }
          const Real largest = subtract_columns(n, c, from, w(0) + i, row, w(c) + i);
          const bool is_one = front.kind[b + c] == PivotKind::one_by_one;
          if (is_one && c < passed && test.may_delay() &&
              !(largest <= ScalarTraits<Scalar>::magnitude(front.diagonal[b + c]) / test.threshold))
            passed = c;
        }
      }
      return test.may_delay() ? pairs_passed(b, chosen, passed, b + width + begin, b + width + end) : chosen;
    });
  }

  /// The first column of a pair with an entry of L above 1/u in rows [begin, end), if before `passed`.
  KOKKOS_FUNCTION int pairs_passed(int b, int chosen, int passed, int begin, int end) const {
    const Real bound = Real(1) / test.threshold;
    const auto fails = [&](const Scalar& l) { return !(ScalarTraits<Scalar>::magnitude(l) <= bound); };
    for_each_pivot(
        front, b, chosen, test.hermitian, [](int, const Scalar&) {},
        [&](int c, const PivotPair<Scalar>& pair) {
          if (c >= passed) return;
          bool any = false;
          for (int i = begin; i < end; ++i) {
            Scalar l1, l2;
            pair.divide_row(mirrored(test.hermitian, w(c)[i]), mirrored(test.hermitian, w(c + 1)[i]), l1, l2);
            any |= fails(l1) || fails(l2);
          }
          if (any) passed = c;
        });
    return passed;
  }

  /// Impl::subtract_columns with W.
  KOKKOS_FUNCTION Real subtract_columns(int n, int depth, const Scalar* from, const Scalar* W,
                                        const Scalar* x, Scalar* to) const {
    if constexpr (has_columns) return team.column(n, depth, from, W, front.rows, x, to);
    return Impl::subtract_columns(n, depth, from, W, front.rows, x, to);
  }

  /// Stores L of the columns that passed; W of the rows of those that failed.
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
            if constexpr (has_columns && !ScalarTraits<Scalar>::is_complex) {
              if (begin < end) team.divide(end - begin, d, w(c) + begin, l + begin);
            } else {
              for (int i = begin; i < end; ++i) l[i] = mirrored(test.hermitian, w(c)[i]) / d;
            }
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
    const int c = b + passed;
    if (passed == 0 || c == last) return;
    team.subtract_lower(front.rows - c, last - c, passed, &front.at(c, b), front.rows,
                        {w(0) + c, front.rows, 1}, &front.at(c, c), front.rows);
  }
};

/// C −= L·D·L(first:first + n, :)ᴴ, lower triangle, for the rows of L from `first` on and the pivots [begin,
/// end). Processes as many pivots at once as fit in the workspace of `entries` entries for D·Lᴴ.
template <class Team, class Scalar>
KOKKOS_FUNCTION void subtract_pivots(const Team& team, const LdltFront<Scalar>& front, int begin, int end,
                                     int first, int n, Scalar* C, std::int64_t ldc, bool hermitian,
                                     Scalar* work, std::int64_t entries) {
  if (n == 0) return;
  const std::int64_t room = entries / n;
  for (int b = begin; b < end;) {
    int depth = end - b < room ? end - b : static_cast<int>(room);
    if (front.kind[b + depth - 1] == PivotKind::first_of_two) --depth;
    team.ranges(n, 4.0 * depth, [&](int range_begin, int range_end) {
      const auto w = [&](int c) { return work + static_cast<std::int64_t>(c) * n; };
      for_each_pivot(
          front, b, depth, hermitian,
          [&](int c, const Scalar& d) {
            const Scalar* const l = front.panel + first + static_cast<std::int64_t>(b + c) * front.rows;
            for (int i = range_begin; i < range_end; ++i) w(c)[i] = mirrored(hermitian, l[i] * d);
          },
          [&](int c, const PivotPair<Scalar>& pair) {
            const Scalar* const l1 = front.panel + first + static_cast<std::int64_t>(b + c) * front.rows;
            const Scalar* const l2 = l1 + front.rows;
            for (int i = range_begin; i < range_end; ++i) {
              Scalar x1, x2;
              pair.multiply_row(l1[i], l2[i], x1, x2);
              w(c)[i] = mirrored(hermitian, x1);
              w(c + 1)[i] = mirrored(hermitian, x2);
            }
          });
    });
    team.subtract_lower(front.rows - first, n, depth, &front.at(first, b), front.rows, {work, n, 1}, C, ldc);
    b += depth;
  }
}

/// contribution −= L31·D·L31ᴴ of the first `done` columns, lower triangle.
template <class Team, class Scalar>
KOKKOS_FUNCTION void update_contribution(const Team& team, const LdltFront<Scalar>& front, int done,
                                         bool hermitian, Scalar* work, std::int64_t entries) {
  subtract_pivots(team, front, 0, done, front.columns, front.cb_rows(), front.contribution, front.cb_rows(),
                  hermitian, work, entries);
}

/// Repeats block passes while they eliminate a good part of the remaining columns, then eliminates column by
/// column.
/// @param pass pass(begin) eliminates columns from `begin` on by blocks
template <class Team, class Scalar, class Pass>
KOKKOS_FUNCTION LdltProgress eliminate_by_passes(const Team& team, const LdltFront<Scalar>& front,
                                                 const LdltTest<Scalar>& test, const Pass& pass) {
  LdltProgress progress;
  bool again = true;
  while (again && front.columns - progress.done >= ldlt_block / 2) {
    const int before = progress.done;
    progress = pass(before);
    again = progress.failure == LdltFailure::none && 4 * (progress.done - before) >= front.columns - before;
  }
  // the column-wise pass detects values that are not finite, since it examines whole columns
  if (progress.failure == LdltFailure::not_finite && test.may_delay()) progress.failure = LdltFailure::none;
  if (progress.failure == LdltFailure::none && progress.done < front.columns)
    progress = eliminate_columns(team, front, test, progress.done, front.columns);
  return progress;
}

/// Partial L·D·Lᴴ of an assembled front: by blocks, then column by column.
/// @param work ldlt_work(front.rows) entries
template <class Team, class Scalar>
KOKKOS_FUNCTION LdltProgress eliminate_blocks_and_columns(const Team& team, const LdltFront<Scalar>& front,
                                                          const LdltTest<Scalar>& test, Scalar* work) {
  if (front.rows <= ldlt_max_small) return eliminate_columns(team, front, test, 0, front.rows);
  const LdltProgress progress = eliminate_by_passes(team, front, test, [&](int begin) {
    return AposterioriPivoting<Team, Scalar>{team, front, test, work, front.columns}.run(begin);
  });
  if (progress.failure == LdltFailure::none)
    update_contribution(team, front, progress.done, test.hermitian, work, ldlt_work(front.rows));
  return progress;
}

/// Eliminates an assembled front with any kind of team. Hosts have their own version
/// (Lutra_HostLdltPivoting.hpp).
template <class Team, class Scalar>
KOKKOS_FUNCTION LdltProgress eliminate_front(const Team& team, const LdltFront<Scalar>& front,
                                             const LdltTest<Scalar>& test, Scalar* work) {
  return eliminate_blocks_and_columns(team, front, test, work);
}

}  // namespace lutra::Impl

#endif

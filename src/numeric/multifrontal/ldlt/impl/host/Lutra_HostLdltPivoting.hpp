// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTLDLTPIVOTING_HPP
#define LUTRA_HOSTLDLTPIVOTING_HPP

#include <array>

#include "Lutra_AposterioriPivoting.hpp"
#include "Lutra_FrontTeams.hpp"

namespace lutra::Impl {

/// Host threads with the column kernels of eliminations.
template <class Scalar, class Loop>
struct LdltHostTeam : HostFrontTeam<Scalar, Loop> {
  using Real = RealOf<Scalar>;
  int column_rows;  ///< as in LdltPlanOptions

  /// ProductKernel::column on the calling thread.
  KOKKOS_FUNCTION Real column(int n, int depth, const Scalar* from, const Scalar* A, std::int64_t lda,
                              const Scalar* x, Scalar* to) const {
    Real largest(0);
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      largest = subtract_columns(n, depth, from, A, lda, x, to);
    } else {
      KOKKOS_IF_ON_HOST((largest = this->products.kernel.column(n, depth, from, A, lda, x, to);))
    }
    return largest;
  }
  /// to = from / d on the calling thread.
  KOKKOS_FUNCTION void divide(int n, const Scalar& d, const Scalar* from, Scalar* to) const {
    if constexpr (!ScalarTraits<Scalar>::is_complex) {
      const Scalar inverse = Scalar(1) / d;
      if (ScalarTraits<Scalar>::is_finite(inverse)) {
        KOKKOS_IF_ON_HOST((this->products.kernel.scale(n, inverse, from, to);))
        return;
      }
    }
    for (int i = 0; i < n; ++i) to[i] = from[i] / d;
  }
};

/// Entries of a thread's workspace for a front with `rows` rows.
/// @param column_rows as in LdltPlanOptions
inline std::int64_t host_ldlt_work(std::int64_t rows, int column_rows) {
  return (rows + ldlt_block) * (rows > column_rows ? 4 * ldlt_block : ldlt_block + 1) + product_slack;
}

/// Host elimination by threshold partial pivoting (Duff and Reid 1983), in blocks of pivots. Within a block,
/// columns are updated when they are examined, as in LAPACK's xLASYF, so that each is written once; one
/// product updates the columns after the block. Pivots pass the threshold test of ColumnPivoting, on whole
/// columns. Failed columns move after the other candidates and are examined again in the next block.
///
///     b         j = b + k       end         columns
///     │ k pivots │  candidates  │  failed    │     all from j on lack the updates of this block
///
///     w(0) … w(k − 1) = conj(L·D) of the block's pivots, by rows of the front
///     w(k) = column j, updated
template <class Scalar, class Team>
struct HostThresholdPivoting {
  using Real = RealOf<Scalar>;
  const Team& team;
  const LdltFront<Scalar>& front;
  const LdltTest<Scalar>& test;
  Scalar* work;
  int last_block = 0;  ///< start of the last block of pivots

  /// Eliminates columns from `begin` on, until a block finds no pivot.
  LdltProgress run(int begin) {
    LdltProgress progress{begin};
    while (progress.done < front.columns) {
      if (must_stop(team)) {  // the caller throws, whatever the outcome
        progress.failure = LdltFailure::not_finite;
        return progress;
      }
      last_block = progress.done;
      const int pivots = eliminate_block(progress.done, progress.failure);
      progress.done += pivots;
      if (pivots == 0 || progress.failure != LdltFailure::none) return progress;
      const int behind = progress.done;
      if (behind < front.columns)
        team.subtract_lower(front.rows - behind, front.columns - behind, pivots,
                            &front.at(behind, last_block), front.rows, {work + behind, front.rows, 1},
                            &front.at(behind, behind), front.rows);
    }
    return progress;
  }

 private:
  Scalar* w(int c) const { return work + static_cast<std::int64_t>(c) * front.rows; }
  static bool is_finite(Real size) { return size < Kokkos::Experimental::infinity_v<Real>; }

  int eliminate_block(int b, LdltFailure& failure) const {
    int k = 0, end = front.columns;
    while (k < ldlt_block && b + k < end) {
      const int j = b + k;
      const Real below = bring_up_to_date(b, k, j, j, w(k));
      const Scalar d = test.pivot_of(w(k)[j]);
      const Real size = ScalarTraits<Scalar>::magnitude(d);
      const bool is_definite = test.choice == PivotChoice::definite;
      const bool is_sound =
          is_finite(size) &&
          (is_definite ? real_part(d) > Real(0) : is_finite(below) && (test.may_delay() || size > Real(0)));
      if (!is_sound) {
        failure = is_definite ? LdltFailure::not_definite : LdltFailure::not_finite;
        return k;
      }
      int found = 1;
      if (!test.may_delay() || (size > test.zero && size >= test.threshold * below)) {
        accept_one(b, k, d);
      } else if (size <= test.zero && below <= test.zero) {
        accept_zero(b, k);
      } else if (accept_two(b, k, failure)) {
        found = 2;
      } else {
        found = 0;
        exchange_columns(k, j, --end);
      }
      if (failure != LdltFailure::none) return k;
      k += found;
    }
    return k;
  }

  /// Sets to(i) = column c in rows from `first` on, minus the contributions of the block's k pivots.
  /// @returns the largest magnitude in the rows after `first`, infinity if one is not finite
  Real bring_up_to_date(int b, int k, int c, int first, Scalar* to) const {
    std::array<Scalar, ldlt_block + 1> x;
    for (int p = 0; p < k; ++p) x[static_cast<std::size_t>(p)] = w(p)[c];
    // entries left of column `c` are read from row c
    const Scalar* from = front.column(c);
    if (first < c) {
      for (int i = first; i < c; ++i) to[i] = mirrored(test.hermitian, front.at(c, i));
      std::copy(from + c, from + front.rows, to + c);
      from = to;
    }
    const Scalar* const L = &front.at(0, b);
    Scalar top = from[first];
    for (int p = 0; p < k; ++p)
      top -= L[first + static_cast<std::int64_t>(p) * front.rows] * x[static_cast<std::size_t>(p)];
    to[first] = top;
    const int next = first + 1;
    return team.column(front.rows - next, k, from + next, L + next, front.rows, x.data(), to + next);
  }

  void conjugate(int k, int first) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (!test.hermitian) return;
      for (int i = first; i < front.rows; ++i) w(k)[i] = ScalarTraits<Scalar>::conjugate(w(k)[i]);
    }
  }

  void accept_one(int b, int k, const Scalar& d) const {
    const int j = b + k;
    front.set_pivot(j, d, PivotKind::one_by_one);
    team.divide(front.rows - j - 1, d, w(k) + j + 1, front.column(j) + j + 1);
    conjugate(k, j + 1);
  }
  void accept_zero(int b, int k) const {
    const int j = b + k;
    front.set_pivot(j, Scalar(0), PivotKind::zero);
    std::fill(front.column(j) + j + 1, front.column(j) + front.rows, Scalar(0));
    std::fill(w(k) + j + 1, w(k) + front.rows, Scalar(0));
  }

  /// Accepts candidate k and the row of its largest entry if they pass the threshold test as a pair.
  bool accept_two(int b, int k, LdltFailure& failure) const {
    const int j = b + k;
    const Scalar* const of_j = w(k);
    Scalar* const of_t = w(k + 1);
    Real inside(0);
    int t = -1;
    for (int i = j + 1; i < front.columns; ++i) {
      const Real size = ScalarTraits<Scalar>::magnitude(of_j[i]);
      if (!(size > inside)) continue;
      inside = size;
      t = i;
    }
    if (t < 0 || !(inside > test.zero)) return false;
    if (!is_finite(bring_up_to_date(b, k, t, j, of_t))) {
      failure = LdltFailure::not_finite;
      return false;
    }
    Real below_j(0), below_t(0);  // without the pair's own rows
    for (int i = j + 1; i < front.rows; ++i) {
      if (i == t) continue;
      below_j = std::max(below_j, ScalarTraits<Scalar>::magnitude(of_j[i]));
      below_t = std::max(below_t, ScalarTraits<Scalar>::magnitude(of_t[i]));
    }
    const Scalar d1 = test.pivot_of(of_j[j]), d2 = test.pivot_of(of_t[t]), o = of_j[t];
    const auto size = [](const Scalar& value) { return ScalarTraits<Scalar>::magnitude(value); };
    const PairTest<Scalar> test_of_pair{d1, d2, o, size(d1), size(d2), size(o), below_j, below_t};
    if (!test_of_pair.passes(test.hermitian, test.threshold)) return false;
    exchange_columns(k, j + 1, t);
    std::swap(w(k)[j + 1], w(k)[t]);
    std::swap(of_t[j + 1], of_t[t]);
    const PivotPair<Scalar> pair(d1, d2, o, test.hermitian);
    front.set_pivot(j, d1, PivotKind::first_of_two, o);
    front.set_pivot(j + 1, d2, PivotKind::second_of_two);
    Scalar* const KOKKOS_RESTRICT l1 = front.column(j);
    Scalar* const KOKKOS_RESTRICT l2 = front.column(j + 1);
    for (int i = j + 2; i < front.rows; ++i) pair.divide_row(of_j[i], of_t[i], l1[i], l2[i]);
    l1[j + 1] = Scalar(0);
    conjugate(k, j + 2);
    conjugate(k + 1, j + 2);
    return true;
  }

  /// Exchanges candidates, including their rows of the block's k pivots.
  void exchange_columns(int k, int p, int q) const {
    if (p == q) return;
    exchange_slots(team, front, std::min(p, q), std::max(p, q), test.hermitian);
    for (int c = 0; c < k; ++c) std::swap(w(c)[p], w(c)[q]);
  }
};

/// Block passes as in eliminate_by_passes, in outer blocks: continues while blocks eliminate a good part of
/// the remaining columns; a single wide product updates all columns after an outer block.
template <class Scalar, class Team>
LdltProgress eliminate_outer_blocks(const Team& team, const LdltFront<Scalar>& front,
                                    const LdltTest<Scalar>& test, Scalar* work) {
  // A product reads and writes the remaining panel, which may exceed the L2 cache: at depth 128 four times
  // less often than at 32.
  constexpr int outer_block = 4 * ldlt_block;
  LdltProgress progress;
  bool again = true;
  while (again && front.columns - progress.done >= ldlt_block / 2) {
    const int before = progress.done;
    int end = front.columns;  // failed columns start here
    while (progress.done < end && again) {
      const int b = progress.done, e = std::min(end, b + outer_block);
      progress = AposterioriPivoting<Team, Scalar>{team, front, test, work, e}.run(b);
      if (progress.failure != LdltFailure::none && !test.may_delay()) return progress;
      if (e < front.columns)
        subtract_pivots(team, front, b, progress.done, e, front.columns - e, &front.at(e, e), front.rows,
                        test.hermitian, work, host_ldlt_work(front.rows, team.column_rows));
      // the column-wise pass detects values that are not finite, since it examines whole columns
      again = progress.failure == LdltFailure::none;
      progress.failure = LdltFailure::none;
      for (int failed = e - progress.done; again && failed > 0; --failed)
        exchange_slots(team, front, progress.done + failed - 1, --end, test.hermitian);
    }
    again = again && 4 * (progress.done - before) >= front.columns - before;
  }
  return progress;
}

/// Partial L·D·Lᴴ of an assembled front on hosts.
template <class Scalar, class Team>
LdltProgress eliminate_on_host(const Team& team, const LdltFront<Scalar>& front, const LdltTest<Scalar>& test,
                               Scalar* work) {
  LdltProgress progress;
  if (test.choice == PivotChoice::perturbed || test.choice == PivotChoice::complete)
    return eliminate_blocks_and_columns(team, front, test, work);
  if (front.rows > team.column_rows) progress = eliminate_outer_blocks(team, front, test, work);
  if (progress.failure != LdltFailure::none) return progress;
  HostThresholdPivoting<Scalar, Team> columns{team, front, test, work};
  columns.last_block = -1;
  if (progress.done < front.columns) progress = columns.run(progress.done);
  if (progress.failure == LdltFailure::none && progress.done < front.columns &&
      test.choice == PivotChoice::root) {
    columns.last_block = -1;
    progress = eliminate_columns(team, front, test, progress.done, front.columns);
  }
  if (progress.failure != LdltFailure::none || front.cb_rows() == 0) return progress;
  if (columns.last_block == 0) {
    // w(0) … hold all of conj(L·D)
    const int n = front.cb_rows(), first = front.columns;
    team.subtract_lower(n, n, progress.done, &front.at(first, 0), front.rows, {work + first, front.rows, 1},
                        front.contribution, n);
  } else {
    update_contribution(team, front, progress.done, test.hermitian, work,
                        host_ldlt_work(front.rows, team.column_rows));
  }
  return progress;
}

template <class Scalar, class Loop>
KOKKOS_FUNCTION LdltProgress eliminate_front(const LdltHostTeam<Scalar, Loop>& team,
                                             const LdltFront<Scalar>& front, const LdltTest<Scalar>& test,
                                             Scalar* work) {
  LdltProgress progress;
  KOKKOS_IF_ON_HOST((progress = eliminate_on_host(team, front, test, work);))
  return progress;
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTKERNELS_HPP
#define LUTRA_FRONTKERNELS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_FrontAssembly.hpp"
#include "Lutra_FrontTeams.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_SymmetricPivots.hpp"

namespace lutra::Impl {

// Dense kernels of one front. Blocks of pivot_block pivots are eliminated in their own columns, then in the
// rows of U right of them; products update the later pivots, and at the end the contribution block.
//
//          pivots  cb_rows
//        +---------+------+
//        |   L\U   |  U   |  upper, by rows
//        +---------+------+
//        |    L    |  CB  |  contribution, by columns
//        +---------+------+
//          lower, by columns

/// The three blocks of a front of `pivots` + `cb_rows` rows and columns.
template <class Scalar>
struct DenseFront {
  Scalar* lower;         ///< (pivots + cb_rows) × pivots by columns
  Scalar* upper;         ///< pivots × cb_rows by rows
  Scalar* contribution;  ///< cb_rows × cb_rows by columns
  int pivots;
  int cb_rows;
  KOKKOS_FUNCTION int size() const { return pivots + cb_rows; }
  KOKKOS_FUNCTION Scalar& at(int row, int column) const {
    if (column < pivots) return lower[row + static_cast<std::int64_t>(column) * size()];
    if (row < pivots) return upper[static_cast<std::int64_t>(row) * cb_rows + (column - pivots)];
    return contribution[(row - pivots) + static_cast<std::int64_t>(column - pivots) * cb_rows];
  }

  // for FrontAssembly
  template <class Visit>
  KOKKOS_FUNCTION void for_each_block(const Visit& visit) const {
    visit(lower, pivots, size());
    visit(upper, pivots, cb_rows);
    visit(contribution, cb_rows, cb_rows);
  }
  KOKKOS_FUNCTION void set(const FrontPosition& at_position, const Scalar& value) const {
    at(at_position.row, at_position.column) = value;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int first_row(int) { return 0; }
  KOKKOS_FORCEINLINE_FUNCTION FrontColumn<Scalar> column(int c) const {
    if (c < pivots) {
      Scalar* const whole = lower + static_cast<std::int64_t>(c) * size();
      return {whole, 1, whole};
    }
    return {upper + (c - pivots), cb_rows,
            contribution + static_cast<std::int64_t>(c - pivots) * cb_rows - pivots};
  }
};

/// Ignores interchanges.
struct NoteNoExchange {
  KOKKOS_FUNCTION void rows(int, int) const {}
  KOKKOS_FUNCTION void columns(int, int) const {}
};

/// Pivots per block; right-looking updates of the other columns follow each block.
inline constexpr int pivot_block = 32;

/// How the triangles of a front are related.
struct FrontSymmetry {
  bool lower_only = false;  ///< whether only the lower triangle is assembled, and updated by products
  bool hermitian = false;
};

/// Divides the rows of a column below its pivot j by it, on one host thread.
template <class Scalar>
void divide_by_pivot(Scalar* const KOKKOS_RESTRICT column, int j, int size) {
  const Scalar pivot = column[j], inverse = Scalar(1) / pivot;
  if (ScalarTraits<Scalar>::is_finite(inverse)) {
    for (int r = j + 1; r < size; ++r) column[r] *= inverse;
  } else {
    for (int r = j + 1; r < size; ++r) column[r] /= pivot;
  }
}

/// A diagonal entry of a symmetric front. Of a Hermitian one it is real: what rounding leaves beside that
/// would make U = D·Lᴴ differ from the columns, where the diagonal is weak by more than their rounding.
template <class Scalar>
KOKKOS_FUNCTION Scalar diagonal_of(const Scalar& entry, bool hermitian) {
  if constexpr (!std::is_same_v<Scalar, RealOf<Scalar>>) {
    if (hermitian) return Scalar(entry.real());
  }
  static_cast<void>(hermitian);
  return entry;
}

/// Partial LU of a front by any kind of team. Right-looking by blocks of pivots; the contribution is updated
/// once, by all pivots. Of symmetric fronts, with symmetric interchanges, a block's rows of U are copied from
/// its columns before it is eliminated.
template <class Team, class Scalar, class NotePivot, class NoteExchange>
struct FrontElimination {
  using Real = RealOf<Scalar>;
  const Team& team;
  const DenseFront<Scalar>& front;
  const PivotRule<Scalar>& rule;
  const NotePivot& note_pivot;  ///< called by one thread with the pivot's index and whether it was perturbed
  const NoteExchange& note_exchange;  ///< `rows` and `columns` are called by one thread with the two of an
                                      ///< interchange
  FrontSymmetry symmetry = {};

  KOKKOS_FUNCTION void run() const {
    const std::int64_t ld = front.size();
    for (int begin = 0; begin < front.pivots; begin += pivot_block) {
      const int end = Kokkos::min(begin + pivot_block, front.pivots);
      const int depth = end - begin, rest = front.pivots - end;
      int settled = begin;  // pivots before it are final
      if (symmetry.lower_only) mirror_columns(begin, end);
      for (int j = begin; j < end; ++j) {
        if (rule.kind != Interchanges::rows && j >= settled) settled = j + bring_up_symmetric(j, end);
        eliminate(j, end);
      }
      solve_rows(begin, end);
      if (rest == 0) continue;
      const Scalar* const L = front.lower + begin * ld;
      Scalar* const next = front.lower + end * ld;
      if (symmetry.lower_only) {
        team.subtract_lower(front.size() - end, rest, depth, L + end, ld, {next + begin, 1, ld}, next + end,
                            ld);
        continue;
      }
      team.subtract(front.size() - end, rest, depth, L + end, ld, {next + begin, 1, ld}, next + end, ld);
      team.subtract(front.cb_rows, rest, depth, row(begin), front.cb_rows, {L + end, ld, 1}, row(end),
                    front.cb_rows);  // rows of U as columns of its transpose
    }
    if (symmetry.lower_only) {
      team.subtract_lower(front.cb_rows, front.cb_rows, front.pivots, front.lower + front.pivots, ld,
                          {front.upper, front.cb_rows, 1}, front.contribution, front.cb_rows);
    } else {
      team.subtract(front.cb_rows, front.cb_rows, front.pivots, front.lower + front.pivots, ld,
                    {front.upper, front.cb_rows, 1}, front.contribution, front.cb_rows);
    }
  }

 private:
  /// Copies the columns [begin, end) to the rows, right of the diagonal.
  KOKKOS_FUNCTION void mirror_columns(int begin, int end) const {
    const auto mirrored = [&](const Scalar& value) {
      return symmetry.hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
    };
    team.ranges(end - begin, 4.0 * front.size(), [&](int first, int last) {
      for (int r = begin + first; r < begin + last; ++r) {
        Scalar* const from = column(r);
        from[r] = diagonal_of(from[r], symmetry.hermitian);
        for (int c = r + 1; c < front.pivots; ++c) column(c)[r] = mirrored(from[c]);
        for (int c = 0; c < front.cb_rows; ++c) row(r)[c] = mirrored(from[front.pivots + c]);
      }
    });
  }

  KOKKOS_FUNCTION Scalar* column(int c) const {
    return front.lower + static_cast<std::int64_t>(c) * front.size();
  }
  KOKKOS_FUNCTION Scalar* row(int r) const {
    return front.upper + static_cast<std::int64_t>(r) * front.cb_rows;
  }

  /// Pivot row for column j within the block: j itself if |diagonal| ≥ keep · max |column j|, else the first
  /// row with the largest entry in column j.
  KOKKOS_FUNCTION int choose_row(int j) const {
    const Scalar* const entries = column(j) + j;
    const int left = rule.block_end(j, front.pivots) - j;
    const auto size = [&](int r) { return ScalarTraits<Scalar>::magnitude(entries[r]); };
    const Real greatest = team.max(left, 1.0, [&](int begin, int end) {
      Real most(0);
      for (int r = begin; r < end; ++r) most = size(r) > most ? size(r) : most;
      return most;
    });
    if (size(0) >= rule.keep * greatest) return j;
    const int chosen = team.min(left, 1.0, left, [&](int begin, int end) {
      for (int r = begin; r < end; ++r) {
        if (size(r) >= greatest) return r;
      }
      return left;
    });
    return chosen < left ? j + chosen : j;  // a NaN on the diagonal keeps row j
  }

  /// Interchanges two pivot rows in all columns.
  KOKKOS_FUNCTION void exchange_rows(int a, int b) const {
    team.ranges(front.pivots, 1.0, [&](int begin, int end) {
      for (int c = begin; c < end; ++c) exchange(column(c)[a], column(c)[b]);
    });
    team.ranges(front.cb_rows, 1.0, [&](int begin, int end) {
      for (int c = begin; c < end; ++c) exchange(row(a)[c], row(b)[c]);
    });
  }

  KOKKOS_FUNCTION void exchange_columns(int a, int b) const {
    team.ranges(front.size(), 1.0, [&](int begin, int end) {
      for (int r = begin; r < end; ++r) exchange(column(a)[r], column(b)[r]);
    });
  }
  KOKKOS_FUNCTION void exchange_symmetric(int a, int b) const {
    if (a == b) return;
    exchange_rows(a, b);
    exchange_columns(a, b);
    team.once([&] {
      note_exchange.rows(a, b);
      note_exchange.columns(a, b);
    });
  }

  /// The pivot at j among the columns of the block before `block_end`.
  KOKKOS_FUNCTION SymmetricPivot choose_symmetric(int j, int block_end) const {
    const auto at = [&](int r, int c) { return column(c)[r]; };
    if (rule.kind == Interchanges::pairs) {
      if (j % 2 != 0 || j + 1 >= block_end) return {j};
      const PairOrder order = order_of_pair(at(j, j), at(j + 1, j), at(j + 1, j + 1));
      if (order == PairOrder::coupled) return {j, j + 1};
      return {order == PairOrder::reversed ? j + 1 : j};
    }
    const int last = Kokkos::min(block_end, rule.block_end(j, front.pivots));
    const SymmetricPivotSearch<Scalar, decltype(at)> search{at, j, last, front.size()};
    if (search.quality_alone(j) >= rule.strict()) return {j};
    const int candidates = last - j;
    const double flops = 2.0 * (front.size() - j);
    const auto best_of = [&](const auto& quality) {
      return team.max(candidates, flops, [&](int begin, int end) {
        Real most(0);
        for (int c = j + begin; c < j + end; ++c) most = Kokkos::max(most, quality(c));
        return most;
      });
    };
    const auto first_with = [&](const auto& quality, Real least) {
      const int found = team.min(candidates, flops, candidates, [&](int begin, int end) {
        for (int c = begin; c < end; ++c) {
          if (quality(j + c) >= least) return c;
        }
        return candidates;
      });
      return j + found % candidates;  // none has if entries are not finite
    };
    const auto alone = [&](int c) { return search.quality_alone(c); };
    const auto together = [&](int c) { return search.quality_of_pair(c); };
    const Real best = best_of(alone);
    const Real of_pair = best < rule.strict() ? best_of(together) : Real(0);
    if (!(of_pair > best)) return {best > Real(0) ? first_with(alone, best) : j};
    const int first = first_with(together, of_pair);
    return {first, search.partner(first)};
  }

  /// Brings up the next pivot to j, and of a pair the second column to j + 1, with the rows of the pair
  /// interchanged. @returns the order of the pivot
  KOKKOS_FUNCTION int bring_up_symmetric(int j, int block_end) const {
    const SymmetricPivot pivot = choose_symmetric(j, block_end);
    team.barrier();  // all threads have read the columns
    exchange_symmetric(j, pivot.first);
    if (pivot.second < 0) return 1;
    exchange_symmetric(j + 1, pivot.second == j ? pivot.first : pivot.second);
    exchange_rows(j, j + 1);
    team.once([&] { note_exchange.rows(j, j + 1); });
    return 2;
  }

  /// Eliminates pivot j in its own column and in those before `block_end`.
  KOKKOS_FUNCTION void eliminate(int j, int block_end) const {
    Scalar* const pivot_column = column(j);
    if (rule.interchanges() && rule.kind == Interchanges::rows) {
      const int chosen = choose_row(j);
      team.barrier();  // all threads have read the column before the interchange writes it
      if (chosen != j) {
        exchange_rows(j, chosen);
        team.once([&] { note_exchange.rows(j, chosen); });
      }
    }
    team.once([&] {
      bool is_perturbed = false;
      pivot_column[j] = rule(pivot_column[j], is_perturbed);
      note_pivot(j, is_perturbed);
    });
    const Scalar pivot = pivot_column[j];
    const int below = front.size() - j - 1;
    team.ranges(below, 1.0, [&](int begin, int end) {
      for (int r = j + 1 + begin; r < j + 1 + end; ++r) pivot_column[r] /= pivot;
    });
    team.columns(block_end - j - 1, below, [&](int c, int begin, int end) {
      Scalar* const to = column(j + 1 + c);
      const Scalar factor = to[j];
      for (int r = j + 1 + begin; r < j + 1 + end; ++r) to[r] -= pivot_column[r] * factor;
    });
  }

  /// Applies the inverse of the unit lower block of the pivots [begin, end) to their rows of U right of the
  /// block.
  KOKKOS_FUNCTION void solve_rows(int begin, int end) const {
    team.ranges(front.pivots - end, 1.0, [&](int first, int last) {
      for (int c = end + first; c < end + last; ++c) {
        for (int j = begin; j < end; ++j) {
          for (int i = j + 1; i < end; ++i) column(c)[i] -= column(j)[i] * column(c)[j];
        }
      }
    });
    for (int j = begin; j + 1 < end; ++j) {
      team.columns(end - j - 1, front.cb_rows, [&](int r, int first, int last) {
        const Scalar factor = column(j)[j + 1 + r];
        for (int c = first; c < last; ++c) row(j + 1 + r)[c] -= factor * row(j)[c];
      });
    }
  }
};

/// Partial LU of a front: `lower` and `upper` become L\U, rows in elimination order; `contribution` becomes
/// the Schur complement. Hosts have their own version (Lutra_HostFront.hpp).
template <class Team, class Scalar, class NotePivot, class NoteExchange = NoteNoExchange>
KOKKOS_FUNCTION void factorize_front(const Team& team, const DenseFront<Scalar>& front,
                                     const PivotRule<Scalar>& rule, const NotePivot& note_pivot,
                                     const NoteExchange& note_exchange = {}) {
  FrontElimination<Team, Scalar, NotePivot, NoteExchange>{team, front, rule, note_pivot, note_exchange}.run();
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTDIAGONAL_HPP
#define LUTRA_LDLTDIAGONAL_HPP

#include "Lutra_LdltFlow.hpp"

namespace lutra::Impl {

/// A diagonal block in a thread block's shared memory, and its L·D·Lᴴ.
template <class Scalar>
struct alignas(16) LdltDiagonal {
  /// Odd `ld`: rows and columns without bank conflicts.
  static constexpr int edge = ldlt_block, ld = edge + 1;
  Scalar entries[edge * ld];  ///< lower triangle by columns: remaining entries, then L
  Scalar diagonal[edge], off_diagonal[edge];
  Scalar inverse[edge];              ///< reciprocals of 1 × 1 pivots
  PivotPair<Scalar> pair[edge / 2];  ///< indexed by half of the pair's first slot
  PivotKind kind[edge];
  int order[edge];  ///< column moved to each slot

  KOKKOS_FORCEINLINE_FUNCTION Scalar& at(int i, int j) { return entries[i + j * ld]; }
};

/// Pivots of a diagonal block, 1 × 1 and 2 × 2, by one thread block, in the order of
/// ColumnPivoting::choose_bunch_parlett. One search finds both the largest entry and the largest diagonal
/// entry; it compares magnitudes to 42 bits.
template <class Block, class Scalar>
struct DiagonalElimination {
  using Real = RealOf<Scalar>;
  const Block& block;
  LdltDiagonal<Scalar>& own;
  const LdltTest<Scalar>& test;
  int width;

  /// All threads return the same result; slots beyond `done` are unchanged.
  KOKKOS_FUNCTION LdltProgress run() const {
    for (int c = block.thread(); c < width; c += block.threads()) own.order[c] = c;
    block.barrier();
    LdltProgress progress;
    while (progress.done < width) {
      const int j = progress.done;
      const ChosenPivot pivot = choose(j, progress.failure);
      if (pivot.first < 0) return progress;
      exchange_slots(j, pivot.first);
      if (pivot.second >= 0) exchange_slots(j + 1, pivot.second);
      if (pivot.second < 0) {
        eliminate_one(j);
        progress.done += 1;
      } else {
        eliminate_two(j);
        progress.done += 2;
      }
    }
    block.barrier();  // the last column has been divided
    return progress;
  }

 private:
  static constexpr std::uint64_t positions = LdltDiagonal<Scalar>::edge * LdltDiagonal<Scalar>::edge - 1;
  static_assert((positions & (positions + 1)) == 0);

  /// Calls visit(i, j) for this thread's entries of the lower triangle from column `first` on.
  template <class Visit>
  KOKKOS_FUNCTION void for_each_own(int first, const Visit& visit) const {
    constexpr int edge = LdltDiagonal<Scalar>::edge;
    for (int e = block.thread(); e < edge * edge; e += block.threads()) {
      const int i = e % edge, j = e / edge;
      if (j >= first && i >= j && i < width) visit(i, j);
    }
  }
  KOKKOS_FUNCTION static double size_in(std::uint64_t key) {
    return Kokkos::bit_cast<double>(key & ~positions);
  }
  KOKKOS_FUNCTION static int position_in(std::uint64_t key) {
    return static_cast<int>(positions - (key & positions));
  }

  KOKKOS_FUNCTION ChosenPivot choose(int done, LdltFailure& failure) const {
    if (test.choice == PivotChoice::diagonal || test.choice == PivotChoice::definite) {
      const Scalar d = own.at(done, done);
      const Real size = size_or_infinity(d);
      const bool definite = test.choice == PivotChoice::definite;
      const bool passes = definite ? real_part(d) > Real(0) : size > Real(0);
      if (!passes || !(size < Kokkos::Experimental::infinity_v<Real>)) {
        failure = definite ? LdltFailure::not_definite : LdltFailure::not_finite;
        return {};
      }
      return {done};
    }
    return choose_bunch_parlett(done, failure);
  }

  KOKKOS_FUNCTION ChosenPivot choose_bunch_parlett(int done, LdltFailure& failure) const {
    constexpr int edge = LdltDiagonal<Scalar>::edge;
    std::uint64_t any = 0, diagonal = 0;
    for_each_own(done, [&](int i, int j) {
      const auto position = positions - static_cast<std::uint64_t>(i + j * edge);
      const std::uint64_t key = (bits_of_size(size_or_infinity(own.at(i, j))) & ~positions) | position;
      any = Kokkos::max(any, key);
      if (i == j) diagonal = Kokkos::max(diagonal, key);
    });
    block.max(any, diagonal);
    const double largest = size_in(any);
    if (!(largest < Kokkos::Experimental::infinity_v<double>)) {
      failure = LdltFailure::not_finite;
      return {};
    }
    const bool perturbs = test.choice == PivotChoice::perturbed;
    const bool too_small = perturbs ? !(largest >= static_cast<double>(test.min_pivot))
                                    : !(largest > static_cast<double>(test.zero));
    if (too_small || largest == 0) {
      if (!perturbs) return {};
      if (test.min_pivot > Real(0)) return {done};
      failure = LdltFailure::not_finite;
      return {};
    }
    if (size_in(diagonal) >= largest / 2) return {position_in(diagonal) % edge};
    return {position_in(any) / edge, position_in(any) % edge};
  }

  /// Impl::exchange_slots for the rows and columns of this block.
  KOKKOS_FUNCTION void exchange_slots(int p, int q) const {
    if (p == q) return;
    for (int t = block.thread(); t < width; t += block.threads()) {
      if (t < p) {
        exchange(own.at(p, t), own.at(q, t));
      } else if (t == p) {
        exchange(own.at(p, p), own.at(q, q));
        own.at(q, p) = mirrored(test.hermitian, own.at(q, p));
        exchange(own.order[p], own.order[q]);
      } else if (t < q) {
        const Scalar kept = mirrored(test.hermitian, own.at(t, p));
        own.at(t, p) = mirrored(test.hermitian, own.at(q, t));
        own.at(q, t) = kept;
      } else if (t > q) {
        exchange(own.at(t, p), own.at(t, q));
      }
    }
    block.barrier();
  }

  /// Updates columns after the pivot first, then, after a barrier, the pivot's own, which no thread reads
  /// before another barrier.
  KOKKOS_FUNCTION void eliminate_one(int j) const {
    Scalar d = test.pivot_of(own.at(j, j));
    const PivotKind kind = test.perturb(d);
    const Scalar inverse = block.reciprocal(d);
    for_each_own(j + 1, [&](int i, int c) {
      own.at(i, c) -= own.at(i, j) * (mirrored(test.hermitian, own.at(c, j)) * inverse);
    });
    block.barrier();
    for (int i = j + 1 + block.thread(); i < width; i += block.threads())
      own.at(i, j) = own.at(i, j) * inverse;
    if (block.thread() == 0) {
      own.diagonal[j] = d;
      own.inverse[j] = inverse;
      own.off_diagonal[j] = Scalar(0);
      own.kind[j] = kind;
    }
  }

  KOKKOS_FUNCTION void eliminate_two(int j) const {
    const PivotPair<Scalar> pair(test.pivot_of(own.at(j, j)), test.pivot_of(own.at(j + 1, j + 1)),
                                 own.at(j + 1, j), test.hermitian);
    for_each_own(j + 2, [&](int i, int c) {
      Scalar f1, f2;
      pair.divide_column(mirrored(test.hermitian, own.at(c, j)), mirrored(test.hermitian, own.at(c, j + 1)),
                         f1, f2);
      own.at(i, c) -= own.at(i, j) * f1 + own.at(i, j + 1) * f2;
    });
    block.barrier();
    for (int i = j + 2 + block.thread(); i < width; i += block.threads()) {
      const Scalar y1 = own.at(i, j), y2 = own.at(i, j + 1);
      pair.divide_row(y1, y2, own.at(i, j), own.at(i, j + 1));
    }
    if (block.thread() == 0) {
      own.at(j + 1, j) = Scalar(0);
      own.diagonal[j] = pair.d1;
      own.diagonal[j + 1] = pair.d2;
      own.off_diagonal[j] = pair.o;
      own.off_diagonal[j + 1] = Scalar(0);
      own.pair[j / 2] = pair;
      own.kind[j] = PivotKind::first_of_two;
      own.kind[j + 1] = PivotKind::second_of_two;
    }
  }
};

}  // namespace lutra::Impl

#endif

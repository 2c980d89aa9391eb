// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTTALLY_HPP
#define LUTRA_LDLTTALLY_HPP

#include "Lutra_LdltFront.hpp"

namespace lutra::Impl {

/// Pivot counts of one thread, for some pivots of a front or for many fronts; added to the outcome at the
/// end.
struct LdltTally {
  std::int64_t positive = 0, negative = 0, zero = 0, pairs = 0, perturbed = 0, delayed = 0, entries = 0;
  std::int64_t max_delayed = 0;
  double largest = 0;  ///< max |entry of D|
  /// min over nonzero pivots: |d|, or |det| / max |entry| of a 2 × 2 pivot
  double smallest = Kokkos::Experimental::infinity_v<double>;

  /// Counts the pivots first, first + step, … of a front; marks the remaining slots as delayed.
  template <class Scalar>
  KOKKOS_FUNCTION void count_pivots(const LdltFront<Scalar>& front, int eliminated, bool hermitian,
                                    int first = 0, int step = 1) {
    const bool has_signs = hermitian || !ScalarTraits<Scalar>::is_complex;
    for (int j = first; j < eliminated; j += step) {
      const Scalar d = front.diagonal[j];
      const PivotKind kind = front.kind[j];
      if (kind == PivotKind::first_of_two) {
        ++pairs;
        note_smallest(size_of_pair(d, front.diagonal[j + 1], front.off_diagonal[j], hermitian));
        if (has_signs) add(signs_of_pair(d, front.diagonal[j + 1], front.off_diagonal[j]));
      } else if (kind == PivotKind::zero) {
        ++zero;
      } else if (kind != PivotKind::second_of_two) {
        if (has_signs) ++(real_part(d) > RealOf<Scalar>(0) ? positive : negative);
        perturbed += kind == PivotKind::perturbed ? 1 : 0;
        note_smallest(static_cast<double>(size_or_infinity(d)));
      }
      const double size = static_cast<double>(size_or_infinity(d));
      const double off = static_cast<double>(size_or_infinity(front.off_diagonal[j]));
      largest = Kokkos::max(largest, Kokkos::max(size, off));
    }
    for (int j = eliminated + first; j < front.columns; j += step) front.kind[j] = PivotKind::delayed;
  }

  /// Counts a front with `rows` rows; call once per front.
  KOKKOS_FUNCTION void count_front(const LdltRecord& record, int rows) {
    const std::int64_t done = record.eliminated;
    delayed += record.delayed_out;
    entries += done * rows - done * (done - 1) / 2;
    max_delayed = Kokkos::max(max_delayed, static_cast<std::int64_t>(record.delayed_in));
  }

  KOKKOS_FUNCTION void add_to(LdltOutcome& outcome) const {
    const auto plus = [](std::int64_t& sum, std::int64_t n) {
      if (n != 0) Kokkos::atomic_add(&sum, n);
    };
    plus(outcome.positive, positive);
    plus(outcome.negative, negative);
    plus(outcome.zero, zero);
    plus(outcome.two_by_two, pairs);
    plus(outcome.perturbed, perturbed);
    plus(outcome.delayed, delayed);
    plus(outcome.entries, entries);
    if (max_delayed > 0) Kokkos::atomic_max(&outcome.max_delayed, max_delayed);
    if (largest > 0) Kokkos::atomic_max(&outcome.largest_factor, largest);
    if (Kokkos::isfinite(smallest)) Kokkos::atomic_min(&outcome.smallest_pivot, smallest);
  }

 private:
  KOKKOS_FUNCTION void note_smallest(double size) { smallest = Kokkos::min(smallest, size); }
  KOKKOS_FUNCTION void add(const PivotSigns& signs) {
    positive += signs.positive;
    negative += signs.negative;
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFRONT_HPP
#define LUTRA_LDLTFRONT_HPP

#include "Lutra_FrontTeams.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra::Impl {

// Dense kernels of one symmetric front, as in SSIDS (Hogg, Ovtchinnikov and Scott 2016), for any kind of team
// (Lutra_FrontTeams.hpp, Lutra_LdltFlow.hpp).

/// Pivots per block column. Fronts of up to `ldlt_max_small` rows are eliminated column by column.
inline constexpr int ldlt_block = 32;
/// Two block columns: products by blocks would be too small to pay, and no workspace is needed.
inline constexpr int ldlt_max_small = 64;

/// Workspace entries for a front with `rows` rows: D·Lᵀ of a block column, and its diagonal block.
KOKKOS_INLINE_FUNCTION std::int64_t ldlt_work(std::int64_t rows) {
  return rows > ldlt_max_small ? rows * ldlt_block + ldlt_block * ldlt_block : 0;
}

/// How a pivot is chosen among updated columns.
enum class PivotChoice : unsigned char {
  diagonal,   ///< the next diagonal entry
  definite,   ///< the next diagonal entry, which must be positive
  complete,   ///< Bunch and Parlett: the largest remaining entry, unless all are below the zero tolerance
  perturbed,  ///< as `complete`, with small pivots perturbed
  threshold,  ///< threshold partial pivoting: columns in order, each accepted if it passes the test
  root        ///< as `threshold`, then complete pivoting: all columns are eliminated
};

template <class Scalar>
struct LdltTest {
  using Real = RealOf<Scalar>;
  PivotChoice choice;
  bool hermitian;
  Real threshold;  ///< u
  Real zero;       ///< magnitudes up to this count as zero
  Real min_pivot;  ///< for `perturbed`

  KOKKOS_FUNCTION LdltTest with(PivotChoice other) const {
    return {other, hermitian, threshold, zero, min_pivot};
  }
  KOKKOS_FUNCTION bool may_delay() const {
    return choice == PivotChoice::threshold || choice == PivotChoice::root;
  }
  /// The pivot that a diagonal entry gives: real if the matrix is Hermitian.
  KOKKOS_FUNCTION Scalar pivot_of(const Scalar& entry) const {
    return hermitian ? Scalar(real_part(entry)) : entry;
  }
  /// Raises a small pivot to `min_pivot`, if the choice asks for it. @returns its kind
  KOKKOS_FUNCTION PivotKind perturb(Scalar& d) const {
    if (choice != PivotChoice::perturbed) return PivotKind::one_by_one;
    const Real size = ScalarTraits<Scalar>::magnitude(d);
    if (size >= min_pivot) return PivotKind::one_by_one;
    d = size > Real(0) ? d * (min_pivot / size) : Scalar(min_pivot);
    return PivotKind::perturbed;
  }
};

/// A dense symmetric matrix and its slots: `columns` columns of its lower triangle, and `rows` rows.
template <class Scalar>
struct LdltPanel {
  Scalar* panel;  ///< rows × columns by columns
  Scalar* diagonal;
  Scalar* off_diagonal;
  PivotKind* kind;
  int rows, columns;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& at(int i, int j) const {
    return panel[i + static_cast<std::int64_t>(j) * rows];
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const {
    return panel + static_cast<std::int64_t>(j) * rows;
  }
  KOKKOS_FUNCTION void set_pivot(int j, const Scalar& d, PivotKind of_kind,
                                 const Scalar& off = Scalar(0)) const {
    diagonal[j] = d;
    off_diagonal[j] = off;
    kind[j] = of_kind;
  }
  /// The magnitude of the entry in row i and column j, read from the stored triangle.
  KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> size(int i, int j) const {
    return size_or_infinity(i >= j ? at(i, j) : at(j, i));
  }
};

/// The diagonal block of a block column.
template <class Scalar>
struct LdltDiagonalBlock : LdltPanel<Scalar> {
  int* swaps;  ///< out: slot that each slot was exchanged with when it got its pivot

  template <class Team>
  KOKKOS_FUNCTION void note_exchange(const Team&, int, int) const {}
  template <class Team>
  KOKKOS_FUNCTION void note_pivot(const Team& team, int slot, int from) const {
    team.once([&] { swaps[slot] = from; });
  }
};

/// A front: a panel, and a contribution block for the rows after its columns.
template <class Scalar>
struct LdltFront : LdltPanel<Scalar> {
  Scalar* contribution;  ///< (rows − columns)² by columns
  Ordinal* variables;
  int* positions;
  int* swaps;  ///< [columns] scratch of block columns

  KOKKOS_FUNCTION int cb_rows() const { return this->rows - this->columns; }
  /// Column j of the panel; from `columns` on, of the contribution block.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const {
    return j < this->columns
               ? LdltPanel<Scalar>::column(j)
               : contribution + static_cast<std::int64_t>(j - this->columns) * cb_rows() - this->columns;
  }
  KOKKOS_FUNCTION void exchange_variables(int p, int q) const {
    exchange(variables[p], variables[q]);
    exchange(positions[p], positions[q]);
  }
  template <class Team>
  KOKKOS_FUNCTION void note_exchange(const Team& team, int p, int q) const {
    team.once([&] { exchange_variables(p, q); });
  }
  template <class Team>
  KOKKOS_FUNCTION void note_pivot(const Team&, int, int) const {}
};

/// Reason for an early end of an elimination.
enum class LdltFailure : unsigned char { none, not_definite, not_finite };

/// Columns eliminated so far.
struct LdltProgress {
  int done = 0;
  LdltFailure failure = LdltFailure::none;
};

/// Exchanges slots p < q: rows and columns, including those of L.
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
  front.note_exchange(team, p, q);
}

/// Performs exchange_slots(b + c, b + swaps[b + c]) for c = 0 … count − 1, all within [b, b + width). Left of
/// the block, entries of a column of L are contiguous, so these are exchanged column by column.
template <class Team, class Front>
KOKKOS_FUNCTION void exchange_slots_of_block(const Team& team, const Front& front, int b, int width,
                                             int count, bool hermitian) {
  constexpr double moves_as_flops = 8;  // cost of exchanging an entry
  const int behind = b + width;
  const auto for_exchanges = [&](const auto& body) {
    for (int c = 0; c < count; ++c) {
      if (front.swaps[b + c] != c) body(b + c, b + front.swaps[b + c]);
    }
  };
  team.ranges(b, moves_as_flops * count, [&](int begin, int end) {
    for (int j = begin; j < end; ++j)
      for_exchanges([&](int p, int q) { exchange(front.at(p, j), front.at(q, j)); });
  });
  team.ranges(front.rows - behind, moves_as_flops * count, [&](int begin, int end) {
    for_exchanges([&](int p, int q) {
      for (int i = behind + begin; i < behind + end; ++i) exchange(front.at(i, p), front.at(i, q));
    });
  });
  team.once([&] {
    for_exchanges([&](int p, int q) {
      for (int i = p + 1; i < q; ++i) {
        const auto kept = mirrored(hermitian, front.at(i, p));
        front.at(i, p) = mirrored(hermitian, front.at(q, i));
        front.at(q, i) = kept;
      }
      for (int i = q + 1; i < behind; ++i) exchange(front.at(i, p), front.at(i, q));
      exchange(front.at(p, p), front.at(q, q));
      front.at(q, p) = mirrored(hermitian, front.at(q, p));
      for (int j = b; j < p; ++j) exchange(front.at(p, j), front.at(q, j));
      front.exchange_variables(p, q);
    });
  });
}

}  // namespace lutra::Impl

#endif

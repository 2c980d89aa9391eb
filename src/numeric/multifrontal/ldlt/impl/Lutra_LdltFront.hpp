// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFRONT_HPP
#define LUTRA_LDLTFRONT_HPP

#include "Lutra_FrontKernels.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra::Impl {

// Dense kernels of one symmetric front, as in SSIDS (Hogg, Ovtchinnikov and Scott 2016). They run on any kind
// of team: a Kokkos team, or host threads (Lutra_LdltTeams.hpp). Team functions end with a barrier and return
// the same value to all threads:
//
//   team.ranges(n, flops, body)         body(begin, end) for ranges that partition [0, n)
//   team.columns(n, rows, body)         body(column, begin, end): ranges of [0, rows) of each of n columns
//   team.max(n, flops, value)           the greatest value(begin, end) ≥ 0
//   team.min(n, flops, none, value)     the least int value(begin, end) ≤ none
//   team.once(body)                     by one thread
//   team.barrier()
//   team.subtract(rows, columns, depth, A, lda, B, C, ldc)   C −= A·B
//   team.subtract_lower(…)                                   entries of C on and below the diagonal
//   Team::has_columns                   whether team.column and team.divide exist, as in HostFrontTeam
//
// `flops` is the cost of each of the n elements. The order of summation is independent of the ranges.

/// Pivots per block column. Fronts of up to `ldlt_max_small` rows are eliminated column by column.
inline constexpr int ldlt_block = 32;
inline constexpr int ldlt_max_small = 64;

/// Workspace entries for a front with `rows` rows: D·Lᵀ of a block column, and its diagonal block.
KOKKOS_INLINE_FUNCTION std::int64_t ldlt_work(std::int64_t rows) {
  return rows > ldlt_max_small ? rows * ldlt_block + ldlt_block * ldlt_block : 0;
}

/// How a pivot is chosen among updated columns.
enum class PivotChoice : unsigned char {
  diagonal,   ///< the next diagonal entry
  definite,   ///< the next diagonal entry, which must be positive
  complete,   ///< the largest remaining entry, unless all are below the zero tolerance
  perturbed,  ///< as `complete`, with small pivots perturbed
  threshold,  ///< columns in order, each accepted if it passes the threshold test
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
};

/// A front and its slots: `columns` columns, lower triangle only, and `rows` rows.
template <class Scalar>
struct LdltFront {
  Scalar* panel;         ///< rows × columns by columns
  Scalar* contribution;  ///< (rows − columns)² by columns
  Scalar* diagonal;
  Scalar* off_diagonal;
  PivotKind* kind;
  Ordinal* variables;  ///< or null
  int* positions;      ///< or null
  int* swaps;          ///< slot that each slot was exchanged with when it got its pivot
  int rows, columns;

  KOKKOS_FUNCTION int cb_rows() const { return rows - columns; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& at(int i, int j) const {
    return panel[i + static_cast<std::int64_t>(j) * rows];
  }
  /// Column j of the panel; from `columns` on, of the contribution block.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const {
    return j < columns ? panel + static_cast<std::int64_t>(j) * rows
                       : contribution + static_cast<std::int64_t>(j - columns) * cb_rows() - columns;
  }
  /// The magnitude of the entry in row i and column j, read from the stored triangle.
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
  if (front.variables == nullptr) return;
  team.once([&] {
    exchange(front.variables[p], front.variables[q]);
    exchange(front.positions[p], front.positions[q]);
  });
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
      if (front.variables == nullptr) return;
      exchange(front.variables[p], front.variables[q]);
      exchange(front.positions[p], front.positions[q]);
    });
  });
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICELANEKERNELS_HPP
#define LUTRA_DEVICELANEKERNELS_HPP

#include "Lutra_BatchPattern.hpp"
#include "Lutra_ThreadLane.hpp"

// Kernels in which a thread has one system: index t names lane, group, and then an item (a row, an entry, a
// part of the rows), so that the 32 threads of a warp read 32 neighbouring numbers, and warps with the same
// item and other groups read the same pattern.

namespace lutra::Impl {

/// Where a thread works.
struct LaneItem {
  std::int64_t slot, item;
  KOKKOS_FORCEINLINE_FUNCTION LaneItem(std::int64_t t, std::int64_t slots)
      : slot(t % slots), item(t / slots) {}
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t group() const { return slot / device_lanes; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t lane() const { return slot % device_lanes; }
  /// The lane's numbers in an array of groups with `entries` each.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T* in(T* array, std::int64_t entries) const {
    return array + group() * entries * device_lanes + lane();
  }
};

/// Raises a maximum that other threads raise too.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void raise_shared(T* maximum, const T& value) {
  if (value > *maximum) Kokkos::atomic_max(maximum, value);
}

/// Entries of callers' matrices, in the order of LaneLists::A.
template <class Scalar, class Values, class Systems, class Source>
struct CallerValues {
  Values values;
  Systems systems;  ///< [slots]
  Source source;    ///< BatchPattern::source
  std::int64_t nnz;
  bool hermitian;

  KOKKOS_FUNCTION Scalar at(std::int64_t slot, std::int64_t item) const {
    const std::int64_t k = systems(slot);
    if (source.extent(0) == 0) return values(item, k);
    const Offset p = source(item);
    if (p >= 0) return p < nnz ? Scalar(values(p, k)) : Scalar(0);
    const Scalar value = values(-1 - p, k);
    return hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
  }
};

/// Copies callers' values to groups; items are entries.
template <class Scalar, class From>
struct LoadValues {
  From from;  ///< CallerValues
  std::int64_t slots, entries;
  Scalar* A;

  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const LaneItem at(t, slots);
    ThreadLane<Scalar>::store(at.in(A, entries), at.item, from.at(at.slot, at.item));
  }
};

/// Drops the imaginary parts of the diagonal; items are rows.
/// @tparam Item LaneItem, or one with its members whose numbers Lane reads
template <class Scalar, class Lane = ThreadLane<Scalar>, class Item = LaneItem>
struct MakeDiagonalReal {
  LaneRows rows;
  std::int64_t slots, entries;
  Scalar* A;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const Item at(t, slots);
    Scalar* const own = at.in(A, entries);
    for (Offset p = rows.map[at.item]; p < rows.map[at.item + 1]; ++p)
      if (rows.entries[p] == at.item)
        Lane::store(own, p, Lane::real_value(Lane::real_part(Lane::load(own, p))));
  }
};

/// Findings of a factorization, each [slots].
template <class Real>
struct DeviceFindings {
  Real *largest, *factor, *factor_l, *pivot, *poison, *perturbed, *negative;
};

/// Factorization of groups: the largest entries before it, rows of one wide level, or parts of rows of narrow
/// levels (BatchFanOut).
template <class Scalar>
struct FactorizeLanes {
  using Lane = ThreadLane<Scalar>;
  using Real = RealOf<Scalar>;
  struct Largest {};
  struct Level {};
  struct First {};
  struct Next {};

  LaneLists lists;
  const Real* row_scale;
  const Real* col_scale;
  std::int64_t slots, matrix_entries, factor_entries;
  const Scalar* A;
  Scalar* values;
  Scalar* inverse;
  const Real* start;  ///< [n]
  Scalar* probe;
  Real perturbation;
  DeviceFindings<Real> found;
  const Ordinal* rows = nullptr;  ///< of the level, or of the parts

  // Only for parts:
  const Offset* steps_of = nullptr;  ///< as in BatchFanOut, from the first part of the launch on
  const Offset* steps = nullptr;     ///< as in BatchFanOut
  const char* is_last = nullptr;     ///< from the first part of the launch on

  KOKKOS_FORCEINLINE_FUNCTION LaneFactorization<Lane> lane(const LaneItem& at) const {
    return {lists,
            row_scale,
            col_scale,
            at.in(A, matrix_entries),
            at.in(values, factor_entries),
            at.in(inverse, lists.n),
            start,
            at.in(probe, lists.n)};
  }
  KOKKOS_FUNCTION void operator()(const Largest&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    raise_shared(found.largest + at.slot, lane(at).largest_of_row(static_cast<Ordinal>(at.item)));
  }
  KOKKOS_FUNCTION void operator()(const Level&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    LaneFindings<Lane> own;
    lane(at).row(rows[at.item], threshold(at), own);
    note(at, own);
  }
  KOKKOS_FUNCTION void operator()(const First&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    lane(at).start(rows[at.item]);
    part(at);
  }
  KOKKOS_FUNCTION void operator()(const Next&, const std::int64_t t) const { part(LaneItem(t, slots)); }

 private:
  KOKKOS_FORCEINLINE_FUNCTION Real threshold(const LaneItem& at) const {
    return found.largest[at.slot] * perturbation;
  }
  KOKKOS_FORCEINLINE_FUNCTION void part(const LaneItem& at) const {
    const Ordinal row = rows[at.item];
    const LaneFactorization<Lane> own = lane(at);
    LaneFindings<Lane> seen;
    for (Offset s = steps_of[at.item]; s < steps_of[at.item + 1]; ++s) own.step(row, steps[s], seen);
    if (is_last[at.item] != 0) own.complete(row, threshold(at), seen);
    note(at, seen);
  }
  KOKKOS_FORCEINLINE_FUNCTION void note(const LaneItem& at, const LaneFindings<Lane>& own) const {
    raise_shared(found.factor + at.slot, own.factor);
    raise_shared(found.factor_l + at.slot, own.factor_l);
    if (own.pivot < found.pivot[at.slot]) Kokkos::atomic_min(found.pivot + at.slot, own.pivot);
    if (own.poison != 0) found.poison[at.slot] = own.poison;
    if (own.perturbed > 0) Kokkos::atomic_add(found.perturbed + at.slot, own.perturbed);
    if (own.negative > 0) Kokkos::atomic_add(found.negative + at.slot, own.negative);
  }
};

/// Solves of groups: rows of one level; items are rows times blocks of columns.
template <class Scalar, int Columns>
struct SolveLanes {
  using Lane = ThreadLane<Scalar>;
  using Real = RealOf<Scalar>;
  struct Forward {};
  struct Backward {};

  LaneLists lists;
  bool transposed;
  Real sign;
  const Real* from_scale;
  const Real* to_scale;
  std::int64_t slots, factor_entries, columns;  ///< columns: of the arrays
  std::int64_t first, blocks;                   ///< columns [first, first + blocks · Columns)
  const Scalar* values;
  const Scalar* inverse;
  const Scalar* B;
  Scalar* Y;
  const Scalar* base;
  Scalar* X;
  const char* active;  ///< [columns × slots]
  const Ordinal* rows;

  KOKKOS_FORCEINLINE_FUNCTION bool is_active(std::int64_t slot, std::int64_t column) const {
    for (int c = 0; c < Columns; ++c)
      if (active[(column + c) * slots + slot] != 0) return true;
    return false;
  }
  KOKKOS_FORCEINLINE_FUNCTION LaneSolve<Lane, Columns> lane(const LaneItem& at, std::int64_t column) const {
    const std::int64_t entries = columns * lists.n, skipped = column * lists.n * device_lanes;
    return {lists,
            transposed,
            sign,
            from_scale,
            to_scale,
            at.in(values, factor_entries),
            at.in(inverse, lists.n),
            at.in(B, entries) + skipped,
            at.in(Y, entries) + skipped,
            base == nullptr ? nullptr : at.in(base, entries) + skipped,
            at.in(X, entries) + skipped};
  }
  template <class Direction>
  KOKKOS_FUNCTION void operator()(const Direction&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    const std::int64_t column = first + at.item % blocks * Columns;
    if (!is_active(at.slot, column)) return;
    const Ordinal row = rows[at.item / blocks];
    if constexpr (std::is_same_v<Direction, Forward>) {
      lane(at, column).forward(row);
    } else {
      lane(at, column).backward(row);
    }
  }
};

/// Residuals of groups; items are parts of the rows times columns.
template <class Scalar>
struct ResidualLanes {
  using Lane = ThreadLane<Scalar>;
  using Real = RealOf<Scalar>;
  static constexpr Ordinal part = 16;  ///< rows

  LaneRows rows;
  Ordinal n;
  Real sign;
  std::int64_t slots, matrix_entries, columns;
  const Scalar* A;
  const Scalar* B;
  const Scalar* X;
  Scalar* R;
  const char* active;  ///< [columns × slots]
  Real* maxima;        ///< [4 × columns × slots] ratio, residual, solution, right side
  Real* norm;          ///< [slots]

  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const LaneItem at(t, slots);
    const std::int64_t column = at.item % columns, entries = columns * n, skipped = column * n * device_lanes;
    const std::int64_t of = column * slots + at.slot;
    if (active[of] == 0) return;
    const LaneResidual<Lane, 1> lane{rows,
                                     n,
                                     sign,
                                     at.in(A, matrix_entries),
                                     at.in(B, entries) + skipped,
                                     at.in(X, entries) + skipped,
                                     at.in(R, entries) + skipped};
    LaneErrors<Lane> errors;
    Real largest = 0;
    const auto begin = static_cast<Ordinal>(at.item / columns * part);
    const Ordinal end = begin + part < n ? begin + part : n;
    for (Ordinal i = begin; i < end; ++i) lane.row(i, &errors, largest);
    raise_shared(norm + at.slot, largest);
    const std::int64_t all = columns * slots;
    raise_shared(maxima + of, errors.ratio);
    raise_shared(maxima + all + of, errors.residual);
    raise_shared(maxima + 2 * all + of, errors.solution);
    raise_shared(maxima + 3 * all + of, errors.right_side);
  }
};

/// Probes of groups, in one column of the workspace; items are rows, or parts of the rows.
template <class Scalar>
struct ProbeLanes {
  using Lane = ThreadLane<Scalar>;
  using Real = RealOf<Scalar>;
  static constexpr Ordinal part = ResidualLanes<Scalar>::part;  ///< rows
  struct Copy {};
  struct Amplify {};

  Ordinal n;
  std::int64_t slots, columns, column;  ///< columns: of the workspace
  const Real* col_scale;
  const Scalar* probe;  ///< right-hand sides, as LaneFactorization has written them
  Scalar* B;
  const Scalar* X;
  Real* amplification;  ///< [slots]

  KOKKOS_FUNCTION void operator()(const Copy&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    at.in(B, columns * n)[(column * n + at.item) * device_lanes] = at.in(probe, n)[at.item * device_lanes];
  }
  KOKKOS_FUNCTION void operator()(const Amplify&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    const LaneProbe<Lane> lane{col_scale, at.in(X, columns * n) + column * n * device_lanes};
    const auto begin = static_cast<Ordinal>(at.item * part);
    const Ordinal end = begin + part < n ? begin + part : n;
    Real largest = 0;
    for (Ordinal i = begin; i < end; ++i) LaneErrors<Lane>::raise(largest, lane.amplification(i));
    raise_shared(amplification + at.slot, largest);
  }
};

/// Copies between callers' blocks and groups, for columns that are active; items are rows times columns.
template <class Scalar, class Block, class Systems>
struct MoveBlock {
  Block block;
  Systems systems;
  std::int64_t slots, n, columns, first;  ///< first: column of the block
  Scalar* array;
  const char* active;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& entry(const LaneItem& at) const {
    return at.in(array, columns * n)[at.item * device_lanes];
  }
  struct Read {};
  struct Write {};
  /// Inactive columns are zero.
  KOKKOS_FUNCTION void operator()(const Read&, const std::int64_t t) const {
    const LaneItem at(t, slots);
    const std::int64_t column = at.item / n;
    entry(at) = active[column * slots + at.slot] != 0
                    ? Scalar(block(at.item % n, first + column, systems(at.slot)))
                    : Scalar(0);
  }
  KOKKOS_FUNCTION void operator()(const Write&, const std::int64_t t) const {
    if constexpr (!std::is_const_v<typename Block::value_type>) {
      const LaneItem at(t, slots);
      const std::int64_t column = at.item / n;
      if (active[column * slots + at.slot] != 0)
        block(at.item % n, first + column, systems(at.slot)) = entry(at);
    }
  }
};

/// Copies X and R of columns that are active; items are rows times columns.
template <class Scalar>
struct TakeColumns {
  std::int64_t slots, n, columns;
  const Scalar* from_X;
  const Scalar* from_R;
  Scalar* X;
  Scalar* R;
  const char* active;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const LaneItem at(t, slots);
    if (active[at.item / n * slots + at.slot] == 0) return;
    const std::int64_t e = at.item * device_lanes;
    at.in(X, columns * n)[e] = at.in(from_X, columns * n)[e];
    at.in(R, columns * n)[e] = at.in(from_R, columns * n)[e];
  }
};

/// Values of one slot in the order of callers' matrices.
template <class Scalar, class To, class EntryOf>
struct ExtractValues {
  const Scalar* A;  ///< of the slot
  std::int64_t stride;
  EntryOf entry_of;
  To to;
  KOKKOS_FUNCTION void operator()(const std::int64_t p) const {
    to(p) = A[(entry_of.extent(0) == 0 ? p : entry_of(p)) * stride];
  }
};

}  // namespace lutra::Impl

#endif

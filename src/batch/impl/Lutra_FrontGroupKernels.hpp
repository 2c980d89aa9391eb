// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTGROUPKERNELS_HPP
#define LUTRA_FRONTGROUPKERNELS_HPP

#include "Lutra_DeviceLaneKernels.hpp"

// Kernels for systems that are stored one after the other: arrays [slots][numbers], vectors
// [columns][slots][n]. Maxima over a system are those of parts, one team each; a maximum does not depend on
// their order.

namespace lutra::Impl {

/// Accesses of a thread that works on one system alone, for the kernels of lanes.
template <class Scalar>
struct ContiguousLane : ThreadLane<Scalar> {
  KOKKOS_FORCEINLINE_FUNCTION static Scalar load(const Scalar* base, Offset e) { return base[e]; }
  KOKKOS_FORCEINLINE_FUNCTION static void store(Scalar* base, Offset e, const Scalar& value) {
    base[e] = value;
  }
};

/// Thread t of a copy between callers' arrays and those of slots. A warp has eight numbers of four slots, so
/// that it reads and writes whole sectors of memory whichever of the two indices is contiguous.
struct SlotItem {
  static constexpr std::int64_t width = 4, height = 8;
  std::int64_t slot, item;

  static std::int64_t count(std::int64_t slots, std::int64_t items) {
    return (slots + width - 1) / width * width * ((items + height - 1) / height * height);
  }
  KOKKOS_FORCEINLINE_FUNCTION SlotItem(std::int64_t t, std::int64_t slots) {
    const std::int64_t in_tile = t % (width * height), tile = t / (width * height);
    const std::int64_t tiles = (slots + width - 1) / width;
    slot = tile % tiles * width + in_tile / height;
    item = tile / tiles * height + in_tile % height;
  }
};

/// A row of a slot, for MakeDiagonalReal.
struct SlotRow {
  std::int64_t slot, item;
  KOKKOS_FORCEINLINE_FUNCTION SlotRow(std::int64_t t, std::int64_t slots)
      : slot(t % slots), item(t / slots) {}
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T* in(T* array, std::int64_t entries) const {
    return array + slot * entries;
  }
};

/// Copies callers' values to slots.
template <class Scalar, class From>
struct GatherValues {
  From from;  ///< CallerValues
  std::int64_t slots, entries;
  Scalar* to;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const SlotItem at(t, slots);
    if (at.slot < slots && at.item < entries) to[at.slot * entries + at.item] = from.at(at.slot, at.item);
  }
};

/// Copies between callers' blocks and vectors; items are rows of all columns.
template <class Scalar, class Block, class Systems>
struct MoveVectors {
  struct Read {};
  struct Write {};
  Block block;
  Systems systems;                        ///< [slots]
  std::int64_t slots, n, columns, first;  ///< first: column of the block
  Scalar* vectors;
  const char* active;  ///< [columns][slots]

  /// Inactive vectors are zero.
  KOKKOS_FUNCTION void operator()(const Read&, const std::int64_t t) const {
    const SlotItem at(t, slots);
    if (at.slot >= slots || at.item >= columns * n) return;
    const std::int64_t column = at.item / n, vector = column * slots + at.slot;
    vectors[vector * n + at.item % n] =
        active[vector] != 0 ? Scalar(block(at.item % n, first + column, systems(at.slot))) : Scalar(0);
  }
  KOKKOS_FUNCTION void operator()(const Write&, const std::int64_t t) const {
    if constexpr (!std::is_const_v<typename Block::value_type>) {
      const SlotItem at(t, slots);
      if (at.slot >= slots || at.item >= columns * n) return;
      const std::int64_t column = at.item / n, vector = column * slots + at.slot;
      if (active[vector] != 0)
        block(at.item % n, first + column, systems(at.slot)) = vectors[vector * n + at.item % n];
    }
  }
};

/// X += Y, or X = Y, for active vectors.
template <class Scalar>
struct CombineVectors {
  struct Add {};
  struct Copy {};
  std::int64_t n;
  const Scalar* Y;
  Scalar* X;
  const char* active;
  KOKKOS_FUNCTION void operator()(const Add&, const std::int64_t t) const {
    if (active[t / n] != 0) X[t] += Y[t];
  }
  KOKKOS_FUNCTION void operator()(const Copy&, const std::int64_t t) const {
    if (active[t / n] != 0) X[t] = Y[t];
  }
};

/// Probes of the condition for vectors [slots][n]: right-hand sides, half of the start vector times the row
/// sums of |A|·C with the column scales C, and C⁻¹·X in place of X, whose largest entry is what LaneProbe
/// finds.
template <class Scalar>
struct ProbeVectors {
  struct Weigh {};
  struct Unscale {};
  using Real = RealOf<Scalar>;
  std::int64_t n, entries;
  LaneRows rows;  ///< of A
  const Real *col_scale, *start;
  const Scalar* A;
  Scalar *B, *X;

  KOKKOS_FUNCTION void operator()(const Weigh&, const std::int64_t t) const {
    const std::int64_t i = t % n;
    const Scalar* const own = A + t / n * entries;
    Real sum = 0;
    for (Offset p = rows.map[i]; p < rows.map[i + 1]; ++p) {
      const Scalar a = own[rows.at == nullptr ? p : rows.at[p]];
      sum += ScalarTraits<Scalar>::magnitude(a) * col_scale[rows.entries[p]];
    }
    B[t] = Scalar(sum * start[i] / 2);
  }
  KOKKOS_FUNCTION void operator()(const Unscale&, const std::int64_t t) const {
    X[t] = ThreadLane<Scalar>::times(X[t], 1 / col_scale[t % n]);
  }
};

/// A part of a slot or vector, which a team has.
struct SlotPart {
  std::int64_t owner, begin, end;
  KOKKOS_FORCEINLINE_FUNCTION SlotPart(std::int64_t rank, std::int64_t size, std::int64_t length) {
    const std::int64_t parts = (size + length - 1) / length;
    owner = rank / parts;
    begin = rank % parts * length;
    end = begin + length < size ? begin + length : size;
  }
};

/// A team for each part of each owner's `numbers`.
template <class ExecutionSpace, class Kernel>
void launch_parts(const ExecutionSpace& exec, const char* label, std::size_t owners, std::int64_t numbers,
                  const Kernel& kernel) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const std::int64_t teams =
      static_cast<std::int64_t>(owners) * ((numbers + Kernel::length - 1) / Kernel::length);
  if (teams > 0)
    Kokkos::parallel_for(label, Policy(exec, static_cast<int>(teams), team_width<ExecutionSpace>(128)),
                         kernel);
}

/// Raises a maximum by those of the threads of a team.
template <class Member, class Real>
KOKKOS_FORCEINLINE_FUNCTION void raise_by_team(const Member& team, Real own, Real* maximum) {
  team.team_reduce(Kokkos::Max<Real>(own));
  if (team.team_rank() == 0) raise_shared(maximum, own);
}

/// Largest magnitude of each slot's numbers; infinity if one is not finite.
template <class Scalar, class ExecutionSpace>
struct LargestOfSlots {
  using Real = RealOf<Scalar>;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr std::int64_t length = 8192;
  std::int64_t size;  ///< of a slot
  const Scalar* numbers;
  Real* largest;  ///< [slots]

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const SlotPart part(team.league_rank(), size, length);
    const Scalar* const own = numbers + part.owner * size;
    Real most = 0;
    for (std::int64_t e = part.begin + team.team_rank(); e < part.end; e += team.team_size()) {
      const Real magnitude = ScalarTraits<Scalar>::is_finite(own[e]) ? ScalarTraits<Scalar>::magnitude(own[e])
                                                                     : ThreadLane<Scalar>::infinity;
      if (magnitude > most) most = magnitude;
    }
    raise_by_team(team, most, largest + part.owner);
  }
};

/// Smallest pivot of each slot, and whether one is below the threshold.
template <class Scalar, class ExecutionSpace>
struct PivotsOfSlots {
  using Real = RealOf<Scalar>;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr std::int64_t length = 1024;
  std::int64_t n, panel_entries;
  Real perturbation;
  const Offset* diagonal;  ///< [n]
  const Scalar* panels;
  const Real* largest;  ///< [slots] entry of the scaled matrix
  Real* smallest;       ///< [slots] lowered
  Real* small_pivots;   ///< [slots] raised by the number of pivots below the threshold

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const SlotPart part(team.league_rank(), n, length);
    const Scalar* const own = panels + part.owner * panel_entries;
    const Real threshold = perturbation * largest[part.owner];
    Real least = ThreadLane<Scalar>::huge, count = 0;
    for (std::int64_t k = part.begin + team.team_rank(); k < part.end; k += team.team_size()) {
      const Real pivot = ScalarTraits<Scalar>::magnitude(own[diagonal[k]]);
      if (pivot < least) least = pivot;
      if (pivot < threshold) count += 1;
    }
    team.team_reduce(Kokkos::Min<Real>(least));
    team.team_reduce(Kokkos::Sum<Real>(count));
    if (team.team_rank() != 0) return;
    if (least < smallest[part.owner]) Kokkos::atomic_min(smallest + part.owner, least);
    if (count > 0) Kokkos::atomic_add(small_pivots + part.owner, count);
  }
};

/// Residuals and maxima of active vectors; those of others are zero.
template <class Scalar, class ExecutionSpace>
struct ResidualVectors {
  using Real = RealOf<Scalar>;
  using Lane = ContiguousLane<Scalar>;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr std::int64_t length = 1024;
  LaneRows rows;  ///< of op(A)
  Ordinal n;
  Real sign;  ///< −1: values of A are conjugated
  std::int64_t slots, vectors, entries;
  const Scalar* A;
  const Scalar* B;
  const Scalar* X;
  Scalar* R;
  const char* active;  ///< [vectors]
  Real* maxima;        ///< [4 × vectors] ratio, residual, solution, right side
  Real* norm;          ///< [slots] of op(A)

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const SlotPart part(team.league_rank(), n, length);
    const std::int64_t vector = part.owner, slot = vector % slots;
    if (active[vector] == 0) return;
    const LaneResidual<Lane, 1> lane{
        rows, n, sign, A + slot * entries, B + vector * n, X + vector * n, R + vector * n};
    LaneErrors<Lane> errors;
    Real largest = 0;
    for (std::int64_t i = part.begin + team.team_rank(); i < part.end; i += team.team_size())
      lane.row(static_cast<Ordinal>(i), &errors, largest);
    raise_by_team(team, largest, norm + slot);
    raise_by_team(team, errors.ratio, maxima + vector);
    raise_by_team(team, errors.residual, maxima + vectors + vector);
    raise_by_team(team, errors.solution, maxima + 2 * vectors + vector);
    raise_by_team(team, errors.right_side, maxima + 3 * vectors + vector);
  }
};

}  // namespace lutra::Impl

#endif

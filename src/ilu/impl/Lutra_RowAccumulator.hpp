// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWACCUMULATOR_HPP
#define LUTRA_ROWACCUMULATOR_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "Lutra_Index.hpp"

namespace lutra::Impl {

// The row that a group of lanes processes, indexed by column: the sparse accumulator of Gilbert, Moler and
// Schreiber on hosts, a hash table on devices. Both have the same members:
//
//   find(c)              slot of column c, negative if it has none
//   insert(c)            its slot; a column without one gets a new slot with value 0
//   append(c)            insert for a column known to be absent
//   appended(t, c)       slot of column c, the t-th that was appended to an empty row
//   value(slot)          reference; concurrent lanes use different columns, so that no sum is atomic
//   size(lanes)          columns in the row
//   each(lanes, visit)   visit(column, value)
//   sum<T>(lanes, term)  sum of term(column, value) over the row
//   remove_if(lanes, is_out)  removes columns with is_out(column, value); only before visit_sorted and clear
//   visit_sorted(…)      visit(rank, column, value) by ascending columns; only clear may follow
//
// Concurrent lanes may insert different columns; a barrier (the end of `lanes.each`) separates that from the
// next use of the same column.

/// One host thread.
struct SerialLanes {
  template <class Index, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void each(Index begin, Index end, const Visit& visit) const {
    for (Index k = begin; k < end; ++k) visit(k);
  }
  /// Sum of term(k) over a range.
  template <class T, class Index, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T sum(Index begin, Index end, const Term& term) const {
    T total(0);
    for (Index k = begin; k < end; ++k) total += term(k);
    return total;
  }
  /// The largest term(k) over a range, at least 0; may ignore NaN.
  template <class T, class Index, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T largest(Index begin, Index end, const Term& term) const {
    T most(0);
    for (Index k = begin; k < end; ++k) {
      const T value = term(k);
      if (value > most) most = value;
    }
    return most;
  }
  /// Performs an action once per row.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Action& action) const {
    action();
  }
};

/// The vector lanes of a team's thread. Each call ends with a barrier of these lanes.
template <class Team>
struct VectorLanes {
  const Team& team;

  template <class Index, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void each(Index begin, Index end, const Visit& visit) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, end), visit);
  }
  template <class T, class Index, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T sum(Index begin, Index end, const Term& term) const {
    T total(0);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, begin, end), [&](const Index k, T& part) { part += term(k); }, total);
    return total;
  }
  template <class T, class Index, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T largest(Index begin, Index end, const Term& term) const {
    T most(0);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, begin, end),
        [&](const Index k, T& part) {
          const T value = term(k);
          if (value > part) part = value;
        },
        Kokkos::Max<T>(most));
    return most > T(0) ? most : T(0);
  }
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Action& action) const {
    Kokkos::single(Kokkos::PerThread(team), action);
  }
};

/// A row on a host thread: the slot of every column, and the columns in the order of insertion. To avoid
/// mispredictions, loops have no branches on whether a column is in the row: a new slot is always written,
/// and what is subtracted from an absent column goes to a slot before the first.
///
///     slot     −8 … −1       0 … count − 1          count
///              margin        columns of the row     written, not in use
template <class Scalar>
struct DenseAccumulator {
  /// Slots before the first; several, because sums in one slot would wait for one another.
  static constexpr Ordinal margin = 8;
  static constexpr Ordinal extra_slots = margin + 1;  ///< slots of a table besides those of its columns

  Ordinal* slot_of;   ///< [n] absent(column) for columns not in the row; all columns between rows
  Ordinal* columns;   ///< by slot
  Scalar* values;     ///< by slot
  int thread = 0;     ///< owner
  Ordinal count = 0;  ///< slots in use

  KOKKOS_FORCEINLINE_FUNCTION static Ordinal absent(Ordinal column) { return ~(column & (margin - 1)); }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal find(Ordinal column) const { return slot_of[column]; }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal insert(Ordinal column) {
    const Ordinal held = slot_of[column];
    const Ordinal slot = held < 0 ? count : held;
    slot_of[column] = slot;
    columns[count] = column;
    values[count] = Scalar(0);
    count += held < 0 ? 1 : 0;
    return slot;
  }
  KOKKOS_FORCEINLINE_FUNCTION void append(Ordinal column) {
    slot_of[column] = count;
    columns[count] = column;
    values[count++] = Scalar(0);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Ordinal appended(Ordinal t, Ordinal) { return t; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& value(Ordinal slot) const { return values[slot]; }

  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION Ordinal size(const Lanes&) const {
    return count;
  }

  template <class Lanes, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void each(const Lanes& lanes, const Visit& visit) const {
    lanes.each(Ordinal(0), count, [&](const Ordinal slot) { visit(columns[slot], values[slot]); });
  }

  template <class T, class Lanes, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const Lanes& lanes, const Term& term) const {
    return lanes.template sum<T>(Ordinal(0), count,
                                 [&](const Ordinal slot) { return term(columns[slot], values[slot]); });
  }

  template <class Lanes, class IsOut>
  KOKKOS_INLINE_FUNCTION void remove_if(const Lanes&, const IsOut& is_out) {
    Ordinal kept = 0;
    for (Ordinal slot = 0; slot < count; ++slot) {
      const Ordinal column = columns[slot];
      const Scalar held = values[slot];
      const bool out = is_out(column, held);
      slot_of[column] = out ? absent(column) : kept;
      columns[kept] = column;
      values[kept] = held;
      kept += out ? 0 : 1;
    }
    count = kept;
  }

  template <class Lanes, class Visit>
  KOKKOS_INLINE_FUNCTION void visit_sorted(const Lanes&, const Visit& visit) {
    KOKKOS_IF_ON_HOST((std::sort(columns, columns + count);))
    for (Ordinal rank = 0; rank < count; ++rank) visit(rank, columns[rank], values[slot_of[columns[rank]]]);
  }

  KOKKOS_FORCEINLINE_FUNCTION void clear() {
    for (Ordinal slot = 0; slot < count; ++slot) slot_of[columns[slot]] = absent(columns[slot]);
    count = 0;
  }
};

/// A row processed by a device's lanes: an open-addressed hash table with linear probing and 2^log_slots
/// slots, at most three quarters of them in use.
template <class Scalar>
struct HashAccumulator {
  Ordinal* keys;   ///< [slots] column, −1: free
  Scalar* values;  ///< [slots]
  int log_slots;

  static constexpr Ordinal free_key = -1;

  /// log₂ of the slots for a row with this many columns.
  KOKKOS_INLINE_FUNCTION static int log_slots_for(std::int64_t columns) {
    int log = 1;
    while ((std::int64_t(3) << log) < 4 * columns) ++log;
    return log;
  }
  static constexpr std::size_t slot_bytes = sizeof(Ordinal) + sizeof(Scalar);

  KOKKOS_FORCEINLINE_FUNCTION Ordinal slots() const { return Ordinal(1) << log_slots; }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal home(Ordinal column) const {
    return static_cast<Ordinal>((static_cast<std::uint32_t>(column) * 0x9e3779b1u) >> (32 - log_slots));
  }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal next(Ordinal slot) const { return (slot + 1) & (slots() - 1); }

  template <class Lanes>
  KOKKOS_INLINE_FUNCTION void clear(const Lanes& lanes) const {
    lanes.each(Ordinal(0), slots(), [&](const Ordinal slot) {
      keys[slot] = free_key;
      values[slot] = Scalar(0);
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION Ordinal find(Ordinal column) const {
    Ordinal slot = home(column);
    while (keys[slot] != column) {
      if (keys[slot] == free_key) return -1;
      slot = next(slot);
    }
    return slot;
  }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal insert(Ordinal column) const {
    Ordinal slot = home(column);
    while (true) {
      const Ordinal held = Kokkos::atomic_compare_exchange(&keys[slot], free_key, column);
      if (held == free_key || held == column) return slot;
      slot = next(slot);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void append(Ordinal column) const { insert(column); }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal appended(Ordinal, Ordinal column) const { return find(column); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& value(Ordinal slot) const { return values[slot]; }

  template <class Lanes>
  KOKKOS_INLINE_FUNCTION Ordinal size(const Lanes& lanes) const {
    return lanes.template sum<Ordinal>(Ordinal(0), slots(), [&](const Ordinal slot) {
      return keys[slot] == free_key ? Ordinal(0) : Ordinal(1);
    });
  }

  template <class Lanes, class Visit>
  KOKKOS_INLINE_FUNCTION void each(const Lanes& lanes, const Visit& visit) const {
    lanes.each(Ordinal(0), slots(), [&](const Ordinal slot) {
      if (keys[slot] != free_key) visit(keys[slot], values[slot]);
    });
  }

  template <class T, class Lanes, class Term>
  KOKKOS_INLINE_FUNCTION T sum(const Lanes& lanes, const Term& term) const {
    return lanes.template sum<T>(Ordinal(0), slots(), [&](const Ordinal slot) {
      return keys[slot] == free_key ? T(0) : term(keys[slot], values[slot]);
    });
  }

  template <class Lanes, class IsOut>
  KOKKOS_INLINE_FUNCTION void remove_if(const Lanes& lanes, const IsOut& is_out) const {
    lanes.each(Ordinal(0), slots(), [&](const Ordinal slot) {
      if (keys[slot] != free_key && is_out(keys[slot], values[slot])) keys[slot] = free_key;
    });
  }

  template <class Lanes, class Visit>
  KOKKOS_INLINE_FUNCTION void visit_sorted(const Lanes& lanes, const Visit& visit) const {
    sort(lanes);
    lanes.each(Ordinal(0), slots(), [&](const Ordinal rank) {
      if (keys[rank] != free_key) visit(rank, keys[rank], values[rank]);
    });
  }

 private:
  /// Batcher's bitonic sort of the slots by key, free ones last. Destroys the hash table.
  template <class Lanes>
  KOKKOS_INLINE_FUNCTION void sort(const Lanes& lanes) const {
    using Key = std::make_unsigned_t<Ordinal>;  // −1 becomes the largest
    const Ordinal n = slots();
    for (Ordinal run = 2; run > 0 && run <= n; run *= 2) {
      for (Ordinal distance = run / 2; distance > 0; distance /= 2) {
        lanes.each(Ordinal(0), n / 2, [&](const Ordinal pair) {
          const Ordinal low = 2 * pair - (pair & (distance - 1)), high = low + distance;
          const bool ascends = (low & run) == 0;
          const Key a = static_cast<Key>(keys[low]), b = static_cast<Key>(keys[high]);
          if ((a > b) != ascends) return;
          keys[low] = static_cast<Ordinal>(b);
          keys[high] = static_cast<Ordinal>(a);
          const Scalar held = values[low];
          values[low] = values[high];
          values[high] = held;
        });
      }
    }
  }
};

/// w + a·b, rounded once on devices. Left to the compiler, it would be fused in some kernels and not in
/// others, and results would differ in the last bits.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real add_product(const Real& w, const Real& a, const Real& b) {
  KOKKOS_IF_ON_DEVICE((return Kokkos::fma(a, b, w);))
  KOKKOS_IF_ON_HOST((return w + a * b;))
}

/// w −= l·u, with the same bits in all kernels.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void subtract_product(Real& w, const Real& l, const Real& u) {
  w = add_product(w, -l, u);
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void subtract_product(Kokkos::complex<Real>& w, const Kokkos::complex<Real>& l,
                                                  const Kokkos::complex<Real>& u) {
  w = Kokkos::complex<Real>(add_product(add_product(w.real(), -l.real(), u.real()), l.imag(), u.imag()),
                            add_product(add_product(w.imag(), -l.real(), u.imag()), -l.imag(), u.real()));
}

/// w/pivot, with the same bits in all kernels. 0 for a zero pivot, so that the pivot is detected and no
/// infinity spreads. Complex pivots are first divided by |Re| + |Im|, so that their squares do not overflow.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real divide_by_pivot(const Real& w, const Real& pivot) {
  return pivot == Real(0) ? Real(0) : w / pivot;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> divide_by_pivot(const Kokkos::complex<Real>& w,
                                                                  const Kokkos::complex<Real>& pivot) {
  const Real size = Kokkos::abs(pivot.real()) + Kokkos::abs(pivot.imag());
  if (size == Real(0)) return {};
  const Real re = pivot.real() / size, im = pivot.imag() / size;
  const Real square = add_product(im * im, re, re);
  return {add_product(w.imag() * im, w.real(), re) / square / size,
          add_product(-(w.real() * im), w.imag(), re) / square / size};
}

/// w(j) −= factor·u_j for entries begin … end − 1 of a row of U.
/// @tparam Insert true: columns without a slot get one; false: they are ignored
template <bool Insert, class Lanes, class Accumulator, class Entries, class Values, class Offset,
          class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void subtract_row(const Lanes& lanes, Accumulator& w, const Entries& entries,
                                              const Values& values, Offset begin, Offset end,
                                              const Scalar& factor) {
  lanes.each(begin, end, [&](const Offset q) {
    const auto slot = Insert ? w.insert(entries[q]) : w.find(entries[q]);
    if (Insert || slot >= 0) subtract_product(w.value(slot), factor, Scalar(values[q]));
  });
}
template <bool Insert, class Lanes, class Entries, class Values, class Offset, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void subtract_row(const Lanes&, DenseAccumulator<Scalar>& w,
                                              const Entries& entries, const Values& values, Offset begin,
                                              Offset end, const Scalar& factor) {
  DenseAccumulator<Scalar> row = w;  // a copy, so that members stay in registers
  for (Offset q = begin; q < end; ++q) {
    const Ordinal slot = Insert ? row.insert(entries[q]) : row.find(entries[q]);
    subtract_product(row.values[slot], factor, Scalar(values[q]));
  }
  w.count = row.count;
}

}  // namespace lutra::Impl

#endif

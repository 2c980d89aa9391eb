// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTSUBSTITUTION_HPP
#define LUTRA_HOSTSUBSTITUTION_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <vector>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_BlockSolve.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_HostThreads.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TrianglePack.hpp"
#include "Lutra_TriangleRowsView.hpp"

namespace lutra::Impl {

/// Consecutive levels solved by one thread, or one level solved by all threads.
struct LevelSegment {
  Ordinal begin = 0, end = 0;  ///< positions in the order of levels
  bool shared = false;         ///< one level, its rows divided among the threads; otherwise one thread
};

/// Distribution of a substitution over host threads. A single thread solves the rows in their own order.
/// Several threads solve level by level if levels are worth a barrier; one of them solves runs of smaller
/// levels:
///
///   segment    0 (shared)   1            2 (shared)
///   thread 0   rows ...   | rows ...   | rows ...     '|': team barrier, before which all solutions
///   thread 1   rows ...   |            | rows ...          of a segment are written
template <class Memory>
struct HostSchedule {
  std::vector<LevelSegment> segments;           ///< empty: one thread in the rows' own order
  Kokkos::View<const Ordinal*, Memory> row_of;  ///< [n] rows in the order of levels; empty: their own order
  MemoryReservation reservation;
};

/// Least work (entries, and 4 per row) of a level shared by all threads; below that, a barrier costs more
/// than it gains.
inline constexpr std::int64_t min_shared_work = 4000;

/// Segments of rows by level, on the host. Cost: O(n + nnz).
template <class ExecutionSpace, class LevelView>
HostSchedule<typename ExecutionSpace::memory_space> schedule_levels(const ExecutionSpace& exec,
                                                                    const RowAccess& rows,
                                                                    const LevelView& level, Ordinal levels,
                                                                    const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  std::vector<Ordinal> begin(at(levels) + 1, 0);
  std::vector<std::int64_t> work(at(levels), 0);
  for (Ordinal step = 0; step < rows.n; ++step) {
    ++begin[at(level(step)) + 1];
    work[at(level(step))] += 4 + static_cast<std::int64_t>(rows.length(rows.mirrored(step)));
  }
  for (std::size_t l = 1; l < begin.size(); ++l) begin[l] += begin[l - 1];
  HostSchedule<Memory> schedule;
  std::int64_t shared_work = 0, total_work = 0;
  for (std::size_t l = 0; l < work.size(); ++l) {
    const bool shared = work[l] >= min_shared_work;
    total_work += work[l];
    shared_work += shared ? work[l] : 0;
    auto& segments = schedule.segments;
    if (shared || segments.empty() || segments.back().shared)
      segments.push_back({begin[l], begin[l], shared});
    segments.back().end = begin[l + 1];
  }
  if (4 * shared_work < 3 * total_work) return {};
  schedule.reservation = MemoryReservation(budget);
  const auto row_of = schedule.reservation.template allocate<Kokkos::View<Ordinal*, Memory>>(
      exec, "lutra::trisolve::rows by level", at(rows.n));
  for (Ordinal step = 0; step < rows.n; ++step) row_of(begin[at(level(step))]++) = rows.mirrored(step);
  schedule.row_of = row_of;
  return schedule;
}

/// Values in the form that a substitution reads.
template <class Value, class Memory>
struct HostValues {
  Kokkos::View<const Value*, Memory> values;  ///< values of the entries of the pattern
  Kokkos::View<Value*, Memory> copy;          ///< storage of `values` unless they alias the caller's View
  Kokkos::View<Value*, Memory> inverse;       ///< [n] reciprocal diagonal by row
  MemoryReservation reservation;
};

/// Copies values in the order of the pattern, converted to another precision if necessary.
template <class ExecutionSpace, class To, class Source>
void copy_values(const ExecutionSpace& exec, const To& to, const Source& from) {
  Kokkos::parallel_for(
      "lutra::trisolve::copy_values",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { to(p) = narrowed<typename To::non_const_value_type>(from(p)); });
}

/// Aliases values in the order of the pattern, or copies those in another order or precision, and inverts the
/// diagonal. Fences if it allocates.
/// @param entries number of entries of the pattern
template <class Value, class ExecutionSpace, class Rows, class Source, class Memory>
void keep_values(const ExecutionSpace& exec, const Rows& rows, std::size_t entries, const Source& values,
                 const MemoryBudget& budget, HostValues<Value, Memory>& kept) {
  using Scalar = typename Source::scalar_type;
  using View = Kokkos::View<Value*, Memory>;
  HostValues<Value, Memory> fresh = kept;
  if (kept.inverse.extent(0) != static_cast<std::size_t>(rows.n)) {
    fresh.reservation = MemoryReservation(budget);
    fresh.inverse = fresh.reservation.template allocate<View>(exec, "lutra::trisolve::diagonal",
                                                              static_cast<std::size_t>(rows.n));
  }
  bool as_they_are = false;
  if constexpr (std::is_same_v<Value, Scalar>) {
    as_they_are = values.source.extent(0) == 0;
    if (as_they_are) fresh.values = values.values;
  }
  if (!as_they_are) {
    if (kept.copy.extent(0) != entries)
      fresh.copy = fresh.reservation.template allocate<View>(exec, "lutra::trisolve::values", entries);
    copy_values(exec, fresh.copy, values);
    fresh.values = fresh.copy;
  }
  const auto inverse = fresh.inverse;
  const bool known = rows.is_unit() && inverse.data() == kept.inverse.data();  // unit diagonals stay
  for_range(
      exec, "lutra::trisolve::invert_diagonal", known ? Ordinal(0) : rows.n,
      KOKKOS_LAMBDA(const Ordinal row) {
        const Scalar diagonal = rows.is_unit() ? Scalar(1) : values(rows.diagonal(row));
        inverse(row) = narrowed<Value>(Scalar(1) / diagonal);
      });
  if (kept.inverse.data() != fresh.inverse.data()) exec.fence("lutra::trisolve: former arrays are freed");
  kept = fresh;
}

/// Levels of single rows by one thread. Cost: O(nnz).
template <class Rows, class LevelView>
Ordinal find_levels_in_order(const Rows& rows, const LevelView& level) {
  Ordinal last = 0;
  for (Ordinal step = 0; step < rows.n; ++step) {
    const Ordinal row = rows.mirrored(step);
    Ordinal greatest = -1;
    for (Offset p = rows.begin(row); p < rows.end(row); ++p) {
      greatest = std::max(greatest, level(rows.mirrored(rows.entries(p))));
    }
    level(step) = greatest + 1;
    last = std::max(last, greatest + 1);
  }
  return last + 1;
}

/// Arguments of a substitution. Solutions are stored by row in `x`, `Stride` values each.
template <class Scalar, class Value>
struct SubstitutionData {
  const Offset* begin = nullptr;
  const Offset* end = nullptr;
  const Ordinal* entries = nullptr;
  const Value* values = nullptr;
  const Value* inverse = nullptr;   ///< [n] inverted diagonal by row
  const Ordinal* in_row = nullptr;  ///< [n] row of `in` for each row; null: identity
  const Ordinal* out_row = nullptr;
  MappedColumns<const Scalar> in;
  MappedColumns<Scalar> out;
  Scalar* x = nullptr;
  int n_columns = 0;
  bool upper = false;
  bool unit = false;  ///< the diagonal is 1
  RunControl::Query query;

  KOKKOS_FORCEINLINE_FUNCTION Scalar right_hand_side(Ordinal row, int column) const {
    const std::int64_t from = in_row == nullptr ? row : in_row[row];
    return in.scaled(from, in.at(from, column));
  }
  KOKKOS_FORCEINLINE_FUNCTION void store_solution(Ordinal row, int column, const Scalar& value) const {
    const std::int64_t to = out_row == nullptr ? row : out_row[row];
    out.at(to, column) = out.scaled(to, value);
  }
};

template <bool Conjugate, class Value>
KOKKOS_FORCEINLINE_FUNCTION Value conjugated(const Value& value) {
  if constexpr (Conjugate) {
    return ScalarTraits<Value>::conjugate(value);
  } else {
    return value;
  }
}

/// Which sides of a column have maps, scales or strides.
enum class MappedSides { none, in, out, both };

constexpr bool maps_in(MappedSides sides) {
  return sides == MappedSides::in || sides == MappedSides::both;
}
constexpr bool maps_out(MappedSides sides) {
  return sides == MappedSides::out || sides == MappedSides::both;
}

/// One row of one column. Its right-hand side is gathered when it is needed, and its solution is scattered at
/// once: separate passes over all rows take a fifth of a solve. Entries are taken in the order of their
/// steps, so that the latest solution is needed last. Four partial sums shorten the chain of additions of a
/// long row.
template <bool Upper, bool Conjugate, MappedSides mapped, class Scalar, class Value>
struct SubstituteColumnRow {
  SubstitutionData<Scalar, Value> data;
  const Scalar* in;  ///< [n] may be `x`; read unless `in` is mapped
  Scalar* x;         ///< [n] by row

  KOKKOS_FORCEINLINE_FUNCTION Scalar product(Offset p) const {
    return Scalar(conjugated<Conjugate>(data.values[p])) * x[data.entries[p]];
  }
  /// Sums the first entries, in the order of their steps, of a long row. @returns the number of them
  KOKKOS_FUNCTION Offset sum_long(Offset begin, Offset end, Scalar& sum) const {
    Scalar part[4] = {};
    Offset t = 0;
    for (; t + 4 < end - begin; t += 4) {
      for (int u = 0; u < 4; ++u) part[u] += product(Upper ? end - 1 - t - u : begin + t + u);
    }
    sum -= (part[0] + part[1]) + (part[2] + part[3]);
    return t;
  }

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Ordinal row) const {
    const Offset begin = data.begin[row], end = data.end[row];
    Scalar sum = maps_in(mapped) ? data.right_hand_side(row, 0) : in[row];
    const Offset summed = end - begin > 8 ? sum_long(begin, end, sum) : 0;
    if constexpr (Upper) {
      for (Offset p = end - summed; p > begin; --p) sum -= product(p - 1);
    } else {
      for (Offset p = begin + summed; p < end; ++p) sum -= product(p);
    }
    const Scalar solution = data.unit ? sum : Scalar(conjugated<Conjugate>(data.inverse[row])) * sum;
    x[row] = solution;
    if constexpr (maps_out(mapped)) data.store_solution(row, 0, solution);
  }
};

/// Calls `one` for each row in the order of a schedule. With segments, one team of all threads executes them;
/// the barrier after a segment orders its solutions before their use in the next.
/// @param one a functor of a row
template <class ExecutionSpace, class Schedule, class One>
void visit_rows(const ExecutionSpace& exec, Ordinal n, const Schedule& schedule, const One& one) {
  if constexpr (!is_serial_space<ExecutionSpace>) {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    const LevelSegment* segments = schedule.segments.data();
    const auto n_segments = schedule.segments.size();
    const auto row_of = schedule.row_of;
    const auto kernel = KOKKOS_LAMBDA(const typename Policy::member_type& team) {
      for (std::size_t s = 0; s < n_segments; ++s) {
        const auto segment = segments[s];
        if (one.data.query.must_stop()) {  // all threads still meet at the barrier
        } else if (segment.shared) {
          Kokkos::parallel_for(Kokkos::TeamThreadRange(team, segment.begin, segment.end),
                               [&](const Ordinal position) { one(row_of(position)); });
        } else if (team.team_rank() == 0) {
          for (Ordinal position = segment.begin; position < segment.end; ++position) one(row_of(position));
        }
        team.team_barrier();
      }
    };
    if (n_segments > 0) {
      Kokkos::parallel_for("lutra::trisolve::substitute_levels", Policy(exec, 1, largest_team_of(exec)),
                           kernel);
      return;
    }
  }
  const bool upper = one.data.upper;
  for_range(
      exec, "lutra::trisolve::substitute", 1, KOKKOS_LAMBDA(const int) {
        constexpr Ordinal at_once = 1024;  // rows between queries
        for (Ordinal first = 0; first < n && !one.data.query.must_stop(); first += at_once) {
          const Ordinal end = n - first < at_once ? n : first + at_once;
          for (Ordinal step = first; step < end; ++step) one(upper ? n - 1 - step : step);
        }
      });
}

/// Whether columns are contiguous, in the order of rows and unscaled.
template <class Columns>
KOKKOS_FORCEINLINE_FUNCTION bool lies_plainly(const Columns& columns, const Ordinal* map) {
  return map == nullptr && columns.scale == nullptr && columns.row_stride == 1;
}

/// Substitution in the order of a schedule, of one column.
template <int Stride, bool Conjugate, class ExecutionSpace, class Schedule, class Scalar, class Value>
requires(Stride == 1) void substitute(const ExecutionSpace& exec, Ordinal n, const Schedule& schedule,
                                      const SubstitutionData<Scalar, Value>& data) {
  const bool plain_in = lies_plainly(data.in, data.in_row), plain_out = lies_plainly(data.out, data.out_row);
  Scalar* const x = plain_out ? data.out.data : data.x;
  const auto visit = [&]<MappedSides mapped>() {
    if (data.upper) {
      visit_rows(exec, n, schedule,
                 SubstituteColumnRow<true, Conjugate, mapped, Scalar, Value>{data, data.in.data, x});
    } else {
      visit_rows(exec, n, schedule,
                 SubstituteColumnRow<false, Conjugate, mapped, Scalar, Value>{data, data.in.data, x});
    }
  };
  if (plain_in)
    return plain_out ? visit.template operator()<MappedSides::none>()
                     : visit.template operator()<MappedSides::out>();
  plain_out ? visit.template operator()<MappedSides::in>() : visit.template operator()<MappedSides::both>();
}

/// Rows per tile of several columns: one cache line of each column.
inline constexpr int tile_rows = 8;

/// One past the last row of a tile.
KOKKOS_FORCEINLINE_FUNCTION Ordinal tile_end(Ordinal n, Ordinal tile) {
  const Ordinal end = (tile + 1) * tile_rows;
  return end < n ? end : n;
}

/// Copies the right-hand sides of some rows to row-wise storage; missing columns become 0.
template <int Stride, class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION void load_tile(const SubstitutionData<Scalar, Value>& data, Ordinal first,
                                           Ordinal end) {
  const bool plain = lies_plainly(data.in, data.in_row);
  for (int r = 0; r < Stride; ++r) {
    const Scalar* in = data.in.data + static_cast<std::size_t>(r) * data.in.column_stride;
    Scalar* x = data.x + r;
    for (Ordinal row = first; row < end; ++row) {
      Scalar& loaded = x[static_cast<std::int64_t>(row) * Stride];
      if (r >= data.n_columns)
        loaded = Scalar(0);
      else
        loaded = plain ? in[row] : data.right_hand_side(row, r);
    }
  }
}
/// Copies the solutions of some rows from row-wise storage.
template <int Stride, class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION void store_tile(const SubstitutionData<Scalar, Value>& data, Ordinal first,
                                            Ordinal end) {
  const bool plain = lies_plainly(data.out, data.out_row);
  for (int r = 0; r < data.n_columns; ++r) {
    Scalar* out = data.out.data + static_cast<std::size_t>(r) * data.out.column_stride;
    const Scalar* x = data.x + r;
    for (Ordinal row = first; row < end; ++row) {
      const Scalar value = x[static_cast<std::int64_t>(row) * Stride];
      if (plain)
        out[row] = value;
      else
        data.store_solution(row, r, value);
    }
  }
}

/// One row of several columns; right-hand sides are overwritten by solutions.
template <int Stride, bool Conjugate, class Scalar, class Value>
struct SubstituteColumnsRow {
  SubstitutionData<Scalar, Value> data;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Ordinal row) const {
    Scalar* x = data.x + static_cast<std::int64_t>(row) * Stride;
    Scalar sum[Stride];
    for (int r = 0; r < Stride; ++r) sum[r] = x[r];
    for (Offset p = data.begin[row]; p < data.end[row]; ++p) {
      const Scalar value(conjugated<Conjugate>(data.values[p]));
      const Scalar* known = data.x + static_cast<std::int64_t>(data.entries[p]) * Stride;
      for (int r = 0; r < Stride; ++r) sum[r] -= value * known[r];
    }
    const Scalar inverse = data.unit ? Scalar(1) : Scalar(conjugated<Conjugate>(data.inverse[row]));
    for (int r = 0; r < Stride; ++r) x[r] = data.unit ? sum[r] : inverse * sum[r];
  }
};

/// Several columns. One thread copies each tile just before and after it is solved; several threads copy all
/// tiles before and after the solve.
template <int Stride, bool Conjugate, class ExecutionSpace, class Schedule, class Scalar, class Value>
void substitute(const ExecutionSpace& exec, Ordinal n, const Schedule& schedule,
                const SubstitutionData<Scalar, Value>& data) {
  const SubstituteColumnsRow<Stride, Conjugate, Scalar, Value> one{data};
  const Ordinal tiles = (n + tile_rows - 1) / tile_rows;
  if (schedule.segments.empty()) {
    const bool upper = data.upper;
    Kokkos::parallel_for(
        "lutra::trisolve::substitute", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
        KOKKOS_LAMBDA(const int) {
          for (Ordinal t = 0; t < tiles; ++t) {
            if (data.query.must_stop_at(t, 128)) return;
            const Ordinal tile = upper ? tiles - 1 - t : t, first = tile * tile_rows, end = tile_end(n, tile);
            load_tile<Stride>(data, first, end);
            for (Ordinal row = first; row < end; ++row) one(upper ? first + (end - 1 - row) : row);
            store_tile<Stride>(data, first, end);
          }
        });
  } else if constexpr (!is_serial_space<ExecutionSpace>) {
    const Kokkos::RangePolicy<ExecutionSpace> all(exec, 0, tiles);
    Kokkos::parallel_for(
        "lutra::trisolve::bring_in", all,
        KOKKOS_LAMBDA(const Ordinal tile) { load_tile<Stride>(data, tile * tile_rows, tile_end(n, tile)); });
    visit_rows(exec, n, schedule, one);
    Kokkos::parallel_for(
        "lutra::trisolve::take_out", all,
        KOKKOS_LAMBDA(const Ordinal tile) { store_tile<Stride>(data, tile * tile_rows, tile_end(n, tile)); });
  }
}

}  // namespace lutra::Impl

#endif

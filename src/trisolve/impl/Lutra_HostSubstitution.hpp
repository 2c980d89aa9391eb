// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTSUBSTITUTION_HPP
#define LUTRA_HOSTSUBSTITUTION_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <vector>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_BlockSolve.hpp"
#include "Lutra_TrianglePack.hpp"
#include "Lutra_TriangleRowsView.hpp"

namespace lutra::Impl {

/// Consecutive levels that one thread, or all threads level by level, work on.
template <class Ordinal>
struct LevelSegment {
  Ordinal begin = 0, end = 0;  ///< places in the order of levels
  bool shared = false;  ///< one level, its rows shared out among the threads; otherwise one thread in order
};

/// Substitution on host threads, from the rows as the caller has them.
///
/// One thread takes the rows in their own order. Several work level by level where levels are worth a
/// barrier; runs of smaller ones are left to one of them.
template <class Ordinal, class Offset, class Memory>
struct HostSchedule {
  std::vector<LevelSegment<Ordinal>> segments;  ///< empty: one thread in the rows' own order
  Kokkos::View<const Ordinal*, Memory> row_of;  ///< [n] rows in the order of levels; empty: their own
  Charge charge;
};

/// Entries and rows a level must have to be shared out: below, a barrier costs more than it gains.
inline constexpr std::int64_t least_shared_work = 4000;

/// Segments of rows by level, on the host. Work O(n + nnz).
template <class Ordinal, class Offset, class ExecutionSpace, class LevelView>
HostSchedule<Ordinal, Offset, typename ExecutionSpace::memory_space> schedule_levels(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows, const LevelView& level,
    Ordinal levels, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  std::vector<Ordinal> begin(at(levels) + 1, 0);
  std::vector<std::int64_t> work(at(levels), 0);
  for (Ordinal step = 0; step < rows.n; ++step) {
    ++begin[at(level(step)) + 1];
    work[at(level(step))] += 4 + static_cast<std::int64_t>(rows.length(rows.mirrored(step)));
  }
  for (std::size_t l = 1; l < begin.size(); ++l) begin[l] += begin[l - 1];
  HostSchedule<Ordinal, Offset, Memory> schedule;
  std::int64_t shared_work = 0, total_work = 0;
  for (std::size_t l = 0; l < work.size(); ++l) {
    const bool shared = work[l] >= least_shared_work;
    total_work += work[l];
    shared_work += shared ? work[l] : 0;
    auto& segments = schedule.segments;
    if (shared || segments.empty() || segments.back().shared)
      segments.push_back({begin[l], begin[l], shared});
    segments.back().end = begin[l + 1];
  }
  if (4 * shared_work < 3 * total_work) return {};
  schedule.charge = Charge(budget);
  const auto row_of = schedule.charge.template allocate<Kokkos::View<Ordinal*, Memory>>(
      exec, "lutra::trisolve::rows by level", at(rows.n));
  for (Ordinal step = 0; step < rows.n; ++step) row_of(begin[at(level(step))]++) = rows.mirrored(step);
  schedule.row_of = row_of;
  return schedule;
}

/// Values as a substitution takes them.
template <class Value, class Memory>
struct HostValues {
  Kokkos::View<const Value*, Memory> values;  ///< of the entries of the pattern
  Kokkos::View<Value*, Memory> copy;          ///< what `values` shows where they are no View of the caller's
  Kokkos::View<Value*, Memory> inverse;       ///< [n] reciprocal diagonal by row
  Charge charge;
};

/// Copies values in the order of the pattern, in another precision perhaps.
template <class ExecutionSpace, class To, class Source>
void copy_values(const ExecutionSpace& exec, const To& to, const Source& from) {
  Kokkos::parallel_for(
      "lutra::trisolve::copy_values",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { to(p) = narrowed<typename To::non_const_value_type>(from(p)); });
}

/// Takes values as they are, or as a copy in another order or precision, and inverts the diagonal. Fences.
template <class Value, class ExecutionSpace, class Rows, class Source, class Memory>
void keep_values(const ExecutionSpace& exec, const Rows& rows, const Source& values,
                 const MemoryBudget& budget, HostValues<Value, Memory>& kept) {
  using Scalar = typename Source::scalar_type;
  using Ordinal = typename Rows::ordinal_type;
  using View = Kokkos::View<Value*, Memory>;
  HostValues<Value, Memory> fresh = kept;
  if (kept.inverse.extent(0) != static_cast<std::size_t>(rows.n)) {
    fresh.charge = Charge(budget);
    fresh.inverse = fresh.charge.template allocate<View>(exec, "lutra::trisolve::diagonal",
                                                         static_cast<std::size_t>(rows.n));
  }
  bool as_they_are = false;
  if constexpr (std::is_same_v<Value, Scalar>) {
    as_they_are = values.source.extent(0) == 0;
    if (as_they_are) fresh.values = values.values;
  }
  if (!as_they_are) {
    if (kept.copy.extent(0) != rows.entries.extent(0)) {
      fresh.copy =
          fresh.charge.template allocate<View>(exec, "lutra::trisolve::values", rows.entries.extent(0));
    }
    copy_values(exec, fresh.copy, values);
    fresh.values = fresh.copy;
  }
  const auto inverse = fresh.inverse;
  Kokkos::parallel_for(
      "lutra::trisolve::invert_diagonal", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row) {
        const Scalar diagonal = rows.is_unit() ? Scalar(1) : values(rows.diagonal(row));
        inverse(row) = narrowed<Value>(Scalar(1) / diagonal);
      });
  exec.fence("lutra::trisolve: the values are taken");
  kept = fresh;
}

/// Levels of single rows, one thread in order. O(nnz).
template <class Rows, class LevelView>
typename Rows::ordinal_type find_levels_in_order(const Rows& rows, const LevelView& level) {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
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

/// All that a substitution reads and writes. Solutions stand by row in `x`, `Stride` values each.
template <class Scalar, class Value, class Ordinal, class Offset>
struct SubstitutionData {
  const Offset* begin = nullptr;
  const Offset* end = nullptr;
  const Ordinal* entries = nullptr;
  const Value* values = nullptr;
  const Value* inverse = nullptr;   ///< [n] inverted diagonal by row
  const Ordinal* in_row = nullptr;  ///< [n] row of `in` by row; null: the same
  const Ordinal* out_row = nullptr;
  MappedColumns<const Scalar> in;
  MappedColumns<Scalar> out;
  Scalar* x = nullptr;
  int n_columns = 0;
};

template <bool Conjugate, class Value>
KOKKOS_FORCEINLINE_FUNCTION Value conjugated(const Value& value) {
  if constexpr (Conjugate) {
    return ScalarTraits<Value>::conjugate(value);
  } else {
    return value;
  }
}

/// Takes entries times solutions from the sums of a row. With one column, four sums at a time keep the
/// additions from waiting for each other.
template <int Stride, bool Conjugate, class Scalar, class Value, class Ordinal, class Offset>
KOKKOS_FORCEINLINE_FUNCTION void subtract_entries(
    const SubstitutionData<Scalar, Value, Ordinal, Offset>& data, Offset begin, Offset end,
    Scalar (&sum)[Stride]) {
  const auto factor = [&](Offset p) { return Scalar(conjugated<Conjugate>(data.values[p])); };
  const auto place = [&](Offset p) { return data.x + static_cast<std::int64_t>(data.entries[p]) * Stride; };
  Offset p = begin;
  if constexpr (Stride == 1) {
    Scalar part[4] = {};
    for (; p + 4 <= end; p += 4) {
      for (int u = 0; u < 4; ++u) part[u] += factor(p + u) * *place(p + u);
    }
    sum[0] -= (part[0] + part[1]) + (part[2] + part[3]);
  }
  for (; p < end; ++p) {
    const Scalar value = factor(p);
    const Scalar* x = place(p);
    for (int r = 0; r < Stride; ++r) sum[r] -= value * x[r];
  }
}

/// One row.
template <int Stride, bool Conjugate, class Scalar, class Value, class Ordinal, class Offset>
KOKKOS_FORCEINLINE_FUNCTION void substitute_row(const SubstitutionData<Scalar, Value, Ordinal, Offset>& data,
                                                Ordinal row) {
  Scalar sum[Stride] = {};
  const auto in_row = static_cast<std::int64_t>(data.in_row == nullptr ? row : data.in_row[row]);
  for (int r = 0; r < data.n_columns; ++r) sum[r] = data.in.scaled(in_row, data.in.at(in_row, r));
  subtract_entries<Stride, Conjugate>(data, data.begin[row], data.end[row], sum);
  const Scalar inverse(conjugated<Conjugate>(data.inverse[row]));
  const auto out_row = static_cast<std::int64_t>(data.out_row == nullptr ? row : data.out_row[row]);
  for (int r = 0; r < Stride; ++r) {
    const Scalar value = inverse * sum[r];
    data.x[static_cast<std::int64_t>(row) * Stride + r] = value;
    if (r < data.n_columns) data.out.at(out_row, r) = data.out.scaled(out_row, value);
  }
}

/// Substitutes in the order of a schedule: one team of all threads where there are segments, and a barrier
/// between them.
template <int Stride, bool Conjugate, class ExecutionSpace, class Rows, class Schedule, class Data>
void substitute(const ExecutionSpace& exec, const Rows& rows, const Schedule& schedule, const Data& data) {
  using Ordinal = typename Rows::ordinal_type;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  if (schedule.segments.empty()) {
    Kokkos::parallel_for(
        "lutra::trisolve::substitute", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
        KOKKOS_LAMBDA(const int) {
          for (Ordinal step = 0; step < rows.n; ++step) {
            substitute_row<Stride, Conjugate>(data, rows.mirrored(step));
          }
        });
    return;
  }
  const LevelSegment<Ordinal>* segments = schedule.segments.data();
  const auto n_segments = schedule.segments.size();
  const auto row_of = schedule.row_of;
  const auto kernel = KOKKOS_LAMBDA(const typename Policy::member_type& team) {
    for (std::size_t s = 0; s < n_segments; ++s) {
      const auto segment = segments[s];
      const auto one = [&](const Ordinal place) { substitute_row<Stride, Conjugate>(data, row_of(place)); };
      if (segment.shared) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, segment.begin, segment.end), one);
      } else if (team.team_rank() == 0) {
        for (Ordinal place = segment.begin; place < segment.end; ++place) one(place);
      }
      team.team_barrier();
    }
  };
  const int threads =
      std::min(exec.concurrency(), Policy(exec, 1, 1).team_size_max(kernel, Kokkos::ParallelForTag()));
  Kokkos::parallel_for("lutra::trisolve::substitute_levels", Policy(exec, 1, threads), kernel);
}

}  // namespace lutra::Impl

#endif

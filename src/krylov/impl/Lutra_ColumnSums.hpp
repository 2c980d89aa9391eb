// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNSUMS_HPP
#define LUTRA_COLUMNSUMS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_KrylovColumn.hpp"

// Sums over the rows of blocks of vectors, column by column, in one launch that also processes the completed
// sums. A functor defines the sum:
//
//   Sum                     partial sums of one column, of width Sum::width; Sum() is zero, += joins two
//   totals                  [columns × tiles·width] receives the sums
//   skips(c)                whether to skip this column
//   add(i, c, tile, sum)    adds row i; tile 0 comes first and may change row i of the blocks
//   finish(c)               called once for a column when totals(c, ·) are complete
//
//     team of a chunk of rows ──▶ partial sums ──▶ fence ──▶ counter of the column + 1
//                                                               │ last team only
//     all partial sums in the order of chunks ◀── fence ◀───────┘
//       ──▶ totals(c, ·) ──▶ finish(c)
//
// Chunks depend only on the number of rows, so sums are the same from run to run, and on hosts for any number
// of threads.
//
// Lutra_LaneSums.hpp does the same for many columns.

namespace lutra::Impl {

/// `width` sums of one column.
template <class Scalar, int Width>
struct ColumnSum {
  static constexpr int width = Width;
  Scalar values[Width] = {};

  KOKKOS_FORCEINLINE_FUNCTION ColumnSum& operator+=(const ColumnSum& other) {
    for (int w = 0; w < Width; ++w) values[w] += other.values[w];
    return *this;
  }
};

/// The largest magnitude of one column.
template <class Scalar>
struct LargestOfColumn {
  static constexpr int width = 1;
  Scalar values[1] = {};

  KOKKOS_FORCEINLINE_FUNCTION void raise(const Scalar& value) {
    if (real_part(value) > real_part(values[0])) values[0] = value;
  }
  KOKKOS_FORCEINLINE_FUNCTION LargestOfColumn& operator+=(const LargestOfColumn& other) {
    raise(other.values[0]);
    return *this;
  }
};

/// `Width` sums of columns by two functions:
///
///   add(column, i, c, sums)  adds the terms of row i
///   finish(sums, column)     processes the sums, once for each column
template <int Width, class Columns, class Totals, class Add, class Finish>
struct SumColumns {
  using Sum = ColumnSum<typename Totals::value_type, Width>;
  Columns columns;
  Totals totals;
  Add add_row;
  Finish finish_column;
  bool all;  ///< false: running columns only

  KOKKOS_FUNCTION bool skips(int c) const { return !all && !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    add_row(columns(c), i, c, sum.values);
  }
  KOKKOS_FUNCTION void finish(int c) const { finish_column(&totals(c, 0), columns(c)); }
};

/// About two teams for each multiprocessor of a large device. More would lengthen the last team's sum of all
/// partial ones, and need more memory.
constexpr int max_sum_chunks = 256;

/// Memory of sums over rows, allocated once.
template <class Scalar, class ExecutionSpace>
struct SumWorkspace {
  using Memory = typename ExecutionSpace::memory_space;
  /// [columns × sums × max_sum_chunks]; [chunks × sums × columns] of lanes
  Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory> partial;
  Kokkos::View<int*, Memory> finished;  ///< [columns] chunks completed; 0 between launches. Not of lanes

  SumWorkspace() = default;
  SumWorkspace(const ExecutionSpace& exec, MemoryReservation& reservation, std::size_t columns,
               std::size_t sums)
      : partial(reservation.template allocate<decltype(partial)>(exec, "lutra::krylov::partial_sums", columns,
                                                                 sums, max_sum_chunks)),
        finished(reservation.template allocate<decltype(finished)>(exec, "lutra::krylov::finished_chunks",
                                                                   columns)) {
    Kokkos::parallel_for("lutra::krylov::fill",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(columns)),
                         FillValues<int, Memory>{finished, 0});
  }
};

template <class Body, class Workspace, class ExecutionSpace>
struct SumRows {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<512>>;
  using Sum = typename Body::Sum;
  Body body;
  Workspace work;
  std::int64_t n;
  int columns, chunks, tiles;

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& member) const {
    const int c = member.league_rank() % columns, chunk = member.league_rank() / columns;
    if (body.skips(c)) return;
    const std::int64_t begin = n * chunk / chunks, end = n * (chunk + 1) / chunks;
    for (int tile = 0; tile < tiles; ++tile) {
      Sum sum;
      Kokkos::parallel_reduce(
          Kokkos::TeamVectorRange(member, begin, end),
          [&](const std::int64_t i, Sum& part) { body.add(i, c, tile, part); }, Kokkos::Sum<Sum>(sum));
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        for (int w = 0; w < Sum::width; ++w) work.partial(c, tile * Sum::width + w, chunk) = sum.values[w];
      });
    }
    bool last = false;
    Kokkos::single(
        Kokkos::PerTeam(member),
        [&](bool& is_last) {
          Kokkos::memory_fence();  // partial sums before the count; pairs with the fences of the last team
          is_last = Kokkos::atomic_fetch_add(&work.finished(c), 1) == chunks - 1;
          Kokkos::memory_fence();
        },
        last);
    if (!last) return;
    Kokkos::memory_fence();  // each thread reads partial sums of other teams
    for (int tile = 0; tile < tiles; ++tile) {
      Sum sum;
      Kokkos::parallel_reduce(
          Kokkos::TeamVectorRange(member, chunks),
          [&](const int part, Sum& total) {
            Sum of_chunk;
            for (int w = 0; w < Sum::width; ++w)
              of_chunk.values[w] = work.partial(c, tile * Sum::width + w, part);
            total += of_chunk;
          },
          Kokkos::Sum<Sum>(sum));
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        for (int w = 0; w < Sum::width; ++w) body.totals(c, tile * Sum::width + w) = sum.values[w];
      });
    }
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      work.finished(c) = 0;
      body.finish(c);
    });
  }
};

/// Adds up `tiles`·width sums of each of the first `columns` columns over n rows. Does not wait.
template <class Body, class Workspace, class ExecutionSpace>
void sum_rows(const ExecutionSpace& exec, const char* label, const Body& body, const Workspace& work,
              std::size_t n, std::size_t columns, int tiles = 1) {
  using Kernel = SumRows<Body, Workspace, ExecutionSpace>;
  constexpr std::int64_t min_rows = 512;  // rows per chunk: a row per thread of a team
  const auto rows = static_cast<std::int64_t>(n);
  const int chunks =
      static_cast<int>(std::clamp<std::int64_t>((rows + min_rows - 1) / min_rows, 1, max_sum_chunks));
  const int lanes = vector_length_for<ExecutionSpace>(32);
  const int team = team_width<ExecutionSpace>(512 / lanes);
  const int width = static_cast<int>(columns);
  Kokkos::parallel_for(label, by_argument(typename Kernel::Policy(exec, chunks * width, team, lanes)),
                       Kernel{body, work, rows, width, chunks, tiles});
}

}  // namespace lutra::Impl

template <class Scalar, int Width>
struct Kokkos::reduction_identity<lutra::Impl::ColumnSum<Scalar, Width>> {
  KOKKOS_FORCEINLINE_FUNCTION static lutra::Impl::ColumnSum<Scalar, Width> sum() { return {}; }
};
template <class Scalar>
struct Kokkos::reduction_identity<lutra::Impl::LargestOfColumn<Scalar>> {
  KOKKOS_FORCEINLINE_FUNCTION static lutra::Impl::LargestOfColumn<Scalar> sum() { return {}; }
};

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANESUMS_HPP
#define LUTRA_LANESUMS_HPP

#include <concepts>

#include "Lutra_ColumnSums.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_RefinementKernels.hpp"

// Sums over the rows of blocks with many columns, such as the systems of a batch, with the functors of
// Lutra_ColumnSums.hpp. Columns are neighbours in memory, and so are the threads that sum them:
//
//     a thread: a chunk of rows of one column (hosts: of 8 columns) ──▶ partial sums
//     next launch, a thread: partial sums of one column in the order of chunks ──▶ totals(c, ·) ──▶ finish(c)
//
// Chunks have 64 rows, for any number of columns, so that no bit of a column depends on the others.

namespace lutra::Impl {

/// Chunks of 64 rows, or of more if there would be too many.
inline int lane_sum_chunks(std::size_t n) {
  return static_cast<int>(std::clamp<std::size_t>((n + 63) / 64, 1, max_sum_chunks));
}

/// Memory of sums by lanes.
template <class Scalar, class ExecutionSpace>
SumWorkspace<Scalar, ExecutionSpace> make_lane_sums(const ExecutionSpace& exec,
                                                    MemoryReservation& reservation, std::size_t n,
                                                    std::size_t columns, std::size_t sums) {
  SumWorkspace<Scalar, ExecutionSpace> result;
  result.partial = reservation.template allocate<decltype(result.partial)>(
      exec, "lutra::krylov::partial_sums", static_cast<std::size_t>(lane_sum_chunks(n)), sums, columns);
  return result;
}

/// A functor that adds the rows begin ≤ i < end of `Lanes` neighbouring columns itself, so that its loops
/// suit vector registers. It does so for columns that are skipped, too; their sums are dropped.
template <class Body, int Lanes>
concept AddsChunks = requires(const Body& body, typename Body::Sum (&sums)[Lanes]) {
  body.template add_chunk<Lanes>(std::int64_t(), std::int64_t(), int(), int(), sums);
};

/// Partial sums of `Lanes` neighbouring columns over one chunk of rows. A column goes through all rows of the
/// chunk before the next one does, so that the same instructions sum it whichever others are skipped.
template <class Body, class Partial, int Lanes>
struct SumChunkOfLanes {
  using Sum = typename Body::Sum;
  Body body;
  Partial partial;
  std::int64_t n;
  int columns, chunks, tiles;

  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const int bundles = (columns + Lanes - 1) / Lanes;
    const auto chunk = static_cast<int>(t / bundles);
    const int first = static_cast<int>(t % bundles) * Lanes, last = Kokkos::min(first + Lanes, columns);
    const std::int64_t begin = n * chunk / chunks, end = n * (chunk + 1) / chunks;
    if constexpr (AddsChunks<Body, Lanes>) {
      if (first + Lanes == last) return add_together(begin, end, chunk, first);
    }
    for (int c = first; c < last; ++c) {
      if (body.skips(c)) continue;
      for (int tile = 0; tile < tiles; ++tile) {
        Sum sum;
        for (std::int64_t i = begin; i < end; ++i) body.add(i, c, tile, sum);
        keep(sum, chunk, tile, c);
      }
    }
  }

 private:
  KOKKOS_FUNCTION void add_together(std::int64_t begin, std::int64_t end, int chunk, int first) const {
    bool skips[Lanes], any = false;
    for (int l = 0; l < Lanes; ++l) {
      skips[l] = body.skips(first + l);
      any = any || !skips[l];
    }
    for (int tile = 0; any && tile < tiles; ++tile) {
      Sum sums[Lanes];
      body.template add_chunk<Lanes>(begin, end, first, tile, sums);
      for (int l = 0; l < Lanes; ++l)
        if (!skips[l]) keep(sums[l], chunk, tile, first + l);
    }
  }
  KOKKOS_FUNCTION void keep(const Sum& sum, int chunk, int tile, int c) const {
    for (int w = 0; w < Sum::width; ++w) partial(chunk, tile * Sum::width + w, c) = sum.values[w];
  }
};

/// Joins the partial sums of one column.
template <class Body, class Partial>
struct JoinLaneSums {
  using Sum = typename Body::Sum;
  Body body;
  Partial partial;
  int chunks, tiles;

  KOKKOS_FUNCTION void operator()(const std::int64_t column) const {
    const auto c = static_cast<int>(column);
    if (body.skips(c)) return;
    for (int tile = 0; tile < tiles; ++tile) {
      Sum total;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        Sum part;
        for (int w = 0; w < Sum::width; ++w) part.values[w] = partial(chunk, tile * Sum::width + w, c);
        total += part;
      }
      for (int w = 0; w < Sum::width; ++w) body.totals(c, tile * Sum::width + w) = total.values[w];
    }
    body.finish(c);
  }
};

/// Calls kernel(t) for 0 ≤ t < count, with the kernel passed as an argument.
template <class ExecutionSpace, class Kernel>
void launch_lanes(const ExecutionSpace& exec, const char* label, std::int64_t count, const Kernel& kernel) {
  if constexpr (is_host_space<ExecutionSpace>) {
    for_range(exec, label, count, kernel);
  } else {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, by_argument(Policy(exec, 0, count)), kernel);
  }
}

/// A thread per number on devices, per row on hosts.
template <class Body>
struct ForLanes {
  Body body;
  std::int64_t columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const { body(t / columns, t % columns); }
};
template <class Body>
struct ForRowsOfLanes {
  Body body;
  std::int64_t columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    for (std::int64_t c = 0; c < columns; ++c) body(i, c);
  }
};

/// Calls body(i, c) for i < rows and c < columns. Does not wait on devices.
template <class ExecutionSpace, class Body>
void for_lanes(const ExecutionSpace& exec, const char* label, std::size_t rows, std::size_t columns,
               const Body& body) {
  const auto width = static_cast<std::int64_t>(columns), height = static_cast<std::int64_t>(rows);
  if constexpr (is_host_space<ExecutionSpace>) {
    launch_lanes(exec, label, height, ForRowsOfLanes<Body>{body, width});
  } else {
    launch_lanes(exec, label, height * width, ForLanes<Body>{body, width});
  }
}

/// Columns that one thread sums.
template <class ExecutionSpace>
constexpr int lanes_of_sums = is_host_space<ExecutionSpace> ? 8 : 1;

/// A functor that does the rows begin ≤ i < end of `Lanes` neighbouring columns itself.
template <class Body, int Lanes>
concept DoesChunks = requires(const Body& body) {
  body.template do_chunk<Lanes>(std::int64_t(), std::int64_t(), int());
};

/// Columns of a chunk of rows, each through all rows: what a body asks of its column is asked once.
template <class Body, int Lanes>
struct ForChunksOfLanes {
  Body body;
  std::int64_t rows;
  int columns, chunks;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const int bundles = (columns + Lanes - 1) / Lanes;
    const std::int64_t chunk = t / bundles, begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
    const int first = static_cast<int>(t % bundles) * Lanes, last = Kokkos::min(first + Lanes, columns);
    if constexpr (DoesChunks<Body, Lanes>) {
      if (first + Lanes == last) return body.template do_chunk<Lanes>(begin, end, first);
    }
    for (int c = first; c < last; ++c)
      for (std::int64_t i = begin; i < end; ++i) body(i, c);
  }
};

/// Calls body(i, c) for the entries of a block with many columns. Does not wait on devices.
template <class ExecutionSpace, class Rows, class Body>
void for_entries_of_lanes(const ExecutionSpace& exec, const char* label, const Rows& X, const Body& body) {
  if constexpr (is_host_space<ExecutionSpace>) {
    constexpr int lanes = lanes_of_sums<ExecutionSpace>;
    const auto rows = static_cast<std::int64_t>(X.extent(0));
    const int columns = static_cast<int>(X.extent(1)), chunks = lane_sum_chunks(X.extent(0));
    launch_lanes(exec, label, static_cast<std::int64_t>(chunks) * ((columns + lanes - 1) / lanes),
                 ForChunksOfLanes<Body, lanes>{body, rows, columns, chunks});
  } else {
    for_entries(exec, label, X, body);
  }
}

/// As sum_rows, by lanes. Does not wait on devices.
/// @tparam lanes columns that one thread sums; the sums do not depend on it
template <class ExecutionSpace, class Body, class Workspace, int lanes = lanes_of_sums<ExecutionSpace>>
void sum_lanes(const ExecutionSpace& exec, const char* label, const Body& body, const Workspace& work,
               std::size_t n, std::size_t columns, int tiles = 1) {
  using Partial = decltype(work.partial);
  const int chunks = lane_sum_chunks(n), width = static_cast<int>(columns);
  launch_lanes(exec, label, static_cast<std::int64_t>(chunks) * ((width + lanes - 1) / lanes),
               SumChunkOfLanes<Body, Partial, lanes>{body, work.partial, static_cast<std::int64_t>(n), width,
                                                     chunks, tiles});
  launch_lanes(exec, label, width, JoinLaneSums<Body, Partial>{body, work.partial, chunks, tiles});
}

}  // namespace lutra::Impl

#endif

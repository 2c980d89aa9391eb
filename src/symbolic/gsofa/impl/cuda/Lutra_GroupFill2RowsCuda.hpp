// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GROUPFILL2ROWSCUDA_HPP
#define LUTRA_GROUPFILL2ROWSCUDA_HPP

#include "Lutra_GroupFill2Cuda.hpp"
#include "Lutra_Index.hpp"

// Writes the vertices visited by a group of sources as rows, 32 vertices by 32 sources at a time.

namespace lutra::Impl {

/// Counts the rows, and writes them to their destination.
__device__ inline void GroupFill2::finish(Group& g) const {
  __syncthreads();
  const int source = g.shared->sources[lane()];
  int count = 0, lower = 0;
  for_own_lines(g, [&](int line) {
    const std::uint32_t row = transpose_lanes(row_bits(g, line));
    const int first = line * lanes;
    const std::uint32_t below = source >= first + lanes ? all
                                : source <= first       ? 0u
                                                        : (1u << (source - first)) - 1u;
    count += __popc(row);
    lower += __popc(row & below);
  });
  g.shared->counts[warp()][lane()] = count;
  g.shared->lower_counts[warp()][lane()] = lower;
  __syncthreads();
  if (warp() == 0) {
    int length = 0, lower_length = 0;
    for (int w = 0; w < warps; ++w) {
      const int here = g.shared->counts[w][lane()];
      g.shared->counts[w][lane()] = length;
      length += here;
      lower_length += g.shared->lower_counts[w][lane()];
    }
    g.shared->targets[lane()] = settle(g, lower_length, length);
  }
  __syncthreads();
  long long target = g.shared->targets[lane()];
  if (target >= 0) target += g.shared->counts[warp()][lane()];
  const unsigned wanted = __ballot_sync(all, target >= 0);
  if (wanted == 0) return;
  Ordinal* const rows = common.store ? common.entries.data() : common.kept.entries.data();
  for_own_lines(g, [&](int line) {
    const std::uint32_t row = transpose_lanes(row_bits(g, line));
    for (unsigned left = __ballot_sync(all, row != 0) & wanted; left != 0; left &= left - 1) {
      const int b = __ffs(left) - 1;
      const std::uint32_t bits = __shfl_sync(all, row, b);
      const long long to = __shfl_sync(all, target, b);
      if ((bits >> lane() & 1u) != 0) {
        rows[to + __popc(bits & ((1u << lane()) - 1u))] = static_cast<Ordinal>(line * lanes + lane());
      }
    }
    if (target >= 0) target += __popc(row);
  });
}

/// Writes the counts of the lane's row; returns the row's destination, -1 if there is no space or no row.
__device__ inline long long GroupFill2::settle(const Group& g, int lower_length, int length) const {
  if (g.shared->sources[lane()] < 0) return -1;
  const auto source = static_cast<Ordinal>(g.shared->sources[lane()]);
  const Offset target =
      common.reserve_row(source, static_cast<Offset>(lower_length), static_cast<Offset>(length));
  if (common.store) common.kept.begin(source) = 0;  // no other search is needed
  return static_cast<long long>(target);
}

__device__ inline void GroupFill2::count_work(const Group& g, bool found) const {
  const int edges = sum_over_lanes(g.edges), again = sum_over_lanes(g.revisits);
  if (lane() != 0) return;
  Kokkos::atomic_add(&common.statistics(0), static_cast<std::uint64_t>(edges));
  Kokkos::atomic_add(&common.statistics(1), static_cast<std::uint64_t>(again));
  if (warp() == 0) Kokkos::atomic_add(&common.statistics(found ? 2 : 3), std::uint64_t(1));
}

}  // namespace lutra::Impl

#endif

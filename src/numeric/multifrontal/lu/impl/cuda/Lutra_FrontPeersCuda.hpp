// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPEERSCUDA_HPP
#define LUTRA_FRONTPEERSCUDA_HPP

#include "Lutra_TileWorkCuda.hpp"

namespace lutra::Impl {

// A front divided among devices by columns of tiles (DividedColumns). Each device has the panels of the whole
// front, in the same layout, and runs the tasks of its columns. The tiles of L, diagonal ones with their
// inverses, are needed in all columns to the right: the task that has finished one stores it on the other
// devices, too, and raises its flag there. Their tasks wait for that flag as for one of their own device:
//
//     device 0   tile (i, s) of L ─► own panels, own flag
//                                └─► panels of device 1, fence, flag there ──► task of tile (i, j) on device
//                                1
//
// On each device tasks have the order that they have on a single one, without those of other columns. Of the
// incomplete tasks of all devices the first one in that order waits for nothing incomplete, and it is
// running, because its device has completed all tasks before it and all kernels run at the same time. There
// are no sweeps and no hand-off buffers, which would need tiles of other columns.

/// Stores the finished tiles of this block's task on the other devices, if they are of L. Called by all
/// threads after `TileWork::run`, behind whose last barrier the tiles are in this device's memory. Not
/// inlined, so that registers are allocated separately.
template <class Scalar>
__device__ __noinline__ void pass_tiles_on(const FrontLaunch<Scalar>& launch, const FrontTask& task,
                                           const Front& front) {
  const FrontTiles cut(front.pivots, front.cb_rows, front_tile<Scalar>);
  if (task.row < task.column || task.column >= cut.pivot_tiles()) return;
  const FrontPeers<Scalar>& peers = *launch.peers;
  const int n = peers.count, thread = static_cast<int>(threadIdx.x);
  const int last = task.row + task.rows - 1, row = cut.begin(task.row), column = cut.begin(task.column);
  const int rows = cut.begin(last) + cut.extent(last) - row, columns = cut.extent(task.column);
  const Offset size = front.size();
  const Scalar* const panels = launch.data.panels;
  const Offset first = launch.data.dense(front, task.front).lower - panels + row + column * size;
  BlockWalk walk(rows, thread, front_threads);
  for (int e = thread; e < rows * columns; e += front_threads, walk.advance()) {
    const Offset at = first + walk.row + walk.column * size;
    const Scalar value = panels[at];
    for (int p = 0; p < n; ++p) peers.panels[p][at] = value;
  }
  if (task.row == task.column) {
    const int entries = InverseTile::entries(FrontTiles::inverse_lines(columns));
    const Offset of_upper =
        task.inverses + static_cast<Offset>(task.row) * InverseTile::entries(front_tile<Scalar>);
    const Offset of_lower = of_upper + (launch.lower_inverses - launch.upper_inverses);
    for (int e = thread; e < entries; e += front_threads) {
      const Scalar upper = launch.upper_inverses[of_upper + e], lower = launch.upper_inverses[of_lower + e];
      for (int p = 0; p < n; ++p) {
        peers.inverses[p][of_upper + e] = upper;
        peers.inverses[p][of_lower + e] = lower;
      }
    }
  }
  __syncthreads();
  // a release is cumulative: it covers what the barrier orders before it, on all devices
  if (thread >= n) return;
  int* const flags = peers.flags[thread] + task.flags;
  for (int i = task.row; i <= last; ++i)
    raise_system_flag(flags + TileFlags(cut).tile(i, task.column), launch.run);
}

}  // namespace lutra::Impl

#endif

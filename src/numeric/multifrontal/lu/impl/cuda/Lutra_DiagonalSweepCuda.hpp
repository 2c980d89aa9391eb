// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALSWEEPCUDA_HPP
#define LUTRA_DIAGONALSWEEPCUDA_HPP

#include "Lutra_DiagonalStepCuda.hpp"
#include "Lutra_DiagonalTaskCuda.hpp"

namespace lutra::Impl {

/// Diagonal sweep of a front with many pivot tiles, the critical path of tiled LU (Buttari, Langou, Kurzak
/// and Dongarra, Parallel Computing 35, 2009). One block successively factorizes all diagonal tiles, so that
/// data passed between steps stays in shared memory. Other blocks assemble the diagonal tiles and subtract
/// all products but the last; the sweep computes that one from the two neighbours handed off for the
/// preceding tile. All parameters are stored by value in shared memory, because local memory is slow to reach
/// after flags have been polled.
template <class Scalar>
struct DiagonalSweep {
  static constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad<Scalar>;

  DiagonalTile<Scalar> first;  ///< the first tile, with the number of all pivots of the front
  const Scalar* links;         ///< hand-off buffers of the front
  int* flags;                  ///< tile flags of the front
  int tiles, pivot_tiles;      ///< of the front, per dimension
  int front;
  FlaggedRun wait;

  /// Loads the first tile from its hand-off buffer.
  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) wait_for(diagonal_flag(0));
    __syncthreads();
    const Scalar* const from = diagonal_link(0);
    Scalar* const tile = tile_memory<Scalar>().space;
    for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads)
      tile[e / edge * pitch + e % edge] = from[e];
    __syncthreads();
  }
  /// Tile s, with the flags to poll meanwhile.
  __device__ __forceinline__ DiagonalTile<Scalar> diagonal(int s) const {
    DiagonalTile<Scalar> own = first;
    own.lower += static_cast<std::int64_t>(s) * InverseTile::entries(edge);
    own.upper += static_cast<std::int64_t>(s) * InverseTile::entries(edge);
    own.panel += s * edge * (first.size + 1);
    own.pivots = min(first.pivots - s * edge, edge);
    own.perturbed += s * edge;
    if (s + 1 < pivot_tiles) {
      own.pair = link_flag(s, 0);
      own.single = diagonal_flag(s + 1);
      own.raised = wait.run;
    }
    return own;
  }
  /// Advances from the factors of tile s in shared memory to tile s + 1. Raises the flag of tile s before
  /// waiting for anything of tile s + 1, whose tasks may come later in the order.
  __device__ __forceinline__ void advance(int s) const {
    __syncthreads();
    const bool ready = tile_memory<Scalar>().awaited != 0;
    if (!ready) {
      signal(s);
      if (threadIdx.x >= front_threads - 32) wait_for_links(s);
      __syncthreads();
    }
    const DiagonalStep<Scalar> step{link(s, false), link(s, true), diagonal_link(s + 1)};
    step.run([&] {
      if (ready) signal(s);
    });
  }
  /// Raises the flag of tile s.
  __device__ __forceinline__ void signal(int s) const {
    if (threadIdx.x == 0) raise_flag(tile_flag(s), wait.run);
  }

 private:
  __device__ TileFlags layout() const { return {tiles, pivot_tiles}; }
  __device__ int* tile_flag(int s) const { return flags + layout().tile(s, s); }
  __device__ int* link_flag(int s, int of_upper) const { return flags + layout().link(s, of_upper != 0); }
  __device__ int* diagonal_flag(int s) const { return flags + layout().diagonal_link(s); }
  __device__ const Scalar* link(int s, int of_upper) const {
    return links + (s % tile_links * 2 + of_upper) * edge * edge;
  }
  __device__ const Scalar* diagonal_link(int s) const {
    return links + (2 * tile_links + s % tile_links) * edge * edge;
  }
  /// The three flags that tile s + 1 needs, one per lane.
  __device__ int* next_flag(int s, int lane) const {
    return lane < 2 ? link_flag(s, lane) : diagonal_flag(s + 1);
  }
  __device__ __forceinline__ void wait_for(const int* flag) const {
    const FlaggedRun waiting = wait;
    wait_for_flag(waiting, flag, front);
  }
  __device__ __forceinline__ void wait_for_links(int s) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < 3) wait_for(next_flag(s, lane));
    __syncwarp();
  }
};

/// This block's sweep, in shared memory, to save registers for entries.
template <class Scalar>
__device__ __forceinline__ DiagonalSweep<Scalar>& shared_sweep() {
  __shared__ DiagonalSweep<Scalar> sweep;
  return sweep;
}

/// Not inlined, so that registers are allocated separately.
template <class Scalar>
__device__ __noinline__ void begin_sweep() {
  shared_sweep<Scalar>().begin();
}
template <class Scalar>
__device__ __noinline__ void advance(int s) {
  shared_sweep<Scalar>().advance(s);
}

/// Executes the task of a sweep.
template <bool symmetric, class Scalar>
__device__ __forceinline__ void work_diagonal(const FrontLaunch<Scalar>& launch, const FrontTask& task,
                                              const Front& front, const PivotRule<Scalar>& rule,
                                              const TaskNumber& number) {
  if (threadIdx.x == 0) {
    // nothing it reads is ever overwritten, so that no block needs to wait for its end
    count_task(launch.progress, number.task, number.tasks);
    atomicAdd(sweeps_here(launch), 1);
  }
  const FrontTiles cut(front.pivots, front.cb_rows, front_tile<Scalar>);
  const DiagonalSweep<Scalar> sweep{
      {launch.lower_inverses + task.inverses, launch.upper_inverses + task.inverses,
       launch.data.dense(front, task.front).lower, front.size(), front.pivots,
       launch.data.perturbed + front.first_pivot, &launch.data.outcome->perturbed, rule.threshold},
      launch.links + task.links,
      launch.tile_done + task.flags,
      cut.count(),
      cut.pivot_tiles(),
      static_cast<int>(task.front),
      launch};
  if (threadIdx.x == 0) shared_sweep<Scalar>() = sweep;
  __syncthreads();
  begin_sweep<Scalar>();
  for (int s = 0;; ++s) {
    if constexpr (symmetric) mirror_lower(tile_memory<Scalar>().space, launch.hermitian);
    factorize_tile(shared_sweep<Scalar>().diagonal(s));
    if (s + 1 == cut.pivot_tiles()) break;
    advance<Scalar>(s);
  }
  __syncthreads();
  shared_sweep<Scalar>().signal(cut.pivot_tiles() - 1);
  if (threadIdx.x == 0) atomicSub(sweeps_here(launch), 1);
}

}  // namespace lutra::Impl

#endif

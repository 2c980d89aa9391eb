// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALFACTORSCUDA_HPP
#define LUTRA_DIAGONALFACTORSCUDA_HPP

#include "Lutra_FrontTiles.hpp"
#include "Lutra_TileDiagonalDoubleCuda.hpp"

namespace lutra::Impl {

/// Shared memory of the data-flow kernel, reused by each step of a task.
template <class Scalar>
struct TileMemory {
  static constexpr int edge = front_tile<Scalar>;
  static constexpr int single = edge * (edge + operand_pad<Scalar>),
                       pair = edge * (2 * edge + operand_pad<Scalar>);
  template <class Slabs>
  static constexpr int product_words = Slabs::stages* Slabs::words;
  static constexpr int words = std::max({product_words<ProductSlabs<Scalar, 1>>,
                                         product_words<ProductSlabs<Scalar, 2>>, pair + single, 3 * single});
  Scalar space[words];  ///< tiles followed by one or two inverses, or the slabs of a product
  Scalar copies[TileDiagonal<Scalar>::scratch_words];
  OperandSource<Scalar> first, second;  ///< operands of the current product
  int ready[2];  ///< number of pivot tiles whose parts of L and U are ready, as observed at even and odd
                 ///< slabs
  int awaited;   ///< the same, as observed when no slab was available to continue with
  std::int64_t trial_perturbations;  ///< perturbed pivots of a tile that may be factorized once more
};

// two blocks per multiprocessor of compute capability 9.0, including other shared data
static_assert(sizeof(TileMemory<double>) <= 112 * 1024);

/// The kernel's own instance; tells functions that are not inlined that it is shared memory.
template <class Scalar>
__device__ __forceinline__ TileMemory<Scalar>& tile_memory() {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  return *reinterpret_cast<TileMemory<Scalar>*>(shared_memory);
}

/// Makes a diagonal tile in shared memory symmetric or Hermitian, by its lower triangle; between barriers.
/// Products round differently on both sides of the diagonal. U right of the tile is taken from L below it, so
/// that the difference would not be part of L·U, and would grow from tile to tile.
template <class Scalar>
__device__ __forceinline__ void mirror_lower(Scalar* tile, bool hermitian) {
  constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad<Scalar>;
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
    const int r = e % edge, c = e / edge;
    const Scalar own = tile[c * pitch + r];
    if (r > c) tile[r * pitch + c] = hermitian ? ScalarTraits<Scalar>::conjugate(own) : own;
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (r == c && hermitian) tile[c * pitch + r] = Scalar(own.real());
    }
  }
}

/// A diagonal tile in shared memory, and the destination of its factors.
template <class Scalar>
struct DiagonalTile {
  static constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad<Scalar>, block = pivot_panel;
  Scalar* lower;                ///< inverse of L, or null
  Scalar* upper;                ///< inverse of U, or null
  Scalar* panel;                ///< L\U
  std::int64_t size;            ///< leading dimension of the panel
  int pivots;                   ///< of the tile
  unsigned char* perturbed;     ///< [pivots] out: whether they were perturbed
  std::int64_t* perturbations;  ///< counter of perturbed pivots
  RealOf<Scalar> threshold;     ///< perturbation threshold
  /// Flags polled during the factorization: two adjacent ones and another, or null. On return
  /// `TileMemory::awaited` tells whether all were raised.
  const int* pair = nullptr;
  const int* single = nullptr;
  int raised = 0;

  __device__ int blocks() const { return (pivots + block - 1) / block; }

  /// LU of the tile and the inverses of its triangles.
  __device__ __forceinline__ void factorize() const {
    TileMemory<Scalar>& memory = tile_memory<Scalar>();
    constexpr int words = TileMemory<Scalar>::single;
    Scalar* const tile = memory.space;
    const int thread = static_cast<int>(threadIdx.x), used = blocks() * block;
    if (pivots + thread < used) tile[(pivots + thread) * (pitch + 1)] = Scalar(1);
    __syncthreads();
    const PivotRule<Scalar> rule{threshold};
    const TileDiagonal<Scalar> diagonal{tile, tile + words, tile + 2 * words, memory.copies, blocks(), rule};
    diagonal.run(
        [&](int j, bool is_perturbed) {
          if (j < pivots) note_pivot(perturbed[j], *perturbations, is_perturbed);
        },
        [&](int k, int warp, int warps) {
          store_parts(diagonal, k, warp, warps);
          if (pair != nullptr && k == blocks() - 2 && warp == warps - 1) look(memory.awaited);
        });
  }

 private:
  __device__ __forceinline__ void look(int& all) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool there = lane > 2 || load_flag(lane < 2 ? pair + lane : single) == raised;
    const bool all_there = __all_sync(0xffffffffu, there);
    if (lane == 0) all = all_there;
  }
  // The parts completed with block k of pivots are stored in pieces of 16 × 16, one warp each: block k of
  // each line of the inverses, block row and block column k of the tile.
  __device__ __forceinline__ void store_parts(const TileDiagonal<Scalar>& diagonal, int k, int warp,
                                              int warps) const {
    const int of_upper = upper == nullptr ? 0 : k + 1;
    const int of_inverses = of_upper + (lower == nullptr ? 0 : k + 1);
    const int behind = edge / block - 1 - k;
    for (int part = warp; part <= of_inverses + 2 * behind; part += warps) {
      if (part < of_upper) {
        store_inverse_part(diagonal.upper, upper, part, k);
      } else if (part < of_inverses) {
        store_inverse_part(diagonal.lower, lower, part - of_upper, k);
      } else {
        const int position = part - of_inverses;  // down the column, then along the row
        store_tile_part(diagonal.tile, position > behind ? k : k + position,
                        position > behind ? k + position - behind : k);
      }
    }
  }
  /// Stores block k of line block b.
  __device__ __forceinline__ void store_inverse_part(const Scalar* from, Scalar* to, int b, int k) const {
    using Piece = int4;
    constexpr int whole = sizeof(Piece) / sizeof(Scalar), pieces = block / whole, lines = 32 / pieces;
    struct alignas(Piece) Values {
      Scalar value[whole];
    } values[block / lines];
    const InverseTile layout{blocks() * block, false};
    const int lane = static_cast<int>(threadIdx.x) % 32, line = b * block + lane / pieces;
    const int outer = k * block + lane % pieces * whole, length = layout.lines - b * block;
    const Scalar* const at = from + line * pitch + outer;
#pragma unroll
    for (int n = 0; n < block / lines; ++n) {
      values[n] = *reinterpret_cast<const Values*>(at + n * lines * pitch);
#pragma unroll
      for (int e = 0; e < whole; ++e) {
        if (outer + e < line + n * lines) values[n].value[e] = Scalar(0);
      }
    }
    Scalar* const there = to + layout(line, outer);
#pragma unroll
    for (int n = 0; n < block / lines; ++n)
      *reinterpret_cast<Values*>(there + n * lines * length) = values[n];
  }
  /// Stores block (i, j) of the tile.
  __device__ __forceinline__ void store_tile_part(const Scalar* tile, int i, int j) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, r = i * block + lane % block,
              c = j * block + lane / block;
    const std::int64_t step = 2 * size;
    const int columns = r < pivots ? pivots - c : 0;
    const Scalar* const from = tile + c * pitch + r;
    Scalar* to = panel + r + c * size;
    Scalar values[block / 2];
#pragma unroll
    for (int n = 0; n < block / 2; ++n) values[n] = from[2 * n * pitch];
#pragma unroll
    for (int n = 0; n < block / 2; ++n, to += step) {
      if (2 * n < columns) *to = values[n];
    }
  }
};

/// The tile a block factorizes, in shared memory: local memory would be slow to reach, since polling flags
/// invalidates the cache.
template <class Scalar>
__device__ __forceinline__ DiagonalTile<Scalar>& shared_tile() {
  __shared__ __align__(16) unsigned char space[sizeof(DiagonalTile<Scalar>)];
  return *reinterpret_cast<DiagonalTile<Scalar>*>(space);
}

/// Not inlined: within the whole kernel its loops would run short of registers.
template <class Scalar>
__device__ __noinline__ void factorize_shared_tile() {
  shared_tile<Scalar>().factorize();
}
template <class Scalar>
__device__ __forceinline__ void factorize_tile(const DiagonalTile<Scalar>& tile) {
  if (threadIdx.x == 0) shared_tile<Scalar>() = tile;
  __syncthreads();
  factorize_shared_tile<Scalar>();
}

}  // namespace lutra::Impl

#endif

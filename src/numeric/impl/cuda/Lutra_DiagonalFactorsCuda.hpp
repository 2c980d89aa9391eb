// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALFACTORSCUDA_HPP
#define LUTRA_DIAGONALFACTORSCUDA_HPP

#include "Lutra_FrontTiles.hpp"
#include "Lutra_TileDiagonalCuda.hpp"

namespace lutra::Impl {

/// Shared memory of the data-flow kernel, used anew by each step of a task.
template <class Scalar>
struct TileMemory {
  static constexpr int edge = front_tile<Scalar>;
  static constexpr int single = edge * (edge + operand_pad), pair = edge * (2 * edge + operand_pad);
  static constexpr int first_words = product_depth * (2 * edge + operand_pad);  ///< of A for one turn
  static constexpr int turn_words = first_words + product_depth * (edge + operand_pad);
  static constexpr int words = std::max({product_stages * turn_words, pair + single, 3 * single});
  Scalar space[words];  ///< tiles with an inverse or two behind them, or the turns of a product
  Scalar copies[TileDiagonal<Scalar>::scratch_words];
  int ready[2];  ///< pivot tiles whose parts of L and U are there, as seen in turns of even and of odd number
  int awaited;   ///< the same, seen by who could not go on
};

/// The kernel's own: functions that are not inlined know by it that it is shared.
template <class Scalar>
__device__ __forceinline__ TileMemory<Scalar>& tile_memory() {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  return *reinterpret_cast<TileMemory<Scalar>*>(shared_memory);
}

/// A diagonal tile in shared memory, and where its factors go.
template <class Scalar>
struct DiagonalTile {
  static constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad, block = pivot_panel;
  Scalar* lower;                ///< inverse of L, or none
  Scalar* upper;                ///< inverse of U
  Scalar* panel;                ///< L\U
  std::int64_t size;            ///< from one column of it to the next
  int pivots;                   ///< of the tile
  unsigned char* perturbed;     ///< [pivots] whether they were replaced
  std::int64_t* perturbations;  ///< counts them
  RealOf<Scalar> threshold;     ///< of pivots
  /// Flags looked at meanwhile: two neighbouring ones and another, or none. `TileMemory::awaited` says in the
  /// end whether all had this value.
  const int* pair = nullptr;
  const int* single = nullptr;
  int raised = 0;

  __device__ int blocks() const { return (pivots + block - 1) / block; }

  /// LU and the inverses of its triangles.
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
        [&](int j, bool replaced) {
          if (j < pivots) note_pivot(perturbed[j], *perturbations, replaced);
        },
        [&](int k, int warp, int warps) {
          store_inverse_part(diagonal.upper, upper, k, warp, warps);
          if (lower != nullptr) store_inverse_part(diagonal.lower, lower, k, warp, warps);
          store_tile_part(tile, k, warp, warps);
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
  /// Stores block k of places of each line of an inverse.
  __device__ __forceinline__ void store_inverse_part(const Scalar* from, Scalar* to, int k, int warp,
                                                     int warps) const {
    using Piece = int4;
    constexpr int whole = sizeof(Piece) / sizeof(Scalar), pieces = block / whole, lines = 32 / pieces;
    const InverseTile places{blocks() * block, false};
    const int lane = static_cast<int>(threadIdx.x) % 32, outer = k * block + lane % pieces * whole;
    for (int line = warp * lines + lane / pieces; line < (k + 1) * block; line += warps * lines) {
      struct alignas(Piece) Numbers {
        Scalar number[whole];
      } numbers = *reinterpret_cast<const Numbers*>(from + line * pitch + outer);
#pragma unroll
      for (int e = 0; e < whole; ++e) {
        if (outer + e < line) numbers.number[e] = Scalar(0);
      }
      *reinterpret_cast<Numbers*>(to + places(line, outer)) = numbers;
    }
  }
  /// Writes row and column k of blocks to the panel.
  __device__ __forceinline__ void store_tile_part(const Scalar* tile, int k, int warp, int warps) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, begin = k * block;
    const auto copy = [&](int r, int c) {
      if (r < pivots && c < pivots) panel[r + c * size] = tile[c * pitch + r];
    };
    for (int c = begin + warp; c < begin + block; c += warps) {
      for (int r = begin + lane; r < edge; r += 32) copy(r, c);
    }
    for (int c = begin + block + 2 * warp + lane / block; c < edge; c += 2 * warps)
      copy(begin + lane % block, c);
  }
};

/// A function of its own, since among all else that the kernel holds its loops are short of registers.
template <class Scalar>
__device__ __noinline__ void factorize_tile(const DiagonalTile<Scalar> tile) {
  tile.factorize();
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTBLOCKCUDA_HPP
#define LUTRA_LDLTBLOCKCUDA_HPP

#include "Lutra_LdltGang.hpp"
#include "Lutra_ReciprocalCuda.hpp"
#include "Lutra_TileProductCuda.hpp"
#include "Lutra_WorkersCuda.hpp"

namespace lutra::Impl {

// The block required by Lutra_LdltFlow.hpp, with the products of the LU engine.

/// A block with the products of tiles.
struct LdltBlockCuda : BlockWorkerCuda<front_threads> {
  template <class Scalar>
  static constexpr int tile_edge = front_tile<Scalar>;

  template <class Scalar>
  __device__ __forceinline__ Scalar reciprocal(const Scalar& value) const {
    return Impl::reciprocal(value);
  }
  template <class Scalar>
  __device__ void subtract(const LdltTile<Scalar>& tile, void* slabs) const;
};

/// Tile product C += L1·(L2·D)ᴴ by slabs. Both operands are sent to shared memory as in the products of LU;
/// the second is multiplied by D there, pivot by pivot, before it is read. A slab that would split a pair has
/// one pivot less.
template <class Scalar>
struct LdltProduct {
  using Product = TileProduct<Scalar, 1>;
  using Slabs = ProductSlabs<Scalar, 1>;
  static constexpr int edge = front_tile<Scalar>, depth = Slabs::depth;
  using Sender = OperandSender<Scalar, OperandOrder::outer, edge, depth>;
  using Layout = typename Sender::Layout;
  const LdltTile<Scalar>& tile;
  Scalar* space;

  __device__ __forceinline__ Scalar* slab(int number) const {
    return space + number % Slabs::stages * Slabs::words;
  }
  /// Pivots of the slab that starts at pivot p.
  __device__ __forceinline__ int pivots_from(int p) const {
    const int left = tile.depth - p;
    if (left <= depth) return left;
    return tile.kind[p + depth - 1] == PivotKind::first_of_two ? depth - 1 : depth;
  }
  __device__ __forceinline__ void send(int number, int p, int pivots) const {
    const std::int64_t first = static_cast<std::int64_t>(p) * tile.ld;
    const GlobalPart<Scalar> left{tile.left + first, tile.ld, 1, pivots, tile.rows};
    const GlobalPart<Scalar> right{tile.right + first, tile.ld, 1, pivots, tile.columns};
    Sender::send(Sender::source(left), slab(number), 0);
    Sender::send(Sender::source(right), slab(number) + Slabs::first_words, 0);
    __pipeline_commit();
  }
  /// Threads own columns of the operand, so that one thread handles both columns of a pair.
  __device__ __forceinline__ void multiply_by_pivots(int number, int p, int pivots) const {
    Scalar* const B = slab(number) + Slabs::first_words;
    constexpr int step = front_threads / edge;
    const int q = static_cast<int>(threadIdx.x) % edge;
    for (int c = static_cast<int>(threadIdx.x) / edge; c < pivots; c += step) {
      const PivotKind kind = tile.kind[p + c];
      Scalar& l = B[Layout::of(c, q)];
      if (kind == PivotKind::second_of_two) continue;
      if (kind == PivotKind::first_of_two) {
        Scalar& l2 = B[Layout::of(c + 1, q)];
        const Scalar o = tile.off_diagonal[p + c];
        const Scalar x1 = l * tile.diagonal[p + c] + l2 * o;
        const Scalar x2 = l * mirrored(tile.hermitian, o) + l2 * tile.diagonal[p + c + 1];
        l = mirrored(tile.hermitian, x1);
        l2 = mirrored(tile.hermitian, x2);
      } else {
        l = mirrored(tile.hermitian, l * tile.diagonal[p + c]);
      }
    }
  }

  __device__ void run() const {
    Product product;
    product.for_each([](int, int, Scalar& sum) { sum = Scalar(0); });
    __syncthreads();  // others have read the data that the slabs overwrite
    int p = 0, pivots = pivots_from(0);
    send(0, 0, pivots);
    for (int number = 0; pivots > 0; ++number) {
      const int next = p + pivots, next_pivots = next < tile.depth ? pivots_from(next) : 0;
      if (next_pivots > 0) send(number + 1, next, next_pivots);
      wait_for_slabs(next_pivots > 0 ? 1 : 0);
      __syncthreads();  // the slab is complete
      multiply_by_pivots(number, p, pivots);
      __syncthreads();
      product.template add<Layout, Layout>(slab(number), slab(number) + Slabs::first_words, depth);
      __syncthreads();  // the slab has been read
      p = next;
      pivots = next_pivots;
    }
    product.for_each([&](int r, int c, const Scalar& value) {
      if (r < tile.rows && c < tile.columns) tile.C[r + static_cast<std::int64_t>(c) * tile.ldc] -= value;
    });
  }
};

/// Not inlined, so that registers are allocated separately.
template <class Scalar>
__device__ __noinline__ void LdltBlockCuda::subtract(const LdltTile<Scalar>& tile, void* slabs) const {
  LdltProduct<Scalar>{tile, reinterpret_cast<Scalar*>(slabs)}.run();
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEINVERSECUDA_HPP
#define LUTRA_TILEINVERSECUDA_HPP

#include "Lutra_TileProductCuda.hpp"

namespace lutra::Impl {

/// Inverses of the triangles of a tile L\U that stands in shared memory by columns. Each triangle is halved:
/// a thread solves for one column of a half's inverse in registers, then the block between the halves follows
/// by two products. The inverse of L comes out by columns, that of U by rows; the other halves of both hold
/// scratch.
template <class Scalar>
struct TileInverse {
  static constexpr int edge = front_tile<Scalar>, half = edge / 2, pitch = operand_pitch<Scalar>;
  const Scalar* tile;
  const Scalar* reciprocals;  ///< [edge] of U's diagonal
  Scalar* lower;              ///< entry (r, c) at c·pitch + r
  Scalar* upper;              ///< entry (r, c) at r·pitch + c
  int pivots;  ///< rows and columns of the tile that are there; the rest stands for an identity

  __device__ __forceinline__ void run() const {
    const int thread = static_cast<int>(threadIdx.x);
    const int block = thread / half, column = thread % half;
    if (block < 2) {
      invert_lower(block * half, column);
    } else if (block < 4) {
      invert_upper((block - 2) * half, column);
    }
    __syncthreads();
    if (pivots <= half) {  // the second halves are identities
      clear_between();
      return;
    }
    // Blocks between the halves: -(L22⁻¹)·(L21·L11⁻¹) and -(U11⁻¹)·(U12·U22⁻¹); the inner products wait in
    // the other triangles.
    if (threadIdx.x < front_threads / 2) {
      multiply([&](int i, int p) { return tile[p * pitch + half + i]; },
               [&](int p, int j) { return lower[j * pitch + p]; },
               [&](int i, int j, const Scalar& sum) { lower[(half + j) * pitch + i] = sum; });
    } else {
      multiply([&](int i, int p) { return tile[(half + p) * pitch + i]; },
               [&](int p, int j) { return upper[(half + p) * pitch + half + j]; },
               [&](int i, int j, const Scalar& sum) { upper[(half + i) * pitch + j] = sum; });
    }
    __syncthreads();
    if (threadIdx.x < front_threads / 2) {
      multiply([&](int i, int p) { return lower[(half + p) * pitch + half + i]; },
               [&](int p, int j) { return lower[(half + j) * pitch + p]; },
               [&](int i, int j, const Scalar& sum) { lower[j * pitch + half + i] = -sum; });
    } else {
      multiply([&](int i, int p) { return upper[i * pitch + p]; },
               [&](int p, int j) { return upper[(half + p) * pitch + j]; },
               [&](int i, int j, const Scalar& sum) { upper[i * pitch + half + j] = -sum; });
    }
    __syncthreads();
  }

 private:
  __device__ __forceinline__ void clear_between() const {
    for (int e = static_cast<int>(threadIdx.x); e < half * half; e += front_threads) {
      lower[e / half * pitch + half + e % half] = Scalar(0);
      upper[e / half * pitch + half + e % half] = Scalar(0);
    }
    __syncthreads();
  }

  /// A product of two halves by half of the threads: one row and several columns each.
  template <class A, class B, class Store>
  __device__ __forceinline__ static void multiply(const A& a, const B& b, const Store& store) {
    constexpr int step = front_threads / 2 / half, columns = half / step;
    const int thread = static_cast<int>(threadIdx.x) % (front_threads / 2);
    const int i = thread % half, j = thread / half;
    Scalar sum[columns] = {};
#pragma unroll 4
    for (int p = 0; p < half; ++p) {
      const Scalar factor = a(i, p);
#pragma unroll
      for (int c = 0; c < columns; ++c) sum[c] += factor * b(p, j + step * c);
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) store(i, j + step * c, sum[c]);
  }

  __device__ __forceinline__ void invert_lower(int first, int column) const {
    const Scalar* const L = tile + first * pitch + first;
    Scalar x[half];
#pragma unroll
    for (int i = 0; i < half; ++i) x[i] = i == column ? Scalar(1) : Scalar(0);
#pragma unroll
    for (int p = 0; p < half; ++p) {
#pragma unroll
      for (int i = p + 1; i < half; ++i) x[i] -= L[p * pitch + i] * x[p];
    }
#pragma unroll
    for (int i = 0; i < half; ++i) lower[(first + column) * pitch + first + i] = x[i];
  }

  __device__ __forceinline__ void invert_upper(int first, int column) const {
    const Scalar* const U = tile + first * pitch + first;
    Scalar x[half];
#pragma unroll
    for (int i = 0; i < half; ++i) x[i] = i == column ? Scalar(1) : Scalar(0);
#pragma unroll
    for (int p = half - 1; p >= 0; --p) {
      x[p] = x[p] * reciprocals[first + p];
#pragma unroll
      for (int i = 0; i < p; ++i) x[i] -= U[p * pitch + i] * x[p];
    }
#pragma unroll
    for (int i = 0; i < half; ++i) upper[(first + i) * pitch + first + column] = x[i];
  }
};

}  // namespace lutra::Impl

#endif

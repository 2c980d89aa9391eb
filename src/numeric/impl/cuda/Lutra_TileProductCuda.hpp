// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEPRODUCTCUDA_HPP
#define LUTRA_TILEPRODUCTCUDA_HPP

#include <cuda_pipeline.h>

#include "Lutra_BlockFrontsCuda.hpp"

namespace lutra::Impl {

/// Rows of B, and columns of A, that one step of a product takes through shared memory.
inline constexpr int product_depth = 32;
/// Distance of the rows of an operand in shared memory: 16 lanes of a fragment then touch 16 banks of 8
/// bytes.
template <class Scalar>
inline constexpr int operand_pitch = front_tile<Scalar> + 4;
template <class Scalar>
inline constexpr int operand_words = product_depth* operand_pitch<Scalar>;

/// C of C = A·B for one tile, spread over the registers of a block. Operands stand in shared memory by their
/// inner index: A(r, p) at A[p·pitch + r], B(p, c) at B[p·pitch + c].
template <class Scalar>
struct TileProduct {
  static constexpr int parts = front_tile<Scalar> / 16;
  static constexpr int pitch = operand_pitch<Scalar>;
  Scalar sum[parts][parts] = {};

  __device__ __forceinline__ void add(const Scalar* A, const Scalar* B, int depth) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll 4
    for (int p = 0; p < depth; ++p) {
      Scalar a[parts], b[parts];
#pragma unroll
      for (int i = 0; i < parts; ++i) {
        a[i] = A[p * pitch + x + 16 * i];
        b[i] = B[p * pitch + y + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < parts; ++i) {
#pragma unroll
        for (int c = 0; c < parts; ++c) sum[i][c] += a[i] * b[c];
      }
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
    for (int i = 0; i < parts; ++i) {
#pragma unroll
      for (int c = 0; c < parts; ++c) visit(x + 16 * i, y + 16 * c, sum[i][c]);
    }
  }
};

/// The same with the matrix units of compute capability 9.0: a warp has 16 × 32 of the 64 × 64.
template <>
struct TileProduct<double> {
  static constexpr int pitch = operand_pitch<double>;
  double sum[4][4] =
      {};  ///< by 16 × 8 part: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) for lane 4g + t

  __device__ __forceinline__ void add(const double* A, const double* B, int depth) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int g = lane / 4, t = lane % 4;
    const double* const a_at = A + t * pitch + 16 * (warp % 4) + g;
    const double* const b_at = B + t * pitch + 32 * (warp / 4) + g;
#pragma unroll 2
    for (int p = 0; p < depth; p += 8) {
      const double a0 = a_at[p * pitch], a1 = a_at[p * pitch + 8];
      const double a2 = a_at[(p + 4) * pitch], a3 = a_at[(p + 4) * pitch + 8];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const double b0 = b_at[p * pitch + 8 * c], b1 = b_at[(p + 4) * pitch + 8 * c];
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+d"(sum[c][0]), "+d"(sum[c][1]), "+d"(sum[c][2]), "+d"(sum[c][3])
            : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
      }
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row = 16 * (warp % 4) + lane / 4, column = 32 * (warp / 4) + 2 * (lane % 4);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      visit(row, column + 8 * c, sum[c][0]);
      visit(row, column + 8 * c + 1, sum[c][1]);
      visit(row + 8, column + 8 * c, sum[c][2]);
      visit(row + 8, column + 8 * c + 1, sum[c][3]);
    }
  }
};

/// A part of a matrix in global memory, one of its strides being 1.
template <class Scalar>
struct GlobalPart {
  const Scalar* data;
  std::int64_t inner, outer;  ///< strides of the product's inner index and of the other one
  int inners, outers;         ///< extents; beyond them stands zero
};

/// Sends `product_depth` inner indices of a part, from `first` on, into shared memory: (p, q) to
/// to[p·pitch + q]. Neighbouring threads follow the stride that is 1.
template <class Scalar>
__device__ __forceinline__ void send_part(const GlobalPart<Scalar>& part, int first, Scalar* to) {
  constexpr int edge = front_tile<Scalar>, pitch = operand_pitch<Scalar>;
  const int thread = static_cast<int>(threadIdx.x);
  const bool along_inner = part.inner == 1;
#pragma unroll
  for (int e = 0; e < product_depth * edge / front_threads; ++e) {
    const int place = thread + e * front_threads;
    const int p = along_inner ? place % product_depth : place / edge;
    const int q = along_inner ? place / product_depth : place % edge;
    const bool there = first + p < part.inners && q < part.outers;
    const Scalar* const from = there ? part.data + (first + p) * part.inner + q * part.outer : part.data;
    __pipeline_memcpy_async(to + p * pitch + q, from, sizeof(Scalar), there ? 0 : sizeof(Scalar));
  }
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TEAMPRODUCT_HPP
#define LUTRA_TEAMPRODUCT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "Lutra_Strided.hpp"

namespace lutra::Impl {

// Products of dense blocks by a Kokkos team of any size.

/// Values per vector register of the target host; elsewhere a similar number.
#if defined(__AVX512F__)
template <class Scalar>
inline constexpr int simd_rows = 64 / sizeof(Scalar);
#elif defined(__AVX__)
template <class Scalar>
inline constexpr int simd_rows = 32 / sizeof(Scalar);
#else
template <class Scalar>
inline constexpr int simd_rows = sizeof(Scalar) < 16 ? 16 / sizeof(Scalar) : 1;
#endif
/// Rows and columns of the tile of C held in one thread's registers.
template <class Scalar>
inline constexpr int product_rows = 2 * simd_rows<Scalar>;
/// 8 registers of sums: enough independent additions to hide latency, half of the registers of AVX.
inline constexpr int product_columns = 4;
/// `Rows` partial sums. Compilers seldom keep arrays of sums in registers; GCC and Clang do with their vector
/// types.
template <int Rows, class Scalar>
struct RowsOf {
  Scalar value[Rows] = {};
  KOKKOS_FORCEINLINE_FUNCTION void add(const Scalar* a, const Scalar& b) {
    for (int r = 0; r < Rows; ++r) value[r] += a[r] * b;
  }
  KOKKOS_FORCEINLINE_FUNCTION void subtract_from(Scalar* c) const {
    for (int r = 0; r < Rows; ++r) c[r] -= value[r];
  }
};
#if defined(__GNUC__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__) && \
    !defined(__SYCL_DEVICE_ONLY__)
template <class Vector, class Scalar>
struct VectorRows {
  Vector value = {};
  KOKKOS_FORCEINLINE_FUNCTION void add(const Scalar* a, const Scalar& b) {
    Vector rows;
    __builtin_memcpy(&rows, a, sizeof rows);  // a may be unaligned
    value += rows * b;
  }
  KOKKOS_FORCEINLINE_FUNCTION void subtract_from(Scalar* c) const {
    Vector rows;
    __builtin_memcpy(&rows, c, sizeof rows);
    rows -= value;
    __builtin_memcpy(c, &rows, sizeof rows);
  }
};
typedef double DoubleRows __attribute__((vector_size(simd_rows<double> * sizeof(double))));
typedef float FloatRows __attribute__((vector_size(simd_rows<float> * sizeof(float))));
template <>
struct RowsOf<simd_rows<double>, double> : VectorRows<DoubleRows, double> {};
template <>
struct RowsOf<simd_rows<float>, float> : VectorRows<FloatRows, float> {};
#endif

/// One tile of C −= A·B of `Parts`·`Rows` × `Columns`.
template <int Parts, int Rows, int Columns, class Scalar>
KOKKOS_FUNCTION void subtract_tile(int depth, const Scalar* A, std::int64_t lda, const Strided<Scalar>& B,
                                   Scalar* C, std::int64_t ldc) {
  RowsOf<Rows, Scalar> sum[Columns][Parts];
  for (int p = 0; p < depth; ++p) {
    const Scalar* const a = A + p * lda;
    for (int c = 0; c < Columns; ++c) {
      const Scalar b = B(p, c);
      for (int part = 0; part < Parts; ++part) sum[c][part].add(a + part * Rows, b);
    }
  }
  for (int c = 0; c < Columns; ++c) {
    for (int part = 0; part < Parts; ++part) sum[c][part].subtract_from(C + c * ldc + part * Rows);
  }
}

/// C −= A·B for `rows` rows, at most those of the product tile.
template <int Columns, class Scalar>
KOKKOS_FUNCTION void subtract_rows(int rows, int depth, const Scalar* A, std::int64_t lda,
                                   const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) {
  constexpr int simd = simd_rows<Scalar>;
  if (rows == product_rows<Scalar>) {
    subtract_tile<2, simd, Columns>(depth, A, lda, B, C, ldc);
    return;
  }
  int r = 0;
  for (; r + simd <= rows; r += simd) subtract_tile<1, simd, Columns>(depth, A + r, lda, B, C + r, ldc);
  for (; r < rows; ++r) subtract_tile<1, 1, Columns>(depth, A + r, lda, B, C + r, ldc);
}

/// C −= A·B; A is rows × depth and C rows × columns, both by columns; A, B and C do not overlap.
template <class Member, class Scalar>
KOKKOS_FUNCTION void subtract_product(const Member& team, int rows, int columns, int depth, const Scalar* A,
                                      std::int64_t lda, const Strided<Scalar>& B, Scalar* C,
                                      std::int64_t ldc) {
  constexpr int tile_rows = product_rows<Scalar>;
  const int row_tiles = (rows + tile_rows - 1) / tile_rows;
  const int column_tiles = (columns + product_columns - 1) / product_columns;
  Kokkos::parallel_for(
      Kokkos::TeamVectorRange(team, static_cast<std::int64_t>(row_tiles) * column_tiles),
      [&](const std::int64_t tile) {
        const int c0 = static_cast<int>(tile / row_tiles) * product_columns;
        const int r0 = static_cast<int>(tile % row_tiles) * tile_rows;
        const int rows_here = rows - r0 < tile_rows ? rows - r0 : tile_rows;
        if (columns - c0 >= product_columns) {
          subtract_rows<product_columns>(rows_here, depth, A + r0, lda, {&B(0, c0), B.row, B.column},
                                         C + r0 + c0 * ldc, ldc);
          return;
        }
        for (int c = c0; c < columns; ++c)
          subtract_rows<1>(rows_here, depth, A + r0, lda, {&B(0, c), B.row, B.column}, C + r0 + c * ldc, ldc);
      });
  team.team_barrier();
}

}  // namespace lutra::Impl

#endif

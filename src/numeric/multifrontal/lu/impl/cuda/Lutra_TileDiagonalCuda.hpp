// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEDIAGONALCUDA_HPP
#define LUTRA_TILEDIAGONALCUDA_HPP

#include "Lutra_BlockFrontsCuda.hpp"
#include "Lutra_TileProductCuda.hpp"

namespace lutra::Impl {

/// Pivots that one warp eliminates in registers.
inline constexpr int pivot_panel = 16;

/// Division by a pivot. In double precision l = a·(1/p) with 1/p = r·(1 + e + e²), where r is the hardware's
/// approximation and e its error, so that a·r need not wait for e.
template <class Scalar>
struct PivotDivision {
  Scalar factor;
  __device__ __forceinline__ explicit PivotDivision(const Scalar& pivot) : factor(reciprocal(pivot)) {}
  __device__ __forceinline__ Scalar operator()(const Scalar& a) const { return a * factor; }
};
template <>
struct PivotDivision<double> {
  double approximate, rest;
  __device__ __forceinline__ explicit PivotDivision(double pivot) {
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(approximate) : "d"(pivot));
    const double error = fma(-pivot, approximate, 1.0);
    rest = fma(error, error, error);
  }
  __device__ __forceinline__ double operator()(double a) const {
    const double first = a * approximate;
    return fma(first, rest, first);
  }
};

template <class Scalar>
__device__ __forceinline__ Scalar from_lane(const Scalar& value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> from_lane(const Kokkos::complex<Real>& value, int lane) {
  return {__shfl_sync(0xffffffffu, value.real(), lane), __shfl_sync(0xffffffffu, value.imag(), lane)};
}

/// C = A·B of order 16 by a warp; operands are functions of two indices.
template <class Scalar>
struct BlockProduct {
  Scalar sum[8] = {};
  template <class A, class B>
  __device__ __forceinline__ void add(const A& a, const B& b) {
    const int lane = static_cast<int>(threadIdx.x) % 32, r = lane % 16, c0 = lane / 16 * 8;
#pragma unroll 4
    for (int p = 0; p < pivot_panel; ++p) {
      const Scalar factor = a(r, p);
#pragma unroll
      for (int c = 0; c < 8; ++c) sum[c] += factor * b(p, c0 + c);
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, r = lane % 16, c0 = lane / 16 * 8;
#pragma unroll
    for (int c = 0; c < 8; ++c) visit(r, c0 + c, sum[c]);
  }
};
template <>
struct BlockProduct<double> {
  double sum[2][4] = {};
  template <class A, class B>
  __device__ __forceinline__ void add(const A& a, const B& b) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int p = t; p < pivot_panel; p += 8) {
      const double column[4] = {a(g, p), a(g + 8, p), a(g, p + 4), a(g + 8, p + 4)};
#pragma unroll
      for (int c = 0; c < 2; ++c) multiply_add(sum[c], column, b(p, 8 * c + g), b(p + 4, 8 * c + g));
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int e = 0; e < 4; ++e) visit(g + e / 2 * 8, 8 * c + 2 * t + e % 2, sum[c][e]);
    }
  }
};

/// LU of a diagonal tile in shared memory, with the inverses X of L and V of U, in blocks of 16. Row
/// operations on A are also applied to an identity, which becomes X, and column operations to another, which
/// becomes V. For a diagonal block, one warp eliminates the rows, with V's rows below them, and a second one
/// the columns, with X's next to them, both using only shuffles and with bitwise equal results; products with
/// these blocks' X and V then give their rows and columns. The other warps update the rest while these two
/// proceed to the next diagonal block.
template <class Scalar>
struct TileDiagonal {
  static constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad<Scalar>, block = pivot_panel;
  static constexpr int copy_pitch = block + 1, copy_words = block * copy_pitch;
  static constexpr int scratch_words = 2 * copy_words + 8 * block;
  struct alignas(2 * sizeof(Scalar)) Pair {
    Scalar first, second;
  };
  Scalar* tile;    ///< A, then L\U: entry (r, c) at c·pitch + r
  Scalar* lower;   ///< X: entry (r, c) at c·pitch + r, undefined above the diagonal
  Scalar* upper;   ///< V: entry (r, c) at r·pitch + c, undefined below the diagonal
  Scalar* copies;  ///< [scratch_words] the next diagonal block, a copy for each of the two warps, then for
                   ///< each warp the rows of two pivots, the columns of two pivots and a dummy slot
  int blocks;  ///< number of blocks to process; rows and columns of the last one beyond the pivots are those
               ///< of an identity
  const PivotRule<Scalar>& rule;

  /// @param note called as note(pivot, is_perturbed) once for each pivot
  /// @param keep called as keep(k, warp, warps) by some of the block's warps once block rows k of L\U and X
  ///             and block columns k of L\U and V are final
  template <class Note, class Keep>
  __device__ __forceinline__ void run(const Note& note, const Keep& keep) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    for (int k = 0; k < blocks; ++k) {
      if (warp < 2) {
        copy_diagonal(k, copies + warp * copy_words);
        if (warp == 0) {
          eliminate_block<false>(k, note);
        } else {
          eliminate_block<true>(k, note);
        }
      } else if (k > 0) {
        update(k - 1, warp - 2, front_warps - 2);
        keep(k - 1, warp - 2, front_warps - 2);
      }
      __syncthreads();
      multiply_panels(k, warp);
      __syncthreads();
    }
    keep(blocks - 1, warp, front_warps);
  }

 private:
  __device__ Scalar& by_columns(Scalar* matrix, int i, int j, int r, int c) const {
    return matrix[(block * j + c) * pitch + block * i + r];
  }
  __device__ Scalar& by_rows(Scalar* matrix, int i, int j, int r, int c) const {
    return matrix[(block * i + r) * pitch + block * j + c];
  }

  /// Copies the diagonal block k, minus its last product.
  __device__ __forceinline__ void copy_diagonal(int k, Scalar* copy) const {
    BlockProduct<Scalar> product;
    if (k > 0) {
      product.add([&](int r, int p) { return by_columns(tile, k, k - 1, r, p); },
                  [&](int p, int c) { return by_columns(tile, k - 1, k, p, c); });
    }
    product.for_each([&](int r, int c, const Scalar& sum) {
      copy[c * copy_pitch + r] = by_columns(tile, k, k, r, c) - sum;
    });
    asm volatile("bar.sync 1, 64;" ::: "memory");  // the first warp overwrites tile data that both have read
  }

  // Elimination of a diagonal block by one warp: lanes below 16 hold one row each, the others a row of V or a
  // column of X. The pivot is broadcast by a shuffle; the rest of its line, needed later, goes through shared
  // memory, two values at a time. Columns of X lag one pivot behind, so that the column of L they need is
  // complete. Lines shift by one register per pivot, so that the loop fits the instruction cache. A branch on
  // each pivot's size would cost nearly as much as the rest: if any was too small, which is rare, the block
  // is repeated from its copy.

  /// @param of_lower whether to process columns of X instead of rows of V
  template <bool of_lower, class Note>
  __device__ __forceinline__ void eliminate_block(int k, const Note& note) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (__any_sync(0xffffffffu, eliminate<of_lower>(k, [](const Scalar& pivot, int) { return pivot; }))) {
      eliminate<of_lower>(k, [&](const Scalar& pivot, int j) {
        bool is_perturbed = false;
        const Scalar used = rule(pivot, is_perturbed);
        if (!of_lower && lane == 0) note(block * k + j, is_perturbed);
        return used;
      });
    } else if (!of_lower && lane < block) {
      note(block * k + lane, false);
    }
  }

  /// @param choose maps a computed pivot and its index to the pivot to use
  /// @returns true if any was smaller than the threshold
  template <bool of_lower, class Choose>
  __device__ __forceinline__ bool eliminate(int k, const Choose& choose) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, own = lane % block;
    const bool of_inverse = lane >= block, of_column = of_lower && of_inverse;
    const Scalar* const from = copies + (of_lower ? copy_words : 0) + own;
    // by parity of the pivot's index: its row after the pivot, then, one pivot late, its column of L
    Scalar* const lines = copies + 2 * copy_words + (of_lower ? 2 * block : 0);
    Scalar* const columns = lines + 2 * block;
    Scalar* const nowhere = columns + 2 * block + own;
    Scalar* to = &by_columns(tile, k, k, own, 0);
    int to_step = pitch;
    if (of_inverse) {
      to = of_lower ? &by_columns(lower, k, k, 0, own) - 1 : &by_rows(upper, k, k, own, 0);
      to_step = 1;
    }
    Scalar a[block + 1];  // from the next pivot's column, or the last one's row, on
#pragma unroll
    for (int e = 0; e < block; ++e) {
      const Scalar entry = from[e * copy_pitch];
      a[e] = of_inverse ? (own == e - (of_lower ? 1 : 0) ? Scalar(1) : Scalar(0)) : entry;
    }
    a[block] = of_column && own == block - 1 ? Scalar(1) : Scalar(0);
    if (of_column) columns[block + own] = Scalar(0);  // no update before the first pivot
    const Pair* const row_of = reinterpret_cast<const Pair*>(of_column ? columns : lines);
    int read = of_column ? block / 2 : 0;
    const auto threshold = rule.threshold;
    bool small = false;
#pragma unroll 1
    for (int j = 0; j < block; ++j, to += to_step) {
      const Scalar met = from_lane(a[0], j);
      small = small | (ScalarTraits<Scalar>::magnitude(met) < threshold);
      const int slot = j % 2 * block;
      if (lane == j) {
        Pair* const line = reinterpret_cast<Pair*>(lines + slot);
#pragma unroll
        for (int e = 1; e < block; e += 2) line[e / 2] = Pair{a[e], a[e + 1]};
      }
      const Scalar pivot = choose(met, j);
      const PivotDivision<Scalar> divide(pivot);
      __syncwarp();
      Pair line[block / 2];
#pragma unroll
      for (int e = 0; e < block / 2; ++e) line[e] = row_of[read + e];
      read = block / 2 - read;
      const Scalar l = divide(a[0]);
      Scalar factor = lane > j ? l : Scalar(0);
      if constexpr (of_lower) {  // one store by all lanes, some to the dummy slot, is cheaper than branches
        if (of_column) factor = a[0];
        Scalar* target = nowhere;
        if (of_column ? j > 0 : lane > j) target = of_column ? to : columns + (slot + lane - j - 1);
        *target = of_column ? a[0] : l;
      } else {
        *to = lane > j ? l : lane == j ? pivot : a[0];
      }
      __syncwarp();  // or the compiler would delay each load until the previous value is used
#pragma unroll
      for (int e = 1; e < block; e += 2) {
        a[e - 1] = a[e] - factor * line[e / 2].first;
        a[e] = a[e + 1] - factor * line[e / 2].second;
      }
    }
    if (of_column) *to = a[0];
    return small;
  }

  /// Multiplies block row k of U and X from the left by the block's X, block column k of L and V from the
  /// right by its V; one warp per block.
  __device__ __forceinline__ void multiply_panels(int k, int warp) const {
    const bool row = warp < blocks - 1;
    const int other = row ? warp : warp - (blocks - 1), o = other < k ? other : other + 1;
    if (o >= blocks) return;
    BlockProduct<Scalar> product;
    if (row) {
      Scalar* const matrix = o > k ? tile : lower;
      product.add([&](int r, int p) { return by_columns(lower, k, k, r, p); },
                  [&](int p, int c) { return by_columns(matrix, k, o, p, c); });
      __syncwarp();
      product.for_each([&](int r, int c, const Scalar& sum) { by_columns(matrix, k, o, r, c) = sum; });
    } else if (o > k) {
      product.add([&](int r, int p) { return by_columns(tile, o, k, r, p); },
                  [&](int p, int c) { return by_rows(upper, k, k, p, c); });
      __syncwarp();
      product.for_each([&](int r, int c, const Scalar& sum) { by_columns(tile, o, k, r, c) = sum; });
    } else {
      product.add([&](int r, int p) { return by_rows(upper, o, k, r, p); },
                  [&](int p, int c) { return by_rows(upper, k, k, p, c); });
      __syncwarp();
      product.for_each([&](int r, int c, const Scalar& sum) { by_rows(upper, o, k, r, c) = sum; });
    }
  }

  /// Subtracts products with block row and column k from all later blocks except the next diagonal one, one
  /// warp per block.
  __device__ __forceinline__ void update(int k, int first, int step) const {
    const int beyond = blocks - 1 - k, of_rows = beyond * blocks;
    for (int item = 1 + first; item < of_rows + beyond * (k + 1); item += step) {
      BlockProduct<Scalar> product;
      if (item < of_rows) {
        const int i = k + 1 + item / blocks, j = (k + 1 + item % blocks) % blocks;
        Scalar* const matrix = j > k ? tile : lower;
        product.add([&](int r, int p) { return by_columns(tile, i, k, r, p); },
                    [&](int p, int c) { return by_columns(matrix, k, j, p, c); });
        product.for_each([&](int r, int c, const Scalar& sum) {
          Scalar& entry = by_columns(matrix, i, j, r, c);
          entry = j == k ? -sum : entry - sum;
        });
      } else {
        const int i = k + 1 + (item - of_rows) / (k + 1), j = (item - of_rows) % (k + 1);
        product.add([&](int r, int p) { return by_rows(upper, j, k, r, p); },
                    [&](int p, int c) { return by_columns(tile, k, i, p, c); });
        product.for_each([&](int r, int c, const Scalar& sum) {
          Scalar& entry = by_rows(upper, j, i, r, c);
          entry = j == k ? -sum : entry - sum;
        });
      }
    }
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALSTEPCUDA_HPP
#define LUTRA_DIAGONALSTEPCUDA_HPP

#include "Lutra_TileWorkCuda.hpp"

namespace lutra::Impl {

/// Step from a diagonal tile to the next. Given the inverses of tile s, left in shared memory by its
/// factorization, and its unfinished neighbours, it computes L(s + 1, s), U(s, s + 1) and the last product of
/// tile s + 1, which overwrites tile s.
template <class Scalar>
struct DiagonalStep {
  static constexpr int edge = front_tile<Scalar>, pitch = edge + operand_pad<Scalar>;
  static constexpr int single = TileMemory<Scalar>::single;
  using Product = TileProduct<Scalar, 1>;
  using Layout = OperandLayout<Scalar, OperandOrder::outer, edge>;

  const Scalar* left;   ///< tile below tile s, by columns
  const Scalar* above;  ///< tile right of tile s, by rows
  const Scalar* own;    ///< tile s + 1 minus all products but the last, by columns

  /// @param signal called by all threads during the step
  template <class Signal>
  __device__ __forceinline__ void run(const Signal& signal) const {
    Scalar* const first = tile_memory<Scalar>().space;
    const Scalar* const lower_inverse = first + single;
    Scalar* const upper_inverse = first + 2 * single;
    Scalar* const second = upper_inverse;
    Product product, factor;
    send(first, left);
    product.for_each([&](int a, int b, Scalar& sum) { sum = own[b * edge + a]; });
    factor.for_each([](int, int, Scalar& sum) { sum = Scalar(0); });
    wait_for_slabs(0);
    __syncthreads();
    factor.template add_triangle<Layout, Layout>(first, upper_inverse, edge);
    __syncthreads();
    send(second, above);
    signal();
    factor.for_each([&](int a, int b, Scalar& sum) {
      first[b * pitch + a] = -sum;
      sum = Scalar(0);
    });
    wait_for_slabs(0);
    __syncthreads();
    factor.template add_triangle<Layout, Layout>(second, lower_inverse, edge);
    __syncthreads();
    factor.for_each([&](int a, int b, const Scalar& sum) { second[b * pitch + a] = sum; });
    __syncthreads();
    product.template add<Layout, Layout>(first, second, edge);
    __syncthreads();
    product.for_each([&](int a, int b, const Scalar& sum) { first[b * pitch + a] = sum; });
    __syncthreads();
  }

 private:
  /// Copies a tile from its hand-off buffer to shared memory, asynchronously.
  __device__ __forceinline__ static void send(Scalar* to, const Scalar* from) {
    using Piece = int4;
    constexpr int whole = sizeof(Piece) / sizeof(Scalar), pieces = edge / whole;  // per line
    const int position = static_cast<int>(threadIdx.x) % pieces * whole;
#pragma unroll
    for (int p = 0; p < edge; p += front_threads / pieces) {
      const int line = p + static_cast<int>(threadIdx.x) / pieces;
      __pipeline_memcpy_async(to + line * pitch + position, from + line * edge + position, sizeof(Piece));
    }
    __pipeline_commit();
  }
};

/// In double precision four warps compute L and four Uᵀ concurrently, 16 rows each, from operands read
/// directly into registers; then all compute the product. Rows g and g + 8 of a tensor-core operand are rows
/// 2g and 2g + 1 of these, so that two values are read and written at once.
template <>
struct DiagonalStep<double> {
  static constexpr int edge = front_tile<double>, pitch = edge + operand_pad<double>, parts = edge / 8;
  static constexpr int single = TileMemory<double>::single;
  /// Pitch of L and Uᵀ, free of bank conflicts for reads by a quarter warp
  static constexpr int factor_pitch = edge + 2;
  static_assert(edge * factor_pitch <= single);

  const double *left, *above, *own;

  template <class Signal>
  __device__ __forceinline__ void run(const Signal& signal) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const bool of_upper = warp >= front_warps / 2;
    double* const space = tile_memory<double>().space;
    double* const lower_factor = space;
    double* const upper_factor = space + 2 * single;
    Factor factor;
    factor.make((of_upper ? above : left) + first_row(), space + (of_upper ? single : 2 * single), signal);
    double before[4][4], sum[4][4] = {};
    load(before);
    __syncthreads();
    factor.store((of_upper ? upper_factor : lower_factor) + first_row());
    __syncthreads();
    multiply(sum, lower_factor + first_row(), upper_factor + first_column());
    __syncthreads();
    store(before, sum, space);
    __syncthreads();
  }

 private:
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  /// The first of this lane's two rows, and of its warp's 32 columns.
  __device__ __forceinline__ static int first_row() {
    return 16 * (static_cast<int>(threadIdx.x) / 32 % 4) + lane() / 4 * 2;
  }
  __device__ __forceinline__ static int first_column() { return 32 * (static_cast<int>(threadIdx.x) / 128); }

  __device__ __forceinline__ static double2 load_pair(const double* from) {
    return *reinterpret_cast<const double2*>(from);
  }
  __device__ __forceinline__ static void store_pair(double* to, double first, double second) {
    *reinterpret_cast<double2*>(to) = make_double2(first, second);
  }

  /// 16 rows of L or Uᵀ. Processes eight inner indices at a time, the last ones first, so that the number of
  /// live result parts grows as that of operand parts shrinks.
  struct Factor {
    double sum[parts][4];

    /// @param from    this lane's rows of the operand, by columns
    /// @param inverse right factor, by rows, an upper triangle
    template <class Signal>
    __device__ __forceinline__ void make(const double* from, const double* inverse, const Signal& signal) {
      const int g = lane() / 4, t = lane() % 4;
      double operand[parts][4];
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        const double2 a = load_pair(from + (8 * p + t) * edge), b = load_pair(from + (8 * p + t + 4) * edge);
        operand[p][0] = a.x;
        operand[p][1] = a.y;
        operand[p][2] = b.x;
        operand[p][3] = b.y;
      }
#pragma unroll
      for (int p = parts; p-- > 0;) {
        if (p == parts / 2) signal();  // values to publish have been stored meanwhile
        double b[parts][2];
#pragma unroll
        for (int c = p; c < parts; ++c) {
          const double* const at = inverse + (8 * p + t) * pitch + 8 * c + g;
          b[c][0] = at[0];
          b[c][1] = at[4 * pitch];
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[p][e] = 0;
#pragma unroll
        for (int c = parts; c-- > p;) multiply_add(sum[c], operand[p], b[c][0], b[c][1]);
      }
    }
    /// Stores the result by columns.
    __device__ __forceinline__ void store(double* to) const {
#pragma unroll
      for (int c = 0; c < parts; ++c) {
#pragma unroll
        for (int e = 0; e < 2; ++e)
          store_pair(to + (8 * c + lane() % 4 * 2 + e) * factor_pitch, sum[c][e], sum[c][2 + e]);
      }
    }
  };

  /// Loads this warp's 16 × 32 of tile s + 1, four parts of 16 × 8.
  __device__ __forceinline__ void load(double (&before)[4][4]) const {
    const double* const from = own + (first_column() + lane() % 4 * 2) * edge + first_row();
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const double2 pair = load_pair(from + (8 * c + e) * edge);
        before[c][e] = pair.x;
        before[c][2 + e] = pair.y;
      }
    }
  }
  __device__ __forceinline__ static void multiply(double (&sum)[4][4], const double* lower,
                                                  const double* upper) {
    const int g = lane() / 4, t = lane() % 4;
#pragma unroll 4
    for (int p = 0; p < edge; p += 8) {
      const int line = (p + 2 * t) * factor_pitch;
      const double2 first = load_pair(lower + line), second = load_pair(lower + line + factor_pitch);
      const double a[4] = {first.x, first.y, second.x, second.y};
#pragma unroll
      for (int c = 0; c < 4; ++c)
        multiply_add(sum[c], a, upper[line + 8 * c + g], upper[line + factor_pitch + 8 * c + g]);
    }
  }
  __device__ __forceinline__ static void store(const double (&before)[4][4], const double (&sum)[4][4],
                                               double* tile) {
    double* const to = tile + (first_column() + lane() % 4 * 2) * pitch + first_row();
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        store_pair(to + (8 * c + e) * pitch, before[c][e] - sum[c][e], before[c][2 + e] - sum[c][2 + e]);
    }
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALBLOCKSCUDA_HPP
#define LUTRA_DIAGONALBLOCKSCUDA_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockSolve.hpp"

namespace lutra::Impl {

// What warps and teams do with the diagonal blocks of their tasks.

template <class Real>
__device__ __forceinline__ Real shuffle_xor(Real value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_xor(const Kokkos::complex<Real>& value, int mask) {
  return Kokkos::complex<Real>(__shfl_xor_sync(0xffffffffu, value.real(), mask),
                               __shfl_xor_sync(0xffffffffu, value.imag(), mask));
}
template <class Real>
__device__ __forceinline__ Real shuffle_from(Real value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_from(const Kokkos::complex<Real>& value, int lane) {
  return Kokkos::complex<Real>(__shfl_sync(0xffffffffu, value.real(), lane),
                               __shfl_sync(0xffffffffu, value.imag(), lane));
}
/// Sum over the lanes of a row, in all of them.
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_lanes(Scalar (&sum)[Stride], int lanes) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
#pragma unroll
    for (int r = 0; r < Stride; ++r) sum[r] += shuffle_xor(sum[r], mask);
  }
}

/// Row `row` of V·s, in all lanes of the row. `from_row(j, r)` gives row j's s to every lane.
template <int Stride, class Scalar, class Value, class Data, class FromRow>
__device__ __forceinline__ void multiply_inverse(const Data& data, BlockShape shape,
                                                 const Value (&inverse)[most_inverse_entries], int row,
                                                 int row_lane, const FromRow& from_row, Scalar (&y)[Stride]) {
#pragma unroll
  for (int r = 0; r < Stride; ++r) y[r] = Scalar(0);
#pragma unroll
  for (int e = 0; e < most_inverse_entries; ++e) {
    if (e >= shape.inverse_entries()) break;
    const int j = row_lane + (e << shape.log_lanes);
    const Scalar v = j <= row ? Scalar(data.value(&inverse[e])) : Scalar(0);
#pragma unroll
    for (int r = 0; r < Stride; ++r) y[r] += v * from_row(j < shape.rows() ? j : 0, r);
  }
  sum_over_lanes(y, shape.lanes());
}

/// The lines of the inverses of a narrow task, on their way to the first-level cache while its warp waits for
/// what the blocks need: registers are short.
template <class Value>
struct TouchedLines {
  static constexpr int line_bytes = 128;
  static constexpr int most =
      (most_block_rows * static_cast<int>(sizeof(Value)) + line_bytes - 1) / line_bytes;
  int word[most] = {};

  __device__ __forceinline__ void touch(const Value* inverses, int entries, int lane) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(inverses);
    const int size = entries * narrow_lanes * static_cast<int>(sizeof(Value));
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int at = (k * narrow_lanes + lane) * line_bytes;
      if (at < size) asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(word[k]) : "l"(bytes + at));
    }
  }
  /// Waits for them.
  __device__ __forceinline__ void arrive() const {
#pragma unroll
    for (int k = 0; k < most; ++k) asm volatile("" ::"r"(word[k]));
  }
};

inline constexpr int inverse_entries_at_once = 8;
inline constexpr int most_wide_inverse_entries = 2;  ///< a lane of a wide task holds

/// The block of a narrow task that is too large for registers, by its warp.
template <class Scalar, class Value, class Data>
struct WarpBlock {
  const Data& data;
  const Value* packed;  ///< of the task
  BlockShape shape;
  int rows;
  int lane;

  __device__ __forceinline__ int row() const { return lane >> shape.log_lanes; }
  __device__ __forceinline__ int row_lane() const { return lane & (shape.lanes() - 1); }
  /// Value of row j, to every lane.
  __device__ __forceinline__ Scalar from_row(const Scalar& own, int j) const {
    return shuffle_from(own, (j << shape.log_lanes) & (narrow_lanes - 1));
  }
  /// Where T's entries of the lane's row stand, transposed above the inverse.
  __device__ __forceinline__ const Value* own_row() const {
    return packed + (row() >> shape.log_lanes) * narrow_lanes + (row() & (shape.lanes() - 1));
  }

  /// The lane's row of V·s, in all lanes of the row.
  __device__ __forceinline__ Scalar multiply_inverse(const Scalar& s) const {
    constexpr int count = inverse_entries_at_once;
    Scalar y[2] = {Scalar(0), Scalar(0)};
    for (int first = 0; first << shape.log_lanes < rows; first += count) {
      Value v[count];
#pragma unroll
      for (int e = 0; e < count; ++e) v[e] = packed[(first + e) * narrow_lanes + lane];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = row_lane() + ((first + e) << shape.log_lanes);
        const Scalar other = from_row(s, j);
        if (j <= row()) y[e % 2] += Scalar(data.value(&v[e])) * other;
      }
    }
    return sum_over_row(y[0] + y[1]);
  }
  /// The lane's row of s − T·y, in all lanes of the row.
  __device__ __forceinline__ Scalar residual(const Scalar& s, const Scalar& y) const {
    constexpr int count = inverse_entries_at_once;
    Scalar product(0);
    for (int first = 0; first << shape.log_lanes < rows; first += count) {
      Value t[count];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = row_lane() + ((first + e) << shape.log_lanes);
        t[e] = j < row() ? own_row()[j << shape.log_lanes] : Value(0);
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = row_lane() + ((first + e) << shape.log_lanes);
        const Scalar other = from_row(y, j);
        if (j < row()) product += Scalar(data.value(&t[e])) * other;
      }
    }
    return s - sum_over_row(product) - y / Scalar(data.value(own_row() + (row() << shape.log_lanes)));
  }
  __device__ __forceinline__ Scalar substitute(Scalar s) const {
    constexpr int count = inverse_entries_at_once;
    for (int first = 0; first < rows; first += count) {
      Value t[count];
#pragma unroll
      for (int e = 0; e < count; ++e)
        t[e] = first + e <= row() ? own_row()[(first + e) << shape.log_lanes] : Value(0);
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = first + e;
        if (j == row()) s = Scalar(data.value(&t[e])) * s;
        const Scalar x = from_row(s, j);
        if (j < row()) s -= Scalar(data.value(&t[e])) * x;
      }
    }
    return s;
  }
  /// Solves: sums in, solutions out, in all lanes of a row.
  __device__ __forceinline__ Scalar solve(const Scalar& s, BlockUse use) const {
    if (use == BlockUse::substitute) return substitute(s);
    Scalar y = multiply_inverse(s);
    if (use == BlockUse::refined) y += multiply_inverse(residual(s, y));
    return y;
  }

 private:
  __device__ __forceinline__ Scalar sum_over_row(const Scalar& part) const {
    Scalar sum[1] = {part};
    sum_over_lanes(sum, shape.lanes());
    return sum[0];
  }
};

/// Row `row` of s − T·y, in all lanes of the row; s and y in are the row's own.
template <int Stride, class Scalar, class Block, class FromRow>
__device__ __forceinline__ void block_residual(const Block& block, BlockShape shape, int row, int row_lane,
                                               const Scalar (&s)[Stride], const Scalar (&y)[Stride],
                                               const FromRow& from_row, Scalar (&residual)[Stride]) {
#pragma unroll
  for (int r = 0; r < Stride; ++r) residual[r] = Scalar(0);
  for (int j = row_lane; j < row; j += shape.lanes()) {
    const Scalar t = block.entry(row, j);
#pragma unroll
    for (int r = 0; r < Stride; ++r) residual[r] -= t * from_row(j, r);
  }
  sum_over_lanes(residual, shape.lanes());
  const Scalar reciprocal = block.inverse(row, row);
#pragma unroll
  for (int r = 0; r < Stride; ++r) residual[r] += s[r] - y[r] / reciprocal;
}

/// Substitution in a block: rows one after the other, each handed on by `broadcast(j, r, value)`, which all
/// lanes of the task call. Lanes that do not take part leave their sums alone.
template <int Stride, class Scalar, class Block, class Broadcast>
__device__ __forceinline__ void substitute_block(const Block& block, BlockShape shape, int row,
                                                 bool takes_part, Scalar (&sum)[Stride],
                                                 const Broadcast& broadcast) {
  for (int j = 0; j < shape.rows(); ++j) {
    Scalar t(0);
    if (takes_part && j <= row) t = j < row ? block.entry(row, j) : block.inverse(row, row);
#pragma unroll
    for (int r = 0; r < Stride; ++r) {
      if (takes_part && j == row) sum[r] = t * sum[r];
      const Scalar x = broadcast(j, r, sum[r]);
      if (takes_part && j < row) sum[r] -= t * x;
    }
  }
}

/// The diagonal block of a wide task, by the whole team; sums in, solutions out, in all lanes of a row.
template <int Stride, class Scalar, class Value, class Data, class Task, class Position>
__device__ __forceinline__ void apply_wide_block(const Data& data, const Task& task, const Position& at,
                                                 BlockUse use, const Value (&inverse)[most_inverse_entries],
                                                 Scalar* shared, Scalar (&sum)[Stride]) {
  const PackedBlock<Scalar, Data, Task> block{data, task, at.block};
  const auto from_row = [&](int j, int r) { return shared[j * Stride + r]; };
  const auto share = [&](const Scalar(&values)[Stride]) {
    __syncthreads();
    if (at.lane == 0) {
#pragma unroll
      for (int r = 0; r < Stride; ++r) shared[at.row * Stride + r] = values[r];
    }
    __syncthreads();
  };
  if (use == BlockUse::substitute) {
    substitute_block(block, task.shape, at.row, at.active, sum, [&](int j, int r, const Scalar& value) {
      if (at.row == j && at.lane == 0) shared[j * Stride + r] = value;
      __syncthreads();
      return shared[j * Stride + r];
    });
    return;
  }
  Scalar y[Stride];
  share(sum);
  multiply_inverse(data, task.shape, inverse, at.row, at.lane, from_row, y);
  if (use == BlockUse::refined) {
    Scalar residual[Stride], correction[Stride];
    share(y);
    block_residual(block, task.shape, at.active ? at.row : 0, at.lane, sum, y, from_row, residual);
    share(residual);
    multiply_inverse(data, task.shape, inverse, at.row, at.lane, from_row, correction);
#pragma unroll
    for (int r = 0; r < Stride; ++r) y[r] += correction[r];
  }
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = y[r];
}

/// The diagonal blocks of a narrow task, by shuffles; blocks in registers have up to eight rows, so that
/// substitution does where an inverse would lose accuracy.
template <int Stride, class Scalar, class Value, class Data, class Task, class Position>
__device__ __forceinline__ void apply_narrow_blocks(const Data& data, const Task& task, const Position& at,
                                                    BlockUse use,
                                                    const Value (&inverse)[most_inverse_entries], int lane,
                                                    Scalar (&sum)[Stride]) {
  const PackedBlock<Scalar, Data, Task> block{data, task, at.block};
  const int lane_of_row0 = lane & ~(task.shape.block_lanes() - 1);
  const int row_lanes = task.shape.lanes();
  Scalar s[Stride];
#pragma unroll
  for (int r = 0; r < Stride; ++r) s[r] = sum[r];
  const auto from_row = [&](int j, int r) { return shuffle_from(s[r], lane_of_row0 + j * row_lanes); };
  multiply_inverse(data, task.shape, inverse, at.row, at.lane, from_row, sum);
  const bool takes_part = at.active && use != BlockUse::inverse;
  if (!__any_sync(0xffffffffu, takes_part)) return;
  substitute_block(block, task.shape, at.row, takes_part, s, [&](int j, int r, const Scalar& value) {
    return shuffle_from(value, lane_of_row0 + j * row_lanes);
  });
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = takes_part ? s[r] : sum[r];
}

}  // namespace lutra::Impl

#endif

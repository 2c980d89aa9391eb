// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALBLOCKSCUDA_HPP
#define LUTRA_DIAGONALBLOCKSCUDA_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_ShufflesCuda.hpp"

namespace lutra::Impl {

// Diagonal blocks of narrow and wide tasks.

/// Reads constant data now: the compiler might move a plain load past a wait that precedes its use.
__device__ __forceinline__ BlockUse read_now(const BlockUse* position) {
  unsigned value;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(position));
  return static_cast<BlockUse>(value);
}

/// Row `row` of V·s, in all lanes of the row. `from_row(j)` returns row j's s to every lane.
template <class Scalar, class Value, class Data, class FromRow>
__device__ __forceinline__ Scalar multiply_inverse(const Data& data, BlockShape shape,
                                                   const Value (&inverse)[max_inverse_entries], int row,
                                                   int row_lane, const FromRow& from_row) {
  Scalar y(0);
#pragma unroll
  for (int e = 0; e < max_inverse_entries; ++e) {
    if (e >= shape.inverse_entries()) break;
    const int j = row_lane + (e << shape.log_lanes);
    const Scalar v = j <= row ? Scalar(data.value(&inverse[e])) : Scalar(0);
    y += v * from_row(j < shape.rows() ? j : 0);
  }
  return sum_over_lanes(y, shape.lanes());
}

/// Layout of the packed inverses of a narrow task in shared memory, entry e of lane l at e·pitch + l. The
/// pitch of 33 avoids bank conflicts between the entries of a lane and between the lanes of an entry.
inline constexpr int staged_pitch = narrow_lanes + 1;

/// Shared memory of a warp for a narrow task with blocks.
template <class Scalar, class Value>
struct WarpShared {
  Scalar sums[max_block_rows];  ///< by row, read by all lanes
  Value inverses[max_block_rows * staged_pitch];
};

/// Copies to shared memory asynchronously.
template <class Value>
__device__ __forceinline__ void copy_later(Value* to, const Value* from) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "n"(sizeof(Value))
      : "memory");
}
/// Waits for the copies of this thread.
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Copies the packed inverses of a narrow task to shared memory while its warp waits for the inputs of the
/// blocks. Registers are scarce, and L1 cannot hold the inverses of all warps.
template <class Value>
__device__ __forceinline__ void stage_inverses(const Value* packed, int entries, int lane, Value* staged) {
  __syncwarp();  // the previous task may still be read
  for (int e = 0; e < entries; ++e)
    copy_later(staged + e * staged_pitch + lane, packed + e * narrow_lanes + lane);
}

/// Layout of staged inverses in wide tasks: value p of the packed inverse is stored at p + p / 16, so that T,
/// which is read transposed, has no bank conflicts either.
__device__ __forceinline__ int staged_wide_position(int p) {
  return p + p / (narrow_lanes / 2);
}

/// A staged diagonal block T and its inverse V.
template <bool Wide, class Scalar, class Value, class Data>
struct StagedBlock {
  const Data& data;
  const Value* staged;  ///< values of the block's first lane
  BlockShape shape;
  __device__ __forceinline__ Scalar inverse(int i, int j) const {
    const int lane = (i << shape.log_lanes) + (j & (shape.lanes() - 1)), e = j >> shape.log_lanes;
    const int at = Wide ? staged_wide_position(e * wide_lanes + lane) : e * staged_pitch + lane;
    return Scalar(data.value(staged + at));
  }
  /// Entry below the diagonal.
  __device__ __forceinline__ Scalar entry(int i, int j) const { return inverse(j, i); }
};

/// In flight per lane; larger: more latency hidden, more registers.
inline constexpr int inverse_entries_at_once = 8;
inline constexpr int max_wide_inverse_entries = 2;  ///< entries per lane of a wide task

/// A block of a narrow task that is too large for registers, processed by its warp.
template <class Scalar, class Value, class Data>
struct WarpBlock {
  const Data& data;
  WarpShared<Scalar, Value>& shared;
  BlockShape shape;
  int rows;
  int lane;

  __device__ __forceinline__ int row() const { return lane >> shape.log_lanes; }
  __device__ __forceinline__ int row_lane() const { return lane & (shape.lanes() - 1); }
  /// T's entries of the lane's row, stored transposed above the inverse.
  __device__ __forceinline__ const Value* own_row() const {
    return shared.inverses + (row() >> shape.log_lanes) * staged_pitch + (row() & (shape.lanes() - 1));
  }
  /// Publishes the values of the rows to all lanes of the warp.
  __device__ __forceinline__ void share(const Scalar& own) const {
    __syncwarp();
    if (row_lane() == 0) shared.sums[row()] = own;
    __syncwarp();
  }

  /// The lane's row of V·s, in all lanes of the row.
  __device__ __forceinline__ Scalar multiply_inverse(const Scalar& s) const {
    share(s);
    return product(row() + 1, [&](int e, int) { return shared.inverses[e * staged_pitch + lane]; });
  }
  /// The lane's row of s − T·y, in all lanes of the row.
  __device__ __forceinline__ Scalar residual(const Scalar& s, const Scalar& y) const {
    share(y);
    const Value* const t = own_row();
    const Scalar others = product(row(), [&](int, int j) { return t[min(j, row()) << shape.log_lanes]; });
    return s - others - y / Scalar(data.value(t + (row() << shape.log_lanes)));
  }
  __device__ __forceinline__ Scalar substitute(Scalar s) const {
    constexpr int count = inverse_entries_at_once;
    const Value* const own = own_row();
    for (int first = 0; first < rows; first += count) {
      Value t[count];
#pragma unroll
      for (int e = 0; e < count; ++e) t[e] = own[min(first + e, row()) << shape.log_lanes];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = first + e;
        if (j == row()) s = Scalar(data.value(&t[e])) * s;
        const Scalar x = shuffle_from(s, (j << shape.log_lanes) & (narrow_lanes - 1));
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
  /// Sum of factors times shared values of the first `end` rows, in all lanes of the row.
  /// @param factor factor(e, j) for the lane's e-th row, which is j
  template <class Factor>
  __device__ __forceinline__ Scalar product(int end, const Factor& factor) const {
    constexpr int count = inverse_entries_at_once;
    Scalar y[4] = {Scalar(0), Scalar(0), Scalar(0), Scalar(0)};
    for (int first = 0; first << shape.log_lanes < rows; first += count) {
      Value v[count];
      Scalar other[count];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = row_lane() + ((first + e) << shape.log_lanes);
        v[e] = factor(first + e, j);
        other[e] = shared.sums[j];
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        const int j = row_lane() + ((first + e) << shape.log_lanes);
        if (j < end) y[e % 4] += Scalar(data.value(&v[e])) * other[e];
      }
    }
    return sum_over_lanes((y[0] + y[1]) + (y[2] + y[3]), shape.lanes());
  }
};

/// Row `row` of s − T·y, in all lanes of the row; s and y on entry belong to the row itself.
template <class Scalar, class Block, class FromRow>
__device__ __forceinline__ Scalar block_residual(const Block& block, BlockShape shape, int row, int row_lane,
                                                 const Scalar& s, const Scalar& y, const FromRow& from_row) {
  Scalar residual(0);
  for (int j = row_lane; j < row; j += shape.lanes()) residual -= block.entry(row, j) * from_row(j);
  residual = sum_over_lanes(residual, shape.lanes());
  return residual + (s - y / block.inverse(row, row));
}

/// Substitution in a block, row by row. All lanes of the task call `broadcast(j, value)`, which returns row
/// j's value. Lanes without a row keep their sums.
template <class Scalar, class Block, class Broadcast>
__device__ __forceinline__ void substitute_block(const Block& block, BlockShape shape, int row,
                                                 bool takes_part, Scalar& sum, const Broadcast& broadcast) {
  for (int j = 0; j < shape.rows(); ++j) {
    Scalar t(0);
    if (takes_part && j <= row) t = j < row ? block.entry(row, j) : block.inverse(row, row);
    if (takes_part && j == row) sum = t * sum;
    const Scalar x = broadcast(j, sum);
    if (takes_part && j < row) sum -= t * x;
  }
}

/// Solves with the diagonal block of a wide task in the whole thread block: from the sum of the lane's row to
/// its solution, in all lanes of the row.
/// @param staged the packed inverse in shared memory, complete at the next barrier
/// @param shared [rows], no longer read by any thread
template <class Scalar, class Value, class Data, class Position>
__device__ __forceinline__ Scalar apply_wide_block(const Data& data, BlockShape shape, const Position& at,
                                                   BlockUse use, const Value* staged, Scalar* shared,
                                                   Scalar sum) {
  const StagedBlock<true, Scalar, Value, Data> block{data, staged, shape};
  const auto from_row = [&](int j) { return shared[j]; };
  const auto share = [&](const Scalar& value) {
    if (at.lane == 0) shared[at.row] = value;
    __syncthreads();  // before any row is read
  };
  if (use == BlockUse::substitute) {
    __syncthreads();
    substitute_block(block, shape, at.row, at.active, sum, [&](int j, const Scalar& value) {
      if (at.row == j && at.lane == 0) shared[j] = value;
      __syncthreads();
      return shared[j];
    });
    return sum;
  }
  share(sum);
  Value inverse[max_inverse_entries];
#pragma unroll
  for (int e = 0; e < max_wide_inverse_entries; ++e) {
    if (e < shape.inverse_entries())
      inverse[e] = staged[staged_wide_position(e * wide_lanes + static_cast<int>(threadIdx.x))];
  }
  const auto multiply = [&] {
    return multiply_inverse<Scalar>(data, shape, inverse, at.row, at.lane, from_row);
  };
  Scalar y = multiply();
  if (use == BlockUse::refined) {
    __syncthreads();  // after the last read of the sums
    share(y);
    const Scalar residual = block_residual(block, shape, at.active ? at.row : 0, at.lane, sum, y, from_row);
    __syncthreads();  // after the last read of y
    share(residual);
    y += multiply();
  }
  return y;
}

/// Solves with the diagonal blocks of a narrow task by shuffles. Blocks in registers have up to eight rows,
/// so that substitution is cheap enough if an inverse would lose accuracy.
template <class Scalar, class Value, class Data, class Position>
__device__ __forceinline__ Scalar apply_narrow_blocks(const Data& data, BlockShape shape, const Position& at,
                                                      BlockUse use, const Value* staged, int lane,
                                                      Scalar sum) {
  const int lane_of_row0 = lane & ~(shape.block_lanes() - 1);
  const StagedBlock<false, Scalar, Value, Data> block{data, staged + lane_of_row0, shape};
  Value inverse[max_inverse_entries];
#pragma unroll
  for (int e = 0; e < max_inverse_entries; ++e) {
    if (e < shape.inverse_entries()) inverse[e] = staged[e * staged_pitch + lane];
  }
  const auto of_row = [&](int j, const Scalar& value) {
    return shuffle_from(value, lane_of_row0 + (j << shape.log_lanes));
  };
  const Scalar x =
      multiply_inverse<Scalar>(data, shape, inverse, at.row, at.lane, [&](int j) { return of_row(j, sum); });
  const bool takes_part = at.active && use != BlockUse::inverse;
  if (!__any_sync(0xffffffffu, takes_part)) return x;
  substitute_block(block, shape, at.row, takes_part, sum, of_row);
  return takes_part ? sum : x;
}

}  // namespace lutra::Impl

#endif

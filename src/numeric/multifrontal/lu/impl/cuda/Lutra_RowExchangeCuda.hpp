// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWEXCHANGECUDA_HPP
#define LUTRA_ROWEXCHANGECUDA_HPP

#include "Lutra_FrontAssemblyCuda.hpp"

namespace lutra::Impl {

// Threshold pivoting among the rows that a warp or a block holds.

/// The largest `size` of all lanes of a warp, and the first `line` that has it. All lanes return the same.
template <class Real>
__device__ __forceinline__ void best_of_lanes(Real& size, int& line) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const Real other = __shfl_xor_sync(0xffffffffu, size, step);
    const int other_line = __shfl_xor_sync(0xffffffffu, line, step);
    if (!(other > size || (other == size && other_line < line))) continue;
    size = other;
    line = other_line;
  }
}

/// Pivot row for pivot `begin` in [begin, end): row `begin` if the rule accepts it, else the first row with
/// the largest entry. By a warp, the same for all lanes; NaN is never the largest.
/// @param at entries of the pivot's column
template <class Scalar, class At>
__device__ __forceinline__ int choose_row(int begin, int end, const PivotRule<Scalar>& rule, const At& at) {
  using Real = RealOf<Scalar>;
  Real greatest(-1);
  int row = begin;
  for (int r = begin + static_cast<int>(threadIdx.x) % 32; r < end; r += 32) {
    const Real size = ScalarTraits<Scalar>::magnitude(at(r));
    if (!(size > greatest)) continue;
    greatest = size;
    row = r;
  }
  best_of_lanes(greatest, row);
  return ScalarTraits<Scalar>::magnitude(at(begin)) >= rule.keep * greatest ? begin : row;
}

/// Stores the original rows or columns of a block's pivots.
/// @param to    `row_of_pivot` or `column_of_pivot` of the block's first pivot
/// @param first permuted index of the block's first pivot
/// @param order row or column at each pivot, relative to the block; read by threads thread, thread + step, …
template <class Position, class Order>
__device__ __forceinline__ void note_order(Position* to, std::int64_t first, int pivots, int thread, int step,
                                           const Order& order) {
  for (int j = thread; j < pivots; j += step) to[first + j] = static_cast<Position>(first + order(j));
}
/// Adds to the number of interchanges; by one thread.
template <class Data>
__device__ __forceinline__ void count_exchanges(const Data& data, int exchanges) {
  if (exchanges > 0) Kokkos::atomic_add(&data.outcome->interchanged, static_cast<std::int64_t>(exchanges));
}

/// A lane's row in a front of up to 32 rows, and the number of interchanges.
struct LaneOrder {
  int row = static_cast<int>(threadIdx.x) % 32;
  int exchanges = 0;

  /// Interchanges the row for pivot j into place, in a column-major front in shared memory.
  template <class Scalar>
  __device__ __forceinline__ void bring_up(Scalar* S, int ld, int size, int pivots, int j,
                                           const PivotRule<Scalar>& rule) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int chosen = choose_row(j, rule.block_end(j, pivots), rule, [&](int r) { return S[r + j * ld]; });
    if (chosen == j) return;
    __syncwarp();
    if (lane < size) {
      const Scalar kept = S[j + lane * ld];
      S[j + lane * ld] = S[chosen + lane * ld];
      S[chosen + lane * ld] = kept;
    }
    const int own = __shfl_sync(0xffffffffu, row, j), other = __shfl_sync(0xffffffffu, row, chosen);
    if (lane == j) row = other;
    if (lane == chosen) row = own;
    ++exchanges;
    __syncwarp();
  }
};

/// Shared memory a block needs to interchange rows of a matrix in its registers.
template <int R, class Scalar>
struct RowExchange {
  Scalar row[16 * R];  ///< the pivot's row in transit
  int order[16 * R];   ///< original row at each position
  int exchanges;

  /// Initializes the order; by all threads, followed by a barrier.
  __device__ void start() {
    for (int r = static_cast<int>(threadIdx.x); r < 16 * R; r += static_cast<int>(blockDim.x)) order[r] = r;
    if (threadIdx.x == 0) exchanges = 0;
  }

  /// Interchanges rows j and `chosen` in all columns; afterwards `row` holds the new pivot row.
  /// @param kept buffer for the other row
  template <class Matrix>
  __device__ __forceinline__ void exchange(Matrix& A, int j, int chosen, Scalar* kept) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
    visit_row(A, x, j, [&](Scalar& entry, int c) { kept[y + 16 * c] = entry; });
    visit_row(A, x, chosen, [&](Scalar& entry, int c) { row[y + 16 * c] = entry; });
    if (threadIdx.x == 0) {
      const int own = order[j];
      order[j] = order[chosen];
      order[chosen] = own;
      ++exchanges;
    }
    __syncthreads();
    visit_row(A, x, j, [&](Scalar& entry, int c) { entry = row[y + 16 * c]; });
    visit_row(A, x, chosen, [&](Scalar& entry, int c) { entry = kept[y + 16 * c]; });
  }

 private:
  /// Visits this thread's entries of a row, if any.
  template <class Matrix, class Visit>
  __device__ __forceinline__ static void visit_row(Matrix& A, int x, int r, const Visit& visit) {
    if (x != r % 16) return;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (i != r / 16) continue;
#pragma unroll
      for (int c = 0; c < R; ++c) visit(A.a[i][c], c);
    }
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICEXCHANGECUDA_HPP
#define LUTRA_SYMMETRICEXCHANGECUDA_HPP

#include "Lutra_RowExchangeCuda.hpp"
#include "Lutra_ShufflesCuda.hpp"
#include "Lutra_SymmetricPivots.hpp"

namespace lutra::Impl {

// Symmetric interchanges among the rows and columns that a warp or a block holds (Lutra_SymmetricPivots.hpp).

/// Best pivot among the columns begin … end − 1. By a warp, the same for all lanes.
/// @param alone    quality of a column as a pivot of order one
/// @param together quality of a column with its partner
/// @param partner  partner of a column
template <class Real, class Alone, class Together, class Partner>
__device__ __forceinline__ SymmetricPivot choose_symmetric(int begin, int end, Real keep, const Alone& alone,
                                                           const Together& together, const Partner& partner) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Real best(0), of_pair(0);
  int column = begin, of_two = begin;
  for (int c = begin + lane; c < end; c += 32) {
    const Real one = alone(c), two = together(c);
    if (one > best) {
      best = one;
      column = c;
    }
    if (two > of_pair) {
      of_pair = two;
      of_two = c;
    }
  }
  best_of_lanes(best, column);
  best_of_lanes(of_pair, of_two);
  if (best >= keep || !(of_pair > best)) return {column};
  return {of_two, partner(of_two)};
}

/// A lane's row and column in a front of up to 32 rows, and the number of interchanges.
struct SymmetricLaneOrder {
  int row = static_cast<int>(threadIdx.x) % 32, column = row;
  int exchanges = 0;
  int settled = 0;  ///< pivots before it are final

  /// Interchanges the next pivot, of order one or two, into place, in a column-major front in shared memory.
  template <class Scalar>
  __device__ __forceinline__ void bring_up(Scalar* S, int ld, int size, int pivots, int j,
                                           const PivotRule<Scalar>& rule) {
    if (j < settled) return;
    settled = j + 1;
    const auto at = [&](int r, int c) { return S[r + c * ld]; };
    if (rule.kind == Interchanges::pairs) return order_pair(S, ld, size, pivots, j);
    if (is_accepted(at, j, size, rule)) return;
    const SymmetricPivotSearch<Scalar, decltype(at)> search{at, j, pivots, size};
    const SymmetricPivot pivot = choose_symmetric(
        j, pivots, rule.strict(), [&](int c) { return search.quality_alone(c); },
        [&](int c) { return search.quality_of_pair(c); }, [&](int c) { return search.partner(c); });
    __syncwarp();
    exchange_both(S, ld, size, j, pivot.first);
    if (pivot.second < 0) return;
    exchange_both(S, ld, size, j + 1, pivot.second == j ? pivot.first : pivot.second);
    couple(S, ld, size, j);
  }

 private:
  /// Interchanges the rows of a pivot of order two.
  template <class Scalar>
  __device__ __forceinline__ void couple(Scalar* S, int ld, int size, int j) {
    exchange_rows(S, ld, size, j, j + 1);
    swap_lanes(row, j, j + 1);
    settled = j + 2;
  }
  template <class Scalar>
  __device__ __forceinline__ void order_pair(Scalar* S, int ld, int size, int pivots, int j) {
    if (j % 2 != 0 || j + 1 >= pivots) return;
    const PairOrder order = order_of_pair(S[j + j * ld], S[j + 1 + j * ld], S[j + 1 + (j + 1) * ld]);
    __syncwarp();
    if (order == PairOrder::reversed) exchange_both(S, ld, size, j, j + 1);
    if (order == PairOrder::coupled) couple(S, ld, size, j);
  }
  /// Whether the diagonal entry j is large enough.
  template <class Scalar, class At>
  __device__ __forceinline__ static bool is_accepted(const At& at, int j, int size,
                                                     const PivotRule<Scalar>& rule) {
    using Real = RealOf<Scalar>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Real largest = lane > j && lane < size ? ScalarTraits<Scalar>::magnitude(at(lane, j)) : Real(0);
    int unused = lane;
    best_of_lanes(largest, unused);
    return ScalarTraits<Scalar>::magnitude(at(j, j)) >= rule.strict() * largest;
  }
  __device__ __forceinline__ static void swap_lanes(int& value, int a, int b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int of_a = __shfl_sync(0xffffffffu, value, a), of_b = __shfl_sync(0xffffffffu, value, b);
    if (lane == a) value = of_b;
    if (lane == b) value = of_a;
  }
  template <class Scalar>
  __device__ __forceinline__ static void exchange_rows(Scalar* S, int ld, int size, int a, int b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < size) exchange(S[a + lane * ld], S[b + lane * ld]);
    __syncwarp();
  }
  template <class Scalar>
  __device__ __forceinline__ void exchange_both(Scalar* S, int ld, int size, int a, int b) {
    if (a == b) return;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    exchange_rows(S, ld, size, a, b);
    if (lane < size) exchange(S[lane + a * ld], S[lane + b * ld]);
    __syncwarp();
    swap_lanes(row, a, b);
    swap_lanes(column, a, b);
    ++exchanges;
  }
};

/// Shared memory a block needs for symmetric interchanges of a matrix in its registers.
template <int R, class Scalar>
struct SymmetricExchange {
  using Real = RealOf<Scalar>;
  Scalar first[16 * R], second[16 * R];         ///< lines in transit
  Real diagonal[16 * R], beside[16 * R];        ///< of each column: magnitude of the diagonal entry, largest
                                                ///< other one below the eliminated rows
  Real among[16 * R];                           ///< the largest other one among the pivots
  int partner[16 * R];                          ///< its row
  int row_order[16 * R], column_order[16 * R];  ///< original row and column at each position
  int exchanges;

  /// Initializes the orders; by all threads, followed by a barrier.
  __device__ void start() {
    for (int r = static_cast<int>(threadIdx.x); r < 16 * R; r += static_cast<int>(blockDim.x))
      row_order[r] = column_order[r] = r;
    if (threadIdx.x == 0) exchanges = 0;
  }

  /// Whether the diagonal entry j is large enough. By a warp, the same for all.
  /// @param column entries of column j; zero beyond the matrix
  __device__ __forceinline__ static bool is_accepted(const Scalar* column, int j,
                                                     const PivotRule<Scalar>& rule) {
    Real largest(0);
    for (int r = j + 1 + static_cast<int>(threadIdx.x) % 32; r < 16 * R; r += 32) {
      const Real own = ScalarTraits<Scalar>::magnitude(column[r]);
      if (own > largest) largest = own;
    }
    int unused = static_cast<int>(threadIdx.x) % 32;
    best_of_lanes(largest, unused);
    return ScalarTraits<Scalar>::magnitude(column[j]) >= rule.strict() * largest;
  }

  /// Orders the columns j and j + 1, an even number of columns from the first, by their 2 × 2 block. Their
  /// entries are held by adjacent lanes, and by lanes 16 apart.
  /// @param jb part of the matrix that contains column j, known when the caller is compiled
  template <class Matrix>
  __device__ __forceinline__ void order_pair(Matrix& A, int jb, int j, PairOrder order) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16, jj = j % 16;
#pragma unroll
    for (int c = 0; c < R; ++c) {
      const Scalar other = shuffle_xor(A.a[jb][c], 1);
      if (x / 2 == jj / 2) A.a[jb][c] = other;
    }
    const bool reversed = order == PairOrder::reversed;
    if (reversed) {
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const Scalar other = shuffle_xor(A.a[i][jb], 16);
        if (y / 2 == jj / 2) A.a[i][jb] = other;
      }
    }
    if (threadIdx.x == 0) note_pair(j, order);
  }
  /// Notes the order of the columns j and j + 1; by one thread.
  __device__ __forceinline__ void note_pair(int j, PairOrder order) {
    if (order == PairOrder::kept) return;
    exchange(row_order[j], row_order[j + 1]);
    if (order == PairOrder::coupled) return;
    exchange(column_order[j], column_order[j + 1]);
    atomicAdd(&exchanges, 1);
  }

  /// Interchanges the next pivot, chosen among all, to j, and of a pair the second column to j + 1. By all
  /// threads, after a barrier. @returns the order of the pivot
  template <class Matrix>
  __device__ int bring_up(Matrix& A, int j, int pivots, const PivotRule<Scalar>& rule) {
    measure(A, j, pivots);
    __syncthreads();
    const SymmetricPivot pivot = choose_symmetric(
        j, pivots, rule.strict(), [&](int c) { return pivot_quality(diagonal[c], beside[c]); },
        [&](int c) {
          const int p = partner[c];
          return p == c ? Real(0) : pivot_quality(among[c], Kokkos::max(beside[c], beside[p]));
        },
        [&](int c) { return partner[c]; });
    const int first = pivot.first, second = pivot.second;
    exchange_both(A, j, first);
    if (second < 0) return 1;
    exchange_both(A, j + 1, second == j ? first : second);
    exchange_lines<true>(A, j, j + 1);
    if (threadIdx.x == 0) exchange(row_order[j], row_order[j + 1]);
    return 2;
  }

 private:
  /// Measures the columns j … pivots − 1; the 16 threads of a column are adjacent lanes.
  template <class Matrix>
  __device__ void measure(const Matrix& A, int j, int pivots) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
    for (int c = 0; c < R; ++c) {
      const int column = y + 16 * c;
      Real largest(0), pivotal(0), own(0);
      int row = column;
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const int r = x + 16 * i;
        const Real size = r >= j ? ScalarTraits<Scalar>::magnitude(A.a[i][c]) : Real(0);
        if (r == column) {
          own = size;
          continue;
        }
        if (size > largest) largest = size;
        if (r < pivots && size > pivotal) {
          pivotal = size;
          row = r;
        }
      }
#pragma unroll
      for (int step = 8; step > 0; step /= 2) {
        const Real beyond = __shfl_xor_sync(0xffffffffu, largest, step);
        if (beyond > largest) largest = beyond;
        const Real other = __shfl_xor_sync(0xffffffffu, pivotal, step);
        const int other_row = __shfl_xor_sync(0xffffffffu, row, step);
        if (other > pivotal || (other == pivotal && other_row < row)) {
          pivotal = other;
          row = other_row;
        }
      }
      if (x == column % 16) {
        diagonal[column] = own;
        beside[column] = largest;
        among[column] = pivotal;
        partner[column] = pivotal > Real(0) ? row : column;
      }
    }
  }

  template <class Matrix>
  __device__ void exchange_both(Matrix& A, int a, int b) {
    if (a == b) return;
    exchange_lines<true>(A, a, b);
    exchange_lines<false>(A, a, b);
    if (threadIdx.x != 0) return;
    exchange(row_order[a], row_order[b]);
    exchange(column_order[a], column_order[b]);
    ++exchanges;
  }

  /// Interchanges two rows, or columns, in all others.
  template <bool rows, class Matrix>
  __device__ void exchange_lines(Matrix& A, int a, int b) {
    __syncthreads();
    visit<rows>(A, a, [&](Scalar& entry, int other) { first[other] = entry; });
    visit<rows>(A, b, [&](Scalar& entry, int other) { second[other] = entry; });
    __syncthreads();
    visit<rows>(A, a, [&](Scalar& entry, int other) { entry = second[other]; });
    visit<rows>(A, b, [&](Scalar& entry, int other) { entry = first[other]; });
  }
  /// Visits this thread's entries of a line, with their positions in it.
  template <bool rows, class Matrix, class Visit>
  __device__ __forceinline__ static void visit(Matrix& A, int line, const Visit& visit_entry) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
    if ((rows ? x : y) != line % 16) return;
#pragma unroll
    for (int own = 0; own < R; ++own) {
      if (own != line / 16) continue;
#pragma unroll
      for (int other = 0; other < R; ++other) {
        if constexpr (rows) {
          visit_entry(A.a[own][other], y + 16 * other);
        } else {
          visit_entry(A.a[other][own], x + 16 * other);
        }
      }
    }
  }
};

/// Coefficients of U(s, i) = G·L(i, s)ᵀ, or ᴴ, for a diagonal tile s: G is diagonal but for pivots of order
/// two (Lutra_SymmetricPivots.hpp), with
///
///     G = ⎡ c    d̄   ⎤   for a pair whose L is ⎡ 1   ⎤ and U ⎡ b  c ⎤
///         ⎣ d  −l·d̄ ⎦                          ⎣ l 1 ⎦       ⎣    d ⎦
template <int edge, class Scalar>
struct MirrorWeights {
  Scalar own[edge], other[edge];
  int partner[edge];  ///< of each pivot; itself in pivots of order one

  /// @param tile  L\U of the tile, by columns @param size leading dimension
  /// @param first permuted index of the tile's first pivot
  template <class Data, class Mirrored>
  __device__ void load(const Data& data, std::int64_t first, int pivots, const Scalar* tile,
                       std::int64_t size, const Mirrored& mirrored) {
    const int j = static_cast<int>(threadIdx.x);
    if (j >= pivots) return;
    const auto starts = [&](int k) {
      return k >= 0 && k + 1 < pivots && starts_pair(data.row_of_pivot, data.column_of_pivot, first + k);
    };
    const auto at = [&](int r, int c) { return tile[r + c * size]; };
    const bool is_first = starts(j), is_second = !is_first && starts(j - 1);
    partner[j] = is_first ? j + 1 : is_second ? j - 1 : j;
    other[j] = is_first ? mirrored(at(j + 1, j + 1)) : is_second ? at(j, j) : Scalar(0);
    own[j] = is_first ? at(j, j + 1) : is_second ? -(at(j, j - 1) * mirrored(at(j, j))) : at(j, j);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTKERNELS_HPP
#define LUTRA_FRONTKERNELS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_PivotRule.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Strided.hpp"

namespace lutra::Impl {

// Dense kernels of one front, for a team of any size:
//
//          pivots  cb_rows
//        +---------+------+
//        |   L\U   |  U   |  upper, by rows        factorize_front, blocks of pivot_block pivots [begin,
//        end):
//        +---------+------+                           eliminate_columns   L and U of the block's columns
//        |    L    |  CB  |  contribution,            solve_rows          U right of the block
//        +---------+------+  by columns               subtract_product    Schur complement of later pivots
//          lower, by columns                        then the contribution block, by all pivots at once
//
// Each kernel ends with a team barrier: its results are visible to the whole team on return.

/// The three blocks of a front of `pivots` + `cb_rows` rows and columns.
template <class Scalar>
struct DenseFront {
  Scalar* lower;         ///< (pivots + cb_rows) × pivots by columns
  Scalar* upper;         ///< pivots × cb_rows by rows
  Scalar* contribution;  ///< cb_rows × cb_rows by columns
  int pivots;
  int cb_rows;
  KOKKOS_FUNCTION int size() const { return pivots + cb_rows; }
  KOKKOS_FUNCTION Scalar& at(int row, int column) const {
    if (column < pivots) return lower[row + static_cast<std::int64_t>(column) * size()];
    if (row < pivots) return upper[static_cast<std::int64_t>(row) * cb_rows + (column - pivots)];
    return contribution[(row - pivots) + static_cast<std::int64_t>(column - pivots) * cb_rows];
  }
};

/// Ignores interchanges.
struct NoteNoExchange {
  KOKKOS_FUNCTION void operator()(int, int) const {}
};

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
inline constexpr int product_columns = 4;
/// Pivots per block; right-looking updates of the other columns follow each block.
inline constexpr int pivot_block = 32;

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

/// Pivot row for column j within the block: j itself if |diagonal| ≥ keep · max |column j|, else the first
/// row with the largest entry in column j.
template <class Member, class Scalar>
KOKKOS_FUNCTION int choose_row(const Member& team, const DenseFront<Scalar>& front, int j,
                               const PivotRule<Scalar>& rule) {
  using Real = RealOf<Scalar>;
  const Scalar* const column = front.lower + static_cast<std::int64_t>(j) * front.size();
  const int end = rule.block_end(j, front.pivots);
  Real greatest(0);
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, j, end),
      [&](const int r, Real& most) {
        const Real size = ScalarTraits<Scalar>::magnitude(column[r]);
        if (size > most) most = size;
      },
      Kokkos::Max<Real>(greatest));
  if (ScalarTraits<Scalar>::magnitude(column[j]) >= rule.keep * greatest) return j;
  int chosen = end;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, j, end),
      [&](const int r, int& least) {
        if (r < least && ScalarTraits<Scalar>::magnitude(column[r]) >= greatest) least = r;
      },
      Kokkos::Min<int>(chosen));
  return chosen < end ? chosen : j;  // a NaN on the diagonal keeps row j
}

/// Interchanges two pivot rows in all columns.
template <class Member, class Scalar>
KOKKOS_FUNCTION void exchange_rows(const Member& team, const DenseFront<Scalar>& front, int a, int b) {
  const auto exchange = [](Scalar& x, Scalar& y) {
    const Scalar kept = x;
    x = y;
    y = kept;
  };
  const std::int64_t ld = front.size(), cb_rows = front.cb_rows;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots),
                       [&](const int c) { exchange(front.lower[a + c * ld], front.lower[b + c * ld]); });
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.cb_rows), [&](const int c) {
    exchange(front.upper[a * cb_rows + c], front.upper[b * cb_rows + c]);
  });
  team.team_barrier();
}

/// Eliminates the pivots [begin, end) in their own columns: L below the diagonal, U in the pivot block.
/// @param note_pivot    called by one thread with the pivot's index and whether it was perturbed
/// @param note_exchange called by one thread with the two rows of an interchange
template <class Member, class Scalar, class NotePivot, class NoteExchange>
KOKKOS_FUNCTION void eliminate_columns(const Member& team, const DenseFront<Scalar>& front, int begin,
                                       int end, const PivotRule<Scalar>& rule, const NotePivot& note_pivot,
                                       const NoteExchange& note_exchange) {
  const std::int64_t ld = front.size();
  for (int j = begin; j < end; ++j) {
    Scalar* const pivot_column = front.lower + j * ld;
    if (rule.interchanges()) {
      const int row = choose_row(team, front, j, rule);
      team.team_barrier();  // all threads have read the column before the interchange writes it
      if (row != j) {
        exchange_rows(team, front, j, row);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { note_exchange(j, row); });
      }
    }
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      bool is_perturbed = false;
      pivot_column[j] = rule(pivot_column[j], is_perturbed);
      note_pivot(j, is_perturbed);
    });
    team.team_barrier();  // the pivot is final
    const Scalar pivot = pivot_column[j];
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.size() - j - 1),
                         [&](const int r) { pivot_column[j + 1 + r] /= pivot; });
    team.team_barrier();  // column j of L is complete
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, j + 1, end), [&](const int c) {
      Scalar* const column = front.lower + c * ld;
      const Scalar factor = column[j];
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, front.size() - j - 1),
                           [&](const int r) { column[j + 1 + r] -= pivot_column[j + 1 + r] * factor; });
    });
    team.team_barrier();  // column j + 1 is ready to be divided
  }
}

/// Applies the inverse of the unit lower block of the pivots [begin, end) to their rows of U right of the
/// block.
template <class Member, class Scalar>
KOKKOS_FUNCTION void solve_rows(const Member& team, const DenseFront<Scalar>& front, int begin, int end) {
  const std::int64_t ld = front.size();
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots - end), [&](const int c) {
    Scalar* const column = front.lower + (end + c) * ld;
    for (int j = begin; j < end; ++j) {
      for (int i = j + 1; i < end; ++i) column[i] -= front.lower[i + j * ld] * column[j];
    }
  });
  for (int j = begin; j + 1 < end; ++j) {
    const Scalar* const from = front.upper + static_cast<std::int64_t>(j) * front.cb_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, j + 1, end), [&](const int i) {
      Scalar* const row = front.upper + static_cast<std::int64_t>(i) * front.cb_rows;
      const Scalar factor = front.lower[i + j * ld];
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, front.cb_rows),
                           [&](const int c) { row[c] -= factor * from[c]; });
    });
    team.team_barrier();  // row j + 1 of U is complete
  }
  team.team_barrier();
}

/// Partial LU of a front: `lower` and `upper` become L\U, rows in elimination order; `contribution` becomes
/// the Schur complement. Right-looking by blocks of pivots; the contribution is updated once, by all pivots.
template <class Member, class Scalar, class NotePivot, class NoteExchange = NoteNoExchange>
KOKKOS_FUNCTION void factorize_front(const Member& team, const DenseFront<Scalar>& front,
                                     const PivotRule<Scalar>& rule, const NotePivot& note_pivot,
                                     const NoteExchange& note_exchange = {}) {
  const std::int64_t ld = front.size();
  for (int begin = 0; begin < front.pivots; begin += pivot_block) {
    const int end = begin + pivot_block < front.pivots ? begin + pivot_block : front.pivots;
    const int depth = end - begin, rest = front.pivots - end;
    eliminate_columns(team, front, begin, end, rule, note_pivot, note_exchange);
    solve_rows(team, front, begin, end);
    if (rest == 0) continue;
    const Scalar* const L = front.lower + begin * ld;
    Scalar* const next = front.lower + end * ld;
    subtract_product(team, front.size() - end, rest, depth, L + end, ld, {next + begin, 1, ld}, next + end,
                     ld);
    // rows of U as columns of its transpose
    Scalar* const U = front.upper + static_cast<std::int64_t>(begin) * front.cb_rows;
    subtract_product(team, front.cb_rows, rest, depth, U, front.cb_rows, {L + end, ld, 1},
                     front.upper + static_cast<std::int64_t>(end) * front.cb_rows, front.cb_rows);
  }
  subtract_product(team, front.cb_rows, front.cb_rows, front.pivots, front.lower + front.pivots, ld,
                   {front.upper, front.cb_rows, 1}, front.contribution, front.cb_rows);
}

}  // namespace lutra::Impl

#endif

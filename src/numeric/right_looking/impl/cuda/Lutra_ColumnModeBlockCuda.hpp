// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNMODEBLOCKCUDA_HPP
#define LUTRA_COLUMNMODEBLOCKCUDA_HPP

#include <type_traits>

#include "Lutra_ColumnOptions.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_RightLooking.hpp"
#include "Lutra_SharedEntryCuda.hpp"

// A block of modes A, B and C (Lutra_ColumnModesCuda.hpp). `Launch` is ColumnLaunch; tests run the blocks on
// hosts.

namespace lutra::Impl {

/// Column j as the kernels use it.
struct ModeColumn {
  Ordinal j;
  Offset row_first, up_first;  ///< start of L(:, j) by columns and of U(j, :) by rows
  int row_count, up_count;

  template <class Launch>
  __device__ __forceinline__ ModeColumn(const Launch& launch, Ordinal column) : j(column) {
    row_first = launch.column_diagonal[j] + 1;
    row_count = static_cast<int>(launch.column_map[j + 1] - row_first);
    up_first = launch.row_diagonal[j] + 1;
    up_count = static_cast<int>(launch.row_map[j + 1] - up_first);
  }
  template <class Launch>
  __device__ __forceinline__ auto pivot(const Launch& launch) const {
    using Scalar = std::remove_cvref_t<decltype(*launch.values)>;
    bool small = false;
    return PivotRule<Scalar>{static_cast<RealOf<Scalar>>(launch.threshold())}(launch.values[row_first - 1],
                                                                              small);
  }
};

/// Sets entries first, first + step, … of the array to L(:, j), or back to zero.
template <class Launch, class Scalar>
__device__ __forceinline__ void write_dense(const Launch& launch, const ModeColumn& column, Scalar* dense,
                                            bool zero, int first, int step) {
  for (int r = first; r < column.row_count; r += step)
    dense[launch.column_entries[column.row_first + r]] =
        zero ? Scalar(0) : launch.values[column.row_first + r];
}

/// Updates sub-column number `up` of column j with threads first, first + step, ….
template <ColumnFormat format, class Launch, class Scalar>
__device__ __forceinline__ void update_subcolumn(const Launch& launch, const ModeColumn& column,
                                                 const Scalar& pivot, int up, const Scalar* dense, int first,
                                                 int step) {
  const Offset at = launch.row_to_column[column.up_first + up];  // of U(j, k)
  const Ordinal k = launch.row_entries[column.up_first + up];
  const Scalar factor = launch.values[at] / pivot;
  if constexpr (format == ColumnFormat::dense) {
    for (Offset q = at + 1 + first; q < launch.column_map[k + 1]; q += step) {
      const Scalar lower = dense[launch.column_entries[q]];
      if (lower != Scalar(0)) subtract_shared(launch.values + q, lower * factor);
    }
  } else {
    for (int r = first; r < column.row_count; r += step) {
      Offset to;
      if constexpr (format == ColumnFormat::map) {
        to = launch.column_map[k] +
             launch.map[launch.map_begin[column.j] + static_cast<Offset>(up) * column.row_count + r];
      } else {
        to = find_row(launch.column_entries, at + 1 + r, launch.column_map[k + 1],
                      launch.column_entries[column.row_first + r]);
      }
      subtract_shared(launch.values + to, launch.values[column.row_first + r] * factor);
    }
  }
}

/// Position of a thread in its block, and of the block in its grid.
struct ModeBlock {
  int block, blocks, thread, threads;
};

/// Modes A and B: columns[0, count), a block each at a time.
/// @param dense [blocks · n] zero; format dense only
template <ColumnFormat format, class Launch, class Scalar>
__device__ __forceinline__ void work_columns(const Launch& launch, const Ordinal* columns, Ordinal count,
                                             Scalar* dense, const ModeBlock& at) {
  constexpr bool is_dense = format == ColumnFormat::dense;
  if constexpr (is_dense) dense += static_cast<Offset>(at.block) * launch.n;
  for (Ordinal c = at.block; c < count; c += at.blocks) {
    const ModeColumn column(launch, columns[c]);
    if constexpr (is_dense) {
      write_dense(launch, column, dense, false, at.thread, at.threads);
      __syncthreads();
    }
    const Scalar pivot = column.pivot(launch);
    for (int up = at.thread / 32; up < column.up_count; up += at.threads / 32)
      update_subcolumn<format>(launch, column, pivot, up, dense, at.thread % 32, 32);
    if constexpr (is_dense) {
      __syncthreads();
      write_dense(launch, column, dense, true, at.thread, at.threads);
      __syncthreads();
    }
  }
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MESSAGETASKS_HPP
#define LUTRA_MESSAGETASKS_HPP

#include <cstdint>

#include "Lutra_RowTasks.hpp"

namespace lutra::Impl {

// Device data of a triangular solve by columns, in the order in which messages arrive: Algorithm 1 of N.
// Ding, Y. Liu, S. Williams and X. S. Li, A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver (SIAM
// ACDA 2021). The paper's names are in parentheses.

/// Some rows of an off-diagonal block of a column. A warp multiplies them by x.
struct MessagePiece {
  std::int64_t first_row = 0, end_row = 0;  ///< offsets in `row_in_block` and `row_begin`
  int row = 0;                              ///< row that receives the product
  bool dense = false;
};

/// A block column on this rank. Members of `task` that have another meaning than by rows: `first_block` and
/// `end_block` delimit `pieces`, and the targets are always those of the broadcast tree.
struct MessageColumn {
  RowTask task;
  int row = -1;          ///< of the diagonal block if it is on this rank
  int next_row = -1;     ///< row of the next sweep whose right-hand side is x of this column
  bool takes_b = false;  ///< the first sweep
};

/// A block row on this rank.
struct MessageRow {
  int width = 0;
  int contributions = 0;  ///< (fmod) pieces, sums of children, and x of the sweep before
  std::int64_t sum = 0;   ///< (lsum) offset in `sums`
  RowSlot parent;         ///< slot on another rank for the sum; rank −1 where the diagonal block is local
};

/// A message that this rank expects: x of a column, or a child's sum for a row.
struct MessageArrival {
  std::int64_t signal = 0;  ///< (flag_x, flag_lsum)
  int index = 0;            ///< column or row
  std::int64_t offset = 0;  ///< of its slot, in rows of right-hand sides
};

template <class Scalar>
struct MessageArrays {
  RowTaskArrays<Scalar> data;  ///< entries, diagonal blocks, b, sums and slots
  const MessageColumn* columns;
  const MessagePiece* pieces;
  const MessageRow* rows;
  const MessageArrival *x_arrivals, *sum_arrivals;
  const RowSlot* targets;
  int n_columns, n_x_arrivals, n_sum_arrivals;
  int* missing;         ///< [rows] (fmod) contributions that have not been added
  int* has_x;           ///< [columns] 1 once x has arrived from another rank
  unsigned char* mask;  ///< [x arrivals + sum arrivals] (M_c, M_r) 1 once the message has been taken
};

}  // namespace lutra::Impl

#endif

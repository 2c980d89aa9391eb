// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKFRONTSCUDA_HPP
#define LUTRA_BLOCKFRONTSCUDA_HPP

#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SymmetricExchangeCuda.hpp"

namespace lutra::Impl {

// Fronts, and tiles of fronts, processed by one block of 256 threads.

/// Largest number, per dimension, of 16 × 16 parts of a front that one block holds in registers.
/// At most 72 registers of 255 for 36 doubles, 64 for 16 complex numbers; the rest is for the exchange and
/// addresses.
template <class Scalar>
inline constexpr int max_register_parts = sizeof(Scalar) > 8 ? 4 : 6;

/// An R·16 × R·16 matrix over 16 × 16 threads; thread (x, y) holds the entries (x + 16·i, y + 16·j).
template <int R, class Scalar>
struct RegisterMatrix {
  Scalar a[R][R];
};

/// Exchange of the pivot's column and row through shared memory, double-buffered by the pivot's parity, so
/// that one barrier per pivot suffices.
template <int R, class Scalar>
struct PivotExchange {
  Scalar column[2][16 * R];
  Scalar row[2][16 * R];
  Scalar next[2];  ///< the diagonal entry after the pivot
};

/// What a block needs in shared memory for its interchanges.
template <bool symmetric, int R, class Scalar>
using BlockExchange = std::conditional_t<symmetric, SymmetricExchange<R, Scalar>, RowExchange<R, Scalar>>;

/// Eliminates `pivots` pivots of a matrix in registers.
/// @param lines started BlockExchange for interchanges; null without them
template <int R, bool interchanges, bool symmetric, class Scalar, class Note>
__device__ __forceinline__ void eliminate_registers(RegisterMatrix<R, Scalar>& A, int pivots,
                                                    const PivotRule<Scalar>& rule,
                                                    PivotExchange<R, Scalar>& exchange,
                                                    BlockExchange<symmetric, R, Scalar>* lines,
                                                    const Note& note) {
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  int settled = 0;  // pivots before it are final
#pragma unroll
  for (int jb = 0; jb < R; ++jb) {
    for (int jj = 0; jj < 16; ++jj) {
      const int j = 16 * jb + jj;
      if (j >= pivots) return;
      const int parity = j & 1;
      const auto share_lines = [&] {
        if (y == jj) {
#pragma unroll
          for (int i = jb; i < R; ++i) exchange.column[parity][x + 16 * i] = A.a[i][jb];
        }
        if (x == jj) {
#pragma unroll
          for (int c = jb; c < R; ++c) exchange.row[parity][y + 16 * c] = A.a[jb][c];
        }
        if (symmetric && x == jj + 1 && y == jj + 1) exchange.next[parity] = A.a[jb][jb];
        __syncthreads();
      };
      share_lines();
      int chosen = j;
      const Scalar* pivot_row = exchange.row[parity];
      if constexpr (interchanges && symmetric) {
        if (rule.kind == Interchanges::pairs) {
          if (jj % 2 == 0 && j + 1 < pivots) {
            const PairOrder order = order_of_pair(exchange.column[parity][j], exchange.column[parity][j + 1],
                                                  exchange.next[parity]);
            if (order != PairOrder::kept) {
              __syncthreads();  // all have read the lines
              lines->order_pair(A, jb, j, order);
              share_lines();
            }
          }
        } else if (j >= settled) {
          settled = j + 1;
          if (!lines->is_accepted(exchange.column[parity], j, rule)) {
            settled = j + lines->bring_up(A, j, pivots, rule);
            share_lines();
          }
        }
      } else if constexpr (interchanges) {
        chosen =
            choose_row(j, rule.block_end(j, pivots), rule, [&](int r) { return exchange.column[parity][r]; });
        if (chosen != j) {
          lines->exchange(A, j, chosen, exchange.row[parity]);
          pivot_row = lines->row;
        }
      }
      bool is_perturbed = false;
      const Scalar pivot = rule(exchange.column[parity][chosen], is_perturbed);
      const Scalar inverse = reciprocal(pivot);
      Scalar l[R], u[R];
#pragma unroll
      for (int i = jb; i < R; ++i) {
        const int from = interchanges && x + 16 * i == chosen ? j : x + 16 * i;
        l[i] = x + 16 * i > j ? exchange.column[parity][from] * inverse : Scalar(0);
        u[i] = y + 16 * i > j ? pivot_row[y + 16 * i] : Scalar(0);
      }
#pragma unroll
      for (int i = jb; i < R; ++i) {
#pragma unroll
        for (int c = jb; c < R; ++c) A.a[i][c] -= l[i] * u[c];
      }
      if (y == jj) {
#pragma unroll
        for (int i = jb; i < R; ++i) {
          if (x + 16 * i > j) A.a[i][jb] = l[i];
        }
        if (x == jj) A.a[jb][jb] = pivot;
      }
      if (threadIdx.x == 0) note(j, is_perturbed);
    }
  }
}

/// Stores the orders of the interchanged lines of a block's pivots, and their number.
/// @param first permuted index of the block's first pivot
template <class Data, int R, class Scalar>
__device__ void note_orders(const Data& data, std::int64_t first, int pivots,
                            const RowExchange<R, Scalar>& lines) {
  const int thread = static_cast<int>(threadIdx.x);
  note_order(data.row_of_pivot, first, pivots, thread, front_threads, [&](int j) { return lines.order[j]; });
  if (thread == 0) count_exchanges(data, lines.exchanges);
}
template <class Data, int R, class Scalar>
__device__ void note_orders(const Data& data, std::int64_t first, int pivots,
                            const SymmetricExchange<R, Scalar>& lines) {
  const int thread = static_cast<int>(threadIdx.x);
  note_order(data.row_of_pivot, first, pivots, thread, front_threads,
             [&](int j) { return lines.row_order[j]; });
  note_order(data.column_of_pivot, first, pivots, thread, front_threads,
             [&](int j) { return lines.column_order[j]; });
  if (thread == 0) count_exchanges(data, lines.exchanges);
}

/// Index of a task in its launch.
struct TaskNumber {
  int task, tasks;
};

/// Clears panels that children will add to.
template <class Scalar>
__device__ void clear_panels(const FrontLaunch<Scalar>& launch, const FrontTask& task,
                             const TaskNumber& number) {
  const int thread = static_cast<int>(threadIdx.x);
  if (task.after > 0) {
    if (thread < 32) wait_for_chunks(launch, task.after, task.front, thread);
    __syncthreads();
  }
#pragma unroll 4
  for (Offset p = task.parts[0].entries + thread; p < task.parts[0].entries_end; p += front_threads)
    launch.data.panels[p] = Scalar(0);
  __syncthreads();
  if (thread != 0) return;
  fence();
  count_task(launch.progress, number.task, number.tasks);
}

/// Factorizes a front of up to 16·R rows with one block: assembled in shared memory, eliminated in registers.
template <int R, bool interchanges, bool symmetric, class Scalar>
__device__ void work_block_front(const FrontLaunch<Scalar>& launch, const FrontTask& task, const Front& front,
                                 const PivotRule<Scalar>& rule, Scalar* S, const TaskNumber& number) {
  const auto& data = launch.data;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int size = front.size(), ld = size | 1;
  const FrontWindow all{0, size, 0, size};
  assemble_whole<BlockAssembly>(
      launch, front, task.parts[0].small, task.wide_end, S, ld, [&](const ChildRef& child) {
        add_child_part<(R + 1) / 2, Scalar>(launch, child, 0, child.cb_rows, 0, child.cb_rows, all,
                                            [&](int r, int k) -> Scalar& { return S[r + k * ld]; });
      });
  const int x = thread % 16, y = thread / 16;
  RegisterMatrix<R, Scalar> A;
#pragma unroll
  for (int i = 0; i < R; ++i) {
#pragma unroll
    for (int c = 0; c < R; ++c) {
      const bool there = x + 16 * i < size && y + 16 * c < size;
      A.a[i][c] = there ? S[x + 16 * i + (y + 16 * c) * ld] : Scalar(0);
    }
  }
  __syncthreads();  // S has been read; the exchange overwrites it
  auto& exchange = *reinterpret_cast<PivotExchange<R, Scalar>*>(S);
  auto* const lines = reinterpret_cast<BlockExchange<symmetric, R, Scalar>*>(&exchange + 1);
  if constexpr (interchanges) lines->start();
  eliminate_registers<R, interchanges, symmetric>(
      A, front.pivots, rule, exchange, lines,
      [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); });
  if constexpr (interchanges) {
    __syncthreads();
    note_orders(data, front.first_pivot, front.pivots, *lines);
  }
  if (task.after > 0) {
    if (warp == 0) wait_for_chunks(launch, task.after, task.front, lane);
    __syncthreads();
  }
  DenseFront<Scalar> dense = data.dense(front, task.front);
  dense.contribution = data.contributions + launch.contributions[task.front].contribution;
#pragma unroll
  for (int i = 0; i < R; ++i) {
#pragma unroll
    for (int c = 0; c < R; ++c) {
      if (x + 16 * i < size && y + 16 * c < size) dense.at(x + 16 * i, y + 16 * c) = A.a[i][c];
    }
  }
  __syncthreads();
  if (thread != 0) return;
  fence();
  write_flag(launch.done + task.front, launch.run);
  count_task(launch.progress, number.task, number.tasks);
}

}  // namespace lutra::Impl

#endif

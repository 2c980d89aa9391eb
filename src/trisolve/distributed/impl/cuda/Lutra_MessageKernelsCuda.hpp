// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MESSAGEKERNELSCUDA_HPP
#define LUTRA_MESSAGEKERNELSCUDA_HPP

#include "Lutra_MessageTasks.hpp"
#include "Lutra_RowTasksCuda.hpp"
#include "Lutra_SharedEntryCuda.hpp"
#include "Lutra_TaskQueueCuda.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

// The kernels WAIT and SOLVE of Algorithm 1 (Lutra_MessageTasks.hpp), on two streams of each rank's device.
//
//     other ranks          WAIT, two blocks                      SOLVE, a block per column
//     x(K) ──────────────► block 0: flag_x(K) → has_x(K) ──────► waits; or for fmod(K) = 0, then
//                                                                  x(K) = L(K,K)⁻¹·(b(K) + lsum(K))
//     ◄───────────────────────────────────────────────────────── x(K) to the children of the broadcast tree
//                                                                  a warp per piece of L(I,K):
//     lsum(I) ───────────► block 1: lsum(I) += , fmod(I) −= 1      lsum(I) −= L(I,K)·x(K), fmod(I) −= 1
//     ◄─── lsum(I) to the parent of the reduction tree, from whichever makes fmod(I) zero ───┘
//
// Departures: SOLVE's blocks take columns by a ticket, so that any number of columns is solved by the blocks
// that are resident; a column waits for earlier columns only, so the first incomplete one always runs. Both
// sweeps run in one launch: x of the first is a contribution to the row of the second. Warps, not threads,
// send sums. Waits end by the watchdog.

/// Columns are multiplied by warps of this many threads a block.
inline constexpr int message_threads = 256;
inline constexpr int wait_threads = 1024;

/// Ends a wait of a kernel if a rank has aborted or the watchdog has expired, in which case it aborts all.
class MessageWatch {
 public:
  /// To be called at each unsuccessful poll. @returns whether to give up
  template <class Window>
  __device__ bool expired(const Window& window) {
    constexpr int polls_a_look = 256;
    if (++m_polls % polls_a_look != 0) return false;
    if (window.aborted() != 0) return true;
    if (!m_timer.exceeds(window.watchdog)) return false;
    window.abort_all();
    return true;
  }

 private:
  WaitTimer<> m_timer;
  int m_polls = 0;
};

/// Counts a contribution to a row that lanes of this warp have added; sends the sum if it is the last one.
/// By a warp.
template <class Scalar, class Window>
__device__ __forceinline__ void count_contribution(const MessageArrays<Scalar>& arrays, const Window& window,
                                                   int row_number, unsigned long long epoch) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();
  int left = 0;
  if (lane == 0) {
    fence();  // the additions before the count; and those of others before the sum is read
    left = atomicSub(arrays.missing + row_number, 1) - 1;
    fence();
  }
  left = __shfl_sync(0xffffffffu, left, 0);
  const MessageRow row = arrays.rows[row_number];
  if (left > 0 || row.parent.rank < 0) return;
  const auto k = arrays.data.k;
  window.put_by_warp(row.parent.rank, static_cast<std::size_t>(row.parent.offset * k) * sizeof(Scalar),
                     arrays.data.sums + row.sum * k, static_cast<std::size_t>(row.width * k),
                     static_cast<std::size_t>(row.parent.signal), epoch);
}

/// lsum(I) −= L(I, K)·x(K) for the rows of a piece; lanes share the entries of a row. By a warp.
template <class Scalar>
__device__ __forceinline__ void subtract_piece(const MessageArrays<Scalar>& arrays, const MessagePiece& piece,
                                               const Scalar* x) {
  const RowTaskArrays<Scalar>& data = arrays.data;
  const auto k = static_cast<int>(data.k);
  int columns = 1;  // right-hand sides at a time
  while (columns < k && columns < 32) columns *= 2;
  const int lane = static_cast<int>(threadIdx.x) % 32, part = lane / columns, parts = 32 / columns;
  Scalar* const sum = data.sums + arrays.rows[piece.row].sum * k;
  for (std::int64_t r = piece.first_row; r < piece.end_row; ++r) {
    const std::int64_t begin = data.row_begin[r], end = data.row_begin[r + 1];
    for (int first = 0; first < k; first += columns) {
      const int c = first + lane % columns;
      Scalar dot(0);
      for (std::int64_t e = begin + part; e < end && c < k; e += parts) {
        const std::int64_t column = piece.dense ? e - begin : data.column_in_block[e];
        dot += data.values[e] * x[column * k + c];
      }
      dot = RowBlockTeam().sum_lanes(dot, columns);
      if (part == 0 && c < k) subtract_shared(sum + data.row_in_block[r] * k + c, dot);
    }
  }
}

/// Waits until a flag of this device has a value; by all threads of a block. @returns false if given up
template <class Window>
__device__ bool wait_for_message(const int* flag, int value, const Window& window) {
  int given_up = 0;
  if (threadIdx.x == 0) {
    MessageWatch watch;
    while (load_flag(flag) != value && given_up == 0) given_up = watch.expired(window) ? 1 : 0;
  }
  return __syncthreads_or(given_up) == 0;
}

/// The kernel SOLVE. @param ticket zero on entry @param epoch value of this solve's signals
/// @param prefetches whether dynamic shared memory holds a diagonal block
template <class Scalar, class Window>
__global__ void __launch_bounds__(message_threads)
    solve_columns_kernel(MessageArrays<Scalar> arrays, Window window, int* ticket, unsigned long long epoch,
                         bool prefetches) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int taken;
  const RowBlockTeam team{prefetches ? shared_memory : nullptr};
  const RowTaskArrays<Scalar>& data = arrays.data;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, warps = message_threads / 32;
  for (;;) {
    take_ticket_of_block(ticket, taken);
    if (taken >= arrays.n_columns) return;
    const MessageColumn column = arrays.columns[taken];
    const RowTask& task = column.task;
    const std::int64_t count = task.width * data.k;
    Scalar* const x = data.slots + task.x.offset * data.k;
    if (task.has_diagonal) {
      team.prefetch(data, task);
      if (!wait_for_message(arrays.missing + column.row, 0, window)) return;
      Scalar* const sum = data.sums + arrays.rows[column.row].sum * data.k;
      if (column.takes_b) {
        for (std::int64_t i = thread; i < count; i += message_threads) sum[i] += data.b[task.b * data.k + i];
        __syncthreads();
      }
      solve_row_triangle(team, data, task, sum);
      __syncthreads();
    } else if (!wait_for_message(arrays.has_x + taken, 1, window)) {
      return;
    }
    for (std::int64_t t = task.first_target; t < task.end_target; ++t) {
      const RowSlot to = arrays.targets[t];
      window.put(to.rank, static_cast<std::size_t>(to.offset * data.k) * sizeof(Scalar), x,
                 static_cast<std::size_t>(count), static_cast<std::size_t>(to.signal), epoch);
    }
    if (column.next_row >= 0 && warp == 0) {
      Scalar* const next = data.sums + arrays.rows[column.next_row].sum * data.k;
      for (std::int64_t i = thread; i < count; i += 32) subtract_shared(next + i, -x[i]);
      count_contribution(arrays, window, column.next_row, epoch);
    }
    for (std::int64_t p = task.first_block + warp; p < task.end_block; p += warps) {
      const MessagePiece piece = arrays.pieces[p];
      subtract_piece(arrays, piece, x);
      count_contribution(arrays, window, piece.row, epoch);
    }
  }
}

/// Takes the messages `begin` … `end` − 1 whose masks this warp owns, as they arrive. @returns false if given
/// up
/// @param arrived called by the warp as arrived(message)
template <class Window, class Arrived>
__device__ __forceinline__ bool take_messages(const MessageArrival* messages, unsigned char* mask, int n,
                                              const Window& window, unsigned long long epoch,
                                              const Arrived& arrived) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  MessageWatch watch;
  for (bool expects = true; expects;) {
    expects = false;
    bool any = false;
    for (int first = 32 * warp; first < n; first += wait_threads) {
      const int own = first + lane;
      const bool open = own < n && mask[own] == 0;
      const bool has_come = open && window.has_come(static_cast<std::size_t>(messages[own].signal), epoch);
      if (has_come) mask[own] = 1;
      expects |= __any_sync(0xffffffffu, open && !has_come) != 0;
      const unsigned come = __ballot_sync(0xffffffffu, has_come);
      __syncwarp();  // all lanes see what the messages brought
      for (unsigned left = come; left != 0; left &= left - 1) {
        arrived(messages[first + __ffs(static_cast<int>(left)) - 1]);
        any = true;
      }
    }
    if (expects && !any && __any_sync(0xffffffffu, lane == 0 && watch.expired(window)) != 0) return false;
  }
  return true;
}

/// The kernel WAIT: block 0 receives x of columns, block 1 sums of rows.
/// @param is_resident in host memory; set to 1 once the kernel runs, so that SOLVE may fill the device
template <class Scalar, class Window>
__global__ void __launch_bounds__(wait_threads)
    wait_for_messages_kernel(MessageArrays<Scalar> arrays, Window window, unsigned long long epoch,
                             volatile int* is_resident) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) {
    is_resident[blockIdx.x] = 1;
    __threadfence_system();
  }
  if (blockIdx.x == 0) {
    take_messages(arrays.x_arrivals, arrays.mask, arrays.n_x_arrivals, window, epoch,
                  [&](const MessageArrival& message) {
                    if (lane == 0) raise_flag(arrays.has_x + message.index, 1);
                  });
    return;
  }
  const auto k = arrays.data.k;
  take_messages(arrays.sum_arrivals, arrays.mask + arrays.n_x_arrivals, arrays.n_sum_arrivals, window, epoch,
                [&](const MessageArrival& message) {
                  const MessageRow row = arrays.rows[message.index];
                  const Scalar* const from = arrays.data.slots + message.offset * k;
                  for (std::int64_t i = lane; i < row.width * k; i += 32)
                    subtract_shared(arrays.data.sums + row.sum * k + i, -from[i]);
                  count_contribution(arrays, window, message.index, epoch);
                });
}

}  // namespace lutra::Impl

#endif

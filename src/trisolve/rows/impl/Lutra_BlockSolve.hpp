// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVE_HPP
#define LUTRA_BLOCKSOLVE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_DataFlow.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TriangleEngine.hpp"
#include "Lutra_TrianglePlan.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// Arguments of a data-flow solve. `current` holds the solutions, `stride` values for each position of the
/// plan, as self-flagged values (Lutra_DataFlow.hpp). `previous` is the array of the previous solve; this
/// solve resets it to sentinels, which saves a launch.
template <class Scalar, class Value>
struct BlockSolveData {
  const BlockTask* tasks = nullptr;
  const Ordinal* by_level = nullptr;
  const Ordinal* block_begin = nullptr;
  const Ordinal* columns = nullptr;
  const Value* entries = nullptr;
  const Value* inverses = nullptr;
  const BlockUse* use = nullptr;
  const Ordinal* in_row = nullptr;   ///< [n] row of `in` by position
  const Ordinal* out_row = nullptr;  ///< [n] row of `out` by position
  MappedColumns<const Scalar> in;
  MappedColumns<Scalar> out;
  Scalar* current = nullptr;
  Scalar* previous = nullptr;
  int previous_stride = 0;  ///< values per position of `previous` to reset; 0: none
  int n_columns = 0;        ///< right-hand sides, at most the stride
  bool conjugate = false;
  std::int64_t n_tasks = 0;
  std::int64_t narrow_tasks = 0;
  Ordinal* ticket = nullptr;       ///< ticket of this solve, 0 on entry
  Ordinal* next_ticket = nullptr;  ///< ticket of the next solve, reset to 0
  RecordingWatchdog watchdog;

  bool operator==(const BlockSolveData&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Value value(const Value* from) const {
    if constexpr (ScalarTraits<Value>::is_complex) {
      return conjugate ? ScalarTraits<Value>::conjugate(*from) : *from;
    } else {
      return *from;
    }
  }
};

/// Polls a slot until it is computed. Returns NaN once the watchdog has ended the solve.
template <class Scalar, class Data>
KOKKOS_FUNCTION Scalar wait_for(const Data& data, const Scalar* position, std::int64_t waiting_position) {
  Scalar value = read_fresh(position);
  if (!is_sentinel(value)) return value;
  WaitTimer<> timer;
  for (unsigned readings = 1; is_sentinel(value); ++readings) {
    if (readings % 256 == 0) {
      if (data.watchdog.ends(timer, waiting_position)) break;
      yield_to_others();
    }
    value = read_fresh(position);
  }
  return storable(value);
}

/// A packed diagonal block T of a task and its inverse V.
template <class Scalar, class Data, class Task>
struct PackedBlock {
  const Data& data;
  const Task& task;
  int block;
  KOKKOS_FORCEINLINE_FUNCTION Scalar packed(int i, int j) const {
    return Scalar(data.value(data.inverses + task.inverse_position(block, i, j)));
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar inverse(int i, int j) const { return packed(i, j); }
  /// Entry below the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION Scalar entry(int i, int j) const { return packed(j, i); }
};

/// Solves with a diagonal block in one thread. x: right-hand sides on entry, solutions on return. `work` has
/// length `rows`.
template <class Scalar, class Block>
KOKKOS_FUNCTION void apply_block(const Block& block, BlockUse use, int rows, Scalar* x, Scalar* work) {
  if (use == BlockUse::substitute) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < i; ++j) x[i] -= block.entry(i, j) * x[j];
      x[i] *= block.inverse(i, i);
    }
    return;
  }
  for (int i = 0; i < rows; ++i) {
    work[i] = Scalar(0);
    for (int j = 0; j <= i; ++j) work[i] += block.inverse(i, j) * x[j];
  }
  if (use == BlockUse::refined) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < i; ++j) x[i] -= block.entry(i, j) * work[j];
      x[i] -= work[i] / block.inverse(i, i);
    }
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j <= i; ++j) work[i] += block.inverse(i, j) * x[j];
    }
  }
  for (int i = 0; i < rows; ++i) x[i] = work[i];
}

/// Solves one block for one right-hand side.
template <int Stride, class Scalar, class Data, class Member>
KOKKOS_FUNCTION void solve_block(const Member& team, const Data& data, const BlockTask& task, int b,
                                 int column, Scalar* sums) {
  const Ordinal first = data.block_begin[task.first_block + b];
  const int rows = static_cast<int>(data.block_begin[task.first_block + b + 1] - first);
  for (int i = 0; i < rows; ++i) {
    const Ordinal position = first + i;
    const int lane0 = (b << (task.shape.log_rows + task.shape.log_lanes)) + (i << task.shape.log_lanes);
    Scalar sum(0);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, task.steps * task.shape.lanes()),
        [&](const int t, Scalar& partial) {
          const Offset p = task.entries + static_cast<Offset>(t >> task.shape.log_lanes) * task.lanes() +
                           lane0 + (t & (task.shape.lanes() - 1));
          const Ordinal needed = data.columns[p];
          if (needed < 0) return;
          const Scalar x =
              wait_for(data, data.current + static_cast<std::int64_t>(needed) * Stride + column, position);
          partial += Scalar(data.value(data.entries + p)) * x;
        },
        sum);
    const auto in_row = static_cast<std::int64_t>(data.in_row[position]);
    Kokkos::single(Kokkos::PerThread(team),
                   [&]() { sums[i] = data.in.scaled(in_row, data.in.at(in_row, column)) - sum; });
  }
  Kokkos::single(Kokkos::PerThread(team), [&]() {
    const PackedBlock<Scalar, Data, BlockTask> block{data, task, b};
    apply_block(block, data.use[task.first_block + b], rows, sums, sums + max_block_rows);
    for (int i = 0; i < rows; ++i) {
      const auto position = static_cast<std::int64_t>(first) + i;
      const auto out_row = static_cast<std::int64_t>(data.out_row[position]);
      write_through(data.current + position * Stride + column, storable(sums[i]));
      data.out.at(out_row, column) = data.out.scaled(out_row, sums[i]);
    }
  });
}

/// Resets the slots of a task in the array of the previous solve.
template <class Scalar, class Data, class Member>
KOKKOS_FUNCTION void reset_previous(const Member& team, const Data& data, const BlockTask& task) {
  const auto first = static_cast<std::int64_t>(data.block_begin[task.first_block]) * data.previous_stride;
  const auto last =
      static_cast<std::int64_t>(data.block_begin[task.first_block + task.blocks]) * data.previous_stride;
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(last - first)),
                       [&](const int i) { data.previous[first + i] = sentinel_value<Scalar>(); });
}

/// Portable synchronization-free solve. A team takes a ticket and solves the task of that number in the order
/// of levels. Tickets are issued in order, so the tasks that a team polls for belong to teams that are
/// already running: they finish, and so does the team.
///
///   ticket    0    1    2    3        tasks by level
///   team      A    B    A    C        C polls for values of tasks 0..2 only
///
/// Unlike in section 2 of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" (the supernodal
/// form), rows gather instead of scattering, so that sums follow one order and need no atomics. A diagonal
/// block is applied by its inverse.
template <int Stride, class Scalar, class Value, class ExecutionSpace>
void solve_blocks_portable(const ExecutionSpace& exec, const BlockSolveData<Scalar, Value>& data) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Scratch = Kokkos::View<Scalar*, typename ExecutionSpace::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const int vector_length = vector_length_for<ExecutionSpace>(narrow_lanes);
  Kokkos::parallel_for(
      "lutra::trisolve::blocks",
      Policy(exec, static_cast<int>(data.n_tasks), 1, vector_length)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(2 * max_block_rows)))),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const Scratch scratch(team.team_scratch(0), 2 * max_block_rows);
        Ordinal taken = 0;
        Kokkos::single(
            Kokkos::PerTeam(team),
            [&](Ordinal& value) { value = fetch_add_shared<ExecutionSpace>(*data.ticket, Ordinal(1)); },
            taken);
        if (taken == 0) *data.next_ticket = 0;
        const auto task = data.tasks[data.by_level[taken]];
        for (int b = 0; b < task.blocks; ++b) {
          for (int column = 0; column < data.n_columns; ++column) {
            solve_block<Stride, Scalar>(team, data, task, b, column, scratch.data());
            team.team_barrier();
          }
        }
        reset_previous<Scalar>(team, data, task);
      });
}

}  // namespace lutra::Impl

#endif

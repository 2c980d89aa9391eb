// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVE_HPP
#define LUTRA_BLOCKSOLVE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_DataFlow.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TriangleEngine.hpp"
#include "Lutra_TrianglePlan.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// All that a data-flow solve reads and writes. Solutions are kept in `current`, `stride` values a place, and
/// are their own flags; `previous` is the array of the solve before, which is marked again on the way, so
/// that no launch is spent on it.
template <class Scalar, class Value, class Ordinal, class Offset>
struct BlockSolveData {
  const BlockTask<Ordinal, Offset>* tasks = nullptr;
  const Ordinal* by_level = nullptr;
  const Ordinal* block_begin = nullptr;
  const Ordinal* columns = nullptr;
  const Value* entries = nullptr;
  const Value* inverses = nullptr;
  const BlockUse* use = nullptr;
  const Ordinal* in_row = nullptr;   ///< [n] row of `in` by place
  const Ordinal* out_row = nullptr;  ///< [n] row of `out` by place
  MappedColumns<const Scalar> in;
  MappedColumns<Scalar> out;
  Scalar* current = nullptr;
  Scalar* previous = nullptr;
  int previous_stride = 0;  ///< 0: nothing to mark
  int n_columns = 0;        ///< right-hand sides, no more than the stride
  bool conjugate = false;
  std::int64_t n_tasks = 0;
  std::int64_t narrow_tasks = 0;
  Ordinal* ticket = nullptr;       ///< of this solve, 0 in
  Ordinal* next_ticket = nullptr;  ///< of the next one, made 0
  int* stop = nullptr;             ///< not 0: the watchdog has given up
  TimeoutRecord* timeout = nullptr;
  std::uint64_t watchdog_ticks = 0;  ///< a longer wait ends the solve

  bool operator==(const BlockSolveData&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Value value(const Value* from) const {
    if constexpr (ScalarTraits<Value>::is_complex) {
      return conjugate ? ScalarTraits<Value>::conjugate(*from) : *from;
    } else {
      return *from;
    }
  }
};

/// Ends the waiting for all: remembers the first place that waited too long.
template <class Data>
KOKKOS_FUNCTION void give_up(const Data& data, std::int64_t place) {
  if (Kokkos::atomic_compare_exchange(data.stop, 0, 1) == 0) data.timeout->place_plus_one = place + 1;
}

/// Asked now and then by a thread that polls: whether the watchdog has ended the solve. Ends it where this
/// wait has lasted too long; the waiting threads, this one too, learn of it when they ask next.
template <class Data>
KOKKOS_FUNCTION bool is_ended(const Data& data, WaitTimer<>& timer, std::int64_t waiting_place) {
  if (*static_cast<const volatile int*>(data.stop) != 0) return true;
  if (timer.exceeds(data.watchdog_ticks)) give_up(data, waiting_place);
  return false;
}

/// Reads a solution, waiting for it where it is not there yet. Gives NaN once the watchdog has ended the
/// solve.
template <class Scalar, class Data>
KOKKOS_FUNCTION Scalar wait_for(const Data& data, const Scalar* place, std::int64_t waiting_place) {
  Scalar value = read_fresh(place);
  if (!is_marked(value)) return value;
  WaitTimer<> timer;
  for (unsigned readings = 1; is_marked(value); ++readings) {
    if (readings % 256 == 0) {
      if (is_ended(data, timer, waiting_place)) break;
      yield_to_others();
    }
    value = read_fresh(place);
  }
  return unmarked(value);
}

/// A diagonal block T of a task and its inverse V, as they are packed.
template <class Scalar, class Data, class Task>
struct PackedBlock {
  const Data& data;
  const Task& task;
  int block;
  KOKKOS_FORCEINLINE_FUNCTION Scalar packed(int i, int j) const {
    return Scalar(data.value(data.inverses + task.inverse_position(block, i, j)));
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar inverse(int i, int j) const { return packed(i, j); }
  /// Below the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION Scalar entry(int i, int j) const { return packed(j, i); }
};

/// Solves with a diagonal block: sums in, solutions out. All by one thread. `work` has room for the rows.
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
template <int Stride, class Scalar, class Ordinal, class Offset, class Data, class Member>
KOKKOS_FUNCTION void solve_block(const Member& team, const Data& data, const BlockTask<Ordinal, Offset>& task,
                                 int b, int column, Scalar* sums) {
  const Ordinal first = data.block_begin[task.first_block + b];
  const int rows = static_cast<int>(data.block_begin[task.first_block + b + 1] - first);
  for (int i = 0; i < rows; ++i) {
    const Ordinal place = first + i;
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
              wait_for(data, data.current + static_cast<std::int64_t>(needed) * Stride + column, place);
          partial += Scalar(data.value(data.entries + p)) * x;
        },
        sum);
    const auto in_row = static_cast<std::int64_t>(data.in_row[place]);
    Kokkos::single(Kokkos::PerThread(team),
                   [&]() { sums[i] = data.in.scaled(in_row, data.in.at(in_row, column)) - sum; });
  }
  Kokkos::single(Kokkos::PerThread(team), [&]() {
    const PackedBlock<Scalar, Data, BlockTask<Ordinal, Offset>> block{data, task, b};
    apply_block(block, data.use[task.first_block + b], rows, sums, sums + max_block_rows);
    for (int i = 0; i < rows; ++i) {
      const auto place = static_cast<std::int64_t>(first) + i;
      const auto out_row = static_cast<std::int64_t>(data.out_row[place]);
      write_through(data.current + place * Stride + column, unmarked(sums[i]));
      data.out.at(out_row, column) = data.out.scaled(out_row, sums[i]);
    }
  });
}

/// Marks the places of a block in the array of the solve before.
template <class Scalar, class Ordinal, class Offset, class Data, class Member>
KOKKOS_FUNCTION void mark_previous(const Member& team, const Data& data,
                                   const BlockTask<Ordinal, Offset>& task) {
  const auto first = static_cast<std::int64_t>(data.block_begin[task.first_block]) * data.previous_stride;
  const auto last =
      static_cast<std::int64_t>(data.block_begin[task.first_block + task.blocks]) * data.previous_stride;
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(last - first)),
                       [&](const int i) { data.previous[first + i] = marked_value<Scalar>(); });
}

/// The synchronisation-free solve, portable: a team takes a ticket and works on that task in the order of
/// levels; tickets are taken in order, so whatever is waited for is being worked on by a team that is
/// running. Rows of a block wait for the values they need, each its own flag; the diagonal block is applied
/// by its inverse. (Section 2 of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" gives the
/// supernodal form; rows gather here instead of scattering, so that sums have one order and need no atomics.)
template <int Stride, class Scalar, class Value, class Ordinal, class Offset, class ExecutionSpace>
void solve_blocks_portable(const ExecutionSpace& exec,
                           const BlockSolveData<Scalar, Value, Ordinal, Offset>& data) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Scratch = Kokkos::View<Scalar*, typename ExecutionSpace::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const int vector_length = is_host_space<ExecutionSpace> ? 1 : narrow_lanes;
  Kokkos::parallel_for(
      "lutra::trisolve::blocks",
      Policy(exec, static_cast<int>(data.n_tasks), 1, vector_length)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(2 * max_block_rows)))),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const Scratch scratch(team.team_scratch(0), 2 * max_block_rows);
        Ordinal turn = 0;
        Kokkos::single(
            Kokkos::PerTeam(team),
            [&](Ordinal& value) { value = fetch_add_shared<ExecutionSpace>(*data.ticket, Ordinal(1)); },
            turn);
        if (turn == 0) *data.next_ticket = 0;
        const auto task = data.tasks[data.by_level[turn]];
        for (int b = 0; b < task.blocks; ++b) {
          for (int column = 0; column < data.n_columns; ++column) {
            solve_block<Stride, Scalar, Ordinal>(team, data, task, b, column, scratch.data());
            team.team_barrier();
          }
        }
        mark_previous<Scalar, Ordinal>(team, data, task);
      });
}

}  // namespace lutra::Impl

#endif

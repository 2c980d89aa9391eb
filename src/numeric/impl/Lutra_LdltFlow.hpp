// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFLOW_HPP
#define LUTRA_LDLTFLOW_HPP

#include "Lutra_Index.hpp"
#include "Lutra_LdltFronts.hpp"
#include "Lutra_LdltTaskList.hpp"

namespace lutra::Impl {

// Multifrontal L·D·Lᵀ with delayed pivots (SSIDS, Hogg, Ovtchinnikov and Scott 2016) as data flow
// (Lutra_LdltTaskList.hpp has the order of tasks and why none waits for ever). What blocks do is written for
// a Block of any kind, CUDA's (cuda/Lutra_LdltBlockCuda.hpp) or one that a test emulates:
//
//   thread(), threads()   its number in the block; threads in all, a multiple of 32
//   barrier()             of the block
//   group_barrier()       of 32 threads with consecutive numbers
//   max(a, b)             the greatest a and the greatest b of all threads, for all; ends with a barrier
//   sum(n)                the same with the sum
//   next(counter)         counts up; what it was before, for all; ends with a barrier
//   fence()               what was written before is seen by whoever sees what is written after it
//   raise_flag(launch, flag)
//   wait_for_flag(launch, flag, front)
//   wait_for_count(launch, count, target, front)   until count ≥ target
//   space(), space_bytes()   memory of the block
//   subtract(…)           product of tiles, see LdltTile

/// What the blocks of a gang share. All zero when a factorization begins.
struct LdltGangState {
  int arrived = 0;   ///< at barriers, in all
  int finished = 0;  ///< blocks whose part is done
  std::uint64_t maxima[3] = {};
};

/// What all blocks of a launch know.
template <class Scalar>
struct LdltLaunch {
  LdltData<Scalar> data;
  const Ordinal* small_fronts = nullptr;
  const LdltTask* tasks = nullptr;
  const Offset* first_column = nullptr;  ///< as in the list of tasks
  const Offset* source_begin = nullptr;  ///< the same
  const LdltSource* sources = nullptr;   ///< the same
  LdltGangState* gangs = nullptr;
  int* done = nullptr;     ///< [count] flags of fronts
  int* tickets = nullptr;  ///< [2] of the two launches
  int n_small = 0, n_tasks = 0;
  int run = 1;  ///< value of a flag that is raised; 0 before
  double watchdog_seconds = 10;
};

/// The bits of a magnitude: they are in the order of magnitudes.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t bits_of_size(Real size) {
  return Kokkos::bit_cast<std::uint64_t>(static_cast<double>(size));
}

/// A team as the kernels of Lutra_LdltFront.hpp want it, of a block's threads or of those of a gang.
template <class Workers, class Scalar>
struct LdltFlowTeam {
  using Real = RealOf<Scalar>;
  static constexpr bool has_columns = false;  // an element a thread
  const Workers& workers;

  KOKKOS_FUNCTION void barrier() const { workers.barrier(); }
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double, const Body& body) const {
    for (int i = workers.thread(); i < n; i += workers.threads()) body(i, i + 1);
    workers.barrier();
  }
  /// Neighbouring threads have neighbouring rows; no more lanes than there are rows, but for four.
  template <class Body>
  KOKKOS_FUNCTION void columns(int n, int rows, const Body& body) const {
    const int lanes = rows > 16 ? 32 : rows > 8 ? 16 : rows > 4 ? 8 : 4;
    const int lane = workers.thread() % lanes;
    for (int c = workers.thread() / lanes; c < n; c += workers.threads() / lanes) {
      for (int r = lane; r < rows; r += lanes) body(c, r, r + 1);
    }
    workers.barrier();
  }
  template <class Value>
  KOKKOS_FUNCTION Real max(int n, double, const Value& value) const {
    Real largest(0);
    for (int i = workers.thread(); i < n; i += workers.threads()) {
      const Real size = value(i, i + 1);
      if (size > largest) largest = size;
    }
    return static_cast<Real>(Kokkos::bit_cast<double>(workers.max(bits_of_size(largest))));
  }
  template <class Value>
  KOKKOS_FUNCTION int min(int n, double, int none, const Value& value) const {
    int smallest = none;
    for (int i = workers.thread(); i < n; i += workers.threads()) {
      // a range of one: its value, or that of no element
      const int found = value(i, i + 1);
      if (found < smallest) smallest = found;
    }
    const std::uint64_t below = workers.max(static_cast<std::uint64_t>(none - smallest));
    return below < static_cast<std::uint64_t>(none) ? none - static_cast<int>(below) : 0;
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    if (workers.thread() == 0) body();
    workers.barrier();
  }
};

/// A block of threads with memory for a column of L.
template <class Block, class Scalar>
struct LdltColumnTeam : LdltFlowTeam<Block, Scalar> {
  using Base = LdltFlowTeam<Block, Scalar>;
  using typename Base::Real;
  Scalar* factors;  ///< [rows of the front]

  KOKKOS_FUNCTION bool is_first() const { return Base::workers.thread() == 0; }
  /// visit(i) for this thread's rows of [begin, end): the same ones whatever `begin` is. No barrier.
  template <class Visit>
  KOKKOS_FUNCTION void own_rows(int begin, int end, const Visit& visit) const {
    for (int i = Base::workers.thread(); i < end; i += Base::workers.threads()) {
      if (i >= begin) visit(i);
    }
  }
  /// The greatest a(i), i < n, and the greatest b(i), i < m.
  template <class A, class B>
  KOKKOS_FUNCTION void max_of_two(int n, int m, const A& a, const B& b, Real& of_a, Real& of_b) const {
    of_a = of_b = Real(0);
    for (int i = Base::workers.thread(); i < n; i += Base::workers.threads()) of_a = Kokkos::max(of_a, a(i));
    for (int i = Base::workers.thread(); i < m; i += Base::workers.threads()) of_b = Kokkos::max(of_b, b(i));
    std::uint64_t bits_a = bits_of_size(of_a), bits_b = bits_of_size(of_b);
    Base::workers.max(bits_a, bits_b);
    of_a = static_cast<Real>(Kokkos::bit_cast<double>(bits_a));
    of_b = static_cast<Real>(Kokkos::bit_cast<double>(bits_b));
  }
};

/// Waits for a front's children and adds up what they have delayed.
template <class Block, class Launch, class Front>
KOKKOS_FUNCTION LdltRecord admit_front(const Block& block, const Launch& launch, const Front& front,
                                       Ordinal f) {
  std::int64_t delayed = 0, stopped = 0;
  for (auto c = front.children + block.thread(); c < front.children_end; c += block.threads()) {
    const Ordinal child = launch.data.children[c];
    block.wait_for_flag(launch, launch.done + child, static_cast<int>(f));
    const LdltRecord& record = launch.data.records[child];
    delayed += record.delayed_out;
    // where the watchdog has given up there may be no record
    stopped += record.stopped != 0 || Kokkos::atomic_load(&launch.data.outcome->stopped_front) >= 0 ? 1 : 0;
  }
  delayed = block.sum(delayed);
  LdltRecord record;
  record.stopped = block.sum(stopped) > 0 ? 1 : 0;
  if (record.stopped == 0 && delayed > launch.data.room[f].max_delayed) {
    record.wanted = static_cast<int>(delayed);
    record.stopped = 1;
  }
  if (record.stopped == 0) record.delayed_in = static_cast<int>(delayed);
  return record;
}

/// What becomes of a front: by one thread.
template <class Launch, class Front>
KOKKOS_FUNCTION void store_record(const Launch& launch, const Front& panel, Ordinal f,
                                  const LdltProgress& progress, LdltRecord& record) {
  LdltOutcome& outcome = *launch.data.outcome;
  if (record.wanted > 0) Kokkos::atomic_min(&outcome.overflow_front, static_cast<std::int64_t>(f));
  if (progress.failure == LdltFailure::not_definite)
    Kokkos::atomic_min(&outcome.not_definite, static_cast<std::int64_t>(panel.variables[progress.done]));
  if (progress.failure == LdltFailure::not_finite)
    Kokkos::atomic_min(&outcome.not_finite, static_cast<std::int64_t>(f));
  launch.data.records[f] = record;
}

/// The record of a front that was eliminated as far as `progress` says.
KOKKOS_INLINE_FUNCTION void finish_record(const LdltProgress& progress, int columns, LdltRecord& record) {
  if (progress.failure != LdltFailure::none) record.stopped = 1;
  if (record.stopped != 0) return;
  record.eliminated = progress.done;
  record.delayed_out = columns - progress.done;
}

/// A front by one block, in the block's memory where it fits.
template <class Block, class Scalar>
struct LdltWholeFront {
  using Panel = LdltFront<Scalar>;
  using Team = LdltColumnTeam<Block, Scalar>;
  const Block& block;
  const LdltLaunch<Scalar>& launch;

  KOKKOS_FUNCTION void work(Ordinal f, LdltTally& tally) const {
    const auto& data = launch.data;
    const Front front = data.fronts[f];
    LdltRecord record = admit_front(block, launch, front, f);
    LdltProgress progress;
    const Panel stored = data.dense(f, record.delayed_in);
    if (record.stopped == 0) {
      Scalar* factors;
      const Panel panel = in_space(stored, data.workspace + data.room[f].work, factors);
      const Team team{{block}, factors};
      LdltWorker<Scalar>{data}.assemble(team, front, panel);
      const LdltTest<Scalar> test = data.test(front.parent < 0);
      progress = eliminate_columns(team, panel, test, 0, panel.rows);
      block.barrier();  // the last column of L is there
      if (panel.panel != stored.panel) copy(team, panel, stored);
      finish_record(progress, stored.columns, record);
      if (record.stopped == 0) {
        tally.count_pivots(stored, record.eliminated, test.hermitian, block.thread(), block.threads());
        if (block.thread() == 0) tally.count_front(record, stored.rows);
      }
    }
    block.barrier();  // all is written
    if (block.thread() == 0) {
      store_record(launch, stored, f, progress, record);
      block.raise_flag(launch, launch.done + f);
    }
  }

 private:
  /// Room for variables, positions, a column of L, a panel and a contribution block; for the column alone
  /// where it does not do.
  KOKKOS_FUNCTION Panel in_space(const Panel& stored, Scalar* workspace, Scalar*& factors) const {
    const std::int64_t cb_rows = stored.cb_rows(), columns = stored.columns;
    const std::int64_t entries = columns * stored.rows + cb_rows * cb_rows + stored.rows;
    const std::int64_t slots =
        (columns * static_cast<std::int64_t>(sizeof(Ordinal) + sizeof(int)) + 15) / 16 * 16;
    Panel panel = stored;
    panel.swaps = nullptr;
    const bool fits = stored.rows * static_cast<std::int64_t>(sizeof(Scalar)) <= block.space_bytes();
    factors = fits ? static_cast<Scalar*>(block.space()) : workspace;  // which fronts of many rows have
    if (slots + entries * static_cast<std::int64_t>(sizeof(Scalar)) > block.space_bytes()) return panel;
    auto* const space = static_cast<unsigned char*>(block.space());
    panel.variables = reinterpret_cast<Ordinal*>(space);
    panel.positions = reinterpret_cast<int*>(panel.variables + columns);
    factors = reinterpret_cast<Scalar*>(space + slots);
    panel.panel = factors + stored.rows;
    panel.contribution = panel.panel + columns * stored.rows;
    return panel;
  }

  KOKKOS_FUNCTION void copy(const Team& team, const Panel& from, const Panel& to) const {
    for (int j = block.thread(); j < from.columns; j += block.threads()) {
      to.variables[j] = from.variables[j];
      to.positions[j] = from.positions[j];
    }
    team.columns(from.rows, from.rows, [&](int c, int begin, int end) {
      for (int i = begin > c ? begin : c; i < end; ++i) to.column(c)[i] = from.column(c)[i];
    });
  }
};

/// Adds up what the threads of a block have counted.
template <class Block>
KOKKOS_FUNCTION void add_tally(const Block& block, LdltTally tally, LdltOutcome& outcome) {
  for (std::int64_t* const count : {&tally.positive, &tally.negative, &tally.zero, &tally.pairs,
                                    &tally.perturbed, &tally.delayed, &tally.entries})
    *count = block.sum(*count);
  std::uint64_t largest = bits_of_size(tally.largest);
  auto max_delayed = static_cast<std::uint64_t>(tally.max_delayed);
  block.max(largest, max_delayed);
  tally.largest = Kokkos::bit_cast<double>(largest);
  tally.smallest = Kokkos::bit_cast<double>(~block.max(~bits_of_size(tally.smallest)));
  tally.max_delayed = static_cast<std::int64_t>(max_delayed);
  if (block.thread() == 0) tally.add_to(outcome);
}

/// Fronts of small subtrees, a block of one warp each.
template <class Block, class Scalar>
KOKKOS_FUNCTION void work_small_fronts(const Block& block, const LdltLaunch<Scalar>& launch) {
  LdltTally tally;
  for (int t = block.next(launch.tickets); t < launch.n_small; t = block.next(launch.tickets))
    LdltWholeFront<Block, Scalar>{block, launch}.work(launch.small_fronts[t], tally);
  add_tally(block, tally, *launch.data.outcome);
}

}  // namespace lutra::Impl

#endif

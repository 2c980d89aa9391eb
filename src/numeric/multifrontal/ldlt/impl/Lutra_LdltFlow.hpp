// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFLOW_HPP
#define LUTRA_LDLTFLOW_HPP

#include "Lutra_Index.hpp"
#include "Lutra_LdltFronts.hpp"
#include "Lutra_LdltTaskList.hpp"
#include "Lutra_TaskQueue.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

// Multifrontal L·D·Lᵀ with delayed pivots (SSIDS, Hogg, Ovtchinnikov and Scott 2016) as data flow.
// Lutra_LdltTaskList.hpp defines the order of tasks and shows why it cannot deadlock. The code is written for
// any kind of Block, CUDA's (cuda/Lutra_LdltBlockCuda.hpp) or one that a test emulates:
//
//   thread(), threads()   index in the block; number of threads, a multiple of 32
//   barrier()             of the block
//   group_barrier()       of 32 threads with consecutive indices
//   max(a, b)             the maximum of a and of b over all threads, for all; ends with a barrier
//   sum(n)                the sum over all threads, for all; ends with a barrier
//   next(counter)         fetch-and-increment; the old value, for all; ends with a barrier
//   fence()               orders earlier writes before later ones, for all observers
//   raise_flag(launch, flag)
//   wait_for_flag(launch, flag, front)
//   wait_for_count(launch, count, target, front)   until count ≥ target
//   space(), space_bytes()   shared memory of the block
//   subtract(…)           product of tiles, see LdltTile

/// Shared state of a gang's blocks. All zero at the start of a factorization.
struct LdltGangState {
  int arrived = 0;   ///< total arrivals at barriers
  int finished = 0;  ///< blocks that have finished their part
  std::uint64_t maxima[3] = {};
};

/// Parameters shared by all blocks of a launch.
template <class Scalar>
struct LdltLaunch : FlaggedRun {
  LdltData<Scalar> data;
  const Ordinal* small_fronts = nullptr;
  const LdltTask* tasks = nullptr;
  const Offset* first_column = nullptr;  ///< as in LdltTaskList
  const Offset* source_begin = nullptr;  ///< as in LdltTaskList
  const LdltSource* sources = nullptr;   ///< as in LdltTaskList
  LdltGangState* gangs = nullptr;
  int* done = nullptr;     ///< [count] completion flags of fronts
  int* tickets = nullptr;  ///< [2] task counters of the two launches
  int n_small = 0, n_tasks = 0;
};

/// Bits of a magnitude, ordered as the magnitudes.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t bits_of_size(Real size) {
  return Kokkos::bit_cast<std::uint64_t>(static_cast<double>(size));
}

/// A team for the kernels of Lutra_LdltFront.hpp, made of a block's or a gang's threads; one element per
/// thread.
template <class Workers, class Scalar>
struct LdltFlowTeam {
  using Real = RealOf<Scalar>;
  const Workers& workers;

  KOKKOS_FUNCTION void barrier() const { workers.barrier(); }
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double, const Body& body) const {
    for (int i = workers.thread(); i < n; i += workers.threads()) body(i, i + 1);
    workers.barrier();
  }
  /// Adjacent threads get adjacent rows; few rows use fewer lanes, at least four.
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
      // a range of one: its value, or `none` for an empty element
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

/// A thread block with memory for a column of L.
template <class Block, class Scalar>
struct LdltColumnTeam : LdltFlowTeam<Block, Scalar> {
  using Base = LdltFlowTeam<Block, Scalar>;
  using typename Base::Real;
  Scalar* factors;  ///< [rows of the front]

  KOKKOS_FUNCTION bool is_first() const { return Base::workers.thread() == 0; }
  /// Calls visit(i) for this thread's rows of [begin, end), which do not depend on `begin`. No barrier.
  template <class Visit>
  KOKKOS_FUNCTION void own_rows(int begin, int end, const Visit& visit) const {
    for (int i = Base::workers.thread(); i < end; i += Base::workers.threads()) {
      if (i >= begin) visit(i);
    }
  }
  /// The maxima of a(i), i < n, and of b(i), i < m.
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

/// Waits for a front's children and adds up their delayed columns.
template <class Block, class Launch, class Front>
KOKKOS_FUNCTION LdltRecord admit_front(const Block& block, const Launch& launch, const Front& front,
                                       Ordinal f) {
  std::int64_t delayed = 0, stopped = 0;
  for (auto c = front.children + block.thread(); c < front.children_end; c += block.threads()) {
    const Ordinal child = launch.data.children[c];
    block.wait_for_flag(launch, launch.done + child, static_cast<int>(f));
    const LdltRecord& record = launch.data.records[child];
    delayed += record.delayed_out;
    // after a watchdog timeout a record may be missing
    stopped += record.stopped != 0 || Kokkos::atomic_load(&launch.data.outcome->stopped_front) >= 0 ? 1 : 0;
  }
  delayed = block.sum(delayed);
  return launch.data.admit(f, delayed, block.sum(stopped) > 0);
}

/// Factorizes a front with one block, in shared memory if it fits.
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
      const LdltTest<Scalar> test = data.test(f, front.parent < 0);
      progress = eliminate_columns(team, panel, test, 0, panel.rows);
      block.barrier();  // the last column of L is complete
      if (panel.panel != stored.panel) copy(team, panel, stored);
      record.finish(progress.done, stored.columns, progress.failure != LdltFailure::none);
      if (record.stopped == 0) {
        tally.count_pivots(stored, record.eliminated, test.hermitian, block.thread(), block.threads());
        if (block.thread() == 0) tally.count_front(record, stored.rows);
      }
    }
    block.barrier();  // all writes are done
    if (block.thread() == 0) {
      data.store_record(stored, f, progress, record);
      block.raise_flag(launch, launch.done + f);
    }
  }

 private:
  /// Places variables, positions, a column of L, a panel and a contribution block in shared memory; only the
  /// column if the rest does not fit.
  KOKKOS_FUNCTION Panel in_space(const Panel& stored, Scalar* workspace, Scalar*& factors) const {
    const std::int64_t cb_rows = stored.cb_rows(), columns = stored.columns;
    const std::int64_t entries = columns * stored.rows + cb_rows * cb_rows + stored.rows;
    const std::int64_t slots =
        (columns * static_cast<std::int64_t>(sizeof(Ordinal) + sizeof(int)) + 15) / 16 * 16;
    Panel panel = stored;
    const bool fits = stored.rows * static_cast<std::int64_t>(sizeof(Scalar)) <= block.space_bytes();
    // fronts with many rows have a workspace
    factors = fits ? static_cast<Scalar*>(block.space()) : workspace;
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

/// Adds the pivot counts of a block's threads to the outcome.
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

/// Factorizes fronts of small subtrees, one warp-sized block each.
template <class Block, class Scalar>
KOKKOS_FUNCTION void work_small_fronts(const Block& block, const LdltLaunch<Scalar>& launch) {
  LdltTally tally;
  for (int t = block.next(launch.tickets); t < launch.n_small; t = block.next(launch.tickets))
    LdltWholeFront<Block, Scalar>{block, launch}.work(launch.small_fronts[t], tally);
  add_tally(block, tally, *launch.data.outcome);
}

inline constexpr double ldlt_watchdog_seconds = 10;  ///< longest wait of a front

/// The task list of data flow in the kernels' memory.
template <class MemorySpace>
class LdltFlowLists {
 public:
  using List = LdltTaskList;

  template <class ExecutionSpace, class Plan>
  LdltFlowLists(const ExecutionSpace& exec, const Plan& base, int blocks, const MemoryBudget& budget)
      : m_reservation(budget), m_fronts(static_cast<std::size_t>(base.count)) {
    LdltTaskOptions options;
    options.blocks = std::max(1, blocks);
    const List list(base.layout.fronts, base.layout.children, to_host(exec, base.relative), options);
    const auto keep = [&](auto& view, const char* label, const auto& host) {
      view = upload(exec, m_reservation, label, host);
    };
    keep(m_small_fronts, "lutra::numeric::ldlt_small_fronts", list.small_fronts);
    keep(m_tasks, "lutra::numeric::ldlt_tasks", list.tasks);
    keep(m_first_column, "lutra::numeric::ldlt_first_column", list.first_column);
    keep(m_source_begin, "lutra::numeric::ldlt_source_begin", list.source_begin);
    keep(m_sources, "lutra::numeric::ldlt_sources", list.sources);
    m_gangs = static_cast<std::size_t>(list.gangs);
    m_max_members = list.max_members;
  }

  int max_members() const { return m_max_members; }
  /// Words for the flags of one factorization: gangs, front flags, task counters. Zero at its start.
  std::size_t flag_words() const { return m_gangs * words_a_gang + (m_fronts + 2 + 1) / 2; }

  template <class Scalar>
  LdltLaunch<Scalar> launch(const LdltData<Scalar>& data, std::uint64_t* flags) const {
    LdltLaunch<Scalar> result;
    result.data = data;
    result.watchdog = {&data.outcome->stopped_front,
                       watchdog_ticks<typename MemorySpace::execution_space>(ldlt_watchdog_seconds)};
    result.small_fronts = m_small_fronts.data();
    result.tasks = m_tasks.data();
    result.first_column = m_first_column.data();
    result.source_begin = m_source_begin.data();
    result.sources = m_sources.data();
    result.gangs = reinterpret_cast<LdltGangState*>(flags);
    result.tickets = reinterpret_cast<int*>(flags + m_gangs * words_a_gang);
    result.done = result.tickets + 2;
    result.n_small = static_cast<int>(m_small_fronts.extent(0));
    result.n_tasks = static_cast<int>(m_tasks.extent(0));
    return result;
  }

 private:
  static_assert(sizeof(LdltGangState) % sizeof(std::uint64_t) == 0);
  static constexpr std::size_t words_a_gang = sizeof(LdltGangState) / sizeof(std::uint64_t);

  MemoryReservation m_reservation;
  Kokkos::View<const Ordinal*, MemorySpace> m_small_fronts;
  Kokkos::View<const LdltTask*, MemorySpace> m_tasks;
  Kokkos::View<const Offset*, MemorySpace> m_first_column, m_source_begin;
  Kokkos::View<const LdltSource*, MemorySpace> m_sources;
  std::size_t m_fronts, m_gangs = 0;
  int m_max_members = 1;
};

}  // namespace lutra::Impl

#endif

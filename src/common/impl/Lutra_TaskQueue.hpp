// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TASKQUEUE_HPP
#define LUTRA_TASKQUEUE_HPP

#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

// Data flow on devices: the tasks of a launch form a queue, and flags tell which of them are complete.
//
//     tasks       0    1    2    3    4    5    6    …    each waits only for tasks before it
//     ticket      ───────────────────────►                number of the next task to take
//     worker A    task 0 … raises flag 0 ──┐    task 3 …
//     worker B    task 1 … waits for flag 0 ◄┘ …          a worker is a warp or a thread block
//     worker C    task 2 … raises flag 2    task 4 …
//
// Workers take tickets in order. A task that another one waits for was therefore taken before, by a worker
// that is running: a thread block, once started, keeps its multiprocessor until it returns. The first
// incomplete task waits for nothing incomplete, so it completes, and by induction so do all. The number of
// workers that run at the same time does not matter. Where workers wait for later tasks too (gangs of blocks,
// sweeps along a diagonal), the task list says why they cannot wait for one another.
//
// A flag is raised to the number of the run, which differs from run to run, so flags are never reset. Values
// written by a task are visible to whoever has seen its flag:
//
//     producer                                      consumer
//     all threads write                             one thread polls: read_flag, no fence
//     barrier                                       fence, once the flag is raised
//     one thread: fence, write_flag ──────────────► barrier
//                 (or raise_flag, a release)        all threads read
//
// Self-flagged values need neither flag nor fence (Lutra_DataFlow.hpp). Flags between devices are raised at
// system scope (Lutra_PeerWindow.hpp). Each wait is limited by a watchdog.

/// A run of tasks that are synchronized by flags; base of the parameters of its launches.
struct FlaggedRun {
  int run = 1;                 ///< value of raised flags
  Watchdog<int, -1> watchdog;  ///< of the waits, by numbers of fronts
};

/// Completed tasks of a launch are counted by chunks, in the order of their tickets.
inline constexpr int tasks_a_chunk = 32;

/// Which tasks of a launch are complete.
struct TaskProgress {
  int* known = nullptr;     ///< chunks known to be complete, with all before them
  int* complete = nullptr;  ///< [tasks / tasks_a_chunk] completed tasks of each full chunk
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTBLOCK_HPP
#define LUTRA_TESTBLOCK_HPP

#include "Lutra_TestWarps.hpp"

namespace lutra::Test {

/// Shared by blocks of fibers that run data flow kernels of L·D·Lᵀ: barriers, tickets, flags.
/// @tparam Block has thread(), memory.taken, and max_looks, the number of polls after which a wait ends the
/// launch
template <class Block>
struct BlockOfFibers {
  void barrier() const { Warps::active->block_barrier(); }
  void group_barrier() const { Warps::active->barrier(); }
  int next(int* counter) const {
    barrier();
    if (block().thread() == 0) block().memory.taken = (*counter)++;
    barrier();
    return block().memory.taken;
  }
  void fence() const {}
  template <class Launch>
  void raise_flag(const Launch& launch, int* flag) const {
    *flag = launch.run;
  }
  template <class Launch, class Condition>
  void wait(const Launch& launch, int front, const Condition& condition) const {
    int looks = 0;
    while (!condition()) {
      if (++looks > Block::max_looks) launch.watchdog.end(front);
      if (launch.watchdog.has_ended()) return;
      Warps::active->yield();
    }
  }
  template <class Launch>
  void wait_for_flag(const Launch& launch, const int* flag, int front) const {
    wait(launch, front, [&] { return *static_cast<const volatile int*>(flag) == launch.run; });
  }
  template <class Launch>
  void wait_for_count(const Launch& launch, const int* count, int target, int front) const {
    wait(launch, front, [&] { return *static_cast<const volatile int*>(count) >= target; });
  }

 private:
  const Block& block() const { return static_cast<const Block&>(*this); }
};

}  // namespace lutra::Test

#endif

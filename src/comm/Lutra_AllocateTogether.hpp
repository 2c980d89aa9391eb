// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ALLOCATETOGETHER_HPP
#define LUTRA_ALLOCATETOGETHER_HPP

#include <new>

#include "Lutra_RankGroup.hpp"

namespace lutra::Impl {

/// Collective. @throws std::bad_alloc on all ranks if one of them lacks memory
void throw_together(RankGroup ranks, bool lacks_memory);

/// Collective. Runs `task`, which allocates what a rank needs before there is a Communicator: later the ranks
/// would wait for one that has failed.
/// @throws std::bad_alloc on all ranks if it does on one
template <class Task>
void allocate_together(RankGroup ranks, const Task& task) {
  bool lacks_memory = false;
  try {
    task();
  } catch (const std::bad_alloc&) {
    lacks_memory = true;
  }
  throw_together(ranks, lacks_memory);
}

}  // namespace lutra::Impl

#endif

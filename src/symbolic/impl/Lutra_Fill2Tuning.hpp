// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2TUNING_HPP
#define LUTRA_FILL2TUNING_HPP

#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

/// What of fill2 can be switched off, to see what it brings. None of it changes the pattern.
struct Fill2Tuning {
  bool portable = false;       ///< the kernel for all execution spaces, also on CUDA
  bool shared_marks = true;    ///< on CUDA: marks in shared memory where enough fit
  bool groups = true;          ///< on CUDA: many sources at once, where marks are not in shared memory
  bool keep_rows = true;       ///< stage two copies rows that stage one found, where there is room
  bool window_labels = true;   ///< portable: labels outlive their source; else they are set anew for each
  bool remove_bubbles = true;  ///< slots only as long as the sources of a range need
  bool last_first = true;      ///< rows that take longest are started first
};

/// What a run of fill2 did.
struct Fill2Facts {
  std::uint64_t edges = 0;         ///< of A walked over, both stages
  std::uint64_t revisits = 0;      ///< vertices walked from again
  std::size_t slots = 0;           ///< sources in flight, at most
  std::size_t slot_bytes = 0;      ///< of memory for each
  std::size_t searched_again = 0;  ///< rows that stage two had to search for
  std::size_t groups = 0;          ///< on CUDA: of sources searched from at once, both stages
  std::size_t groups_left = 0;     ///< on CUDA: groups given up, whose sources were searched from one by one
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONWORKSPACE_HPP
#define LUTRA_SELECTIONWORKSPACE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SelectionKey.hpp"

namespace lutra::Impl {

/// State of a selection. The wanted key is the k-th largest of `count` keys from lo to hi. They are among the
/// `size` values of `source`; after the next filter, they are the `count` keys of `target`.
template <class Key>
struct SelectionState {
  static constexpr int values = 0, first = 1, second = 2;  ///< the input, and two buffers of keys

  Key lo = 0, hi = 0;
  std::int64_t count = 0, k = 0;
  std::int64_t n_above = 0;  ///< values above hi
  std::int64_t n_nan = 0;
  std::int64_t size = 0;
  int source = values, target = values;
  int bucket = 0;  ///< bucket that the filter takes

  KOKKOS_FUNCTION bool is_found() const { return lo == hi; }
  /// State after the filter.
  KOKKOS_FUNCTION SelectionState filtered() const {
    SelectionState next = *this;
    if (target != values) {
      next.source = target;
      next.size = count;
    }
    next.target = values;
    return next;
  }
};

/// Workspace of a selection. Counters are 0 between selections: the kernel that reads them last clears them.
template <class Real, class Memory>
struct SelectionWorkspace {
  using Key = typename SelectionKey<Real>::Key;
  static constexpr int max_buckets = 256;  ///< an oracle is a byte

  std::int64_t max_n = 0;
  std::int64_t capacity = 0;                           ///< of each buffer
  Kokkos::View<SelectionState<Key>*, Memory> state;    ///< [1]
  Kokkos::View<unsigned long long*, Memory> counts;    ///< [max_buckets] values of each bucket
  Kokkos::View<unsigned long long*, Memory> gathered;  ///< [1] keys gathered in the target so far
  Kokkos::View<unsigned*, Memory> blocks_done;         ///< [1] CUDA: blocks of a launch that are done
  Kokkos::View<Key*, Memory> splitters;                ///< [max_buckets] portable: splitters of the level
  Kokkos::View<unsigned char*, Memory> oracles;        ///< [max_n] bucket of each value of the source
  Kokkos::View<Key*, Memory> buffers;                  ///< [2·capacity]
  MemoryReservation reservation;
};

}  // namespace lutra::Impl

#endif

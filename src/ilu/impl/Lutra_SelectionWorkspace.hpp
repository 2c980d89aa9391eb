// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONWORKSPACE_HPP
#define LUTRA_SELECTIONWORKSPACE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SelectionKey.hpp"

namespace lutra::Impl {

/// Where a selection stands. The wanted key is one of `count` keys from lo to hi, the k-th largest of them.
/// They are among the `size` values of `source`; after the filter that follows, they are the `count` keys of
/// `target`.
template <class Key>
struct SelectionState {
  static constexpr int values = 0, first = 1, second = 2;  ///< the input, and two buffers of keys

  Key lo = 0, hi = 0;
  std::int64_t count = 0, k = 0;
  std::int64_t n_above = 0;  ///< values above hi
  std::int64_t n_nan = 0;
  std::int64_t size = 0;
  int source = values, target = values;
  int bucket = 0;  ///< the one the filter takes

  KOKKOS_FUNCTION bool is_found() const { return lo == hi; }
  /// Where it stands after the filter.
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

/// What a selection works in. Counters are 0 between selections: the kernel that reads them last clears them.
template <class Real, class Memory>
struct SelectionWorkspace {
  using Key = typename SelectionKey<Real>::Key;
  static constexpr int max_buckets = 256;

  std::int64_t max_n = 0;
  std::int64_t capacity = 0;                           ///< of each buffer
  Kokkos::View<SelectionState<Key>*, Memory> state;    ///< [1]
  Kokkos::View<unsigned long long*, Memory> counts;    ///< [max_buckets] values of each bucket
  Kokkos::View<unsigned long long*, Memory> gathered;  ///< [1] keys in the target so far
  Kokkos::View<unsigned*, Memory> blocks_done;         ///< [1] CUDA: of a launch
  Kokkos::View<Key*, Memory> splitters;                ///< [max_buckets] portable: of the level
  Kokkos::View<unsigned char*, Memory> oracles;        ///< [max_n] bucket of each value of the source
  Kokkos::View<Key*, Memory> buffers;                  ///< [2·capacity]
  MemoryReservation reservation;
};

}  // namespace lutra::Impl

#endif

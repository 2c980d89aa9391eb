// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SORTBLOCKSCUDA_HPP
#define LUTRA_SORTBLOCKSCUDA_HPP

#include <Kokkos_Core.hpp>

#include <cub/device/device_radix_sort.cuh>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Sorts keys and what goes with them in scratch that is there already: the sort of Kokkos allocates and
/// frees its own each time. Stable. On return the Views may be others than those that came in.
/// @param bits of the keys, from the lowest on, that may not be 0
template <class KeyView, class ValueView>
void sort_pairs_cuda(const Kokkos::Cuda& exec, KeyView& keys, ValueView& values, int bits,
                     MemoryReservation& reservation) {
  using Key = typename KeyView::non_const_value_type;
  using Value = typename ValueView::non_const_value_type;
  const std::size_t count = keys.extent(0);
  const auto other_keys = reservation.allocate<KeyView>(exec, "lutra::trisolve::other keys", count);
  const auto other_values = reservation.allocate<ValueView>(exec, "lutra::trisolve::other blocks", count);
  cub::DoubleBuffer<Key> key_buffer(keys.data(), other_keys.data());
  cub::DoubleBuffer<Value> value_buffer(values.data(), other_values.data());
  const auto sort = [&](void* work, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(work, bytes, key_buffer, value_buffer,
                                           static_cast<std::int64_t>(count), 0, bits, exec.cuda_stream());
  };
  std::size_t bytes = 0;
  check_cuda(sort(nullptr, bytes), "asking for the scratch of a sort");
  const auto work =
      reservation.allocate<Kokkos::View<char*, Kokkos::CudaSpace>>(exec, "lutra::trisolve::sort", bytes);
  check_cuda(sort(work.data(), bytes), "sorting blocks by level");
  if (key_buffer.Current() != keys.data()) keys = other_keys;
  if (value_buffer.Current() != values.data()) values = other_values;
}

}  // namespace lutra::Impl

#endif

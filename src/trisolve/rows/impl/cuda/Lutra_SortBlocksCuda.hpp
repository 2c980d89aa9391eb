// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SORTBLOCKSCUDA_HPP
#define LUTRA_SORTBLOCKSCUDA_HPP

#include <Kokkos_Core.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <type_traits>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_TriangleSchedule.hpp"

namespace lutra::Impl {

/// Sorts the keys of a schedule together with its blocks, in existing scratch: Kokkos' sort would allocate
/// and free its own each time. Stable. On return the Views may have been swapped with scratch.
/// @param bits number of low bits of the keys that may be nonzero
inline void sort_schedule(const Kokkos::Cuda& exec, ScheduleScratch<Kokkos::CudaSpace>& scratch, int bits,
                          MemoryReservation& reservation) {
  auto& keys = scratch.keys;
  auto& blocks = scratch.block_at;
  using KeyView = std::remove_reference_t<decltype(keys)>;
  using BlockView = std::remove_reference_t<decltype(blocks)>;
  const std::size_t count = keys.extent(0);
  const auto other_keys = reservation.allocate<KeyView>(exec, "lutra::trisolve::other keys", count);
  const auto other_blocks = reservation.allocate<BlockView>(exec, "lutra::trisolve::other blocks", count);
  cub::DoubleBuffer<typename KeyView::non_const_value_type> key_buffer(keys.data(), other_keys.data());
  cub::DoubleBuffer<Ordinal> block_buffer(blocks.data(), other_blocks.data());
  check_launches();  // CUB would name another error
  const auto sort = [&](void* work, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(work, bytes, key_buffer, block_buffer,
                                           static_cast<std::int64_t>(count), 0, bits, exec.cuda_stream());
  };
  std::size_t bytes = 0;
  check_cuda(sort(nullptr, bytes), "asking for the scratch of a sort");
  const auto work =
      reservation.allocate<Kokkos::View<char*, Kokkos::CudaSpace>>(exec, "lutra::trisolve::sort", bytes);
  check_cuda(sort(work.data(), bytes), "sorting blocks by level");
  if (key_buffer.Current() != keys.data()) keys = other_keys;
  if (block_buffer.Current() != blocks.data()) blocks = other_blocks;
}

}  // namespace lutra::Impl

#endif

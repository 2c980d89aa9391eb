// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LARGEPAGES_HPP
#define LUTRA_LARGEPAGES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

constexpr std::size_t large_page_bytes = std::size_t(2) << 20;

inline std::size_t to_large_pages(std::size_t bytes) {
  return (bytes + large_page_bytes - 1) / large_page_bytes * large_page_bytes;
}

/// Asks for pages of 2 MB for host memory that nothing was written to yet: its first use then costs one fault
/// for 512. A wish, which has no effect where the system has none or too few of them.
inline void prefer_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const std::size_t first = to_large_pages(reinterpret_cast<std::uintptr_t>(begin));
  const std::size_t end =
      (reinterpret_cast<std::uintptr_t>(begin) + bytes) / large_page_bytes * large_page_bytes;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

/// A host View that has large pages to itself, so that it costs one fault for each 2 MB even where it is
/// small. That takes up to 4 MB more of addresses, which are counted but not used; so under a limit, and for
/// less than a fourth of a page, it is a View like others.
template <class T, class ExecutionSpace>
Kokkos::View<T*, Kokkos::HostSpace> allocate_in_large_pages(MemoryReservation& reservation,
                                                            const MemoryBudget& budget,
                                                            const ExecutionSpace& exec,
                                                            const std::string& label, std::size_t length) {
  using View = Kokkos::View<T*, Kokkos::HostSpace>;
  const std::size_t bytes = length * sizeof(T);
  if (budget.limit_bytes() != 0 || bytes < large_page_bytes / 4) {
    const auto view = reservation.allocate<View>(exec, label, length);
    prefer_large_pages(view.data(), bytes);
    return view;
  }
  const std::size_t with_borders = (to_large_pages(bytes) + large_page_bytes) / sizeof(T);
  const auto all = reservation.allocate<View>(exec, label, with_borders);
  const std::size_t at = reinterpret_cast<std::uintptr_t>(all.data());
  prefer_large_pages(all.data(), with_borders * sizeof(T));
  const std::size_t first = (to_large_pages(at) - at) / sizeof(T);
  return Kokkos::subview(all, Kokkos::make_pair(first, first + length));
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LARGEPAGES_HPP
#define LUTRA_LARGEPAGES_HPP

#include <cstddef>
#include <cstdint>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lutra::Impl {

/// Asks for pages of 2 MB for host memory that nothing was written to yet: its first use then costs one fault
/// for 512. A wish, which has no effect where the system has none or too few of them.
inline void prefer_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = std::uintptr_t(2) << 20;
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace lutra::Impl

#endif

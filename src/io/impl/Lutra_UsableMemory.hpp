// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_USABLEMEMORY_HPP
#define LUTRA_USABLEMEMORY_HPP

#include <cstdint>
#include <string>

namespace lutra::Impl {

/// Bytes of host memory a large array may take: what the system calls available, or the control group's
/// limit, or what is left of the address space (ulimit -v), whichever is least. Linux overcommits memory and
/// kills processes later, so relying on std::bad_alloc is not enough.
std::uint64_t usable_memory_bytes();

/// Throws OutOfMemoryError, `what` first in its message, unless `bytes` of host memory are usable.
void require_usable_memory(const std::string& what, std::uint64_t bytes);

}  // namespace lutra::Impl

#endif

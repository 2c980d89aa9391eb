// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_USABLEMEMORY_HPP
#define LUTRA_USABLEMEMORY_HPP

#include <cstdint>
#include <string>

namespace lutra::Impl {

/// Bytes of host memory available for a large array: the minimum of the system's available memory, the
/// control group's limit and the rest of the address space (ulimit -v). std::bad_alloc is not reliable: Linux
/// overcommits memory and kills processes later.
std::uint64_t usable_memory_bytes();

/// Throws OutOfMemoryError, its message starting with `what`, unless `bytes` of host memory are usable.
void require_usable_memory(const std::string& what, std::uint64_t bytes);

}  // namespace lutra::Impl

#endif

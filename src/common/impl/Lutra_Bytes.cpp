// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Bytes.hpp"

#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

template <class ExecutionSpace, class T>
using BytesOf = Kokkos::View<T*, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>;

}  // namespace

template <class ExecutionSpace>
void clear_bytes(const ExecutionSpace& exec, void* to, std::size_t bytes) {
  if (bytes == 0) return;
  Kokkos::deep_copy(exec, BytesOf<ExecutionSpace, char>(static_cast<char*>(to), bytes), char(0));
}

template <class ExecutionSpace>
void copy_bytes(const ExecutionSpace& exec, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Kokkos::deep_copy(exec, BytesOf<ExecutionSpace, char>(static_cast<char*>(to), bytes),
                    BytesOf<ExecutionSpace, const char>(static_cast<const char*>(from), bytes));
}

#define LUTRA_BYTES(Space)                                     \
  template void clear_bytes(const Space&, void*, std::size_t); \
  template void copy_bytes(const Space&, void*, const void*, std::size_t);
LUTRA_FOR_EACH_SPACE(LUTRA_BYTES)

}  // namespace lutra::Impl

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ARENA_HPP
#define LUTRA_ARENA_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace lutra::Impl {

/// Block of memory from which Views are carved, reusable.
template <class MemorySpace>
class Arena {
 public:
  using Bytes = Kokkos::View<char*, MemorySpace>;
  /// A cache line of a device, a multiple of those of hosts and of any vector load.
  static constexpr std::size_t alignment = 128;
  /// Maximum number of bytes lost to alignment by `views` Views.
  static std::size_t loss(std::size_t views) { return views * alignment; }

  explicit Arena(const Bytes& bytes) : m_bytes(bytes) {}
  template <class ViewType, class... Extents>
  ViewType cut(Extents... extents) {
    using Value = typename ViewType::value_type;
    char* const begin = cut_bytes((sizeof(Value) * ... * static_cast<std::size_t>(extents)));
    return ViewType(reinterpret_cast<Value*>(begin), extents...);
  }
  char* cut_bytes(std::size_t bytes) {
    const auto start = (m_used + alignment - 1) / alignment * alignment;
    m_used = start + bytes;
    return m_bytes.data() + start;
  }

 private:
  Bytes m_bytes;
  std::size_t m_used = 0;
};

}  // namespace lutra::Impl

#endif

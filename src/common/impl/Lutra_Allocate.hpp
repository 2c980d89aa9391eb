// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ALLOCATE_HPP
#define LUTRA_ALLOCATE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace lutra::Impl {

/// Rethrows the exception that is being handled, if it is an OutOfMemoryError, and otherwise throws one with
/// its message: Kokkos' own exception for a failed allocation is no std::bad_alloc on some backends.
[[noreturn]] void rethrow_as_out_of_memory(std::string_view label, std::size_t bytes);

/// Returns make(), which allocates.
/// @throws OutOfMemoryError naming the label
template <class Make>
auto allocating(std::string_view label, std::size_t bytes, const Make& make) {
  try {
    return make();
  } catch (...) {
    rethrow_as_out_of_memory(label, bytes);
  }
}

/// @throws OutOfMemoryError for more bytes than can be counted
void require_countable_bytes(std::string_view label, double bytes);

/// Bytes of a View with these extents. @throws OutOfMemoryError on overflow
template <class ViewType, class... Extents>
std::size_t bytes_of_view(std::string_view label, Extents... extents) {
  require_countable_bytes(label, (static_cast<double>(sizeof(typename ViewType::value_type)) * ... *
                                  static_cast<double>(extents)));
  return ViewType::required_allocation_size(extents...);
}

/// Zero-initialised View outside any budget, for a few values or for host memory of a device run.
/// @throws OutOfMemoryError naming the label
template <class ViewType, class... Extents>
ViewType make_uncounted(std::string_view label, Extents... extents) {
  if constexpr ((... && std::is_same_v<Extents, std::size_t>)) {
    const std::size_t bytes = bytes_of_view<ViewType>(label, extents...);
    return allocating(label, bytes, [&] { return ViewType(std::string(label), extents...); });
  } else {
    return make_uncounted<ViewType>(label, static_cast<std::size_t>(extents)...);
  }
}

/// Copy in that memory space, outside any budget. Fences.
/// @throws OutOfMemoryError naming the View
template <class Memory, class View>
auto mirror_in(const View& view) {
  return allocating(view.label() + " in " + Memory::name(), view.size() * sizeof(typename View::value_type),
                    [&] { return Kokkos::create_mirror_view_and_copy(Memory(), view); });
}
/// The View itself, if it is in that memory space.
template <class Memory, class View>
requires std::is_same_v<typename View::memory_space, Memory> View mirror_in(const View& view) {
  Kokkos::fence("lutra: an array is on the host");
  return view;
}

}  // namespace lutra::Impl

#endif

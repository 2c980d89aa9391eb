// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ALLOCATE_HPP
#define LUTRA_ALLOCATE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// Returns make(), which allocates. Translates Kokkos' own exception for a failed allocation, which on some
/// backends is no std::bad_alloc.
/// @throws OutOfMemoryError naming the label
template <class Make>
auto allocating(const std::string& label, std::size_t bytes, const Make& make) {
  try {
    return make();
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::exception& failure) {
    throw OutOfMemoryError("'" + label + "' needs " + std::to_string(bytes) + " bytes: " + failure.what(),
                           bytes);
  }
}

/// Bytes of a View with these extents. @throws OutOfMemoryError on overflow
template <class ViewType, class... Extents>
std::size_t bytes_of_view(const std::string& label, Extents... extents) {
  constexpr double too_many = 0x1p62;
  double bytes = sizeof(typename ViewType::value_type);
  ((bytes *= static_cast<double>(static_cast<std::size_t>(extents))), ...);
  if (bytes >= too_many)
    throw OutOfMemoryError("'" + label + "' needs about " + std::to_string(bytes) + " bytes",
                           static_cast<std::size_t>(too_many));
  return ViewType::required_allocation_size(static_cast<std::size_t>(extents)...);
}

/// Zero-initialised View outside any budget, for a few values or for host memory of a device run.
/// @throws OutOfMemoryError naming the label
template <class ViewType, class... Extents>
ViewType make_uncounted(const std::string& label, Extents... extents) {
  return allocating(label, bytes_of_view<ViewType>(label, extents...),
                    [&] { return ViewType(label, static_cast<std::size_t>(extents)...); });
}

/// The View itself if it is in that memory space, else a copy outside any budget. Fences.
/// @throws OutOfMemoryError naming the View
template <class Memory, class View>
auto mirror_in(const View& view) {
  return allocating(view.label() + " in " + Memory::name(), view.size() * sizeof(typename View::value_type),
                    [&] { return Kokkos::create_mirror_view_and_copy(Memory(), view); });
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ALLOCATE_HPP
#define LUTRA_ALLOCATE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// What make() returns, which allocates. Kokkos throws a type of its own where memory is short, on some
/// backends no std::bad_alloc.
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

/// Bytes of a View of these extents. @throws OutOfMemoryError where they are more than can be counted
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

/// A View of zeros that no budget counts: of a few values, or of a host's memory beside a device's.
/// @throws OutOfMemoryError naming the label
template <class ViewType, class... Extents>
ViewType make_uncounted(const std::string& label, Extents... extents) {
  return allocating(label, bytes_of_view<ViewType>(label, extents...),
                    [&] { return ViewType(label, static_cast<std::size_t>(extents)...); });
}

/// The View itself where that memory is its own, or a copy that no budget counts. Fences.
/// @throws OutOfMemoryError naming the View
template <class Memory, class View>
auto mirror_in(const View& view) {
  return allocating(view.label() + " in " + Memory::name(), view.size() * sizeof(typename View::value_type),
                    [&] { return Kokkos::create_mirror_view_and_copy(Memory(), view); });
}

}  // namespace lutra::Impl

#endif

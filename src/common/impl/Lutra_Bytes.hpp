// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BYTES_HPP
#define LUTRA_BYTES_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

namespace lutra::Impl {

// Kokkos::deep_copy is compiled for each pair of View types, and costs more than most kernels here. These two
// are compiled once.

template <class ExecutionSpace>
void clear_bytes(const ExecutionSpace& exec, void* to, std::size_t bytes);
template <class ExecutionSpace>
void copy_bytes(const ExecutionSpace& exec, void* to, const void* from, std::size_t bytes);

/// Sets the elements of a contiguous View in the memory of `exec` to zero.
template <class ExecutionSpace, class View>
void set_to_zero(const ExecutionSpace& exec, const View& view) {
  clear_bytes(exec, view.data(), view.span() * sizeof(typename View::value_type));
}

/// Copies a contiguous View to one of the same extents; both are in the memory of `exec`.
template <class ExecutionSpace, class To, class From>
void copy_view(const ExecutionSpace& exec, const To& to, const From& from) {
  using T = typename To::value_type;
  static_assert(std::is_same_v<const T, typename From::const_value_type>);
  copy_bytes(exec, to.data(), from.data(), to.span() * sizeof(T));
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UNINITIALIZEDVECTOR_HPP
#define LUTRA_UNINITIALIZEDVECTOR_HPP

#include <memory>
#include <type_traits>
#include <vector>

namespace lutra::Impl {

/// Leaves elements uninitialized that are given no value.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T>);
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  template <class U>
  void construct(U*) noexcept {}
};

/// A vector whose `resize` does not write, so that threads are the first to touch the memory that they fill.
template <class T>
using UninitializedVector = std::vector<T, UninitializedAllocator<T>>;

}  // namespace lutra::Impl

#endif

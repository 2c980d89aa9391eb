// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AT_HPP
#define LUTRA_AT_HPP

#include <cstddef>

namespace lutra::Impl {

/// An element of a std::vector by an index of a signed type.
template <class Array, class Index>
decltype(auto) at(Array& array, Index i) {
  return array[static_cast<std::size_t>(i)];
}

}  // namespace lutra::Impl

#endif

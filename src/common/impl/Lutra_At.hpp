// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AT_HPP
#define LUTRA_AT_HPP

#include <cstddef>

namespace lutra::Impl {

/// Element of a std::vector at a signed index.
template <class Array, class Index>
decltype(auto) at(Array& array, Index i) {
  return array[static_cast<std::size_t>(i)];
}

}  // namespace lutra::Impl

#endif

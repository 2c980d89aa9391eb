// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TREESUMS_HPP
#define LUTRA_TREESUMS_HPP

#include <cstddef>
#include <vector>

#include "Lutra_At.hpp"

namespace lutra::Impl {

/// Sum of `value` over the subtree of each vertex.
/// @param parent [n] −1 for a root; parents have greater numbers than their children
template <class Index, class Value>
std::vector<Value> subtree_sums(const std::vector<Index>& parent, std::vector<Value> value) {
  for (std::size_t j = 0; j < parent.size(); ++j) {
    if (parent[j] >= 0) at(value, parent[j]) += value[j];
  }
  return value;
}

template <class Index>
std::vector<Index> inverse_of(const std::vector<Index>& permutation) {
  std::vector<Index> position(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) at(position, permutation[k]) = static_cast<Index>(k);
  return position;
}

}  // namespace lutra::Impl

#endif

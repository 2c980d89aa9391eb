// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORWEIGHTS_HPP
#define LUTRA_SEPARATORWEIGHTS_HPP

#include "Lutra_DissectionGraph.hpp"

namespace lutra::Impl {

/// Weights of the parts of a bisection, with a comparison of bisections.
template <class Index>
struct SeparatorWeights {
  Index part[3] = {0, 0, 0};  ///< weights of side a, side b and the separator

  Index larger_side() const { return part[0] > part[1] ? part[0] : part[1]; }
  Index imbalance() const { return part[0] > part[1] ? part[0] - part[1] : part[1] - part[0]; }

  /// Maximum weight of a side.
  Index max_side(double share) const {
    return static_cast<Index>(share * (static_cast<double>(part[0]) + static_cast<double>(part[1]) +
                                       static_cast<double>(part[separator])));
  }

  /// Compares the excess over the maximum weight of a side, then the separator's weight, then the balance.
  bool better_than(const SeparatorWeights& other, Index max_side) const {
    const Index excess = larger_side() > max_side ? larger_side() - max_side : Index(0);
    const Index other_excess = other.larger_side() > max_side ? other.larger_side() - max_side : Index(0);
    if (excess != other_excess) return excess < other_excess;
    if (part[separator] != other.part[separator]) return part[separator] < other.part[separator];
    return imbalance() < other.imbalance();
  }
};

}  // namespace lutra::Impl

#endif

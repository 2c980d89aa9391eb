// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPLITFRONTS_HPP
#define LUTRA_SPLITFRONTS_HPP

#include "Lutra_AssemblyTree.hpp"

namespace lutra {

/// Splits fronts that hold up other subtrees. Amalgamation merges a separator with the separator of one of
/// its halves where that adds no zeros. The merged front then waits for both halves, although the pivots of
/// the second separator need only one:
///
///         front          pivots of the first separator ◄── half B
///        ╱  │  ╲    →           │
///       A₁  A₂  B        pivots of the second ◄── A₁, A₂
///
/// A front is split before the first row of a child if the subtree of the part below, and the children of the
/// part above, have at least a share of all flops each. The parts are dense, so that flops stay the same; the
/// contribution block of the part below is additional. Pivots are renumbered, and `tree.order` with them.
/// O(n + rows), on one host thread.
/// @param tree  complete
/// @param share of all flops
/// @returns the number of splits
int split_fronts(AssemblyTree& tree, double share = 0.02);

}  // namespace lutra

#endif

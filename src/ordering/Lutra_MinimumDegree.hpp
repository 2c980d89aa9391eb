// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MINIMUMDEGREE_HPP
#define LUTRA_MINIMUMDEGREE_HPP

#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Approximate minimum degree ordering of a graph (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix
/// Anal. Appl. 17, 1996), on one host thread; deterministic, in a postorder of its assembly tree. Dense
/// vertices make it slow; `reduce_graph` removes them. Thread-safe. Memory: about 1.25 times the edges plus
/// 15·n indices.
/// @param weights    [n] positive, with a sum that fits in Index; empty: all 1
/// @param n_boundary number of last vertices that are counted in degrees but not ordered; edges among them
/// may be absent
/// @return [n − n_boundary] vertex eliminated as k-th
/// @throws InputError if the number of weights is wrong or `n_boundary` is not in 0 … n
template <class Index>
std::vector<Index> minimum_degree(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights = {},
                                  Index n_boundary = 0);

}  // namespace lutra

#endif

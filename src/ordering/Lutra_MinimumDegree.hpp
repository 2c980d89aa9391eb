// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MINIMUMDEGREE_HPP
#define LUTRA_MINIMUMDEGREE_HPP

#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Approximate minimum degree order of a graph (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix
/// Anal. Appl. 17, 1996), on one host thread: a function of the arguments alone, in a postorder of its
/// assembly tree. Dense vertices make it slow: `reduce_graph` sets them apart. Several threads may call it at
/// once. Memory: some 1.25 times the edges and 15·n indices.
/// @param weights    [n] positive, with a sum that fits in Index; empty: all 1
/// @param n_boundary so many last vertices are counted in degrees and not ordered; edges among them may be
///                   absent
/// @param max_entries of L below the diagonal, by approximate degrees, beyond which the order is given up
/// @return [n − n_boundary] vertex eliminated as k-th; empty where it was given up
/// @throws InputError where the number of weights is wrong or `n_boundary` is not in 0 … n
template <class Index>
std::vector<Index> minimum_degree(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights = {},
                                  Index n_boundary = 0,
                                  std::int64_t max_entries = std::numeric_limits<std::int64_t>::max());

}  // namespace lutra

#endif

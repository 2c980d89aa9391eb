// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MINIMUMDEGREE_HPP
#define LUTRA_MINIMUMDEGREE_HPP

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// The work of a minimum degree order. Most of its time goes with the list entries it visits, which depends
/// on the graph alone, so that an order is given up at the same place each time.
struct DegreeWork {
  std::int64_t visits = 0;  ///< so far; to find a list counts as some
  std::int64_t max_visits = std::numeric_limits<std::int64_t>::max();
  std::int64_t vertices = 0, edges = 0;  ///< of the graph that is ordered, each edge counted twice
  /// Called beyond `max_visits`, which it may raise: another order may be made before this one goes on.
  /// Without it, or with the limit as low as it is, the order is given up.
  std::function<void(DegreeWork&)> at_limit = {};

  /// Adds visits. @returns whether to go on
  bool add(std::int64_t more) {
    visits += more;
    if (visits > max_visits && at_limit) at_limit(*this);
    return visits <= max_visits;
  }
};

/// Approximate minimum degree order of a graph (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix
/// Anal. Appl. 17, 1996), on one host thread: a function of the arguments alone, in a postorder of its
/// assembly tree. Dense vertices make it slow: `reduce_graph` sets them apart. Several threads may call it at
/// once. Memory: some 1.25 times the edges and 15·n indices.
/// @param weights    [n] positive, with a sum that fits in Index; empty: all 1
/// @param n_boundary so many last vertices are counted in degrees and not ordered; edges among them may be
///                   absent
/// @param work what it takes is added to, and may take; nothing: any
/// @return [n − n_boundary] vertex eliminated as k-th; empty where it was given up
/// @throws InputError where the number of weights is wrong or `n_boundary` is not in 0 … n
template <class Index>
std::vector<Index> minimum_degree(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights = {},
                                  Index n_boundary = 0, DegreeWork* work = nullptr);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MINIMUMDEGREE_HPP
#define LUTRA_MINIMUMDEGREE_HPP

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Work of a minimum degree ordering, in visited list entries, which dominate its time. It depends only on
/// the graph, so a limit stops the ordering at the same point in every run.
struct DegreeWork {
  std::int64_t visits = 0;  ///< so far; locating a list counts as several
  std::int64_t max_visits = std::numeric_limits<std::int64_t>::max();
  std::int64_t vertices = 0, edges = 0;  ///< of the ordered graph, with each edge counted twice
  /// Called when `visits` exceeds `max_visits`, which it may raise, for example after trying another
  /// ordering. The ordering stops if it is empty or leaves the limit too low.
  std::function<void(DegreeWork&)> at_limit = {};

  /// Adds visits. @returns whether to continue
  bool add(std::int64_t more) {
    visits += more;
    if (visits > max_visits && at_limit) at_limit(*this);
    return visits <= max_visits;
  }
};

/// Approximate minimum degree ordering of a graph (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix
/// Anal. Appl. 17, 1996), on one host thread; deterministic, in a postorder of its assembly tree. Dense
/// vertices make it slow; `reduce_graph` removes them. Thread-safe. Memory: about 1.25 times the edges plus
/// 15·n indices.
/// @param weights    [n] positive, with a sum that fits in Index; empty: all 1
/// @param n_boundary number of last vertices that are counted in degrees but not ordered; edges among them
/// may be absent
/// @param work work counter and limit; nullptr: no limit
/// @return [n − n_boundary] vertex eliminated as k-th; empty if stopped by `work`
/// @throws InputError if the number of weights is wrong or `n_boundary` is not in 0 … n
template <class Index>
std::vector<Index> minimum_degree(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights = {},
                                  Index n_boundary = 0, DegreeWork* work = nullptr);

}  // namespace lutra

#endif

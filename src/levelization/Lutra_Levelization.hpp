// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATION_HPP
#define LUTRA_LEVELIZATION_HPP

#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Options of `levelize`.
struct LevelizationOptions {
  /// Forces the portable kernels where the space has its own
  bool portable = false;
};

/// A part of a graph's edges, grouped by source: node v has entries(begin(v) + skip) … entries(end(v) − 1).
/// Empty Views: no edges.
template <class MemorySpace>
struct Successors {
  Kokkos::View<const Offset*, MemorySpace> begin;     ///< [n]
  Kokkos::View<const Offset*, MemorySpace> end;       ///< [n]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< nodes that wait for v
  Offset skip = 0;                                    ///< 1 skips a diagonal at `begin`
};

/// A directed acyclic graph. The successors of v are those in both parts; an edge in both counts twice, which
/// does not change the levels.
template <class MemorySpace>
struct DependencyGraph {
  Ordinal n = 0;
  Successors<MemorySpace> first;
  Successors<MemorySpace> second;
};

/// Nodes by level. Nodes of one level are independent of each other.
template <class MemorySpace>
struct Levels {
  Kokkos::View<const Ordinal*, MemorySpace> order;     ///< [n] nodes level by level, ascending within a level
  Kokkos::View<const Ordinal*, MemorySpace> level_of;  ///< [n]
  std::vector<Ordinal> level_map;  ///< [levels + 1] on the host: start of each level in `order`
  MemoryReservation reservation;

  std::size_t size() const { return level_map.empty() ? 0 : level_map.size() - 1; }
};

/// Levels of a graph: a node's level is the length of the longest path that ends in it.
///
/// Kahn's algorithm as in "End-to-End LU Factorization of Large Matrices on GPUs", section 3.3, Algorithm 5.
/// In-degrees are counted. Each round then takes the queue of nodes without predecessors, decrements the
/// in-degrees of their successors, and queues those that reach zero. O(nodes + edges) work. On CUDA one
/// persistent kernel finds all levels; elsewhere each level costs one launch and one copy of the queue's
/// length to the host. Finally nodes are sorted by level.
///
/// @throws InputError if the graph has a cycle; OutOfMemoryError
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options = {});

}  // namespace lutra

#endif

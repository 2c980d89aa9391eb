// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATION_HPP
#define LUTRA_LEVELIZATION_HPP

#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Options of `levelize` and `levelize_forest`.
struct LevelizationOptions {
  /// The kernels for all execution spaces also where there are some made for the space
  bool portable = false;
};

/// A part of a graph's edges by source: those of node v are entries(begin(v) + skip) … entries(end(v) − 1).
/// Empty Views stand for no edges.
template <class MemorySpace>
struct Successors {
  Kokkos::View<const Offset*, MemorySpace> begin;     ///< [n]
  Kokkos::View<const Offset*, MemorySpace> end;       ///< [n]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< nodes that wait for v
  Offset skip = 0;                                    ///< 1 leaves out a diagonal at `begin`
};

/// A directed acyclic graph. The successors of v are those of both parts; an edge in both counts twice, which
/// changes no level.
template <class MemorySpace>
struct DependencyGraph {
  Ordinal n = 0;
  Successors<MemorySpace> first;
  Successors<MemorySpace> second;
};

/// Nodes by level. Nodes of one level do not depend on one another.
template <class MemorySpace>
struct Levels {
  Kokkos::View<const Ordinal*, MemorySpace> order;     ///< [n] nodes level by level, ascending within one
  Kokkos::View<const Ordinal*, MemorySpace> level_of;  ///< [n]
  std::vector<Ordinal> level_map;  ///< [levels + 1], on the host: where each level starts in `order`
  MemoryReservation reservation;

  std::size_t size() const { return level_map.empty() ? 0 : level_map.size() - 1; }
};

/// Levels of a graph: a node's level is the length of the longest path that ends in it.
///
/// Kahn's algorithm as in "End-to-End LU Factorization of Large Matrices on GPUs", section 3.3, Algorithm 5.
/// In-degrees are counted. Then each round takes the queue of nodes without predecessors, lowers the
/// in-degrees of their successors, and queues those that reach zero. O(nodes + edges) work. On CUDA one
/// persistent kernel finds all levels; elsewhere each level costs one launch and one copy of the queue's
/// length to the host. Nodes are then sorted by level.
///
/// @throws InputError where the graph has a cycle; OutOfMemoryError
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options = {});

/// Levels of a forest: leaves are level 0, a node is above all its children. For elimination forests and
/// assembly trees.
///
/// On hosts, where every parent has a greater number than its children, one pass over the nodes and a
/// counting sort; else `levelize` on the edges from nodes to their parents.
///
/// @param parent [n] in the execution space's memory; −1 for a root
/// @param options `portable` also forces `levelize` where a host would take the pass over the nodes
/// @throws InputError where a parent is not another node, or where parents form a cycle;
/// OutOfMemoryError
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_forest(
    const ExecutionSpace& exec,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& parent,
    const MemoryBudget& budget, const LevelizationOptions& options = {});

}  // namespace lutra

#endif

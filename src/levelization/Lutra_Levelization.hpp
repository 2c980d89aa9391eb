// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATION_HPP
#define LUTRA_LEVELIZATION_HPP

#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

namespace Impl {
struct KahnLaunch;
}

/// How the rounds of Kahn's algorithm follow each other.
enum class LevelizationMethod {
  cooperative,      ///< on CUDA one persistent kernel with a grid barrier per round; elsewhere as `portable`
  device_launches,  ///< CUDA: kernels that launch the next rounds from the device (Algorithm 5 of the paper)
  portable          ///< one launch by the host per round
};

/// Name on the command line.
constexpr std::string_view name_of(LevelizationMethod method) {
  switch (method) {
    case LevelizationMethod::device_launches:
      return "device";
    case LevelizationMethod::portable:
      return "portable";
    default:
      return "cooperative";
  }
}

/// Kernels that launch kernels. `lutra::device_launches()` of the library Lutra::device_launches returns
/// them; they are compiled apart from Lutra::lutra, since they need device linking.
struct DeviceLaunches {
  /// Queues all rounds of Kahn's algorithm on the CUDA stream `stream`, and waits for them.
  void (*levelize)(const Impl::KahnLaunch& launch, int blocks, void* stream) = nullptr;
};

/// Options of `levelize`.
struct LevelizationOptions {
  LevelizationMethod method = LevelizationMethod::cooperative;
  const DeviceLaunches* launches = nullptr;  ///< required by `device_launches`
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
/// in-degrees of their successors, and queues those that reach zero. O(nodes + edges) work. By default one
/// persistent kernel finds all levels on CUDA; elsewhere each level costs one launch and one copy of the
/// queue's length to the host. Finally nodes are sorted by level. All methods give the same result.
///
/// @throws InputError if the graph has a cycle, or for `device_launches` without its kernels or without CUDA;
///         OutOfMemoryError
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options = {});

}  // namespace lutra

#endif

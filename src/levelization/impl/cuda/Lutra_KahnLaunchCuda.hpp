// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KAHNLAUNCHCUDA_HPP
#define LUTRA_KAHNLAUNCHCUDA_HPP

#include "Lutra_Index.hpp"

// Arguments of the kernels of Kahn's algorithm, without Kokkos: kernels that launch kernels are compiled as
// relocatable device code, in which a Kokkos without it cannot be included.

namespace lutra::Impl {

/// One part of a graph's edges, grouped by source.
struct EdgeList {
  const Offset* begin = nullptr;
  const Offset* end = nullptr;
  const Ordinal* entries = nullptr;  ///< null: no edges
  Offset skip = 0;

  __device__ __forceinline__ Offset first(Ordinal v) const { return entries ? begin[v] + skip : Offset(0); }
  __device__ __forceinline__ Offset last(Ordinal v) const { return entries ? end[v] : Offset(0); }
};

/// The level to process next. Written by block 0 after small levels, and at the end for the host.
struct KahnProgress {
  Ordinal begin, end, level;  ///< range of the queue, index of the level
  unsigned arrived = 0;       ///< device launches: blocks that have completed the level before
};

struct KahnLaunch {
  Ordinal n = 0;
  EdgeList parts[2];
  Ordinal* degrees = nullptr;   ///< [n] predecessors not yet processed
  Ordinal* queue = nullptr;     ///< [n] nodes, level by level
  Ordinal* level_of = nullptr;  ///< [n]
  Ordinal* widths = nullptr;    ///< [n + 1] nodes of each level, initially zero
  KahnProgress* progress = nullptr;
  int lanes = 1;  ///< threads per node in large levels
  int small = 0;  ///< largest level processed by one block

  /// Calls visit(successor) for edges lane, lane + step, … of a node's two concatenated lists.
  template <class Visitor>
  __device__ __forceinline__ void for_successors(Ordinal v, Offset lane, Offset step,
                                                 const Visitor& visit) const {
    const Offset first = parts[0].first(v), second = parts[1].first(v);
    const Offset first_count = max(parts[0].last(v) - first, Offset(0));
    const Offset count = first_count + max(parts[1].last(v) - second, Offset(0));
    for (Offset e = lane; e < count; e += step)
      visit(e < first_count ? parts[0].entries[first + e] : parts[1].entries[second + (e - first_count)]);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANCESTORSCUDA_HPP
#define LUTRA_ANCESTORSCUDA_HPP

#include "Lutra_AncestorSets.hpp"

namespace lutra::Impl {

/// Elimination along a chain of only children, which is what dense separators are: a warp keeps the sets in
/// registers, loads those of the next vertex one step ahead, and looks at the forest 32 vertices at once.
template <class Ordinal, class Offset>
struct ChainElimination<Ordinal, Offset, Kokkos::Cuda> {
  static constexpr bool exists = true;
  static constexpr int lanes = 32, most_words = 4;  ///< of a lane, of each kind of set
  static constexpr int least_steps = 4;             ///< for which the registers are filled
  static constexpr unsigned all = 0xffffffffu;
  using Elimination = AncestorElimination<Ordinal, Offset, Kokkos::Cuda>;
  using Sets = typename Elimination::Sets;
  using Word = typename Sets::Word;

  /// The words of both sets of a vertex that a lane holds.
  struct Held {
    Word upper[most_words], lower[most_words];
  };

  const Elimination& elimination;

  /// Eliminates v and on, while the next vertex is the parent, has no other child, and is the nearest common
  /// ancestor; returns the vertex that is next. Called by all lanes of a warp.
  __device__ Ordinal climb(Ordinal v) const {
    const Sets& sets = elimination.sets;
    Ordinal depth = sets.depth(v);
    int steps = steps_from(v);
    if (steps < least_steps || Sets::words(depth) > most_words * lanes) return v;
    Offset at = sets.map(v);
    Held own = load(at, depth);
    while (steps > 0) {
      Held next = load(at + Sets::words(depth), depth - 1);
      for (int step = 0; step < steps; ++step) {
        if (!meets(own, depth - 1)) {
          __syncwarp();
          return v;
        }
        at += Sets::words(depth);
        --depth;
        ++v;
        const Held after = step + 1 < steps ? load(at + Sets::words(depth), depth - 1) : Held{};
        merge(own, next, at, depth);
        next = after;
      }
      steps = steps_from(v);
    }
    __syncwarp();  // the sets are in memory
    return v;
  }

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }

  /// How many of the next 32 vertices are the only child's parent each.
  __device__ int steps_from(Ordinal v) const {
    const Ordinal above = v + 1 + static_cast<Ordinal>(lane());
    const bool goes_on = above < elimination.n && elimination.sets.parent(above - 1) == above &&
                         elimination.children(above) == 1;
    const unsigned others = ~__ballot_sync(all, goes_on);
    return others == 0 ? lanes : __ffs(static_cast<int>(others)) - 1;
  }

  __device__ Held load(Offset at, Ordinal depth) const {
    Held held;
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      const Ordinal w = s * lanes + static_cast<Ordinal>(lane());
      const bool there = w < Sets::words(depth);
      held.upper[s] = there ? elimination.sets.upper(at + w) : Word(0);
      held.lower[s] = there ? elimination.sets.lower(at + w) : Word(0);
    }
    return held;
  }

  /// Whether bit d is in both sets.
  __device__ static bool meets(const Held& own, Ordinal d) {
    const auto w = static_cast<int>(d / 64);
    Word both = 0;
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      if (s == w / lanes) both = own.upper[s] & own.lower[s];
    }
    return (__shfl_sync(all, both, w % lanes) >> (d % 64) & 1) != 0;
  }

  /// Merges the first `depth` bits of `own` into the sets of the vertex at `at`, and writes them.
  __device__ void merge(Held& own, const Held& there, Offset at, Ordinal depth) const {
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      const Ordinal w = s * lanes + static_cast<Ordinal>(lane());
      const Word mask = w < Sets::words(depth) ? Sets::below(depth, w) : Word(0);
      own.upper[s] = there.upper[s] | (own.upper[s] & mask);
      own.lower[s] = there.lower[s] | (own.lower[s] & mask);
      if (own.upper[s] != there.upper[s]) elimination.sets.upper(at + w) = own.upper[s];
      if (own.lower[s] != there.lower[s]) elimination.sets.lower(at + w) = own.lower[s];
    }
  }
};

}  // namespace lutra::Impl

#endif

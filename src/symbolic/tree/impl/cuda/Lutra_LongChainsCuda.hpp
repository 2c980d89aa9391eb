// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LONGCHAINSCUDA_HPP
#define LUTRA_LONGCHAINSCUDA_HPP

#include <algorithm>

#include "Lutra_AncestorsCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Elimination along a long chain without other unfinished children, by a block, in panels of up to 64
/// vertices whose depths have their bits in one word of all sets, the *diagonal word*:
///
///               words of each set
///               0 1 2 3 4    d = depth/64
///     v         . . . . .    D
///     v + 1     . . . . .    D        D: eliminated by warp 0, yields the sources of each vertex
///     v + 2     . . . . .    D        .: one thread per column, later vertices' words in flight
///       ⋮       │ │ │ │ │
///
/// A word depends only on the same word of other vertices of the panel. Protocol of a panel:
///
///     warp 0        diagonal words      │ columns │
///     warp 1        next panel's length │ columns │
///     other warps   load columns        │ columns │
///                                   barrier 1  barrier 2
///
/// After barrier 1 the sources are known; after barrier 2 the panel's sets are in memory and the length of
/// the next panel is known. Vertices open at the end of a panel, not yet past a vertex in both U and L, then
/// propagate to all ancestors further up (`VertexElimination`).
struct LongChains {
  /// A panel is as long as a word has bits. 512 threads, so that each may use 128 registers for words in
  /// flight.
  static constexpr int lanes = 32, warps = 16, panel = 64;
  static constexpr int ahead = 16;  ///< vertices whose own words are being loaded; divides 64
  static constexpr unsigned all = 0xffffffffu;

  using Elimination = AncestorEliminationCuda;
  using Chains = ChainElimination;
  using Vertex = VertexElimination;
  using Sets = typename Elimination::Sets;
  using Team = typename Elimination::Team;
  using Word = typename Sets::Word;

  Elimination elimination;
  Kokkos::View<Ordinal, Kokkos::CudaSpace> next_chain;

  /// Data exchanged between warps.
  struct Shared {
    Ordinal at;
    int steps;                              ///< number of vertices of the next panel
    Word open;                              ///< vertices of the panel that are open at its end, as bits
    Word to_upper[panel], to_lower[panel];  ///< vertices that propagate to each row of the panel, as bits
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x); }
  /// Bypasses the L1 cache, since other blocks write as well.
  __device__ static Word load(const Word& word) {
    return __ldcg(reinterpret_cast<const unsigned long long*>(&word));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const { KOKKOS_IF_ON_DEVICE((run(team);)) }

  __device__ void run(const Team& team) const {
    auto& shared = *static_cast<Shared*>(team.team_shmem().get_shmem(sizeof(Shared)));
    const Ordinal count = elimination.n_long_chains();
    while (true) {
      if (team.team_rank() == 0 && lane() == 0)
        shared.at = Kokkos::atomic_fetch_add(&next_chain(), Ordinal(1));
      team.team_barrier();  // the next chain is known
      const Ordinal taken = shared.at;
      team.team_barrier();  // it may change
      if (taken >= count) return;
      eliminate_path(team, shared, elimination.long_chains(taken));
    }
  }

  /// The first warp eliminates from the end of one chain to the start of another, or to the end.
  __device__ void eliminate_path(const Team& team, Shared& shared, Ordinal v) const {
    while (v < elimination.n) {
      v = follow_chain(team, shared, v);
      if (team.team_rank() == 0) {
        const Ordinal next = follow_to_chain(team, v);
        if (lane() == 0) shared.at = next;
      }
      team.team_barrier();  // the next chain is known
      v = shared.at;
      team.team_barrier();  // it may change
    }
  }

  __device__ Ordinal follow_to_chain(const Team& team, Ordinal v) const {
    do {
      const Ordinal above = elimination.sets.parent(v);
      if (above >= elimination.n) return elimination.n;
      elimination.eliminate(v, above);
      if (elimination.children(above) != 1 && !elimination.is_last(team, above)) return elimination.n;
      v = above;
    } while (Chains::steps_from(elimination, v) < 2);
    return v;
  }

  /// Number of vertices of the panel that starts at v, excluding v itself, whose sets are complete.
  __device__ int panel_from(Ordinal v, Ordinal depth) const {
    const int most = depth > 0 ? static_cast<int>((depth - 1) % panel) + 1 : 0;
    int steps = most > 0 ? Chains::steps_from(elimination, v) : 0;
    if (steps == lanes && most > lanes) steps += Chains::steps_from(elimination, v + lanes);
    return min(steps, most);
  }

  /// Eliminates v and its successors to the end of the chain; returns the last vertex, whose sets are
  /// complete but not yet propagated.
  __device__ Ordinal follow_chain(const Team& team, Shared& shared, Ordinal v) const {
    const Sets& sets = elimination.sets;
    Ordinal depth = sets.depth(v);
    Offset map = sets.map(v);
    if (team.team_rank() == 0) {
      const int steps = panel_from(v, depth);
      if (lane() == 0) shared.steps = steps;
    }
    team.team_barrier();  // the steps are known
    while (true) {
      const int steps = shared.steps;
      if (steps == 0) return v;
      const Ordinal diagonal = (depth - 1) / panel;
      const Offset stride = static_cast<Offset>(diagonal) + 1;
      const int thread = team.team_rank() * lanes + lane(), threads = warps * lanes;
      Ordinal item = thread;
      Column column;
      if (item < 2 * diagonal) column = begin_column(item, diagonal, map, steps);
      int steps_after = 0;
      if (team.team_rank() == 0) eliminate_diagonal(shared, map + diagonal, stride, depth, steps);
      if (team.team_rank() == 1) steps_after = panel_from(v + steps, depth - steps);
      team.team_barrier();  // barrier 1: sources of each vertex are known
      const Word open = shared.open;
      if (thread == lanes) shared.steps = steps_after;
      while (item < 2 * diagonal) {
        finish_column(shared, item < diagonal, column, stride, steps);
        item += threads;
        if (item < 2 * diagonal) column = begin_column(item, diagonal, map, steps);
      }
      team.team_barrier();  // barrier 2: the sets of the panel are in memory, the next steps are known
      v += steps;
      depth -= steps;
      if (open != 0) eliminate_open(team, open, v - steps, v, depth);
      map += steps * stride;
    }
  }

  /// One word of all sets of one kind in a panel.
  struct Column {
    Word* first;      ///< word of the vertex before the panel
    Word before;      ///< word of the vertex before the next
    Word own[ahead];  ///< words of the next vertices
  };

  __device__ Column begin_column(Ordinal item, Ordinal diagonal, Offset map, int steps) const {
    const bool upper = item < diagonal;
    const Offset offset = map + (upper ? item : item - diagonal);
    Column column;
    column.first = upper ? &elimination.sets.upper(offset) : &elimination.sets.lower(offset);
    column.before = load(*column.first);
    load_own(column, static_cast<Offset>(diagonal) + 1, 0, steps);
    return column;
  }

  /// Loads own words of the vertices after `begin` of the panel.
  __device__ static void load_own(Column& column, Offset stride, int begin, int steps) {
    const Word* word = column.first + (begin + 1) * stride;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      column.own[k] = begin + k < steps ? load(*word) : Word(0);
      word += stride;
    }
  }

  /// Words of 16 vertices are loaded together while those of the preceding 16 are merged: if each were loaded
  /// when used, waiting for one would wait for later ones too.
  __device__ static void finish_column(const Shared& shared, bool upper, Column& column, Offset stride,
                                       int steps) {
    const Word* const sources = upper ? shared.to_upper : shared.to_lower;
    for (int begin = 0; begin < steps; begin += ahead) {
      Column next;
      next.first = column.first;
      load_own(next, stride, begin + ahead, steps);
      Word* word = column.first + (begin + 1) * stride;
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        const int row = begin + k;
        if (row < steps) {
          const Word from = sources[row], nearest = Word(1) << row;
          Word merged = column.own[k];
          if ((from & nearest) != 0) merged |= column.before;
          for (Word rest = from & ~nearest; rest != 0; rest &= rest - 1) {
            merged |= load(column.first[(__ffsll(static_cast<long long>(rest)) - 1) * stride]);
          }
          if (merged != column.own[k]) *word = merged;
          column.before = merged;
        }
        word += stride;
      }
#pragma unroll
      for (int k = 0; k < ahead; ++k) column.own[k] = next.own[k];
    }
  }

  __device__ static Word or_over_lanes(Word value) {
    const unsigned low = __reduce_or_sync(all, static_cast<unsigned>(value));
    const unsigned high = __reduce_or_sync(all, static_cast<unsigned>(value >> 32));
    return static_cast<Word>(high) << 32 | low;
  }

  /// Row k of a panel, in lane k % 32: the vertex that propagates, and the vertex after it.
  struct DiagonalWords {
    Word upper[2], lower[2], next_upper[2], next_lower[2];
  };

  /// Eliminates on the words at `offset`, with `stride` between vertices. By one warp.
  __device__ void eliminate_diagonal(Shared& shared, Offset offset, Offset stride, Ordinal depth,
                                     int steps) const {
    DiagonalWords rows = load_diagonal(offset, stride, depth, steps);
    const DiagonalWords before = rows;
    Word open = 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < lanes && half * lanes + k < steps; ++k) {
        const int row = half * lanes + k;
        const auto bit = static_cast<int>((depth - 1 - row) % panel);
        const Word below = (Word(1) << bit) - 1;
        Word to_upper = 0, to_lower = 0, upper = 0, lower = 0;
#pragma unroll
        for (int h = 0; h <= half; ++h) {
          const bool is_open = (open >> (h * lanes + lane()) & 1) != 0;
          const bool passes_upper = is_open && (rows.lower[h] >> bit & 1) != 0;
          const bool passes_lower = is_open && (rows.upper[h] >> bit & 1) != 0;
          to_upper |= static_cast<Word>(__ballot_sync(all, passes_upper)) << (h * lanes);
          to_lower |= static_cast<Word>(__ballot_sync(all, passes_lower)) << (h * lanes);
          if (passes_upper) upper |= rows.upper[h];
          if (passes_lower) lower |= rows.lower[h];
        }
        upper = (or_over_lanes(upper) & below) | __shfl_sync(all, rows.next_upper[half], k);
        lower = (or_over_lanes(lower) & below) | __shfl_sync(all, rows.next_lower[half], k);
        open &= ~(to_upper & to_lower);
        if (row + 1 < steps) open |= Word(1) << (row + 1);
        const int after = k + 1 < lanes ? half : 1;
        if (lane() == (k + 1) % lanes) {
          if (after == 0) {
            rows.upper[0] = upper;
            rows.lower[0] = lower;
          } else {
            rows.upper[1] = upper;
            rows.lower[1] = lower;
          }
        }
        if (lane() == k) {
          rows.next_upper[half] = upper;
          rows.next_lower[half] = lower;
          shared.to_upper[row] = to_upper;
          shared.to_lower[row] = to_lower;
        }
      }
    }
    if (lane() == 0) shared.open = open;
    store_diagonal(rows, before, offset, stride, steps);
  }

  __device__ DiagonalWords load_diagonal(Offset offset, Offset stride, Ordinal depth, int steps) const {
    DiagonalWords rows;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = h * lanes + lane();
      // A vertex whose depth is a multiple of 64 has no bits in the diagonal word, and no such word.
      const bool there = row < steps && (depth - 1 - row) % panel != 0;
      const Offset at = offset + (row + 1) * stride;
      rows.next_upper[h] = there ? load(elimination.sets.upper(at)) : Word(0);
      rows.next_lower[h] = there ? load(elimination.sets.lower(at)) : Word(0);
      const bool begins = row == 0;
      rows.upper[h] = begins ? load(elimination.sets.upper(offset)) : Word(0);
      rows.lower[h] = begins ? load(elimination.sets.lower(offset)) : Word(0);
    }
    return rows;
  }

  __device__ void store_diagonal(const DiagonalWords& rows, const DiagonalWords& before, Offset offset,
                                 Offset stride, int steps) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = h * lanes + lane();
      if (row >= steps) continue;
      const Offset at = offset + (row + 1) * stride;
      if (rows.next_upper[h] != before.next_upper[h]) elimination.sets.upper(at) = rows.next_upper[h];
      if (rows.next_lower[h] != before.next_lower[h]) elimination.sets.lower(at) = rows.next_lower[h];
    }
  }

  /// The vertices in `open`, relative to `first`, propagate to the ancestors of v. All warps share the
  /// targets of each.
  __device__ void eliminate_open(const Team& team, Word open, Ordinal first, Ordinal v, Ordinal depth) const {
    const Ordinal above = elimination.sets.parent(v);
    if (above < elimination.n) {
      for (Word rest = open; rest != 0; rest &= rest - 1) {
        const Ordinal from = first + static_cast<Ordinal>(__ffsll(static_cast<long long>(rest)) - 1);
        Vertex{elimination, team.team_rank(), warps}.eliminate_beyond(from, above, depth - 1);
      }
    }
    __threadfence();
    team.team_barrier();  // propagated bits are visible to the block
  }
};

/// A first launch eliminates everything except long chains, a second one these. As many teams as are resident
/// take chains until none is left, so that the host need not know their number.
inline void eliminate_ancestors(const Kokkos::Cuda& exec, const AncestorElimination<Kokkos::Cuda>& portable,
                                std::size_t teams, MemoryReservation& scratch) {
  using Chains = LongChains;
  using Counter = Kokkos::View<Ordinal, Kokkos::CudaSpace>;
  using List = Kokkos::View<Ordinal*, Kokkos::CudaSpace>;
  AncestorEliminationCuda elimination{
      portable,
      // Long chains have at least 32 vertices of their own.
      scratch.allocate<List>(exec, "lutra::symbolic::long_chains", portable.n / Chains::lanes + 1),
      scratch.allocate<Counter>(exec, "lutra::symbolic::n_long_chains")};
  Kokkos::deep_copy(exec, elimination.n_long_chains, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::symbolic::ancestor_elimination",
      Kokkos::TeamPolicy<Kokkos::Cuda>(exec, static_cast<int>(teams), 1, vector_length_for<Kokkos::Cuda>(32)),
      elimination);
  constexpr int threads = Chains::warps * Chains::lanes;
  const int blocks =
      static_cast<int>(std::min<std::int64_t>(exec.concurrency() / threads, portable.n / Chains::lanes));
  if (blocks == 0) return;
  const auto next = scratch.allocate<Counter>(exec, "lutra::symbolic::next_chain");
  Kokkos::deep_copy(exec, next, Ordinal(0));
  // Launch bounds, since a kernel for 64-bit ordinals would otherwise exceed the registers available to
  // `threads` threads.
  Kokkos::TeamPolicy<Kokkos::Cuda, Kokkos::LaunchBounds<threads, 1>> policy(exec, blocks, Chains::warps,
                                                                            Chains::lanes);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(sizeof(typename Chains::Shared) + 16)));
  Kokkos::parallel_for("lutra::symbolic::long_chains", policy, Chains{elimination, next});
}

}  // namespace lutra::Impl

#endif

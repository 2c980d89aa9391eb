// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEEPCHAINSCUDA_HPP
#define LUTRA_DEEPCHAINSCUDA_HPP

#include "Lutra_AncestorSets.hpp"

namespace lutra::Impl {

/// Elimination along a chain of which no other child is left to do and whose sets are too deep for the
/// registers of one warp: a block of warps, each with its words of all sets. A word of a set depends on the
/// same word of others and on which vertices pass on, which the words of one column say, those that hold the
/// depths of the next few vertices. Each warp works these out for itself, so that warps meet only where that
/// column changes, once in up to 32 vertices.
///
/// Vertices pull: q takes in the sets of those before it in the chain that are *open*, not yet past a vertex
/// that is both U's and L's. A lane stands for an open vertex. Where lanes run out, and at the end of the
/// chain, open vertices pass on to all that lie further up, as everywhere else.
template <class Ordinal, class Offset>
struct DeepChains<Ordinal, Offset, Kokkos::Cuda> {
  static constexpr bool exists = true;
  static constexpr int lanes = 32, warps = 16, most_words = 2;  ///< of a lane, of each kind of set
  static constexpr int stages = 3;                              ///< vertices whose own sets are on their way
  static constexpr unsigned all = 0xffffffffu;
  /// Sets with fewer words stay in the registers of a warp; with more they do not fit here either.
  static constexpr int least_set = 129, most_set = most_words * warps * lanes;
  static constexpr int least_depth = 64 * (least_set - 1) + 1;

  using Elimination = AncestorElimination<Ordinal, Offset, Kokkos::Cuda>;
  using Sets = typename Elimination::Sets;
  using Team = typename Elimination::Team;
  using Word = typename Sets::Word;

  Elimination elimination;
  Kokkos::View<const Ordinal*, Kokkos::CudaSpace> begins;  ///< where the chains begin, one for each team

  /// Whether a chain for a block begins at v. Called by all lanes of a warp.
  __device__ static bool begin_at(const Elimination& elimination, Ordinal v) {
    const Ordinal words = Sets::words(elimination.sets.depth(v));
    return words >= least_set && words <= most_set && steps_from(elimination, v) == lanes;
  }

  /// How many of the next 32 vertices are the parent each of the one before, with no other child left to do.
  __device__ static int steps_from(const Elimination& elimination, Ordinal v) {
    const Ordinal above = v + 1 + static_cast<Ordinal>(lane());
    const bool goes_on =
        above < elimination.n && elimination.sets.parent(above - 1) == above &&
        (elimination.children(above) == 1 || Kokkos::atomic_load(&elimination.pending(above)) == 1);
    const unsigned others = ~__ballot_sync(all, goes_on);
    return others == 0 ? lanes : __ffs(static_cast<int>(others)) - 1;
  }

  /// What the first warp tells the others.
  struct Shared {
    Ordinal at;
    int steps[2];  ///< in turn, so that one is read while the other is written
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x); }

  KOKKOS_FUNCTION void operator()(const Team& team) const { KOKKOS_IF_ON_DEVICE((run(team);)) }

  /// The first warp climbs from where the chain ends to where another begins, or to the end.
  __device__ void run(const Team& team) const {
    auto& shared = *static_cast<Shared*>(team.team_shmem().get_shmem(sizeof(Shared)));
    Ordinal v = begins(team.league_rank());
    while (v < elimination.n) {
      v = climb(team, shared, v);
      team.team_barrier();  // all words of the sets are in memory
      if (team.team_rank() == 0) {
        const Ordinal next = elimination.climb(team, v);
        if (lane() == 0) shared.at = next;
      }
      team.team_barrier();  // the next chain is known
      v = shared.at;
      team.team_barrier();  // it may change
    }
  }

  /// Words of both sets of a vertex.
  struct Held {
    Word upper[most_words], lower[most_words];
  };
  /// The vertex eliminated last, whose sets are in registers still, and the lane that stands for it.
  struct Newest {
    Held held;
    unsigned lane;  ///< as a mask, 0 where it is not open
  };
  /// The words of the column in work.
  struct Column {
    Word upper, lower;
  };
  /// A vertex that still passes on; depth 0: none. The same in all warps.
  struct Open {
    Offset map;
    Ordinal vertex, depth;
    Column column;
  };

  __device__ Offset word_of(const Team& team, int s) const {
    return (s * warps + team.team_rank()) * lanes + lane();
  }

  __device__ Held load(const Team& team, Offset map, Ordinal depth) const {
    Held held;
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      const Offset w = word_of(team, s);
      const bool there = w < Sets::words(depth);
      held.upper[s] = there ? elimination.sets.upper(map + w) : Word(0);
      held.lower[s] = there ? elimination.sets.lower(map + w) : Word(0);
    }
    return held;
  }
  /// Past the cache of the multiprocessor: other warps write these words.
  __device__ Column load_column(Offset map, Ordinal w) const {
    return {__ldcg(reinterpret_cast<const unsigned long long*>(&elimination.sets.upper(map + w))),
            __ldcg(reinterpret_cast<const unsigned long long*>(&elimination.sets.lower(map + w)))};
  }
  __device__ static Word or_over_lanes(Word value) {
    const unsigned low = __reduce_or_sync(all, static_cast<unsigned>(value));
    const unsigned high = __reduce_or_sync(all, static_cast<unsigned>(value >> 32));
    return static_cast<Word>(high) << 32 | low;
  }

  /// Eliminates v and on to the end of the chain; returns its last vertex, which alone is still to pass on.
  __device__ Ordinal climb(const Team& team, Shared& shared, Ordinal v) const {
    Open open{0, 0, 0, {0, 0}};
    if (lane() == 0) open = {elimination.sets.map(v), v, elimination.sets.depth(v), {0, 0}};
    Ordinal depth = elimination.sets.depth(v);
    Offset map = elimination.sets.map(v);
    for (int turn = 0;; turn = 1 - turn) {
      if (team.team_rank() == 0) {
        const int steps =
            depth > 0 ? min(steps_from(elimination, v), static_cast<int>((depth - 1) % 64) + 1) : 0;
        __threadfence();  // what other children left can be read
        if (lane() == 0) shared.steps[turn] = steps;
      }
      team.team_barrier();  // the steps are known; the open vertices' words in the next column are in memory
      const int steps = shared.steps[turn];
      if (steps == 0) break;
      const Ordinal column = (depth - 1) / 64;
      if (open.depth > 0) open.column = load_column(open.map, column);
      const int done = climb_in_column(team, open, v, map, depth, steps);
      v += done;
      if (done < steps || __ballot_sync(all, open.depth == 0) == 0) flush(team, open, v, depth);
    }
    flush(team, open, v, depth);
    return v;
  }

  /// Up to `steps` vertices whose depths have their bits in one column. Fewer where lanes run out.
  __device__ int climb_in_column(const Team& team, Open& open, Ordinal v, Offset& map, Ordinal& depth,
                                 int steps) const {
    const Ordinal column = (depth - 1) / 64;
    Held own[stages];
    Column own_column[stages];
    Newest newest{load(team, map, depth), __ballot_sync(all, open.depth > 0 && open.vertex == v)};
    Offset ahead = map;  // of the last vertex loaded
#pragma unroll
    for (int k = 0; k < stages; ++k) {
      ahead += Sets::words(depth - k);
      if (k < steps) {
        own[k] = load(team, ahead, depth - 1 - k);
        own_column[k] = column < Sets::words(depth - 1 - k) ? load_column(ahead, column) : Column{0, 0};
      }
    }
    for (int step = 0; step < steps; ++step) {
      const unsigned without = __ballot_sync(all, open.depth == 0);
      if (without == 0) return step;
      map += Sets::words(depth);
      --depth;
      ++v;
      take_in(team, open, newest, own[0], own_column[0], map, depth);
      newest = {own[0], without & (~without + 1)};
      if (lane() == __ffs(static_cast<int>(without)) - 1) open = {map, v, depth, own_column[0]};
#pragma unroll
      for (int k = 0; k + 1 < stages; ++k) {
        own[k] = own[k + 1];
        own_column[k] = own_column[k + 1];
      }
      if (step + stages < steps) {
        const Ordinal d = depth - stages;
        ahead += Sets::words(d + 1);
        own[stages - 1] = load(team, ahead, d);
        own_column[stages - 1] = column < Sets::words(d) ? load_column(ahead, column) : Column{0, 0};
      }
    }
    return steps;
  }

  /// The sets at `map`, of the vertex at `depth`, take in those of the open vertices below it.
  __device__ void take_in(const Team& team, Open& open, const Newest& newest, Held& own, Column& own_column,
                          Offset map, Ordinal depth) const {
    const bool to_upper = open.depth > 0 && (open.column.lower >> (depth % 64) & 1) != 0;
    const bool to_lower = open.depth > 0 && (open.column.upper >> (depth % 64) & 1) != 0;
    const Word mask = (Word(1) << (depth % 64)) - 1;
    own_column.upper |= or_over_lanes(to_upper ? open.column.upper & mask : 0);
    own_column.lower |= or_over_lanes(to_lower ? open.column.lower & mask : 0);
    const Held before = own;
    merge(team, elimination.sets.upper, open, __ballot_sync(all, to_upper), newest.held.upper, newest.lane,
          depth, own.upper);
    merge(team, elimination.sets.lower, open, __ballot_sync(all, to_lower), newest.held.lower, newest.lane,
          depth, own.lower);
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      if (own.upper[s] != before.upper[s]) elimination.sets.upper(map + word_of(team, s)) = own.upper[s];
      if (own.lower[s] != before.lower[s]) elimination.sets.lower(map + word_of(team, s)) = own.lower[s];
    }
    if (to_upper && to_lower) open.depth = 0;
  }

  /// Merges the first `depth` bits of the sets of the open vertices `from`, a mask of lanes, into `to`, the
  /// lane's words.
  __device__ void merge(const Team& team, const Kokkos::View<Word*, Kokkos::CudaSpace>& of, const Open& open,
                        unsigned from, const Word (&newest)[most_words], unsigned newest_lane, Ordinal depth,
                        Word (&to)[most_words]) const {
    Word sum[most_words];
#pragma unroll
    for (int s = 0; s < most_words; ++s) sum[s] = (from & newest_lane) != 0 ? newest[s] : Word(0);
    for (unsigned rest = from & ~newest_lane; rest != 0; rest &= rest - 1) {
      const Offset map = __shfl_sync(all, open.map, __ffs(static_cast<int>(rest)) - 1);
#pragma unroll
      for (int s = 0; s < most_words; ++s) {
        const Offset w = word_of(team, s);
        if (w < Sets::words(depth)) sum[s] |= of(map + w);
      }
    }
#pragma unroll
    for (int s = 0; s < most_words; ++s) {
      const auto w = static_cast<Ordinal>(word_of(team, s));
      if (w < Sets::words(depth)) to[s] |= sum[s] & Sets::below(depth, w);
    }
  }

  /// Open vertices but v, the last one, pass on to v's ancestors, and are open no more.
  __device__ void flush(const Team& team, Open& open, Ordinal v, Ordinal depth) const {
    team.team_barrier();  // all words are in memory
    const Ordinal above = elimination.sets.parent(v);
    unsigned rest = __ballot_sync(all, open.depth > 0 && open.vertex != v);
    if (above < elimination.n && team.team_rank() == 0) {
      for (unsigned left = rest; left != 0; left &= left - 1) {
        const Ordinal from = __shfl_sync(all, open.vertex, __ffs(static_cast<int>(left)) - 1);
        elimination.eliminate_beyond(team, from, above, depth - 1);
      }
    }
    team.team_barrier();  // what they passed on can be read
    if (open.vertex != v) open.depth = 0;
  }
};

}  // namespace lutra::Impl

#endif

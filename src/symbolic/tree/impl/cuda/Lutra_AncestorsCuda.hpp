// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANCESTORSCUDA_HPP
#define LUTRA_ANCESTORSCUDA_HPP

#include "Lutra_AncestorRows.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RelaxedAccess.hpp"

namespace lutra::Impl {

/// Elimination along a chain of only children, as in dense separators: a warp keeps the sets in registers,
/// loads those of the next vertex one step ahead, and examines 32 vertices of the tree at once.
struct ChainElimination {
  static constexpr int lanes = 32, max_words = 4;  ///< words per lane, of each kind of set
  static constexpr int min_steps = 4;              ///< least number of steps worth filling the registers
  static constexpr unsigned all = 0xffffffffu;
  using Elimination = AncestorElimination<Kokkos::Cuda>;
  using Sets = typename Elimination::Sets;
  using Word = typename Sets::Word;

  /// The words of both sets of a vertex that a lane holds.
  struct Held {
    Word upper[max_words], lower[max_words];
  };

  const Elimination& elimination;

  /// Eliminates v and its successors, while the next vertex is the parent, has no other unfinished child, and
  /// is the nearest common ancestor; returns the next vertex. Called by all lanes of a warp.
  /// @param long_chain out: whether a chain for LongChains starts there
  __device__ Ordinal eliminate_path(Ordinal v, bool& long_chain) const {
    const Sets& sets = elimination.sets;
    Ordinal depth = sets.depth(v);
    int steps = steps_from(elimination, v);
    long_chain = steps == lanes;
    if (long_chain || steps < min_steps || Sets::words(depth) > max_words * lanes) return v;
    Offset at = sets.map(v);
    Held own = load(at, depth);
    while (steps > 0) {
      Held next = load(at + Sets::words(depth), depth - 1);
      for (int step = 0; step < steps; ++step) {
        if (!is_common(own, depth - 1)) {
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
      steps = steps_from(elimination, v);
      long_chain = steps == lanes;
      if (long_chain) break;
    }
    __syncwarp();  // the sets are in memory
    return v;
  }

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }

  /// Number of successive vertices among the next 32 that are the parent of the preceding one, without
  /// another unfinished child.
  __device__ static int steps_from(const Elimination& elimination, Ordinal v) {
    const Ordinal above = v + 1 + static_cast<Ordinal>(lane());
    const bool follows = above < elimination.n && elimination.sets.parent(above - 1) == above;
    const bool goes_on = follows && load_relaxed(elimination.pending(above)) == 1;
    const unsigned others = ~__ballot_sync(all, goes_on);
    // Acquires the writes of other children's warps, made before they counted themselves as done.
    if (__any_sync(all, goes_on && elimination.children(above) != 1) != 0) __threadfence();
    return others == 0 ? lanes : __ffs(static_cast<int>(others)) - 1;
  }

  __device__ Held load(Offset at, Ordinal depth) const {
    Held held;
#pragma unroll
    for (int s = 0; s < max_words; ++s) {
      const Ordinal w = s * lanes + static_cast<Ordinal>(lane());
      const bool there = w < Sets::words(depth);
      held.upper[s] = there ? elimination.sets.upper(at + w) : Word(0);
      held.lower[s] = there ? elimination.sets.lower(at + w) : Word(0);
    }
    return held;
  }

  /// Whether bit d is in both sets.
  __device__ static bool is_common(const Held& own, Ordinal d) {
    const auto w = static_cast<int>(d / 64);
    Word both = 0;
#pragma unroll
    for (int s = 0; s < max_words; ++s) {
      if (s == w / lanes) both = own.upper[s] & own.lower[s];
    }
    return (__shfl_sync(all, both, w % lanes) >> (d % 64) & 1) != 0;
  }

  /// Merges the first `depth` bits of `own` into the sets of the vertex at `at`, and writes them.
  __device__ void merge(Held& own, const Held& there, Offset at, Ordinal depth) const {
#pragma unroll
    for (int s = 0; s < max_words; ++s) {
      const Ordinal w = s * lanes + static_cast<Ordinal>(lane());
      const Word mask = w < Sets::words(depth) ? Sets::below(depth, w) : Word(0);
      own.upper[s] = there.upper[s] | (own.upper[s] & mask);
      own.lower[s] = there.lower[s] | (own.lower[s] & mask);
      if (own.upper[s] != there.upper[s]) elimination.sets.upper(at + w) = own.upper[s];
      if (own.lower[s] != there.lower[s]) elimination.sets.lower(at + w) = own.lower[s];
    }
  }
};

/// `AncestorElimination::eliminate` by warps that share the targets above the parent. There one of the two
/// sets is usually nearly empty and the other one large: the few bits of the one are propagated to all
/// members of the other.
struct VertexElimination {
  static constexpr int lanes = 32, max_words = 8;  ///< words in flight per lane, of each kind of set
  /// Most words passed one by one to all targets; larger: more such steps instead of one per target.
  static constexpr int few_words = 8;
  static constexpr unsigned all = 0xffffffffu;
  using Elimination = AncestorElimination<Kokkos::Cuda>;
  using Sets = typename Elimination::Sets;
  using Word = typename Sets::Word;

  const Elimination& elimination;
  int part, parts;  ///< part of the target words, number of parts

  /// A word of both sets.
  struct Pair {
    Word upper, lower;
    __device__ Word any() const { return upper | lower; }
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }

  /// Propagates the sets of v to its parent, at depth d, or beyond. Called by all lanes of a warp.
  __device__ void eliminate(Ordinal v, Ordinal above, Ordinal d) const {
    const Sets& sets = elimination.sets;
    const Offset from = sets.map(v), to = sets.map(above);
    const Pair shared = load(from + d / 64);
    for (Ordinal first = 0; first < Sets::words(d); first += lanes * max_words) {
      Pair held[max_words];
#pragma unroll
      for (int s = 0; s < max_words; ++s) {
        const Ordinal w = first + s * lanes + static_cast<Ordinal>(lane());
        held[s] = w < Sets::words(d) ? load(from + w) : Pair{0, 0};
      }
      if ((shared.upper & shared.lower & (Word(1) << (d % 64))) == 0) return eliminate_beyond(v, above, d);
#pragma unroll
      for (int s = 0; s < max_words; ++s) {
        const Ordinal w = first + s * lanes + static_cast<Ordinal>(lane());
        merge(to + w, held[s], below(d, w));
      }
    }
    __syncwarp();  // propagated bits are visible to the warp
  }

  /// Merges bits into the words of both sets at `to`.
  __device__ void merge(Offset to, const Pair& bits, Word mask) const {
    if ((bits.upper & mask) != 0) Kokkos::atomic_or(&elimination.sets.upper(to), bits.upper & mask);
    if ((bits.lower & mask) != 0) Kokkos::atomic_or(&elimination.sets.lower(to), bits.lower & mask);
  }

  /// Propagates the sets of v to its ancestors from `above`, at depth d, on. Called by all lanes of a warp.
  __device__ void eliminate_beyond(Ordinal v, Ordinal above, Ordinal d) const {
    const Sets& sets = elimination.sets;
    const Offset from = sets.map(v);
    Ordinal least = 0;
    if (!find_least(from, d, least)) return;
    for (Ordinal first = 0; first < Sets::words(d); first += lanes) {
      const Ordinal w = first + static_cast<Ordinal>(lane());
      const Pair source = w < Sets::words(d) ? load(from + w) : Pair{0, 0};
      const Pair passed{__any_sync(all, source.upper != 0) != 0 ? ~Word(0) : 0,
                        __any_sync(all, source.lower != 0) != 0 ? ~Word(0) : 0};
      if (passed.any() == 0) continue;
      Ordinal target = above, most = d;
      while (target < elimination.n && most >= least) {
        const Ordinal top = elimination.chains.last(elimination.chains.of(target));
        const Ordinal top_depth = sets.depth(top);
        propagate_to_chain(from, source, passed, w, target, most, top_depth < least ? least : top_depth);
        target = sets.parent(top);
        most = top_depth - 1;
      }
    }
  }

  __device__ Pair load(Offset at) const {
    return {__ldcg(reinterpret_cast<const unsigned long long*>(&elimination.sets.upper(at))),
            __ldcg(reinterpret_cast<const unsigned long long*>(&elimination.sets.lower(at)))};
  }

  /// Finds the greatest depth up to d that is in both sets, 0 if none. Returns false if one of them is empty.
  __device__ bool find_least(Offset from, Ordinal d, Ordinal& least) const {
    bool any_upper = false, any_lower = false;
    for (Ordinal top = Sets::words(d + 1) - 1; top >= 0; top -= lanes) {
      const Ordinal w = top - static_cast<Ordinal>(lane());
      const Word mask = w >= 0 ? Sets::below(d + 1, w) : Word(0);
      Pair pair{0, 0};
      if (w >= 0) pair = load(from + w);
      any_upper = any_upper || __any_sync(all, (pair.upper & mask) != 0) != 0;
      any_lower = any_lower || __any_sync(all, (pair.lower & mask) != 0) != 0;
      const Word both = pair.upper & pair.lower & mask;
      const unsigned found = __ballot_sync(all, both != 0);
      if (found == 0) continue;
      const int k = __ffs(static_cast<int>(found)) - 1;
      const Word word = __shfl_sync(all, both, k);
      least = (top - k) * 64 + 63 - __clzll(static_cast<long long>(word));
      return true;
    }
    least = 0;
    return any_upper && any_lower;
  }

  /// Propagates to the ancestors at depths `most` down to `least` of one chain; `first` is the deepest of
  /// them.
  /// @param source the lane's word w of v's sets
  /// @param passed union of all lanes' bits
  __device__ void propagate_to_chain(Offset from, const Pair& source, const Pair& passed, Ordinal w,
                                     Ordinal first, Ordinal most, Ordinal least) const {
    for (Ordinal begin = most / 64 - part; begin >= least / 64; begin -= lanes * parts) {
      const Ordinal t = begin - static_cast<Ordinal>(lane() * parts);
      Pair targets{0, 0};
      if (t >= least / 64) {
        const Word range = Sets::below(most + 1, t) & ~Sets::below(least > t * 64 ? least : t * 64, t);
        const Pair members = load(from + t);
        targets = {members.lower & range & passed.upper, members.upper & range & passed.lower};
      }
      for (unsigned used = __ballot_sync(all, targets.any() != 0); used != 0; used &= used - 1) {
        const int k = __ffs(static_cast<int>(used)) - 1;
        const Pair word{__shfl_sync(all, targets.upper, k), __shfl_sync(all, targets.lower, k)};
        const Ordinal lowest = (begin - k * parts) * 64;
        propagate_to_word(source, w, word, first + (most - lowest), lowest);
      }
    }
  }

  /// @param targets vertices whose set of U, and of L, grows; bit 0 represents vertex `first` at depth
  ///                `lowest`, each next bit the preceding vertex
  __device__ void propagate_to_word(const Pair& source, Ordinal w, const Pair& targets, Ordinal first,
                                    Ordinal lowest) const {
    const Sets& sets = elimination.sets;
    Offset maps[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int bit = h * lanes + lane();
      const bool used = (targets.any() >> bit & 1) != 0;
      maps[h] = used ? sets.map(first - static_cast<Ordinal>(bit)) : Offset(0);
    }
    if (targets.upper != 0) propagate_words(sets.upper, source.upper, w, targets.upper, maps, lowest);
    if (targets.lower != 0) propagate_words(sets.lower, source.lower, w, targets.lower, maps, lowest);
  }

  /// A lane holds a word to propagate, its word w, and the set offsets of two targets. A few words go to 32
  /// targets at once; many words go to one target at a time.
  __device__ void propagate_words(const Kokkos::View<Word*, Kokkos::CudaSpace>& to, Word source, Ordinal w,
                                  Word targets, const Offset (&maps)[2], Ordinal lowest) const {
    const unsigned words = __ballot_sync(all, source != 0);
    if (__popc(words) <= few_words) {
      for (unsigned rest = words; rest != 0; rest &= rest - 1) {
        const int k = __ffs(static_cast<int>(rest)) - 1;
        const Word bits = __shfl_sync(all, source, k);
        const Ordinal number = __shfl_sync(all, w, k);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int bit = h * lanes + lane();
          const Word passed = bits & below(lowest + static_cast<Ordinal>(bit), number);
          if ((targets >> bit & 1) != 0 && passed != 0) Kokkos::atomic_or(&to(maps[h] + number), passed);
        }
      }
      return;
    }
    for (Word rest = targets; rest != 0; rest &= rest - 1) {
      const int bit = __ffsll(static_cast<long long>(rest)) - 1;
      const Offset at = __shfl_sync(all, bit < lanes ? maps[0] : maps[1], bit % lanes) + w;
      const Word passed = source & below(lowest + static_cast<Ordinal>(bit), w);
      if (passed != 0) Kokkos::atomic_or(&to(at), passed);
    }
  }

  /// AncestorSets::below, for a set of `depth` bits that may not contain the word.
  __device__ static Word below(Ordinal depth, Ordinal w) {
    return w < Sets::words(depth) ? Sets::below(depth, w) : Word(0);
  }
};

/// A warp reads 32 words of the set at a time. Word by word, most of them empty, a row would wait for memory
/// once per word of its depth.
struct ChainWriterCuda {
  static constexpr int lanes = 32;
  static constexpr unsigned all = 0xffffffffu;
  using Portable = ChainWriter<Kokkos::Cuda>;
  using Sets = typename Portable::Sets;
  using Team = typename Portable::Team;
  using Word = typename Sets::Word;

  /// As `ChainWriter::write`; called by all lanes of a warp.
  KOKKOS_FUNCTION static Offset write([[maybe_unused]] const Team& team, [[maybe_unused]] const Sets& sets,
                                      [[maybe_unused]] Offset map, [[maybe_unused]] Ordinal above,
                                      [[maybe_unused]] Ordinal most, [[maybe_unused]] Ordinal least,
                                      [[maybe_unused]] Ordinal* to) {
    KOKKOS_IF_ON_DEVICE((return write_by_warp(sets, map, above, most, least, to);))
    KOKKOS_IF_ON_HOST((return 0;))
  }

  __device__ static Offset write_by_warp(const Sets& sets, Offset map, Ordinal above, Ordinal most,
                                         Ordinal least, Ordinal* to) {
    const auto lane = static_cast<int>(threadIdx.x);
    Ordinal* const begin = to;
    for (Ordinal first = most / 64; first >= least / 64; first -= lanes) {
      const Ordinal w = first - lane;
      Word bits = 0;
      if (w >= least / 64) {
        const Ordinal lowest = least > w * 64 ? least : w * 64;
        bits = sets.upper(map + w) & Sets::below(most + 1, w) & ~Sets::below(lowest, w);
      }
      int end = __popcll(bits);  // end of the members of this word and those before it
      for (int step = 1; step < lanes; step *= 2) {
        const int before = __shfl_up_sync(all, end, step);
        if (lane >= step) end += before;
      }
      for (unsigned used = __ballot_sync(all, bits != 0); used != 0; used &= used - 1) {
        const int k = __ffs(static_cast<int>(used)) - 1;
        const Word word = __shfl_sync(all, bits, k);
        write_word(word, above + (most - (first - k) * 64), to + __shfl_sync(all, end, k));
      }
      to += __shfl_sync(all, end, lanes - 1);
    }
    return to - begin;
  }

  /// Writes the members of a word, whose bit 0 is a vertex, bit 1 the preceding one, and so on. Two bits per
  /// lane.
  __device__ static void write_word(Word word, Ordinal of_bit_zero, Ordinal* end) {
    const auto lane = static_cast<int>(threadIdx.x);
    for (const int bit : {lane, lane + lanes}) {
      if ((word >> bit & 1) == 0) continue;
      // its population count is the distance from the end
      const Word from_lowest = word & (~Word(0) >> (63 - bit));
      end[-__popcll(from_lowest)] = of_bit_zero - static_cast<Ordinal>(bit);
    }
  }
};

inline ChainWriterCuda chain_writer(const Kokkos::Cuda&) {
  return {};
}

/// Elimination by warps. Short chains are eliminated in registers; the warp leaves long ones to `LongChains`.
struct AncestorEliminationCuda : AncestorElimination<Kokkos::Cuda> {
  using Base = AncestorElimination<Kokkos::Cuda>;
  using typename Base::Team;

  /// [n_long_chains] out: first vertices of the chains
  Kokkos::View<Ordinal*, Kokkos::CudaSpace> long_chains;
  Kokkos::View<Ordinal, Kokkos::CudaSpace> n_long_chains;

  KOKKOS_FUNCTION void operator()([[maybe_unused]] const Team& team) const {
    KOKKOS_IF_ON_DEVICE((run(team);))
  }

  __device__ void run(const Team& team) const {
    for (Ordinal v = this->take_leaf(team); v < this->n; v = this->take_leaf(team)) {
      const Ordinal begin = eliminate_path(team, v);
      if (begin == this->n) continue;
      Kokkos::single(Kokkos::PerThread(team),
                     [&]() { long_chains(Kokkos::atomic_fetch_add(&n_long_chains(), Ordinal(1))) = begin; });
    }
  }

  /// Stops at a vertex with unfinished children, and returns n, or at the start of a long chain, and returns
  /// it.
  __device__ Ordinal eliminate_path(const Team& team, Ordinal v) const {
    while (true) {
      bool long_chain = false;
      v = ChainElimination{*this}.eliminate_path(v, long_chain);
      if (long_chain) return v;
      const Ordinal above = this->sets.parent(v);
      if (above >= this->n) return this->n;
      eliminate(v, above);
      if (this->children(above) != 1 && !this->is_last(team, above)) return this->n;
      v = above;
    }
  }

  /// Propagates the sets of v to its parent or beyond.
  __device__ void eliminate(Ordinal v, Ordinal above) const {
    VertexElimination{*this, 0, 1}.eliminate(v, above, this->sets.depth(above));
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONSTEPS_HPP
#define LUTRA_SELECTIONSTEPS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_Select.hpp"
#include "Lutra_SelectionWorkspace.hpp"

namespace lutra::Impl {

// Arithmetic of one level of SampleSelect, common to the portable and the CUDA kernels.

inline constexpr int selection_samples = 1024;  ///< sample size from which a level takes its splitters

/// Position of sample i of a level: one in each of `samples` equal parts of the source, so that periodic data
/// do no harm.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t sample_position(std::int64_t i, std::int64_t samples,
                                                         std::int64_t size, int level) {
  auto hash = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(level);
  hash = (hash ^ hash >> 31) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 29;
  return (i * size + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(size))) / samples;
}

/// State before the first level.
template <class Real>
KOKKOS_FUNCTION SelectionState<typename SelectionKey<Real>::Key> first_state(std::int64_t n, std::int64_t k) {
  SelectionState<typename SelectionKey<Real>::Key> state;
  state.lo = SelectionKey<Real>::lowest;
  state.hi = SelectionKey<Real>::not_a_number;
  state.count = state.size = n;
  state.k = k;
  return state;
}

/// The part of a key that a level compares: all of it, or 32 bits of 64. The upper ones are compared until
/// all candidate keys share them.
template <class Word, class Key>
struct KeyWord {
  static constexpr bool is_part = sizeof(Word) < sizeof(Key);
  static constexpr int part_bits = is_part ? 8 * static_cast<int>(sizeof(Word)) : 0;

  Key base = 0;  ///< upper part, if the lower one is compared
  int shift = 0;

  KOKKOS_FUNCTION KeyWord(Key lo, Key hi) {
    if constexpr (is_part) {
      const bool lower = lo >> part_bits == hi >> part_bits;
      shift = lower ? 0 : part_bits;
      base = lower ? lo >> part_bits << part_bits : Key(0);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Word of(Key key) const { return static_cast<Word>(key >> shift); }
  /// The smallest key with a word.
  KOKKOS_FORCEINLINE_FUNCTION Key key_of(Word word) const { return base | static_cast<Key>(word) << shift; }
};

/// Buckets of a level: splitter b is the smallest word of bucket b, for b = 1 … buckets − 1.
///
///     bucket   0 | 1 | … | buckets − 2 | buckets − 1
///                s₁  s₂  s_{buckets−2}   largest word: NaN in the first level, else: not a candidate
///
/// The paper spaces splitters evenly (`SelectSplitters::even`). By default most are near the wanted rank,
/// within the error of its rank in the sample (at most 3.5 standard deviations), so that the bucket with the
/// wanted value is several times smaller.
template <int buckets>
struct Splitters {
  static constexpr int last = buckets - 2;  ///< the last splitter taken from the sample

  /// Rank in the sample of splitter t.
  /// @param rank of the wanted value in the sample
  /// @param even splitters are evenly spaced
  KOKKOS_FUNCTION static int sample_rank(int t, double rank, bool even) {
    // 3.5 standard deviations to either side: a rank among 1024 samples has one of at most 16.
    constexpr int dense = 112;
    if constexpr (buckets == 4) return selection_samples / 2;  // one pivot, and its equals
    if (even) return t * selection_samples / (last + 1);
    const int begin = clamp_to(static_cast<int>(rank) - dense / 2, selection_samples - dense);
    const int end = begin + dense;
    const int before = (last - dense) * begin / (selection_samples - dense), after = last - dense - before;
    if (t <= before) return t * begin / (before + 1);
    if (t <= before + dense) return begin + t - before - 1;
    return clamp(end + (t - before - dense) * (selection_samples - end) / (after + 1));
  }

  /// Splitter t of a sorted sample, whose first `valid` words belong to candidate keys. The last of several
  /// equal splitters is raised by one, so that the bucket before it holds only equal words.
  template <class Word>
  KOKKOS_FUNCTION static Word pick(const Word* sample, int valid, int t, double rank, bool even) {
    if (t > last) return ~Word(0);
    const auto word = [&](int u) { return sample[sample_rank(u, rank, even) * valid / selection_samples]; };
    const Word own = word(t);
    const bool ends_run = t > 1 && word(t - 1) == own && (t == last || word(t + 1) != own);
    return ends_run && own != ~Word(0) ? own + 1 : own;
  }

  /// The splitter at node j ≥ 1 of the search tree in level order; the children of node j are 2·j and 2·j
  /// + 1.
  KOKKOS_FUNCTION static int at_node(int j) {
    int first = 1;
    while (2 * first <= j) first *= 2;
    return (2 * (j - first) + 1) * (buckets / 2 / first);
  }

 private:
  KOKKOS_FUNCTION static int clamp_to(int rank, int most) { return rank < 0 ? 0 : rank > most ? most : rank; }
  KOKKOS_FUNCTION static int clamp(int rank) { return clamp_to(rank, selection_samples - 1); }
};

/// Rank of the wanted value in an ascending sample.
template <class Key>
KOKKOS_FUNCTION double rank_in_sample(const SelectionState<Key>& state) {
  return (static_cast<double>(state.count - state.k) + 0.5) / static_cast<double>(state.count) *
         selection_samples;
}

/// Narrows the state to a bucket.
/// @param above candidate values in higher buckets
/// @param word_of splitter by number
template <int buckets, class Key, class Word, class Splitter>
KOKKOS_FUNCTION void narrow(SelectionState<Key>& state, const KeyWord<Word, Key>& words, int level,
                            int bucket, std::int64_t count, std::int64_t above, const Splitter& splitter) {
  const int top = level == 0 ? buckets - 1 : buckets - 2;
  state.bucket = bucket;
  state.n_above += above;
  state.k -= above;
  state.count = count;
  if (bucket == buckets - 1) {  // NaN
    state.lo = state.hi;
    return;
  }
  const Key end = bucket < top ? words.key_of(splitter(bucket + 1)) - 1 : state.hi;
  if (end < state.hi) state.hi = end;
  if (bucket == 0) return;
  const Key begin = words.key_of(splitter(bucket));
  if (begin > state.lo) state.lo = begin;
}

/// Decides whether the filter gathers the bucket, and into which buffer.
template <class Key>
KOKKOS_FUNCTION void choose_target(SelectionState<Key>& state, std::int64_t capacity) {
  using State = SelectionState<Key>;
  state.target = state.count > capacity         ? State::values
                 : state.source == State::first ? State::second
                                                : State::first;
}

template <class Real, class Key>
KOKKOS_FUNCTION SelectionThreshold<Real> threshold_of(const SelectionState<Key>& state) {
  return {SelectionKey<Real>::decode(state.lo), SelectionKey<Real>::decode(state.hi), state.n_above, state.k,
          state.n_nan};
}

/// A final pass: counts keys from lo to hi by up to `bits` of the highest bits in which they differ.
template <class Key>
struct SelectionDigit {
  int shift = 0;

  KOKKOS_FUNCTION SelectionDigit(Key lo, Key hi, int bits) {
    const Key width = hi - lo;
    while (shift < 8 * static_cast<int>(sizeof(Key)) && width >> shift >> (bits - 1) >> 1 != 0) ++shift;
  }
  KOKKOS_FORCEINLINE_FUNCTION int of(Key key, Key lo) const { return static_cast<int>((key - lo) >> shift); }
  /// Narrows lo … hi to a digit.
  KOKKOS_FUNCTION void narrow(int digit, Key& lo, Key& hi) const {
    lo += static_cast<Key>(digit) << shift;
    const Key most = (Key(1) << shift) - 1;
    if (hi - lo > most) hi = lo + most;
  }
};

}  // namespace lutra::Impl

#endif

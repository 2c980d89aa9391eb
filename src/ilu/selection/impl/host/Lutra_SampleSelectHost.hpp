// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SAMPLESELECTHOST_HPP
#define LUTRA_SAMPLESELECTHOST_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SelectionSteps.hpp"

namespace lutra::Impl {

/// SampleSelect on hosts, where fewer buckets are faster. A sample gives two splitters that almost certainly
/// enclose the wanted value. One branch-free pass counts the values above and gathers those between (Floyd
/// and Rivest 1975, algorithm SELECT). std::nth_element finishes on the gathered values. If the sample was
/// misleading, the next pass reads the values again.
template <class Real, class ExecutionSpace>
struct SampleSelectHost {
  using Memory = typename ExecutionSpace::memory_space;
  using Work = SelectionWorkspace<Real, Memory>;
  using Key = typename Work::Key;
  using State = SelectionState<Key>;
  static constexpr std::int64_t chunk = 4096;           ///< values whose window fits into the L1 cache
  static constexpr std::int64_t finish_size = 1 << 16;  ///< keys left to std::nth_element
  static constexpr std::int64_t direct_size = 1 << 12;  ///< values passed to it directly

  const ExecutionSpace& exec;
  const Work& work;
  Kokkos::View<const Real*, Memory> values;

  /// Values counted by a pass.
  struct Counts {
    std::int64_t above = 0, inside = 0, nans = 0;
  };

  SelectionThreshold<Real> find(std::int64_t k) const {
    State state = first_state<Real>(static_cast<std::int64_t>(values.extent(0)), k);
    if (k == 0) {
      state.n_nan = pass(state, state.hi, state.hi).nans;
      state.lo = state.hi;
    }
    for (bool is_first = true; !state.is_found(); is_first = false) {
      const bool is_gathered = state.source != State::values && state.size == state.count;
      if (is_gathered && state.count <= finish_size) {
        finish(state);
        break;
      }
      const auto [lo, hi] = state.source == State::values && state.size <= direct_size
                                ? std::pair(state.lo, state.hi)
                                : window(state);
      const Counts counts = pass(state, lo, hi);
      if (is_first) state.n_nan = counts.nans;
      narrow_to(state, lo, hi, counts);
    }
    return threshold_of<Real>(state);
  }

 private:
  Key encode(std::int64_t i) const { return SelectionKey<Real>::encode(values(i)); }
  Key key_at(const State& state, std::int64_t i) const {
    return state.source == State::values ? encode(i) : buffer(state.source)[i];
  }
  Key* buffer(int number) const { return work.buffers.data() + (number - State::first) * work.capacity; }

  /// Two keys of a sample, 2.5 standard deviations to either side of the wanted rank. If they are no narrower
  /// than the known bounds, one key, which the next pass removes.
  std::pair<Key, Key> window(const State& state) const {
    const auto wanted = std::clamp<std::int64_t>(state.size / 128, 64, 4096);
    std::vector<Key> sample;
    for (std::int64_t i = 0; i < wanted; ++i) {
      const Key key = key_at(state, sample_position(i, wanted, state.size, 0));
      if (state.lo <= key && key <= state.hi) sample.push_back(key);
    }
    if (sample.empty()) return {state.lo + (state.hi - state.lo) / 2, state.hi};
    std::sort(sample.begin(), sample.end());
    const auto size = static_cast<double>(sample.size());
    const double rank = (static_cast<double>(state.count - state.k) + 0.5) / static_cast<double>(state.count);
    const auto at = [&](double position) {
      return sample[static_cast<std::size_t>(std::clamp(position, 0.0, size - 1))];
    };
    const double margin = 2.5 * std::sqrt(rank * (1 - rank) * size) + 1;
    const Key lo = at(rank * size - margin), hi = at(rank * size + margin);
    return lo == state.lo && hi == state.hi ? std::pair(at(rank * size), at(rank * size)) : std::pair(lo, hi);
  }

  /// Counts the candidate values above hi and from lo to hi; gathers the latter while they fit into the
  /// buffer.
  Counts pass(const State& state, Key lo, Key hi) const {
    if (state.source == State::values)
      return pass(state, lo, hi, [this](std::int64_t i) { return encode(i); });
    return pass(state, lo, hi, [keys = buffer(state.source)](std::int64_t i) { return keys[i]; });
  }
  template <class KeyAt>
  Counts pass(const State& state, Key lo, Key hi, const KeyAt& key_of) const {
    Counts counts;
    Key* const target = buffer(state.source == State::first ? State::second : State::first);
    const auto body = [&, end = state.hi](std::int64_t number) {
      Key inside[chunk + 1];
      Counts own;
      const std::int64_t last = std::min((number + 1) * chunk, state.size);
      for (std::int64_t i = number * chunk; i < last; ++i) {
        const Key key = key_of(i);
        inside[own.inside] = key;
        own.inside += key - lo <= hi - lo ? 1 : 0;
        own.above += key - hi - 1 < end - hi ? 1 : 0;
        own.nans += key == SelectionKey<Real>::not_a_number ? 1 : 0;
      }
      const auto begin = fetch_add_shared<ExecutionSpace>(counts.inside, own.inside);
      add_shared<ExecutionSpace>(counts.above, own.above);
      add_shared<ExecutionSpace>(counts.nans, own.nans);
      if (lo != hi && begin + own.inside <= work.capacity) std::copy_n(inside, own.inside, target + begin);
    };
    Kokkos::parallel_for("lutra::ilu::select pass",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, (state.size + chunk - 1) / chunk),
                         body);
    exec.fence("lutra: a pass of a selection is done");
    return counts;
  }

  /// Narrows the state: the wanted key is above, inside or below the bounds.
  void narrow_to(State& state, Key lo, Key hi, const Counts& counts) const {
    state.target = State::values;
    if (state.k <= counts.above) {
      state.lo = hi + 1;
      state.count = counts.above;
      return;
    }
    state.k -= counts.above;
    state.n_above += counts.above;
    if (state.k > counts.inside) {
      state.hi = lo - 1;
      state.k -= counts.inside;
      state.n_above += counts.inside;
      state.count -= counts.above + counts.inside;
      return;
    }
    state.lo = lo;
    state.hi = hi;
    state.count = counts.inside;
    choose_target(state, work.capacity);
    state = state.filtered();
  }

  /// Applies std::nth_element to the gathered keys. All of them are candidates.
  void finish(State& state) const {
    Key* const begin = buffer(state.source);
    Key* const end = begin + state.count;
    Key* const wanted = begin + (state.count - state.k);
    std::nth_element(begin, wanted, end);
    const auto greater = std::count_if(wanted, end, [key = *wanted](Key other) { return other > key; });
    state.lo = state.hi = *wanted;
    state.n_above += greater;
    state.k -= greater;
  }
};

}  // namespace lutra::Impl

#endif

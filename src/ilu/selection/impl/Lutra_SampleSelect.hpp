// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SAMPLESELECT_HPP
#define LUTRA_SAMPLESELECT_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SelectionSteps.hpp"
#include "Lutra_TeamAtomics.hpp"

namespace lutra::Impl {

/// SampleSelect by portable kernels (Anzt, Ribizel, Flegar, Chow and Dongarra 2019, section III). Each level:
///
///     split    one team sorts a sample and picks splitters
///     count    each chunk of the source: buckets
///     choose   one thread finds the bucket of the wanted value
///     filter   gathers the keys of that bucket
///
/// Finally one team finishes by digits. The host queues all kernels in advance; kernels that find the search
/// ended return at once. With 2 bits, the buckets are "less than the pivot", "equal", "greater" and the rest:
/// quickselect.
template <class Real, class ExecutionSpace, int height>
struct SampleSelect {
  using Memory = typename ExecutionSpace::memory_space;
  using Work = SelectionWorkspace<Real, Memory>;
  using Key = typename Work::Key;
  using State = SelectionState<Key>;
  using Values = Kokkos::View<const Real*, Memory>;
  using Result = Kokkos::View<SelectionThreshold<Real>, Memory>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Words = KeyWord<Key, Key>;
  static constexpr int buckets = 1 << height;
  /// Digits have 8 KiB of counters in scratch; fewer bits need more passes. `few_keys` keys are compared pair
  /// by pair, so their square has to be small.
  static constexpr int digit_bits = 11, few_keys = 64;
  /// Values of a team. Each team adds 256 counters to memory, so it needs many times that number.
  static constexpr std::int64_t chunk = 16384;
  /// Values that one team finishes in about the time of a level.
  static constexpr std::int64_t finish_size = 1 << 15;

  struct Split {};
  struct Count {};
  struct Choose {};
  struct Filter {};
  struct Finish {};

  Work work;
  Values values;
  std::int64_t k;
  Result result;
  SelectOptions options;
  int level = 0;

  /// Queues a level.
  void queue_level(const ExecutionSpace& exec, int number) {
    level = number;
    const auto n = static_cast<std::int64_t>(values.extent(0));
    const auto chunks = static_cast<int>((n + chunk - 1) / chunk);
    Kokkos::parallel_for("lutra::ilu::select splitters",
                         with_scratch(Kokkos::TeamPolicy<ExecutionSpace, Split>(exec, 1, Kokkos::AUTO),
                                      selection_samples * sizeof(Key)),
                         *this);
    Kokkos::parallel_for("lutra::ilu::select count",
                         with_scratch(Kokkos::TeamPolicy<ExecutionSpace, Count>(exec, chunks, Kokkos::AUTO),
                                      buckets * (sizeof(Key) + sizeof(unsigned))),
                         *this);
    Kokkos::parallel_for("lutra::ilu::select choose", Kokkos::RangePolicy<ExecutionSpace, Choose>(exec, 0, 1),
                         *this);
    if (options.approximate) return;
    Kokkos::parallel_for("lutra::ilu::select filter",
                         Kokkos::TeamPolicy<ExecutionSpace, Filter>(exec, chunks, Kokkos::AUTO), *this);
  }

  /// Queues the last steps, after `levels` levels.
  void queue_finish(const ExecutionSpace& exec, int levels) {
    level = levels;
    Kokkos::parallel_for("lutra::ilu::select finish",
                         with_scratch(Kokkos::TeamPolicy<ExecutionSpace, Finish>(exec, 1, Kokkos::AUTO),
                                      (sizeof(unsigned) << digit_bits) + (few_keys + 4) * sizeof(Key)),
                         *this);
  }

  KOKKOS_FUNCTION State current() const {
    return level == 0 ? first_state<Real>(static_cast<std::int64_t>(values.extent(0)), k)
                      : work.state(0).filtered();
  }

  KOKKOS_FUNCTION void operator()(Split, const Team& team) const {
    const State state = current();
    if (state.is_found()) return;
    Key* const sample = scratch<Key>(team, selection_samples);
    int valid = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, selection_samples),
        [&](const int i, int& sum) {
          const Key key = key_at(state, sample_position(i, selection_samples, state.size, level));
          const bool in_question = state.lo <= key && key <= state.hi;
          sample[i] = in_question ? key : ~Key(0);
          sum += in_question ? 1 : 0;
        },
        valid);
    team.team_barrier();
    sort(team, sample);
    const double rank = rank_in_sample(state);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 1, buckets), [&](const int t) {
      work.splitters(t) =
          Splitters<buckets>::pick(sample, valid, t, rank, options.splitters == SelectSplitters::even);
    });
  }

  KOKKOS_FUNCTION void operator()(Count, const Team& team) const {
    const State state = current();
    if (state.is_found()) return;
    Key* const tree = scratch<Key>(team, buckets);
    unsigned* const counters = scratch<unsigned>(team, buckets);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 1, buckets),
                         [&](const int j) { tree[j] = work.splitters(Splitters<buckets>::at_node(j)); });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, buckets), [&](const int b) { counters[b] = 0; });
    team.team_barrier();
    if (state.source == State::values) {
      count_chunk(team, state, tree, counters, [&](std::int64_t i) { return encode(i); });
    } else {
      const Key* const keys = buffer(state.source);
      count_chunk(team, state, tree, counters, [&](std::int64_t i) { return keys[i]; });
    }
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, buckets), [&](const int b) {
      if (counters[b] > 0)
        add_shared<ExecutionSpace>(work.counts(b), static_cast<unsigned long long>(counters[b]));
    });
  }

  KOKKOS_FUNCTION void operator()(Choose, int) const {
    State state = current();
    if (state.is_found()) return;
    int bucket = level == 0 ? buckets - 1 : buckets - 2;
    std::int64_t above = 0;
    const auto count = [&](int b) { return static_cast<std::int64_t>(work.counts(b)); };
    if (level == 0) state.n_nan = count(bucket);
    while (bucket > 0 && above + count(bucket) < state.k) above += count(bucket--);
    narrow<buckets>(state, Words(state.lo, state.hi), level, bucket, count(bucket), above,
                    [&](int t) { return work.splitters(t); });
    choose_target(state, work.capacity);
    for (int b = 0; b < buckets; ++b) work.counts(b) = 0;
    work.gathered(0) = 0;
    if (options.approximate || state.is_found()) result() = threshold_of<Real>(state);
    work.state(0) = state;
  }

  KOKKOS_FUNCTION void operator()(Filter, const Team& team) const {
    const State& state = work.state(0);
    if (state.is_found() || state.target == State::values) return;
    Key* const target = buffer(state.target);
    const auto bucket = static_cast<unsigned char>(state.bucket);
    const std::int64_t begin = team.league_rank() * chunk, end = chunk_end(begin, state.size);
    const auto is_wanted = [&](const std::int64_t j) { return work.oracles(begin + j) == bucket; };
    std::int64_t wanted = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, end - begin),
        [&](const std::int64_t j, std::int64_t& sum) { sum += is_wanted(j) ? 1 : 0; }, wanted);
    if (wanted == 0) return;
    // One atomic a chunk: one a key takes 340 ns on an H200, where half of all keys stay in question.
    unsigned long long first = 0;
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](unsigned long long& start) {
          start = fetch_add_shared<ExecutionSpace>(work.gathered(0), static_cast<unsigned long long>(wanted));
        },
        first);
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, end - begin),
                          [&](const std::int64_t j, std::int64_t& before, const bool is_final) {
                            if (!is_wanted(j)) return;
                            if (is_final) target[first + before] = key_at(state, begin + j);
                            ++before;
                          });
  }

  KOKKOS_FUNCTION void operator()(Finish, const Team& team) const {
    State state = current();
    if (state.is_found() && level > 0) return;
    unsigned* const counters = scratch<unsigned>(team, 1 << digit_bits);
    Key* const few = scratch<Key>(team, few_keys + 4);
    if (level == 0) {
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, state.size),
          [&](const std::int64_t i, std::int64_t& sum) {
            sum += encode(i) == SelectionKey<Real>::not_a_number ? 1 : 0;
          },
          state.n_nan);
      if (state.k == 0) state.lo = state.hi;
    }
    while (!state.is_found()) {
      if (state.count <= few_keys) {
        finish_few(team, state, few);
      } else {
        finish_digit(team, state, counters);
      }
    }
    Kokkos::single(Kokkos::PerTeam(team), [&]() { result() = threshold_of<Real>(state); });
  }

 private:
  template <class T>
  KOKKOS_FUNCTION static T* scratch(const Team& team, int count) {
    return static_cast<T*>(team.team_scratch(0).get_shmem_aligned(count * sizeof(T), alignof(T)));
  }
  template <class Policy>
  static Policy with_scratch(Policy policy, std::size_t bytes) {
    return policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes) + 64));
  }
  KOKKOS_FUNCTION Key* buffer(int number) const {
    return work.buffers.data() + (number - State::first) * work.capacity;
  }
  KOKKOS_FORCEINLINE_FUNCTION Key encode(std::int64_t i) const {
    return SelectionKey<Real>::encode(values(i));
  }
  KOKKOS_FORCEINLINE_FUNCTION Key key_at(const State& state, std::int64_t i) const {
    return state.source == State::values ? encode(i) : buffer(state.source)[i];
  }
  KOKKOS_FUNCTION static std::int64_t chunk_end(std::int64_t begin, std::int64_t size) {
    return begin > size ? begin : begin + chunk < size ? begin + chunk : size;
  }

  /// Sorts the sample; on devices by a bitonic network.
  KOKKOS_FUNCTION static void sort(const Team& team, Key* sample) {
    KOKKOS_IF_ON_HOST((std::sort(sample, sample + selection_samples);))
    KOKKOS_IF_ON_DEVICE((bitonic_sort(team, sample);))
    team.team_barrier();
  }
  KOKKOS_FUNCTION static void bitonic_sort(const Team& team, Key* sample) {
    for (int block = 2; block <= selection_samples; block *= 2) {
      for (int stride = block / 2; stride > 0; stride /= 2) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, selection_samples / 2), [&](const int pair) {
          const int i = pair / stride * 2 * stride + pair % stride, j = i + stride;
          const bool ascends = (i & block) == 0;
          const Key a = sample[i], b = sample[j];
          if ((a > b) == ascends) {
            sample[i] = b;
            sample[j] = a;
          }
        });
        team.team_barrier();
      }
    }
  }

  /// Figure 5 of the paper for a chunk: descends the tree, writes the oracle, counts.
  template <class KeyAt>
  KOKKOS_FUNCTION void count_chunk(const Team& team, const State& state, const Key* tree, unsigned* counters,
                                   const KeyAt& key_of) const {
    const std::int64_t begin = team.league_rank() * chunk, end = chunk_end(begin, state.size);
    const int top = level == 0 ? buckets - 1 : buckets - 2;
    const bool is_global = options.counters == SelectCounters::global;
    unsigned char* const oracles = options.approximate ? nullptr : work.oracles.data() + begin;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, end - begin), [&](const std::int64_t j) {
      const Key key = key_of(begin + j);
      int node = 1;
      for (int h = 0; h < height; ++h) node = 2 * node + (key >= tree[node] ? 1 : 0);
      int bucket = node - buckets < top ? node - buckets : top;
      if (level > 0 && (key < state.lo || key > state.hi)) bucket = buckets - 1;
      if (oracles != nullptr) oracles[j] = static_cast<unsigned char>(bucket);
      if (is_global) {
        add_shared<ExecutionSpace>(work.counts(bucket), 1ull);
      } else {
        TeamAtomics<ExecutionSpace>::add(counters[bucket], 1);
      }
    });
  }

  /// Narrows the state by one digit.
  KOKKOS_FUNCTION void finish_digit(const Team& team, State& state, unsigned* counters) const {
    const SelectionDigit<Key> digits(state.lo, state.hi, digit_bits);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 1 << digit_bits),
                         [&](const int b) { counters[b] = 0; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, state.size), [&](const std::int64_t i) {
      const Key key = key_at(state, i);
      if (key < state.lo || key > state.hi) return;
      TeamAtomics<ExecutionSpace>::add(counters[digits.of(key, state.lo)], 1);
    });
    team.team_barrier();
    int digit = digits.of(state.hi, state.lo);
    while (digit > 0 && counters[digit] < static_cast<std::uint64_t>(state.k)) {
      state.k -= counters[digit];
      state.n_above += counters[digit--];
    }
    state.count = counters[digit];
    digits.narrow(digit, state.lo, state.hi);
    team.team_barrier();  // all have read the counters
  }

  /// Finds the wanted key among a few by counting, for each, the greater ones.
  /// @param few [few_keys], then their number and the result: key, greater keys, copies of it
  KOKKOS_FUNCTION void finish_few(const Team& team, State& state, Key* few) const {
    Key* const shared = few + few_keys;
    Kokkos::single(Kokkos::PerTeam(team), [&]() { shared[0] = 0; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, state.size), [&](const std::int64_t i) {
      const Key key = key_at(state, i);
      if (state.lo <= key && key <= state.hi) few[Kokkos::atomic_fetch_add(shared, Key(1))] = key;
    });
    team.team_barrier();
    const auto count = static_cast<int>(state.count);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](const int i) {
      int greater = 0, equal = 0;
      for (int j = 0; j < count; ++j) {
        greater += few[j] > few[i] ? 1 : 0;
        equal += few[j] == few[i] ? 1 : 0;
      }
      if (greater >= state.k || greater + equal < state.k) return;
      shared[1] = few[i];  // all copies write the same
      shared[2] = static_cast<Key>(greater);
    });
    team.team_barrier();
    state.lo = state.hi = shared[1];
    state.n_above += static_cast<std::int64_t>(shared[2]);
    state.k -= static_cast<std::int64_t>(shared[2]);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONBLOCKCUDA_HPP
#define LUTRA_SELECTIONBLOCKCUDA_HPP

#include <cstdint>

#include "Lutra_SelectionSteps.hpp"

namespace lutra::Impl {

inline constexpr int selection_threads = 1024;  ///< per block, one for each sample

/// Kernel arguments of a selection; see `SelectionWorkspace`.
template <class Real>
struct SelectionLaunch {
  using Key = typename SelectionKey<Real>::Key;

  const Real* values;
  std::int64_t n, k, capacity;
  SelectionState<Key>* state;
  unsigned long long *counts, *gathered;
  unsigned* blocks_done;
  unsigned char* oracles;
  Key* buffers;
  SelectionThreshold<Real>* result;
  bool has_even_splitters;

  __device__ Key* buffer(int number) const {
    return buffers + (number - SelectionState<Key>::first) * capacity;
  }
  __device__ Key key_at(const SelectionState<Key>& at, std::int64_t i) const {
    return at.source == SelectionState<Key>::values ? SelectionKey<Real>::encode(values[i])
                                                    : __ldcg(buffer(at.source) + i);
  }
};

/// Sum of the values of the preceding threads. Called by all threads of a block.
/// @param warp_sums [32] shared; may be reused after a barrier
__device__ inline unsigned long long sum_before(unsigned long long value, unsigned long long* warp_sums) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned long long sum = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned long long before = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  unsigned long long total = 0;  // sum of the preceding warps
  for (unsigned w = 0; w < warp; ++w) total += warp_sums[w];
  return total + sum - value;
}

/// Whether this block is the last of its launch to arrive here. Everything the other blocks wrote before is
/// then visible to it. Called by all threads of a block.
__device__ inline bool is_last_block(unsigned* blocks_done) {
  __shared__ bool last;
  __threadfence();  // pairs with the one in the last block, through the counter
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(blocks_done, 1u) == gridDim.x - 1;
    if (last) *blocks_done = 0;  // for the next launch
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// Finishes a selection in one block. Counts the key bits in which values differ, 11 at a time, until few
/// keys remain; then counts for each of these the greater ones.
template <class Real>
struct FinishSelection {
  using Launch = SelectionLaunch<Real>;
  using Key = typename Launch::Key;
  using State = SelectionState<Key>;
  /// Digits have 8 KiB of counters in shared memory; fewer bits need more passes. `few_keys` keys are
  /// compared pair by pair. A thread has `batch` keys in flight, to hide latency.
  static constexpr int digit_bits = 11, few_keys = 256, batch = 8;

  struct Shared {
    unsigned counters[1 << digit_bits];
    unsigned long long warp_sums[32];
    Key few[few_keys];
    unsigned few_count;
    Key found;
    unsigned long long above, count;  ///< of the digit, or of the key found
    int digit;
  };

  const Launch& launch;
  Shared& shared;

  /// Called by all threads of a block.
  __device__ void run(State state) const {
    while (!state.is_found()) {
      if (state.count <= few_keys) {
        finish_few(state);
      } else {
        finish_digit(state);
      }
    }
    if (threadIdx.x != 0) return;
    *launch.result = threshold_of<Real>(state);
    *launch.state = state;
  }

  /// use(key) for each candidate key.
  template <class Use>
  __device__ void for_keys(const State& state, const Use& use) const {
    for (std::int64_t first = threadIdx.x; first < state.size; first += batch * selection_threads) {
      Key keys[batch];
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        const std::int64_t i = first + e * selection_threads;
        keys[e] = i < state.size ? launch.key_at(state, i) : Key(0);  // 0: smaller than all keys
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        if (state.lo <= keys[e] && keys[e] <= state.hi) use(keys[e]);
      }
    }
  }

  __device__ void finish_digit(State& state) const {
    const SelectionDigit<Key> digits(state.lo, state.hi, digit_bits);
    constexpr int last = (1 << digit_bits) - 1;
    const int own = last - 2 * static_cast<int>(threadIdx.x);  // and own - 1
    shared.counters[own] = shared.counters[own - 1] = 0;
    __syncthreads();
    for_keys(state, [&](Key key) { atomicAdd(&shared.counters[digits.of(key, state.lo)], 1u); });
    __syncthreads();
    const auto wanted = static_cast<unsigned long long>(state.k);
    unsigned long long above = 0, count = shared.counters[own] + shared.counters[own - 1];
    above = sum_before(count, shared.warp_sums);
    if (above < wanted && wanted <= above + count) {  // one thread
      const bool upper = wanted <= above + shared.counters[own];
      shared.digit = upper ? own : own - 1;
      shared.above = upper ? above : above + shared.counters[own];
      shared.count = shared.counters[shared.digit];
    }
    __syncthreads();
    state.k -= static_cast<std::int64_t>(shared.above);
    state.n_above += static_cast<std::int64_t>(shared.above);
    state.count = static_cast<std::int64_t>(shared.count);
    digits.narrow(shared.digit, state.lo, state.hi);
    __syncthreads();  // all have read what the next digit overwrites
  }

  __device__ void finish_few(State& state) const {
    if (threadIdx.x == 0) shared.few_count = 0;
    __syncthreads();
    for_keys(state, [&](Key key) { shared.few[atomicAdd(&shared.few_count, 1u)] = key; });
    __syncthreads();
    const auto count = static_cast<int>(shared.few_count), i = static_cast<int>(threadIdx.x);
    if (i < count) {
      const Key own = shared.few[i];
      int greater = 0, equal = 0;
      for (int j = 0; j < count; ++j) {
        const Key other = shared.few[j];
        greater += other > own ? 1 : 0;
        equal += other == own ? 1 : 0;
      }
      if (greater < state.k && state.k <= greater + equal) {  // all copies of the key write the same
        shared.found = own;
        shared.above = static_cast<unsigned long long>(greater);
      }
    }
    __syncthreads();
    state.lo = state.hi = shared.found;
    state.n_above += static_cast<std::int64_t>(shared.above);
    state.k -= static_cast<std::int64_t>(shared.above);
  }
};

/// Complete selection among few values, in one block.
template <class Real>
__global__ void __launch_bounds__(selection_threads) select_in_block(SelectionLaunch<Real> launch) {
  __shared__ typename FinishSelection<Real>::Shared shared;
  __shared__ unsigned long long n_nan;
  auto state = first_state<Real>(launch.n, launch.k);
  if (threadIdx.x == 0) n_nan = 0;
  __syncthreads();
  unsigned long long own = 0;
  for (std::int64_t i = threadIdx.x; i < launch.n; i += selection_threads) {
    own += launch.values[i] != launch.values[i] ? 1 : 0;
  }
  if (own > 0) atomicAdd(&n_nan, own);
  __syncthreads();
  state.n_nan = static_cast<std::int64_t>(n_nan);
  if (state.k == 0) state.lo = state.hi;
  FinishSelection<Real>{launch, shared}.run(state);
}

}  // namespace lutra::Impl

#endif

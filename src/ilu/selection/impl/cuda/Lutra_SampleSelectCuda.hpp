// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SAMPLESELECTCUDA_HPP
#define LUTRA_SAMPLESELECTCUDA_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

#include "Lutra_BucketCounters.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_SelectionBlockCuda.hpp"

namespace lutra::Impl {

/// Counting pass of SampleSelect (Anzt et al. 2019, section III, figure 5). Each block takes the sample,
/// sorts it and picks the same splitters, which costs less than a launch. The last block to finish chooses
/// the bucket.
///
///     sample ▶ sort ▶ splitters ▶ tree │ values ▶ words ▶ buckets ▶ oracles, counters │ last: choose
///
/// A level compares 32 bits of 64-bit keys. In shared memory each lane has a copy of the tree in a separate
/// bank, and by default four lanes share a copy of the counters: no bank conflicts whatever the values are,
/// and few collisions if all are equal.
/// @tparam Counters BucketCounters
template <class Real, class Counters, int height, bool is_first, bool is_exact, bool is_aligned>
struct CountBuckets {
  using Launch = SelectionLaunch<Real>;
  using Key = typename Launch::Key;
  using State = SelectionState<Key>;
  using Words = KeyWord<unsigned, Key>;
  static constexpr int buckets = 1 << height, top = is_first ? buckets - 1 : buckets - 2;
  static constexpr int lanes = 32, copies = Counters::copies,
                       batch = 8;  ///< batch: values in flight per thread
  static constexpr int tile = batch * selection_threads;

  struct Shared {
    unsigned tree[buckets * lanes];
    unsigned counters[buckets * copies > selection_samples ? buckets* copies : selection_samples];
    unsigned splitters[buckets];
    unsigned long long counts[buckets], warp_sums[32];
  };

  const Launch& launch;
  Shared& shared;
  int level;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  /// Called by all threads of a block.
  __device__ void run() const {
    const State state = is_first ? first_state<Real>(launch.n, launch.k) : launch.state->filtered();
    if (!is_first && state.is_found()) return;
    const Words words(state.lo, state.hi);
    pick_splitters(state, words);
    if (is_first || state.source == State::values) {
      count<is_aligned>(state, words, launch.values,
                        [](Real value) { return SelectionKey<Real>::encode(value); });
    } else {
      count<true>(state, words, launch.buffer(state.source), [](Key key) { return key; });
    }
    __syncthreads();
    if constexpr (!Counters::is_global) {
      for (int b = thread(); b < buckets; b += selection_threads) {
        unsigned sum = 0;
        for (int copy = 0; copy < copies; ++copy) sum += shared.counters[b * copies + copy];
        if (sum > 0) atomicAdd(launch.counts + b, static_cast<unsigned long long>(sum));
      }
    }
    if (is_last_block(launch.blocks_done)) choose(state, words);
  }

  /// Sorts one word of each thread into `sorted`. Partners in a warp exchange by shuffles.
  __device__ void sort(unsigned word, unsigned* sorted) const {
    for (int block = 2; block <= selection_samples; block *= 2) {
      for (int stride = block / 2; stride > 0; stride /= 2) {
        unsigned other;
        if (stride >= lanes) {
          __syncthreads();  // the previous exchange has been read
          sorted[thread()] = word;
          __syncthreads();
          other = sorted[thread() ^ stride];
        } else {
          other = __shfl_xor_sync(~0u, word, stride);
        }
        const bool takes_less = ((thread() & block) == 0) == ((thread() & stride) == 0);
        word = takes_less ? (word < other ? word : other) : (word < other ? other : word);
      }
    }
    __syncthreads();
    sorted[thread()] = word;
    __syncthreads();
  }

  __device__ void pick_splitters(const State& state, const Words& words) const {
    const Key key = launch.key_at(state, sample_position(thread(), selection_samples, state.size, level));
    const bool in_question = state.lo <= key && key <= state.hi;
    const int valid = __syncthreads_count(in_question ? 1 : 0);
    unsigned* const sample = shared.counters;
    sort(in_question ? words.of(key) : ~0u, sample);
    const int t = thread();
    if (t > 0 && t < buckets)
      shared.splitters[t] =
          Splitters<buckets>::pick(sample, valid, t, rank_in_sample(state), launch.has_even_splitters);
    __syncthreads();  // splitters are written, and the sample is no longer needed
    for (int node = 1 + t / lanes; node < buckets; node += selection_threads / lanes) {
      shared.tree[node * lanes + t % lanes] = shared.splitters[Splitters<buckets>::at_node(node)];
    }
    for (int b = t; b < buckets * copies; b += selection_threads) shared.counters[b] = 0;
    __syncthreads();
  }

  /// Values of one load, and their oracles.
  template <class Value, bool wide>
  struct alignas(wide ? 16 : alignof(Value)) Vector {
    static constexpr int length = wide ? static_cast<int>(16 / sizeof(Value)) : 1;
    Value value[length];
  };
  template <int length>
  struct alignas(length) Oracles {
    unsigned char bucket[length];
  };

  template <bool wide, class Value, class KeyOf>
  __device__ void count(const State& state, const Words& words, const Value* source,
                        const KeyOf& key_of) const {
    using Loaded = Vector<Value, wide>;
    constexpr int length = Loaded::length, loads = batch / length;
    for (std::int64_t first = std::int64_t(blockIdx.x) * tile; first < state.size;
         first += std::int64_t(gridDim.x) * tile) {
      const std::int64_t mine = first + thread() * length;
      const auto index = [&](int e) { return mine + e / length * (selection_threads * length) + e % length; };
      const bool whole = first + tile <= state.size;
      Loaded loaded[loads];
      if (whole) {
#pragma unroll
        for (int j = 0; j < loads; ++j)
          loaded[j] = *reinterpret_cast<const Loaded*>(source + mine + j * (selection_threads * length));
      } else {
#pragma unroll
        for (int e = 0; e < batch; ++e)
          loaded[e / length].value[e % length] = index(e) < state.size ? source[index(e)] : Value(0);
      }
      unsigned bucket[batch];
      descend(
          state, words, [&](int e) { return key_of(loaded[e / length].value[e % length]); }, bucket);
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        Counters::template add<height>(shared.counters, launch.counts, bucket[e],
                                       whole || index(e) < state.size);
      }
      if constexpr (is_exact) {
        if (whole) {
#pragma unroll
          for (int j = 0; j < loads; ++j) {
            Oracles<length> oracles;
            for (int c = 0; c < length; ++c)
              oracles.bucket[c] = static_cast<unsigned char>(bucket[j * length + c]);
            *reinterpret_cast<Oracles<length>*>(launch.oracles + index(j * length)) = oracles;
          }
        } else {
#pragma unroll
          for (int e = 0; e < batch; ++e)
            if (index(e) < state.size) launch.oracles[index(e)] = static_cast<unsigned char>(bucket[e]);
        }
      }
    }
  }

  /// Buckets of a batch of keys; descends one level of the tree at a time for all of them.
  template <class KeyAt>
  __device__ void descend(const State& state, const Words& words, const KeyAt& key_at,
                          unsigned (&bucket)[batch]) const {
    const unsigned* const tree = shared.tree + threadIdx.x % lanes;
    unsigned word[batch];
    bool outside[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const Key key = key_at(e);
      word[e] = words.of(key);
      outside[e] = !is_first && (key < state.lo || key > state.hi);
      bucket[e] = 1;
    }
#pragma unroll
    for (int h = 0; h < height; ++h) {
#pragma unroll
      for (int e = 0; e < batch; ++e)
        bucket[e] = 2 * bucket[e] + (word[e] >= tree[bucket[e] * lanes] ? 1u : 0u);
    }
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      bucket[e] -= buckets;
      if (!is_first) bucket[e] = outside[e] ? buckets - 1u : bucket[e] < top ? bucket[e] : unsigned(top);
    }
  }

  /// The last block narrows the state to the bucket with the wanted key.
  __device__ void choose(State state, const Words& words) const {
    const int b = top - thread();  // one bucket per thread, from the highest candidate down
    for (int c = thread(); c < buckets; c += selection_threads) {
      shared.counts[c] = __ldcg(launch.counts + c);
      launch.counts[c] = 0;
    }
    if (thread() == 0) *launch.gathered = 0;
    __syncthreads();
    const unsigned long long count = b >= 0 ? shared.counts[b] : 0;
    const auto above = static_cast<std::int64_t>(sum_before(count, shared.warp_sums));
    const auto own = static_cast<std::int64_t>(count);
    if (state.k == 0 ? thread() != 0 : (above >= state.k || state.k > above + own)) return;
    if (is_first) state.n_nan = static_cast<std::int64_t>(shared.counts[buckets - 1]);
    narrow<buckets>(state, words, level, b, own, above, [&](int t) { return shared.splitters[t]; });
    choose_target(state, launch.capacity);
    if (!is_exact || state.is_found()) *launch.result = threshold_of<Real>(state);
    *launch.state = state;
  }
};

template <class Real, class Counters, int height, bool is_first, bool is_exact, bool is_aligned>
__global__ void __launch_bounds__(selection_threads) count_buckets(SelectionLaunch<Real> launch, int level) {
  using Count = CountBuckets<Real, Counters, height, is_first, is_exact, is_aligned>;
  __shared__ typename Count::Shared shared;
  Count{launch, shared, level}.run();
}

/// Gathers the keys of the chosen bucket by the oracles, 16 at a time; values of other buckets are not read.
/// Positions are first counted in shared memory, or in device memory if the counters are there. The last
/// block finishes a selection of few keys, or of any number if it `must`.
template <class Real, class Counters>
struct GatherBucket {
  using Launch = SelectionLaunch<Real>;
  using Key = typename Launch::Key;
  using State = SelectionState<Key>;
  /// A thread reads 16 oracles, of one byte, at once.
  static constexpr int length = 16, tile = length * selection_threads;

  struct Shared {
    unsigned count;
    unsigned long long begin;
  };

  const Launch& launch;
  Shared& shared;

  __device__ void run(const State& state) const {
    Key* const target = launch.buffer(state.target);
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
    for (std::int64_t first = std::int64_t(blockIdx.x) * tile; first < state.size;
         first += std::int64_t(gridDim.x) * tile) {
      const std::int64_t mine = first + static_cast<int>(threadIdx.x) * length;
      unsigned found = matches(state, mine);
      if (__syncthreads_or(found != 0 ? 1 : 0) == 0) continue;
      Key* to = target + claim(static_cast<unsigned>(__popc(found)));
      for (; found != 0; found &= found - 1)
        *to++ = launch.key_at(state, mine + __ffs(static_cast<int>(found)) - 1);
    }
  }

  /// First position in the target of `count` keys of each thread.
  __device__ unsigned long long claim(unsigned count) const {
    if constexpr (Counters::is_global) {
      const auto add = [&](unsigned long long sum) { return atomicAdd(launch.gathered, sum); };
      if constexpr (Counters::aggregates) return claim_in_warp(count, add);
      return count == 0 ? 0 : add(count);
    } else {
      const auto add = [&](unsigned sum) { return atomicAdd(&shared.count, sum); };
      unsigned long long offset = 0;
      if constexpr (Counters::aggregates) {
        offset = claim_in_warp(count, add);
      } else if (count != 0) {
        offset = add(count);
      }
      __syncthreads();  // the count is complete
      if (threadIdx.x == 0) {
        shared.begin = atomicAdd(launch.gathered, static_cast<unsigned long long>(shared.count));
        shared.count = 0;
      }
      __syncthreads();  // the offset is written, the count is 0
      return shared.begin + offset;
    }
  }

  /// One bit for each of 16 values from i on that is in the bucket.
  __device__ unsigned matches(const State& state, std::int64_t i) const {
    if (i >= state.size) return 0;
    const uint4 oracles = *reinterpret_cast<const uint4*>(launch.oracles + i);
    const unsigned pattern = static_cast<unsigned>(state.bucket) * 0x01010101u;
    const auto bits = [&](unsigned four) {
      const unsigned equal = __vcmpeq4(four, pattern);
      return (equal & 1u) | (equal >> 7 & 2u) | (equal >> 14 & 4u) | (equal >> 21 & 8u);
    };
    const unsigned found =
        bits(oracles.x) | bits(oracles.y) << 4 | bits(oracles.z) << 8 | bits(oracles.w) << 12;
    const std::int64_t left = state.size - i;
    return left < length ? found & ((1u << left) - 1) : found;
  }
};

template <class Real, class Counters>
__global__ void __launch_bounds__(selection_threads)
    gather_bucket(SelectionLaunch<Real> launch, std::int64_t finish_size, bool must_finish) {
  using Gather = GatherBucket<Real, Counters>;
  using Finish = FinishSelection<Real>;
  __shared__ typename Gather::Shared shared;
  __shared__ typename Finish::Shared finish_shared;
  const auto state = *launch.state;
  if (state.is_found()) return;
  if (state.target != Gather::State::values) Gather{launch, shared}.run(state);
  if (!must_finish && state.count > finish_size) return;
  if (is_last_block(launch.blocks_done)) Finish{launch, finish_shared}.run(state.filtered());
}

/// SampleSelect by these kernels: one launch for few values and for approximate thresholds; two launches for
/// up to 2¹⁷ values; four for more, where the last two mostly find the search ended.
template <class Real, class Counters = CopiedCounters>
struct SampleSelectCuda {
  using Memory = Kokkos::CudaSpace;
  using Work = SelectionWorkspace<Real, Memory>;
  static constexpr std::int64_t block_size = 1 << 14;  ///< values among which a single block selects
  static constexpr std::int64_t finish_size = 1
                                              << 17;  ///< keys that one block finishes in the time of a level

  const Kokkos::Cuda& exec;
  SelectionLaunch<Real> launch;

  SampleSelectCuda(const Kokkos::Cuda& instance, const Work& work,
                   const Kokkos::View<const Real*, Memory>& values, std::int64_t k,
                   const Kokkos::View<SelectionThreshold<Real>, Memory>& result,
                   SelectSplitters splitters = SelectSplitters::dense)
      : exec(instance),
        launch{values.data(),
               static_cast<std::int64_t>(values.extent(0)),
               k,
               work.capacity,
               work.state.data(),
               work.counts.data(),
               work.gathered.data(),
               work.blocks_done.data(),
               work.oracles.data(),
               work.buffers.data(),
               result.data(),
               splitters == SelectSplitters::even} {}

  /// Queues sampleselect.
  void find(bool approximate) const {
    if (launch.n <= block_size) return finish_alone();
    if (approximate) return count<8, true, false>(0);
    count<8, true, true>(0);
    const bool one_level = launch.n <= finish_size;
    gather(one_level);
    if (one_level) return;
    count<8, false, true>(1);
    gather(true);
  }

  /// Queues only the first level's counting pass, for benchmarks.
  void count_once() const { count<8, true, true>(0); }
  void count_once_without_oracles() const { count<8, true, false>(0); }
  void count_pivot_once() const { count<2, true, true>(0); }

  /// Quickselect; waits after each level.
  /// @param left () → candidate values after a level
  template <class Left>
  void quickselect(const Left& left) const {
    if (launch.n <= block_size) return finish_alone();
    count<2, true, true>(0);
    gather(false);
    for (int level = 1; left() > 0; ++level) {
      count<2, false, true>(level);
      gather(false);
    }
  }

 private:
  unsigned blocks(std::int64_t tile, int per_processor) const {
    const std::int64_t most =
        static_cast<std::int64_t>(exec.cuda_device_prop().multiProcessorCount) * per_processor;
    return static_cast<unsigned>(std::min(most, (launch.n + tile - 1) / tile));
  }
  void finish_alone() const {
    select_in_block<<<1, selection_threads, 0, exec.cuda_stream()>>>(launch);
    check_cuda(cudaGetLastError(), "selecting in a block");
  }
  template <int height, bool is_first, bool is_exact>
  void count(int level) const {
    const bool aligned = reinterpret_cast<std::uintptr_t>(launch.values) % 16 == 0;
    const auto kernel = aligned ? count_buckets<Real, Counters, height, is_first, is_exact, true>
                                : count_buckets<Real, Counters, height, is_first, is_exact, false>;
    constexpr int tile = CountBuckets<Real, Counters, height, is_first, is_exact, true>::tile;
    kernel<<<blocks(tile, 1), selection_threads, 0, exec.cuda_stream()>>>(launch, level);
    check_cuda(cudaGetLastError(), "counting the buckets of a selection");
  }
  void gather(bool must_finish) const {
    constexpr int tile = GatherBucket<Real, Counters>::tile;
    gather_bucket<Real, Counters>
        <<<blocks(tile, 2), selection_threads, 0, exec.cuda_stream()>>>(launch, finish_size, must_finish);
    check_cuda(cudaGetLastError(), "gathering the bucket of a selection");
  }
};

}  // namespace lutra::Impl

#endif

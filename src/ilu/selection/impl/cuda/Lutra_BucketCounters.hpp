// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BUCKETCOUNTERS_HPP
#define LUTRA_BUCKETCOUNTERS_HPP

namespace lutra::Impl {

// Parallel counting and filtering (Anzt et al. 2019, section III): where a pass counts the values of each
// bucket, and whether lanes of a warp that would add to one counter add once.

/// Lanes of the warp with a valid value in the same bucket, one bit for each. As many ballots as a bucket has
/// bits; the paper takes them as it descends the tree. Called by all lanes.
template <int height>
__device__ unsigned lanes_of_bucket(unsigned bucket, bool valid) {
  unsigned lanes = __ballot_sync(~0u, valid);
  for (int h = 0; h < height; ++h) {
    const bool bit = (bucket >> h & 1u) != 0;
    const unsigned set = __ballot_sync(~0u, bit);
    lanes &= bit ? set : ~set;
  }
  return lanes;
}

/// Adds the sum of the lanes' counts once, by add(sum) → value before. Returns that value plus the counts of
/// the lanes before. Called by all lanes.
template <class Add>
__device__ unsigned long long claim_in_warp(unsigned count, const Add& add) {
  const unsigned lane = threadIdx.x % 32;
  unsigned sum = count;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += before;
  }
  unsigned long long begin = 0;
  if (lane == 31 && sum > 0) begin = add(sum);
  return __shfl_sync(~0u, begin, 31) + sum - count;
}

/// @tparam copies_ counters of a bucket in shared memory; 0: one in device memory
/// @tparam aggregates_ lanes of a warp with equal buckets add once
template <int copies_, bool aggregates_>
struct BucketCounters {
  static constexpr int copies = copies_;
  static constexpr bool is_global = copies == 0, aggregates = aggregates_;

  /// Counts a value of each lane. Called by all lanes if it aggregates.
  /// @param counters [buckets · copies] shared
  /// @param counts [buckets] in device memory
  template <int height>
  __device__ static void add(unsigned* counters, unsigned long long* counts, unsigned bucket, bool valid) {
    if constexpr (aggregates) {
      const unsigned lanes = lanes_of_bucket<height>(bucket, valid);
      const bool is_first = (lanes & ((1u << threadIdx.x % 32) - 1)) == 0;
      if (valid && is_first) add_one(counters, counts, bucket, static_cast<unsigned>(__popc(lanes)));
    } else {
      if (valid) add_one(counters, counts, bucket, 1);
    }
  }

 private:
  __device__ static void add_one(unsigned* counters, unsigned long long* counts, unsigned bucket,
                                 unsigned count) {
    if constexpr (is_global) {
      atomicAdd(counts + bucket, static_cast<unsigned long long>(count));
    } else {
      atomicAdd(&counters[bucket * copies + threadIdx.x % copies], count);
    }
  }
};

/// The default: eight counters of a bucket, since additions to copies collide less often.
using CopiedCounters = BucketCounters<8, false>;

}  // namespace lutra::Impl

#endif

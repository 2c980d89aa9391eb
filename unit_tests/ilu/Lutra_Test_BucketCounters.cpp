// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// Tests the counters of SampleSelect for CUDA with warps emulated on hosts.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Lutra_TestWarps.hpp"

namespace {
int additions = 0;  // atomic operations
template <class T>
T atomicAdd(T* location, T value) {
  ++additions;
  const T before = *location;
  *location += value;
  return before;
}
}  // namespace

#include "Lutra_BucketCounters.hpp"

namespace lutra::Test {
namespace {

constexpr int height = 4, buckets = 1 << height, warps = 3, threads = warps * Warps::lanes;

/// A value of each thread: its bucket, and whether it is counted.
struct Given {
  std::vector<unsigned> bucket;
  std::vector<bool> is_valid;
};

Given given_values(unsigned different, std::mt19937& random) {
  Given given;
  for (int t = 0; t < threads; ++t) {
    given.bucket.push_back(static_cast<unsigned>(random()) % different);
    given.is_valid.push_back(random() % 4 != 0);
  }
  return given;
}

template <int copies, bool aggregates>
void check_counts(const Given& given, std::mt19937& random) {
  using Counters = Impl::BucketCounters<copies, aggregates>;
  std::vector<unsigned> shared(buckets * (copies > 0 ? copies : 1), 0);
  std::vector<unsigned long long> device(buckets, 0), expected(buckets, 0);
  additions = 0;
  Warps block;
  CHECK(block.run(warps, random, [&] {
    const auto t = static_cast<std::size_t>(threadIdx.x);
    Counters::template add<height>(shared.data(), device.data(), given.bucket[t], given.is_valid[t]);
  }));
  int most = 0;
  for (int w = 0; w < warps; ++w) {
    std::vector<int> of_warp(buckets, 0);
    for (int l = 0; l < Warps::lanes; ++l) {
      const auto t = static_cast<std::size_t>(w * Warps::lanes + l);
      if (!given.is_valid[t]) continue;
      ++expected[given.bucket[t]];
      most += aggregates ? (of_warp[given.bucket[t]]++ == 0 ? 1 : 0) : 1;
    }
  }
  for (int b = 0; b < buckets; ++b) {
    const auto at = static_cast<std::size_t>(b);
    unsigned long long sum = device[at];
    for (int copy = 0; copy < copies; ++copy) sum += shared[static_cast<std::size_t>(b * copies + copy)];
    CHECK(sum == expected[at]);
  }
  CHECK(additions == most);
}

TEST_CASE("counters of buckets count each value once, warps add equal buckets once",
          "[ilu][select][variants]") {
  std::mt19937 random(7);
  for (const unsigned different : {1u, 2u, 5u, 16u}) {
    for (int run = 0; run < 5; ++run) {
      const Given given = given_values(different, random);
      check_counts<8, false>(given, random);
      check_counts<1, false>(given, random);
      check_counts<0, false>(given, random);
      check_counts<1, true>(given, random);
      check_counts<0, true>(given, random);
    }
  }
}

TEST_CASE("warps claim disjoint positions with one addition", "[ilu][select][variants]") {
  std::mt19937 random(8);
  for (const unsigned most : {1u, 2u, 17u}) {
    std::vector<unsigned> counts(threads);
    for (unsigned& count : counts) count = static_cast<unsigned>(random()) % most;
    std::vector<unsigned long long> begin(threads);
    unsigned long long claimed = 0;
    additions = 0;
    Warps block;
    CHECK(block.run(warps, random, [&] {
      const auto t = static_cast<std::size_t>(threadIdx.x);
      begin[t] = Impl::claim_in_warp(
          counts[t], [&](unsigned sum) { return atomicAdd(&claimed, static_cast<unsigned long long>(sum)); });
    }));
    std::vector<int> owners(claimed, 0);
    for (std::size_t t = 0; t < threads; ++t) {
      for (unsigned c = 0; c < counts[t]; ++c) ++owners.at(begin[t] + c);
    }
    for (const int owner : owners) CHECK(owner == 1);
    CHECK(additions <= warps);
  }
}

}  // namespace
}  // namespace lutra::Test
#endif

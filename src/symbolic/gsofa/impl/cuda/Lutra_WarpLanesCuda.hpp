// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WARPLANESCUDA_HPP
#define LUTRA_WARPLANESCUDA_HPP

#include <cstdint>

namespace lutra::Impl {

// Functions computed jointly by all 32 lanes of a warp.

__device__ inline unsigned or_over_lanes(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffu, value);
#else
  for (int step = 16; step > 0; step /= 2) value |= __shfl_xor_sync(0xffffffffu, value, step);
  return value;
#endif
}

__device__ inline int max_over_lanes(int value) {
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

__device__ inline int sum_over_lanes(int value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Bit transpose: bit i of lane b is bit b of lane i.
__device__ inline std::uint32_t transpose_lanes(std::uint32_t x) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t mask = 0x0000ffffu;  // bits that stay in the lower of two lanes
  for (unsigned step = 16; step > 0; step /= 2) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffu, x, static_cast<int>(step));
    x = (lane & step) == 0 ? (x & mask) | (other & mask) << step : (x & ~mask) | (other & ~mask) >> step;
    mask ^= mask << (step / 2);
  }
  return x;
}

/// Calls f(there, position of the entry, lane of the vertex) for each edge of the vertices of the first
/// `taken` lanes, by the whole warp, 32 at a time.
/// @param a first entry and number of entries of the lane's vertex; a vertex without edges counts as one edge
/// @returns the number of edges
template <class F>
__device__ int deal_edges(uint2 a, int taken, const F& f) {
  constexpr int lanes = 32;
  constexpr unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int width = lane < taken ? (a.y > 0 ? static_cast<int>(a.y) : 1) : 0;
  int end = width;  // inclusive prefix sums of widths
  for (int step = 1; step < lanes; step *= 2) {
    const int before = __shfl_up_sync(all, end, step);
    if (lane >= step) end += before;
  }
  const int begin = end - width, n_edges = __shfl_sync(all, end, lanes - 1);
  const unsigned shift = a.x - static_cast<unsigned>(begin);
  const unsigned without = __ballot_sync(all, lane < taken && a.y == 0);
  int owner = -1;  // owner of the last edge before these 32
  for (int e = 0; e < n_edges; e += lanes) {
    const bool begins = width > 0 && begin >= e && begin < e + lanes;
    const unsigned heads = or_over_lanes(begins ? 1u << (begin - e) : 0u);
    const int mine = owner + __popc(heads & ((2u << lane) - 1u));
    const unsigned from = __shfl_sync(all, shift, mine & 31);
    const bool there = e + lane < n_edges && (without >> (mine & 31) & 1u) == 0;
    f(there, from + static_cast<unsigned>(e + lane), mine & 31);
    owner += __popc(heads);
  }
  return n_edges;
}

/// Calls f(bit) for one of equal shares of the bits of a set, in ascending order. @param word word w of the
/// set
template <class Words, class F>
__device__ void for_share_of_bits(int words, const Words& word, int share, int shares, const F& f) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int n_bits = 0;
  for (int w = lane; w < words; w += 32) n_bits += __popc(word(w));
  n_bits = sum_over_lanes(n_bits);
  const auto end_of = [&](int k) { return static_cast<int>(static_cast<long long>(n_bits) * k / shares); };
  const int begin = end_of(share), end = end_of(share + 1);
  int rank = 0;
  for (int block = 0; block < words && rank < end; block += 32) {
    const std::uint32_t own = word(block + lane);
    for (unsigned used = __ballot_sync(0xffffffffu, own != 0); used != 0; used &= used - 1) {
      const int k = __ffs(used) - 1;
      std::uint32_t bits = __shfl_sync(0xffffffffu, own, k);
      if (rank + __popc(bits) <= begin || rank >= end) {
        rank += __popc(bits);
        continue;
      }
      for (; bits != 0; bits &= bits - 1, ++rank) {
        if (rank >= begin && rank < end) f((block + k) * 32 + __ffs(bits) - 1);
      }
    }
  }
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GROUPFILL2SEARCHCUDA_HPP
#define LUTRA_GROUPFILL2SEARCHCUDA_HPP

#include "Lutra_GroupFill2Cuda.hpp"

// The search of a group from one threshold.

namespace lutra::Impl {

// Predicated accesses to shared memory by some lanes of a warp. Compilers branch around them, or aggregate
// them, and each branch costs as many instructions as the access.

/// Stores `value` and returns the old value; returns all bits set if `condition` is false.
__device__ inline unsigned long long exchange_if(bool condition, unsigned long long* at,
                                                 unsigned long long value) {
  unsigned long long old = ~0ull;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p atom.shared.exch.b64 %0, [%1], %2; }"
               : "+l"(old)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at))), "l"(value), "r"(int(condition))
               : "memory");
  return old;
}

__device__ inline void store_if(bool condition, uint2* at, uint2 value) {
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.shared.v2.u32 [%0], {%1, %2}; }" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(at))),
               "r"(value.x), "r"(value.y), "r"(int(condition))
               : "memory");
}

/// Adds to a counter and returns the old value, if `condition` holds.
__device__ inline int add_if(bool condition, int* at, int value) {
  int old = 0;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p atom.shared.add.u32 %0, [%1], %2; }"
               : "+r"(old)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at))), "r"(value), "r"(int(condition))
               : "memory");
  return old;
}

/// Few vertices are expanded by a single warp, which needs no barriers; more by the block, level by level.
/// Either way a warp takes `at_once` vertices at a time, a few entries of a row in each lane.
__device__ inline bool GroupFill2::search_below(Group& g, int t, std::uint32_t bits) const {
  Shared& shared = *g.shared;
  if (warp() == 0) {
    if (lane() == 0) {
      shared.near[g.level % 2][0] = uint2{static_cast<unsigned>(t), bits};
      --shared.levels;  // a threshold by itself is not a level
      --shared.expanded;
    }
    __syncwarp();
    expand_narrow(g, t, 1);
  }
  __syncthreads();
  for (int length = shared.left_to_block; length > 0;) {
    if (threadIdx.x == 0) {
      shared.lengths[(g.level + 2) % 3] = 0;
      ++shared.levels;
      shared.expanded += length;
    }
    expand_wide(g, t, length);
    __syncthreads();
    ++g.level;
    length = min(shared.lengths[g.level % 3], near_length + far_length());
    if (length > at_once || length == 0) continue;
    if (warp() == 0) expand_narrow(g, t, length);
    __syncthreads();
    length = shared.left_to_block;
  }
  return shared.overflow == 0 &&
         !(shared.levels > min_levels && shared.expanded < min_width * static_cast<long long>(shared.levels));
}

/// By one warp, while there are few: expands `count` vertices at the start of the level, the last ones first.
__device__ inline void GroupFill2::expand_narrow(Group& g, int t, int count) const {
  Shared& shared = *g.shared;
  const int side = g.level % 2, at = lane() / lanes_each;
  const int* const entries = table.data() + lane() % lanes_each * each;
  int steps = 0, expanded = 0;
  while (count > 0 && count <= at_once) {
    const int taken = min(count, at_once);
    count -= taken;
    ++steps;
    expanded += taken;
    const uint2 own = at < taken ? shared.near[side][count + at] : uint2{0, 0};
    int entry[each];
    load_entries<each>(entry, entries + own.x * width);
    __syncwarp();  // all have read the level
    expand(g, own, entry, t, side, [&](int n) {
      count += n;
      return count - n;
    });
    __syncwarp();
  }
  if (lane() != 0) return;
  shared.left_to_block = min(count, near_length + far_length());
  shared.levels += steps;
  shared.expanded += expanded;
}

/// By the block: expands `length` vertices of a level. Edges of the next few are loaded meanwhile.
__device__ inline void GroupFill2::expand_wide(Group& g, int t, int length) const {
  Shared& shared = *g.shared;
  const int side = g.level % 2;
  int* const next_length = shared.lengths + (g.level + 1) % 3;
  const auto item = [&](int at) {
    if (at >= length) return uint2{0, 0};
    return at < near_length ? shared.near[side][at] : far(blockIdx.x, side * far_length() + at - near_length);
  };
  const int* const entries = table.data() + lane() % lanes_each * each;
  int at = warp() * at_once + lane() / lanes_each;
  uint2 own = item(at);
  int entry[each];
  load_entries<each>(entry, entries + own.x * width);
  for (int begin = warp() * at_once; begin < length; begin += warps * at_once) {
    at += warps * at_once;
    const uint2 next = item(at);
    int next_entry[each];
    load_entries<each>(next_entry, entries + next.x * width);
    expand(g, own, entry, t, side ^ 1,
           [&](int n) { return __shfl_sync(all, add_if(lane() == 0, next_length, n), 0); });
    own = next;
    for (int k = 0; k < each; ++k) entry[k] = next_entry[k];
  }
}

/// Expands the lanes' vertices, by a whole warp.
/// @param entry   entries of the table's rows, a few per lane
/// @param side    level to which vertices to be expanded are appended
/// @param reserve reserves space there for a number of vertices
template <class Reserve>
__device__ inline void GroupFill2::expand(Group& g, uint2 own, const int (&entry)[each], int t, int side,
                                          const Reserve& reserve) const {
  int edges = 0;
  for (int k = 0; k < each; ++k) edges += entry[k] < none ? 1 : 0;
  g.edges += own.y != 0 ? edges : 0;
  visit(g, entry, own.y, t, side, reserve);
  for (unsigned left = __ballot_sync(all, entry[each - 1] == longer && own.y != 0); left != 0;
       left &= left - 1) {
    const int from = __ffs(left) - 1, u = __shfl_sync(all, static_cast<int>(own.x), from);
    const std::uint32_t bits = __shfl_sync(all, own.y, from);
    const auto end = common.pattern.row_map(u + 1);
    for (auto e = common.pattern.row_map(u) + width - 1; e < end; e += each * lanes) {
      int w[each];
      for (int k = 0; k < each; ++k) {
        const auto place_of_edge = e + k * lanes + lane();
        w[k] = place_of_edge < end ? static_cast<int>(common.pattern.entries.data()[place_of_edge]) : none;
        g.edges += place_of_edge < end ? 1 : 0;
      }
      visit(g, w, bits, t, side, reserve);
    }
  }
}

/// Edges lead `bits` to each w of each lane. New visits are marked; vertices below the threshold are appended
/// to the next level. By whole warps.
template <class Reserve>
__device__ inline void GroupFill2::visit(Group& g, const int (&w)[each], std::uint32_t bits, int t, int side,
                                         const Reserve& reserve) const {
  const int count = stage(g, w, bits);
  __syncwarp();
#pragma unroll 1
  for (int begin = 0; begin < count; begin += lanes) {
    const uint2 staged = g.shared->staged[warp()][begin + lane()];
    const unsigned v = staged.x & ~unseen;
    std::uint32_t fresh = begin + lane() < count ? staged.y : 0u;
    const unsigned long long claimed = exchange_if(fresh != 0, &g.shared->claims[v % n_claims],
                                                   static_cast<unsigned long long>(fresh) << 32 | v);
    if (static_cast<unsigned>(claimed) == v) fresh &= ~static_cast<std::uint32_t>(claimed >> 32);
    const bool waits = fresh != 0 && static_cast<int>(v) < t;
    if (fresh != 0) {
      atomicOr(g.visited + v, fresh);
      if ((staged.x & unseen) != 0) {
        touch(g, static_cast<int>(v) / lanes);
        g.revisits -= waits ? 1 : 0;
      }
    }
    const unsigned waiting = __ballot_sync(all, waits);
    if (waiting == 0) continue;
    const int base = reserve(__popc(waiting));
    if (!waits) continue;
    ++g.revisits;
    put(g, side, base + __popc(waiting & lanes_below()), uint2{v, fresh});
  }
  __syncwarp();
}

/// Stores the targets of edges that lead some of `bits` to a vertex they have not visited; returns the number
/// of such edges, about a fifth. Lanes then share them evenly.
__device__ inline int GroupFill2::stage(const Group& g, const int (&w)[each], std::uint32_t bits) const {
  std::uint32_t before[each];
  for (int k = 0; k < each; ++k) before[k] = g.visited[w[k]];
  int count = 0;
  for (int k = 0; k < each; ++k) {
    const std::uint32_t fresh = bits & ~before[k];
    const unsigned there = __ballot_sync(all, fresh != 0);
    const unsigned to = static_cast<unsigned>(w[k]) | (before[k] == 0 ? unseen : 0u);
    store_if(fresh != 0, &g.shared->staged[warp()][count + __popc(there & lanes_below())], uint2{to, fresh});
    count += __popc(there);
  }
  return count;
}

__device__ inline void GroupFill2::put(const Group& g, int side, int at, uint2 item) const {
  if (at < near_length) {
    g.shared->near[side][at] = item;
  } else if (at - near_length < far_length()) {
    far(blockIdx.x, side * far_length() + at - near_length) = item;
  } else {
    g.shared->overflow = 1;
  }
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTIERSEARCHCUDA_HPP
#define LUTRA_FRONTIERSEARCHCUDA_HPP

#include <cstdint>

#include "Lutra_Fill2.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_WarpLanesCuda.hpp"

namespace lutra::Impl {

/// A vertex to expand, and its tracker: the index of its source among those in flight (GSoFa, section 6).
struct alignas(8) Frontier {
  int vertex, tracker;
};

/// Lengths of frontiers, and counts of all batches.
struct FrontierCounters {
  unsigned long long lengths[3];  ///< of the frontier of level l, at l % 3
  unsigned long long levels, frontiers, largest, external, edges, revisits;
  unsigned long long left;  ///< sources whose frontiers fit nowhere
};

/// Search from a batch of sources at once in the fine-grained form of fill2 (GSoFa, Figure 6), with one
/// combined frontier queue. Level by level all frontiers are expanded in parallel, and all edges of each.
/// max_id(v) is the least maximum of the inner vertices over the paths to v so far; v becomes a frontier
/// again when it decreases, until v is an entry.
///
///     start: a warp per source │ level 0: 32 frontiers per warp at most │ level 1 │ … │ finish: rows
///                          grid barrier                          grid barrier …
///
/// The kernel is persistent, because a batch has hundreds of levels, many of them short: a grid barrier costs
/// one or two microseconds. A launch per level would cost more, and the host would have to read the length of
/// each frontier.
///
/// As in the paper, frontiers are enqueued by atomic additions, here one for 32 frontiers of a warp, which
/// collects them in shared memory; and labels are windowed. Departures:
/// - `fill` has a bit per vertex. The paper's words, which hold the last source, need no clearing, but 32
///   times the memory. `lines` tells which words are not zero; read in order they are the sorted row.
/// - External frontiers are written and read in place, by the kernel, in mapped memory. The paper stops to
///   copy a full queue.
/// - A frontier beyond all queues ends its source's search, whose row is left to `WarpFill2`.
template <class ExecutionSpace>
struct FrontierFill2 {
  static constexpr int lanes = 32;
  static constexpr int threads = 256;              ///< per block
  static constexpr int buffer_length = 2 * lanes;  ///< a warp's frontiers in shared memory
  static constexpr unsigned all = 0xffffffffu;
  using Launch = Fill2Launch<ExecutionSpace>;

  Launch common;      ///< sources, counts, and destination of rows
  const uint2* rows;  ///< [n] first entry and number of entries of each row of A
  unsigned* max_id;   ///< labels of all sources in flight; those of older batches are base + n or more
  const long long* label_begin;  ///< [slots] start of each source's labels, one for each vertex below it
  std::uint32_t* fill;           ///< [slots × fill_words] a bit for each entry; zero between batches
  std::uint32_t* lines;   ///< [slots × line_words] a bit for each 32 words of `fill` that are not zero
  int* left;              ///< [slots] whether a frontier of the source fitted nowhere
  Frontier* queues[2];    ///< [capacity] frontiers of even and of odd levels
  Frontier* external[2];  ///< [external_capacity] those beyond
  long long capacity, external_capacity;
  FrontierCounters* counters;
  unsigned base;       ///< labels base … base + n − 1 are of this batch
  int first_position;  ///< of slot 0
  int slots;
  bool fill_first;  ///< line 9.5

  KOKKOS_FUNCTION static int fill_words_for(std::int64_t n) {
    return static_cast<int>((n + 1023) / 1024 * 32);
  }
  KOKKOS_FUNCTION static int line_words_for(std::int64_t n) { return (fill_words_for(n) / 32 + 31) / 32; }

  /// A warp's data. Uniform across lanes, except `revisits`.
  struct Warp {
    Frontier* buffer;  ///< frontiers of the next level, not yet enqueued
    int pending;       ///< number of those
    unsigned next;     ///< the next level
    unsigned long long edges, revisits;
  };
  /// A source and its arrays.
  struct Slot {
    int index, source;
    unsigned* labels;
    std::uint32_t *fill, *lines;
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }
  __device__ static unsigned lanes_below() { return (1u << lane()) - 1u; }
  __device__ int fill_words() const { return fill_words_for(common.pattern.n_rows); }
  __device__ int line_words() const { return line_words_for(common.pattern.n_rows); }

  /// @param warp, warps of the grid
  template <class Grid>
  __device__ void run(const Grid& grid, int warp, int warps, Frontier* buffer) const {
    Warp own{buffer, 0, 0, 0, 0};
    for (int k = warp; k < slots; k += warps) start(own, k);
    flush(own, own.pending);
    grid.sync();
    for (unsigned level = 0;; ++level) {
      const long long size = length_of(level);
      if (size == 0) break;
      if (warp == 0 && lane() == 0) note_level(level, size);
      own.next = level + 1;
      expand_level(own, level, size, warp, warps);
      flush(own, own.pending);
      grid.sync();
    }
    for (int k = warp; k < slots; k += warps) finish(k);
    count_work(own);
  }

  __device__ int source_of(int slot) const {
    const int position = first_position + slot;
    return static_cast<int>(common.sources.extent(0) > 0 ? common.sources(position) : position);
  }
  __device__ bool is_found(int source) const { return common.store && common.kept.begin(source) >= 0; }
  __device__ Slot slot_of(int k, int source) const {
    return {k, source, max_id + label_begin[k], fill + static_cast<std::size_t>(k) * fill_words(),
            lines + static_cast<std::size_t>(k) * line_words()};
  }
  __device__ int entry(unsigned p) const { return static_cast<int>(common.pattern.entries.data()[p]); }

  /// Number of stored frontiers of a level, the same for all threads between two grid barriers.
  __device__ long long length_of(unsigned level) const {
    const auto length = static_cast<long long>(
        *static_cast<const volatile unsigned long long*>(counters->lengths + level % 3));
    return length < capacity + external_capacity ? length : capacity + external_capacity;
  }
  /// Counts a level, and empties the frontier of the one before the last for the one after the next.
  __device__ void note_level(unsigned level, long long size) const {
    counters->lengths[(level + 2) % 3] = 0;
    ++counters->levels;
    counters->frontiers += static_cast<unsigned long long>(size);
    if (counters->largest < static_cast<unsigned long long>(size))
      counters->largest = static_cast<unsigned long long>(size);
    if (size > capacity) counters->external += static_cast<unsigned long long>(size - capacity);
  }

  /// Lines 4 to 6: entries of A's row have label 0; those below the source are the first frontiers.
  __device__ void start(Warp& own, int k) const {
    const int source = source_of(k);
    if (is_found(source)) return;
    const Slot slot = slot_of(k, source);
    if (lane() == 0) insert(slot, source);
    __syncwarp();
    const uint2 row = rows[source];
    for (unsigned e = 0; e < row.y; e += lanes) {
      const bool there = e + static_cast<unsigned>(lane()) < row.y;
      const int w = there ? entry(row.x + e + static_cast<unsigned>(lane())) : source;
      const bool below = insert(slot, w) && w < source;
      if (below) slot.labels[w] = base;
      push(own, below, w, k);
    }
    own.edges += row.y;
  }

  /// Line 7. A warp takes up to 32 frontiers, fewer if there are not enough for all warps.
  __device__ void expand_level(Warp& own, unsigned level, long long size, int warp, int warps) const {
    long long per = (size + warps - 1) / warps;
    if (per > lanes) per = lanes;
    for (long long first = warp * per; first < size; first += warps * per) {
      const int taken = static_cast<int>(size - first < per ? size - first : per);
      Frontier frontier{0, 0};
      uint2 edges{0, 0};
      int source = 0;
      unsigned label = 0;
      if (lane() < taken) {
        frontier = load(level, first + lane());
        if (left[frontier.tracker] == 0) edges = rows[frontier.vertex];
        source = source_of(frontier.tracker);
        const auto v = static_cast<unsigned>(frontier.vertex);
        const unsigned reached = max_id[label_begin[frontier.tracker] + frontier.vertex] - base;
        label = v > reached ? v : reached;  // line 8
        if (common.work.extent(0) > 0) Kokkos::atomic_add(&common.work(source), Offset(1));
      }
      own.edges += static_cast<unsigned>(deal_edges(edges, taken, [&](bool there, unsigned p, int owner) {
        const Slot slot = slot_of(__shfl_sync(all, frontier.tracker, owner), __shfl_sync(all, source, owner));
        const unsigned path = __shfl_sync(all, label, owner);
        const int w = there ? entry(p) : slot.source;
        push(own, visit(own, slot, w, path), w, slot.index);
      }));
      __syncwarp();
    }
  }

  /// Lines 9 to 15: a path whose greatest inner vertex is `label` leads to w. @returns whether w becomes a
  /// frontier
  __device__ bool visit(Warp& own, const Slot& slot, int w, unsigned label) const {
    if (w >= slot.source) {  // never expanded, so without a label; the source itself is an entry already
      if (w > slot.source) insert(slot, w);
      return false;
    }
    if (fill_first && has(slot, w)) return false;  // line 9.5
    const unsigned value = base + label;
    if (slot.labels[w] <= value) return false;  // older values are greater, so that it saves only an atomic
    const unsigned before = atomicMin(slot.labels + w, value);
    if (before <= value) return false;
    if (static_cast<unsigned>(w) > label && !insert(slot, w)) return false;
    if (before - base < static_cast<unsigned>(common.pattern.n_rows)) ++own.revisits;
    return true;
  }

  __device__ static bool has(const Slot& slot, int w) { return (slot.fill[w / 32] >> (w % 32) & 1u) != 0; }
  /// Makes w an entry; false where it is one.
  __device__ static bool insert(const Slot& slot, int w) {
    if (has(slot, w)) return false;
    const std::uint32_t bit = 1u << (w % 32);
    const std::uint32_t before = atomicOr(slot.fill + w / 32, bit);
    if (before == 0) atomicOr(slot.lines + w / 32768, 1u << (w / 1024 % 32));
    return (before & bit) == 0;
  }

  /// Enqueues w for the next level where `there`, by the whole warp.
  __device__ void push(Warp& own, bool there, int w, int tracker) const {
    const unsigned waiting = __ballot_sync(all, there);
    if (waiting == 0) return;
    if (there) own.buffer[own.pending + __popc(waiting & lanes_below())] = {w, tracker};
    own.pending += __popc(waiting);
    __syncwarp();
    if (own.pending >= lanes) flush(own, lanes);
  }
  /// Moves the last `count` frontiers of the buffer, a warp's at most, to the queue.
  __device__ void flush(Warp& own, int count) const {
    if (count == 0) return;
    unsigned long long at = 0;
    if (lane() == 0) at = atomicAdd(counters->lengths + own.next % 3, static_cast<unsigned long long>(count));
    at = __shfl_sync(all, at, 0);
    own.pending -= count;
    if (lane() < count)
      store(own.next, static_cast<long long>(at) + lane(), own.buffer[own.pending + lane()]);
    __syncwarp();
  }

  __device__ void store(unsigned level, long long at, const Frontier& frontier) const {
    if (at < capacity) {
      queues[level % 2][at] = frontier;
    } else if (at - capacity < external_capacity) {
      external[level % 2][at - capacity] = frontier;
    } else {
      left[frontier.tracker] = 1;
    }
  }
  __device__ Frontier load(unsigned level, long long at) const {
    return at < capacity ? queues[level % 2][at] : external[level % 2][at - capacity];
  }

  /// Writes counts and the row, unless the source is left, and clears its bits.
  __device__ void finish(int k) const {
    const int source = source_of(k);
    if (is_found(source)) return;
    const Slot slot = slot_of(k, source);
    const bool is_left = left[k] != 0, is_stored = !is_left && common.work.extent(0) == 0;
    Offset target = -1;
    if (is_stored) target = settle(slot);
    if (is_left && lane() == 0) atomicAdd(&counters->left, 1ull);
    Ordinal* to =
        target < 0 ? nullptr : (common.store ? common.entries.data() : common.kept.entries.data()) + target;
    for_lines(slot, [&](int first_word) {
      const std::uint32_t word = slot.fill[first_word + lane()];
      slot.fill[first_word + lane()] = 0;
      if (to != nullptr) to = write(to, (first_word + lane()) * 32, word);
    });
    __syncwarp();  // all lanes have read the lines
    for (int l = lane(); l < line_words(); l += lanes) slot.lines[l] = 0;
  }

  /// Counts the entries; returns the row's destination, -1 if there is no space.
  __device__ Offset settle(const Slot& slot) const {
    int lower = 0, length = 0;
    for_lines(slot, [&](int first_word) {
      const int w = first_word + lane();
      const std::uint32_t word = slot.fill[w];
      length += __popc(word);
      lower += w < slot.source / 32    ? __popc(word)
               : w == slot.source / 32 ? __popc(word & ((1u << (slot.source % 32)) - 1u))
                                       : 0;
    });
    lower = sum_over_lanes(lower);
    length = sum_over_lanes(length);
    Offset target = 0;
    if (lane() == 0) {
      const auto row = static_cast<Ordinal>(slot.source);
      target = common.reserve_row(row, static_cast<Offset>(lower), static_cast<Offset>(length));
      if (common.store) common.kept.begin(row) = 0;  // found, if other rows have to be searched again
    }
    return __shfl_sync(all, target, 0);
  }

  /// Writes the members of a warp's words, each lane's from `first` on. @returns the end
  __device__ Ordinal* write(Ordinal* to, int first, std::uint32_t word) const {
    const int own = __popc(word);
    int end = own;  // inclusive prefix sum
    for (int step = 1; step < lanes; step *= 2) {
      const int before = __shfl_up_sync(all, end, step);
      if (lane() >= step) end += before;
    }
    Ordinal* at = to + (end - own);
    for (std::uint32_t bits = word; bits != 0; bits &= bits - 1)
      *at++ = static_cast<Ordinal>(first + __ffs(static_cast<int>(bits)) - 1);
    return to + __shfl_sync(all, end, lanes - 1);
  }

  /// Calls f(first word) for each 32 words of `fill` that are not all zero, in ascending order, by the warp.
  template <class F>
  __device__ void for_lines(const Slot& slot, const F& f) const {
    for (int l = 0; l < line_words(); ++l)
      for (std::uint32_t used = slot.lines[l]; used != 0; used &= used - 1)
        f((l * 32 + __ffs(static_cast<int>(used)) - 1) * 32);
  }

  __device__ void count_work(const Warp& own) const {
    if (own.revisits != 0) atomicAdd(&counters->revisits, own.revisits);
    if (lane() == 0 && own.edges != 0) atomicAdd(&counters->edges, own.edges);
  }
};

}  // namespace lutra::Impl

#endif

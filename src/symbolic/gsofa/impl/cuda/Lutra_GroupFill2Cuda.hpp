// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GROUPFILL2CUDA_HPP
#define LUTRA_GROUPFILL2CUDA_HPP

#include <cstdint>

#include "Lutra_Fill2.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SourceGroups.hpp"
#include "Lutra_WarpLanesCuda.hpp"

// fill2 for CUDA from up to 32 sources at once, one bit each: a block per group. For matrices so large that
// the marks of a warp per source would not fit in shared memory either.

namespace lutra::Impl {

/// Search from a group of sources at once, in the order of Rose and Tarjan's fill2 (GSoFa, Figure 3b) as in
/// `WarpFill2`, with GSoFa's combined frontiers of concurrent sources. The paper's tracker arrays are words
/// here: bit b of a vertex's word belongs to source b of the group. Neighbouring sources visit nearly the
/// same edges, here together.
///
/// All sources advance through the thresholds together, a span of 256 vertices at a time, one per thread:
///
///     span:   check all ──► none has new vertices below ──► next span
///                │ first vertex t with new vertices below it
///                ▼
///             search_below(t): levels of (vertex, sources), by one warp if few, else by the block
///                │
///                └──► check the rest of the span again: the search has settled most of it
///
/// A source requires ascending order only among its own thresholds. Every step keeps that order, so that each
/// bit equals the mark of `WarpFill2`. Vertices above a threshold may be marked as soon as the threshold is
/// known.
///
/// A group with many levels of few vertices each, as in circuits, is latency-bound. It is left to
/// `WarpFill2`, as is one whose level overflows.
struct GroupFill2 {
  static constexpr int lanes = 32;
  // 128 and 512 threads were slower on poisson3d:64: 42 for 36 ms and 49 for 33.
  static constexpr int threads = 256;  ///< per block, and vertices per span
  static constexpr int blocks = 4;     ///< per multiprocessor, limited by registers
  static constexpr int warps = threads / lanes;
  static constexpr int near_length = 1024;  ///< vertices of a level held in shared memory
  /// A power of two, so that the remainder is a mask. 8 KiB of shared memory per block; larger: fewer claims
  /// are overwritten, and an overwritten claim costs a repeated visit.
  static constexpr int n_claims = 1024;
  static constexpr int width = 8;  ///< entries of a row in `table`
  static constexpr int each = 4;   ///< of those, entries followed by a lane
  static constexpr int lanes_each = width / each, at_once = lanes / lanes_each;
  static constexpr int min_levels = 4096, min_width = 12;  ///< for groups that are not left to `WarpFill2`
  static constexpr int max_abandoned = 32;  ///< after so many groups, all are left to `WarpFill2`
  static constexpr unsigned all = 0xffffffffu;
  static constexpr unsigned unseen = 1u << 31;  ///< in `staged`: no source has visited the vertex

  using Launch = Fill2Launch<Kokkos::Cuda>;
  using Words = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  using Table = Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  using Levels = Kokkos::View<uint2**, Kokkos::LayoutRight, Kokkos::CudaSpace>;

  Launch common;  ///< sources, counts, and destination of rows
  Table table;    ///< (v, width): row of A without its diagonal, or its first seven entries and `longer`
  int none;       ///< in `table`: no entry; a vertex after all others that all sources have visited
  int longer;     ///< in `table`: A has more; another such vertex
  Words visited;  ///< (slot, words): bit b of v: source b has visited v; zero between two groups
  Words lower;    ///< (slot, words): bit b of v: v is an entry of L of source b, where `listed`
  Levels far;     ///< (slot, 2·far_length): the parts of two levels that do not fit in shared memory
  Kokkos::View<int, Kokkos::CudaSpace> abandoned;  ///< groups left to `WarpFill2`

  struct Shared {
    uint2 near[2][near_length];           ///< vertices of two levels, and sources that expand them
    uint2 staged[warps][lanes * each];    ///< targets of a warp's edges, and the sources new there
    unsigned long long claims[n_claims];  ///< visited vertices and their sources, modulo n_claims
    unsigned needed[2][warps];            ///< for a span: vertices to search from, by parity of the round
    std::uint32_t first_need[2][warps];   ///< sources of the first such vertex
    int sources[lanes];                   ///< of the group, -1 if fewer
    int least, greatest;                  ///< of those
    int lengths[3];                       ///< of the level being expanded, the next and the one after
    int left_to_block;                    ///< vertices of the level that the first warp leaves to the block
    int first_position, end_position;     ///< of the group; none if the first is not below the end
    int overflow;                         ///< whether a level exceeded its capacity
    int levels;                           ///< number of levels expanded so far
    long long expanded;                   ///< number of their vertices
    int counts[warps][lanes], lower_counts[warps][lanes];  ///< of entries, by warp and source
    long long targets[lanes];                              ///< destination of rows, -1: none
  };

  /// A thread's data about its group.
  struct Group {
    Shared* shared;
    std::uint32_t* touched;  ///< a bit for each line with visited vertices
    std::uint32_t* listed;   ///< a bit for each line of `lower` that has been written
    std::uint32_t* visited;
    int level;     ///< the level being expanded
    int round;     ///< of checks
    int edges;     ///< edges followed by the thread
    int revisits;  ///< vertices to expand counted by the thread, minus those that no source had visited
                   ///< before
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / lanes); }
  /// Keeps a pointer to global memory in registers; compilers would otherwise recompute it for each access.
  template <class T>
  __device__ static T* keep(T* pointer) {
    auto address = __cvta_generic_to_global(pointer);
    asm volatile("" : "+l"(address));
    return static_cast<T*>(__cvta_global_to_generic(address));
  }
  __device__ static unsigned lanes_below() { return (1u << lane()) - 1u; }
  /// Number of lines of 32 vertices, a multiple of a span's.
  __host__ __device__ static int lines_for(std::int64_t n) {
    return static_cast<int>((n + threads - 1) / threads) * warps;
  }
  __host__ __device__ static int summary_words_for(std::int64_t n) {
    return (lines_for(n) + lanes - 1) / lanes;
  }
  /// Words of `visited` per slot, including those of `none` and `longer`.
  static std::size_t words_for(std::int64_t n) { return static_cast<std::size_t>(lines_for(n) + 1) * lanes; }
  __device__ int summary_words() const { return summary_words_for(common.pattern.n_rows); }
  __device__ int far_length() const { return static_cast<int>(far.extent(1) / 2); }

  __device__ void run(unsigned char* memory) const {
    Group g;
    g.shared = reinterpret_cast<Shared*>(memory);
    g.touched = reinterpret_cast<std::uint32_t*>(memory + sizeof(Shared));
    g.listed = g.touched + summary_words();
    g.visited = keep(&visited(blockIdx.x, 0));
    if (threadIdx.x == 0) g.visited[none] = g.visited[longer] = all;
    for (int k = static_cast<int>(threadIdx.x); k < 2 * summary_words(); k += threads) g.touched[k] = 0;
    while (take_group(g)) {
      start(g);
      const bool found = search_all(g);
      if (found) {
        finish(g);
      } else if (threadIdx.x == 0) {
        atomicAdd(abandoned.data(), 1);
      }
      count_work(g, found);
      clear(g);
    }
  }

  /// Sets the positions of the next group; empty if none is left.
  __device__ void choose_group(Shared& shared) const {
    const SourceGroups groups{common.end_position - common.first_position};
    const auto taken = static_cast<std::int64_t>(Kokkos::atomic_fetch_add(&common.next(), Ordinal(1)));
    const bool stop = Kokkos::atomic_load(abandoned.data()) >= max_abandoned;
    const std::int64_t group = stop ? -1 : common.last_first ? groups.count() - 1 - taken : taken;
    shared.first_position = static_cast<int>(common.first_position + groups.begin(group));
    shared.end_position = static_cast<int>(common.first_position + groups.begin(group + 1));
  }

  /// The source at a position; -1 if its row has already been found.
  __device__ int source_at(int position) const {
    const auto source =
        common.sources.extent(0) > 0 ? common.sources(position) : static_cast<Ordinal>(position);
    return common.store && common.kept.begin(source) >= 0 ? -1 : static_cast<int>(source);
  }

  __device__ bool take_group(Group& g) const {
    Shared& shared = *g.shared;
    if (threadIdx.x == 0) {
      choose_group(shared);
      shared.overflow = shared.lengths[0] = shared.lengths[1] = shared.lengths[2] = shared.levels = 0;
      shared.expanded = 0;
    }
    for (int k = static_cast<int>(threadIdx.x); k < n_claims; k += threads) shared.claims[k] = ~0ull;
    __syncthreads();
    const int position = shared.first_position + lane();
    if (shared.first_position >= shared.end_position) return false;
    if (warp() == 0) {
      const int source = position < shared.end_position ? source_at(position) : -1;
      shared.sources[lane()] = source;
      shared.greatest = max_over_lanes(source);
      shared.least = -max_over_lanes(source < 0 ? -0x7fffffff : -source);
    }
    g.level = g.round = g.edges = g.revisits = 0;
    __syncthreads();
    return true;
  }

  /// Marks each source and its row of A as visited by it.
  __device__ void start(Group& g) const {
    for (int b = warp(); b < lanes; b += warps) {
      const int source = g.shared->sources[b];
      if (source < 0) continue;
      if (lane() == 0) mark(g, source, 1u << b, 0);
      for (auto e = common.pattern.row_map(source) + lane(); e < common.pattern.row_map(source + 1);
           e += lanes) {
        mark(g, static_cast<int>(common.pattern.entries.data()[e]), 1u << b, 0);
        ++g.edges;
      }
    }
    __syncthreads();
  }

  /// Marks w as visited by `bits`. @param before bits it had when last read
  __device__ void mark(const Group& g, int w, std::uint32_t bits, std::uint32_t before) const {
    atomicOr(g.visited + w, bits);
    if (before == 0) touch(g, w / lanes);
  }
  __device__ void touch(const Group& g, int line) const {
    atomicOr(g.touched + line / lanes, 1u << (line % lanes));
  }

  /// The sources greater than v.
  __device__ std::uint32_t above(const Group& g, int v) const {
    if (v < g.shared->least) return all;
    std::uint32_t bits = 0;
    for (int b = 0; b < lanes; ++b) bits |= g.shared->sources[b] > v ? 1u << b : 0u;
    return bits;
  }

  /// Processes all thresholds; false if the group is better left to `WarpFill2`.
  __device__ bool search_all(Group& g) const {
    const int end = g.shared->greatest / threads + 1;
    for (int span = next_span(g, 0); span < end; span = next_span(g, span + 1)) {
      if (!search_span(g, span)) return false;
    }
    return true;
  }

  /// The first span from `from` on with visited vertices; that of the greatest source has some.
  __device__ int next_span(const Group& g, int from) const { return next_line(g, from * warps) / warps; }

  __device__ int next_line(const Group& g, int from) const {
    const int words = summary_words();
    for (int block = from / lanes;; block += lanes) {
      const int w = block + lane();
      std::uint32_t bits = w < words ? g.touched[w] : 0;
      if (w == from / lanes) bits &= ~0u << (from % lanes);
      const unsigned used = __ballot_sync(all, bits != 0);
      if (used != 0) {
        const int first = __ffs(used) - 1;
        return (block + first) * lanes + __ffs(__shfl_sync(all, bits, first)) - 1;
      }
      if (block + lanes >= words) return 0x7fffffff;
    }
  }

  /// Processes the thresholds of a span, one per thread; false if the group is better left to `WarpFill2`.
  __device__ bool search_span(Group& g, int span) const {
    const int position = static_cast<int>(threadIdx.x), t = span * threads + position;
    const std::uint32_t allowed = above(g, t);
    std::uint32_t settled = 0;  // sources for which t is an entry of L with nothing new below it
    std::uint32_t need = 0;     // sources for which t is an entry of L to search from
    int frozen = 0;             // positions below are complete
    __syncthreads();            // all threads know the span, and the vertices needed in the last one
    std::uint32_t unchecked = g.visited[t] & allowed;
    while (true) {
      bool marked_here = false;
      const std::uint32_t fresh = check(g, t, unchecked, marked_here);
      need |= fresh;
      settled |= unchecked & ~fresh;
      show_need(g, need);
      const bool marked = __syncthreads_or(marked_here) != 0;
      const int first = first_needed(g);
      if (marked) {  // vertices before the first to search from are checked first
        unchecked = position < frozen ? 0u : g.visited[t] & allowed & ~(settled | need);
        if (__syncthreads_or(unchecked != 0 && position <= first) != 0) {
          ++g.round;
          continue;
        }
      }
      if (first == threads) break;
      if (!search_below(g, span * threads + first, g.shared->first_need[g.round % 2][first / lanes]))
        return false;
      frozen = first + 1;
      if (position == first) settled |= need;
      unchecked = position < frozen ? 0u : g.visited[t] & allowed & ~settled;
      need = 0;
      ++g.round;
    }
    if (__ballot_sync(all, settled != 0) != 0) {
      lower(blockIdx.x, t) = settled;
      if (lane() == 0) atomicOr(g.listed + t / lanes / lanes, 1u << (t / lanes % lanes));
    }
    return true;
  }

  __device__ void show_need(const Group& g, std::uint32_t need) const {
    const unsigned needed = __ballot_sync(all, need != 0);
    if (lane() == 0) g.shared->needed[g.round % 2][warp()] = needed;
    if (lane() == __ffs(needed) - 1) g.shared->first_need[g.round % 2][warp()] = need;
  }

  /// Index of the first vertex of the span to search from; `threads` if none.
  __device__ int first_needed(const Group& g) const {
    int first = threads;
    for (int w = warps; w-- > 0;) {
      const unsigned needed = g.shared->needed[g.round % 2][w];
      if (needed != 0) first = w * lanes + __ffs(needed) - 1;
    }
    return first;
  }

  /// Follows the edges of the lane's vertex t with the sources in `bits`. Vertices above t are marked.
  /// @param marked_here set if a marked vertex is in the same span
  /// @return the sources that have new vertices below t
  __device__ std::uint32_t check(Group& g, int t, std::uint32_t bits, bool& marked_here) const {
    if (__ballot_sync(all, bits != 0) == 0) return 0;
    std::uint32_t need = 0;
    int last = none;
#pragma unroll 1
    for (int begin = 0; begin < width; begin += 4) {
      int entry[4];
      load_entries<4>(entry, table.data() + static_cast<std::size_t>(t) * width + begin);
      std::uint32_t before[4];
      for (int k = 0; k < 4; ++k) entry[k] = bits != 0 ? entry[k] : none;
      for (int k = 0; k < 4; ++k) before[k] = g.visited[entry[k]];
      for (int k = 0; k < 4; ++k) {
        g.edges += entry[k] < none ? 1 : 0;
        need |= check_edge(g, t, entry[k], bits & ~before[k], before[k], marked_here);
      }
      last = entry[3];
    }
    for (unsigned left = __ballot_sync(all, last == longer); left != 0; left &= left - 1) {
      const int from = __ffs(left) - 1, u = __shfl_sync(all, t, from);
      const std::uint32_t its_bits = __shfl_sync(all, bits, from);
      std::uint32_t its_need = 0;
      const auto end = common.pattern.row_map(u + 1);
      for (auto e = common.pattern.row_map(u) + width - 1 + lane(); e < end; e += lanes) {
        const int w = static_cast<int>(common.pattern.entries.data()[e]);
        const std::uint32_t was = g.visited[w];
        ++g.edges;
        its_need |= check_edge(g, u, w, its_bits & ~was, was, marked_here);
      }
      its_need = or_over_lanes(its_need);
      if (lane() == from) need |= its_need;
    }
    return need;
  }

  __device__ std::uint32_t check_edge(Group& g, int t, int w, std::uint32_t fresh, std::uint32_t before,
                                      bool& marked_here) const {
    if (fresh == 0) return 0;
    if (w < t) return fresh;
    mark(g, w, fresh, before);
    marked_here |= w / threads == t / threads;
    return 0;
  }

  /// Loads some entries of a row of the table. @param from a multiple of four
  template <int count>
  __device__ static void load_entries(int (&entry)[count], const int* from) {
    static_assert(count % 4 == 0);
    for (int k = 0; k < count; k += 4) {
      const int4 four = *reinterpret_cast<const int4*>(from + k);
      entry[k] = four.x;
      entry[k + 1] = four.y;
      entry[k + 2] = four.z;
      entry[k + 3] = four.w;
    }
  }

  /// Visits all vertices that `bits` reach from t through vertices below it; false if the group is better
  /// left to `WarpFill2`.
  __device__ bool search_below(Group& g, int t, std::uint32_t bits) const;
  __device__ void expand_narrow(Group& g, int t, int count) const;
  __device__ void expand_wide(Group& g, int t, int length) const;
  template <class Reserve>
  __device__ void expand(Group& g, uint2 own, const int (&entry)[each], int t, int side,
                         const Reserve& reserve) const;
  template <class Reserve>
  __device__ void visit(Group& g, const int (&w)[each], std::uint32_t bits, int t, int side,
                        const Reserve& reserve) const;
  __device__ int stage(const Group& g, const int (&w)[each], std::uint32_t bits) const;
  __device__ void put(const Group& g, int side, int at, uint2 item) const;

  /// For 32 vertices, one per lane: the sources whose row contains it.
  __device__ std::uint32_t row_bits(const Group& g, int line) const {
    const int v = line * lanes + lane();
    const bool listed = (g.listed[line / lanes] >> (line % lanes) & 1u) != 0;
    const std::uint32_t allowed = above(g, v);
    std::uint32_t bits = listed ? lower(blockIdx.x, v) & allowed : 0u;
    if (allowed != all) bits |= g.visited[v] & ~allowed;
    return bits;
  }

  /// Calls f(line) for the warp's share of the lines with entries, in ascending order.
  template <class F>
  __device__ void for_own_lines(const Group& g, const F& f) const {
    const int words = summary_words(), first_upper = g.shared->least / lanes;
    const auto lines_of = [&](int w) {
      if (w >= words) return 0u;
      const int below = first_upper - w * lanes;
      const std::uint32_t upper = below <= 0 ? all : below >= lanes ? 0u : ~0u << below;
      return g.listed[w] | (g.touched[w] & upper);
    };
    for_share_of_bits(words, lines_of, warp(), warps, f);
  }

  /// Counts the rows, and writes them to their destination (Lutra_GroupFill2RowsCuda.hpp).
  __device__ void finish(Group& g) const;
  __device__ long long settle(const Group& g, int lower_length, int length) const;
  __device__ void count_work(const Group& g, bool found) const;

  __device__ void clear(Group& g) const {
    __syncthreads();
    const int words = summary_words();
    for (int w = warp(); w < words; w += warps) {
      for (std::uint32_t bits = g.touched[w]; bits != 0; bits &= bits - 1) {
        g.visited[(w * lanes + __ffs(bits) - 1) * lanes + lane()] = 0;
      }
      __syncwarp();
      if (lane() == 0) g.touched[w] = g.listed[w] = 0;
    }
    __syncthreads();
  }
};

template <class Search>
__global__ void __launch_bounds__(Search::threads, Search::blocks) fill2_groups(const Search search) {
  extern __shared__ uint4 fill2_group_shared[];
  search.run(reinterpret_cast<unsigned char*>(fill2_group_shared));
}

}  // namespace lutra::Impl

#endif

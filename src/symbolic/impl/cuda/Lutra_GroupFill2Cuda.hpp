// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GROUPFILL2CUDA_HPP
#define LUTRA_GROUPFILL2CUDA_HPP

#include <cstdint>

#include "Lutra_Fill2.hpp"
#include "Lutra_SourceGroups.hpp"
#include "Lutra_WarpLanesCuda.hpp"

// fill2 for CUDA from up to 32 sources at once, by bits: a block a group. For matrices so large that marks of
// the warp-a-source search would lie in global memory too.

namespace lutra::Impl {

/// Search from a group of sources at once, in the order of Rose and Tarjan's fill2 (GSoFa, Figure 3b) as
/// WarpFill2, with GSoFa's combined frontiers of concurrent sources; what its tracker arrays say of a vertex
/// is a word here, of which bit b is source b of the group. Neighbouring sources walk nearly the same edges,
/// here together.
///
/// Thresholds go up in common, a line of 32 vertices at a time. Those that no source meets anything new below
/// are done all at once ("checked"). From each other one is searched, one after the other, by levels: a
/// vertex of a level carries the sources that have come to it from this threshold and have not walked from it
/// before. A source needs its own thresholds in ascending order, no more; all steps of a group keep to that,
/// so each bit is what WarpFill2 finds. What lies above a threshold may be marked any time from when it is
/// known to be one.
///
/// A group that goes through many levels with few vertices each, as circuits do, waits for latencies. It is
/// left to WarpFill2, as is one whose level overflows.
template <class Ordinal, class Offset>
struct GroupFill2 {
  static constexpr int lanes = 32;
  static constexpr int threads = 256;  ///< of a block
  static constexpr int blocks = 4;     ///< of a multiprocessor; for more there are not the registers
  static constexpr int warps = threads / lanes;
  static constexpr int near_length = 1024;  ///< vertices of a level that are kept in shared memory
  static constexpr int n_claims = 1024;
  static constexpr int width = 8;  ///< entries of a row in `table`, and lanes that walk from a vertex
  static constexpr int none = -1, longer = -2;  ///< in `table`: no entry, and A has more
  static constexpr int at_once = lanes / width;
  static constexpr int least_levels = 1024, least_width = 8;  ///< of groups that are not left to others
  static constexpr int most_abandoned = 32;                   ///< after so many, all are left to others
  static constexpr unsigned all = 0xffffffffu;

  using Search = Fill2Search<Ordinal, Offset, Kokkos::Cuda>;
  using Words = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  using Table = Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  using Levels = Kokkos::View<uint2**, Kokkos::LayoutRight, Kokkos::CudaSpace>;

  Search common;  ///< sources, counts, and where rows go; its slots are not used
  Table table;  ///< (v, width): row of A without its diagonal, or the first seven entries of it and `longer`
  Words met;    ///< (slot, 32·lines): bit b of v: source b has met v; zero between two groups
  Words lower;  ///< (slot, 32·lines): bit b of v: v is an entry of L of source b, where `listed`
  Levels far;   ///< (slot, 2·far_length): what of two levels does not fit in shared memory
  Kokkos::View<int, Kokkos::CudaSpace> abandoned;  ///< groups left to others

  struct Shared {
    uint2 near[2][near_length];           ///< vertices of two levels, and sources that walk from them
    unsigned long long claims[n_claims];  ///< vertices met, and by which sources, by vertex modulo n_claims
    std::uint32_t need[lanes];   ///< of each vertex of a line: sources that meet something new below it
    int sources[lanes];          ///< of the group, -1 where there are less
    int lengths[3];              ///< of the level walked from, the next and the one after
    int first_place, end_place;  ///< of the group, none where the first is not below the end
    int overflow;                ///< a level was longer than there is room
    int counts[warps][lanes], lower_counts[warps][lanes];  ///< of entries, by warp and source
    long long targets[lanes];                              ///< where rows go, -1: nowhere
    unsigned long long edges, revisits;
  };

  /// What a thread knows of its group.
  struct Group {
    Shared* shared;
    std::uint32_t* touched;  ///< a bit for each line that has been met
    std::uint32_t* listed;   ///< a bit for each line of `lower` that has been written
    std::uint32_t* met;
    std::uint32_t* lower;
    uint2* far;
    int source;           ///< that of the lane, -1 where there is none
    int least, greatest;  ///< sources
    int turn;             ///< level walked from: lengths[turn % 3]
    int levels;           ///< walked from so far
    long long walked;     ///< vertices of those
    int edges, revisits;  ///< the thread's own
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / lanes); }
  __host__ __device__ static int lines_for(std::int64_t n) {
    return static_cast<int>((n + lanes - 1) / lanes);
  }
  __host__ __device__ static int summary_words_for(std::int64_t n) {
    return (lines_for(n) + lanes - 1) / lanes;
  }
  __device__ int summary_words() const { return summary_words_for(common.pattern.n_rows); }

  __device__ void run(unsigned char* memory) const {
    Group g;
    g.shared = reinterpret_cast<Shared*>(memory);
    g.touched = reinterpret_cast<std::uint32_t*>(memory + sizeof(Shared));
    g.listed = g.touched + summary_words();
    g.met = &met(blockIdx.x, 0);
    g.lower = &lower(blockIdx.x, 0);
    g.far = &far(blockIdx.x, 0);
    for (int k = static_cast<int>(threadIdx.x); k < 2 * summary_words(); k += threads) g.touched[k] = 0;
    while (take_group(g)) {
      start(g);
      if (search_all(g)) {
        finish(g);
      } else if (threadIdx.x == 0) {
        atomicAdd(abandoned.data(), 1);
      }
      clear(g);
    }
  }

  /// Places of the next group, which are none where none is left.
  __device__ void choose_group(Shared& shared) const {
    const SourceGroups groups{common.end_place - common.first_place};
    const auto taken = static_cast<std::int64_t>(Kokkos::atomic_fetch_add(&common.next(), Ordinal(1)));
    const bool stop = Kokkos::atomic_load(abandoned.data()) >= most_abandoned;
    const std::int64_t group = stop ? -1 : common.last_first ? groups.count() - 1 - taken : taken;
    shared.first_place = static_cast<int>(common.first_place + groups.begin(group));
    shared.end_place = static_cast<int>(common.first_place + groups.begin(group + 1));
  }

  /// The source at a place; -1 where its row is there.
  __device__ int source_at(int place) const {
    const auto source = common.sources.extent(0) > 0 ? common.sources(place) : static_cast<Ordinal>(place);
    return common.store && common.kept.place(source) >= 0 ? -1 : static_cast<int>(source);
  }

  __device__ bool take_group(Group& g) const {
    Shared& shared = *g.shared;
    if (threadIdx.x == 0) {
      choose_group(shared);
      shared.overflow = shared.lengths[0] = shared.lengths[1] = shared.lengths[2] = 0;
      shared.edges = shared.revisits = 0;
    }
    for (int k = static_cast<int>(threadIdx.x); k < n_claims; k += threads) shared.claims[k] = ~0ull;
    __syncthreads();
    const int place = shared.first_place + lane();
    if (shared.first_place >= shared.end_place) return false;
    g.source = place < shared.end_place ? source_at(place) : -1;
    if (warp() == 0) {
      shared.sources[lane()] = g.source;
      shared.need[lane()] = 0;
    }
    g.greatest = max_over_lanes(g.source);
    g.least = -max_over_lanes(g.source < 0 ? -0x7fffffff : -g.source);
    g.turn = g.levels = g.edges = g.revisits = 0;
    g.walked = 0;
    __syncthreads();
    return true;
  }

  /// Each source has met itself and all its row.
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

  /// Marks w as met by `bits`. @param before bits it had when last looked at
  __device__ void mark(const Group& g, int w, std::uint32_t bits, std::uint32_t before) const {
    atomicOr(g.met + w, bits);
    if (before == 0) touch(g, w / lanes);
  }
  __device__ void touch(const Group& g, int line) const {
    atomicOr(g.touched + line / lanes, 1u << (line % lanes));
  }

  /// Sources v is below.
  __device__ std::uint32_t above(const Group& g, int v) const {
    if (v < g.least) return all;
    std::uint32_t bits = 0;
    for (int b = 0; b < lanes; ++b) bits |= g.shared->sources[b] > v ? 1u << b : 0u;
    return bits;
  }

  /// All thresholds; false where the group is better left to others.
  __device__ bool search_all(Group& g) const {
    const int end = g.greatest / lanes + 1;
    for (int line = next_line(g, 0); line < end; line = next_line(g, line + 1)) {
      if (!search_line(g, line)) return false;
    }
    return true;
  }

  /// The first line met from `from` on; the line of the greatest source is met.
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

  /// Thresholds of a line. Every warp knows all of them, a lane each, and decides the same.
  __device__ bool search_line(Group& g, int line) const {
    const int t = line * lanes + lane();
    const std::uint32_t allowed = above(g, t);
    std::uint32_t settled = 0;  // sources that t is an entry of L of, walked from
    std::uint32_t need = 0;     // sources that t is an entry of L of and has to be searched from
    int frozen = 0;             // lanes below are done with
    while (true) {
      const std::uint32_t met = g.met[t] & allowed;
      const std::uint32_t unchecked = lane() < frozen ? 0u : met & ~(settled | need);
      const unsigned to_search = __ballot_sync(all, need != 0);
      const unsigned to_check = __ballot_sync(all, unchecked != 0);
      const unsigned up_to_first = to_search == 0 ? all : to_search ^ (to_search - 1);
      if ((to_check & up_to_first) != 0) {
        need |= check_line(g, line, unchecked);
        settled |= unchecked & ~need;
      } else if (to_search != 0) {
        if (is_left(g)) return leave();
        const int first = __ffs(to_search) - 1;
        search_below(g, line * lanes + first, __shfl_sync(all, need, first));
        if (lane() == first) {
          settled |= need;
          need = 0;
        }
        frozen = first + 1;
      } else {
        break;
      }
    }
    if (warp() == 0) {
      g.lower[t] = settled;
      if (lane() == 0) g.listed[line / lanes] |= 1u << (line % lanes);
    }
    return g.shared->overflow == 0 ? true : leave();
  }

  __device__ bool is_left(const Group& g) const {
    return g.shared->overflow != 0 ||
           (g.levels > least_levels && g.walked < least_width * static_cast<long long>(g.levels));
  }
  __device__ static bool leave() {
    __syncthreads();  // no one still looks at what is cleared
    return false;
  }

  /// Walks over the edges of the vertices of a line, of each with the sources in the lane's `bits`. What is
  /// above is marked. Returns the sources of the lane's vertex that have something new below it.
  __device__ std::uint32_t check_line(Group& g, int line, std::uint32_t bits) const {
    __syncthreads();  // all have seen the marks
    const unsigned filled = __ballot_sync(all, bits != 0);
    for (int k = warp() * at_once; k < lanes; k += warps * at_once) {
      if ((filled >> k & ((1u << at_once) - 1u)) == 0) continue;
      const int from = k + lane() / width;
      const std::uint32_t its_bits = __shfl_sync(all, bits, from);
      const int v = line * lanes + from;
      walk(g, v, its_bits, table_entry(v, its_bits != 0), [&](bool edge, int u, int w, std::uint32_t b) {
        if (!edge) return;
        const std::uint32_t before = g.met[w], fresh = b & ~before;
        if (fresh == 0) return;
        if (w > u)
          mark(g, w, fresh, before);
        else
          atomicOr(&g.shared->need[u % lanes], fresh);
      });
    }
    __syncthreads();  // all is marked
    const std::uint32_t need = g.shared->need[lane()];
    __syncthreads();  // all have seen it
    if (warp() == 0) g.shared->need[lane()] = 0;
    return need;
  }

  /// Meets all that `bits` reach from t through vertices below it.
  __device__ void search_below(Group& g, int t, std::uint32_t bits) const {
    __syncthreads();  // all have seen the marks
    if (warp() == 0) {
      const std::uint32_t its_bits = lane() < width ? bits : 0u;
      walk(g, t, its_bits, table_entry(t, its_bits != 0),
           [&](bool edge, int, int w, std::uint32_t b) { meet(g, edge, w, b, t); });
    }
    __syncthreads();
    while (true) {
      ++g.turn;
      const int length = min(g.shared->lengths[g.turn % 3], near_length + far_length());
      if (threadIdx.x == 0) g.shared->lengths[(g.turn + 2) % 3] = 0;
      if (length == 0) break;
      ++g.levels;
      g.walked += length;
      walk_level(g, length, t);
      __syncthreads();
    }
  }

  __device__ uint2 item(const Group& g, int at, int length) const {
    if (at >= length) return uint2{0, 0};
    const int side = g.turn % 2;
    return at < near_length ? g.shared->near[side][at] : g.far[side * far_length() + at - near_length];
  }

  /// Walks from the vertices of a level, a few a warp at a time; edges of the next few are loaded meanwhile.
  __device__ void walk_level(Group& g, int length, int t) const {
    int at = warp() * at_once + lane() / width;
    uint2 own = item(g, at, length);
    int edge = table_entry(static_cast<int>(own.x), own.y != 0);
    for (int begin = warp() * at_once; begin < length; begin += warps * at_once) {
      at += warps * at_once;
      const uint2 next = item(g, at, length);
      const int next_edge = table_entry(static_cast<int>(next.x), next.y != 0);
      walk(g, static_cast<int>(own.x), own.y, edge,
           [&](bool there, int, int w, std::uint32_t b) { meet(g, there, w, b, t); });
      own = next;
      edge = next_edge;
    }
  }

  __device__ int far_length() const { return static_cast<int>(far.extent(1) / 2); }

  /// The lane's place of the table's row v; `none` where no vertex is `there`.
  __device__ int table_entry(int v, bool there) const { return there ? table(v, lane() % width) : none; }

  /// f(there, v, w, bits) for each edge (v, w), by the whole warp; a vertex for each eight lanes.
  /// @param entry the lane's table_entry
  template <class F>
  __device__ void walk(Group& g, int v, std::uint32_t bits, int entry, const F& f) const {
    g.edges += entry >= 0 ? 1 : 0;
    f(entry >= 0, v, entry, bits);
    for (unsigned left = __ballot_sync(all, entry == longer); left != 0; left &= left - 1) {
      const int from = __ffs(left) - 1, u = __shfl_sync(all, v, from);
      const std::uint32_t its_bits = __shfl_sync(all, bits, from);
      const auto begin = common.pattern.row_map(u) + width - 1, end = common.pattern.row_map(u + 1);
      for (auto e = begin; e < end; e += lanes) {
        const bool edge = e + lane() < end;
        g.edges += edge ? 1 : 0;
        f(edge, u, edge ? static_cast<int>(common.pattern.entries.data()[e + lane()]) : 0, its_bits);
      }
    }
  }

  /// An edge leads `bits` to w. What is new is marked; below the threshold it is walked from. By whole warps.
  __device__ void meet(Group& g, bool there, int w, std::uint32_t bits, int t) const {
    std::uint32_t fresh = 0, before = 0;
    if (there) {
      before = g.met[w];
      fresh = bits & ~before;
      if (fresh != 0) {
        mark(g, w, fresh, before);
        fresh = w < t ? claim(g, w, fresh) : 0u;
      }
    }
    const unsigned waiting = __ballot_sync(all, fresh != 0);
    if (waiting == 0) return;
    const int next = g.turn + 1;
    int base = 0;
    if (lane() == 0) base = atomicAdd(&g.shared->lengths[next % 3], __popc(waiting));
    base = __shfl_sync(all, base, 0);
    if (fresh == 0) return;
    if (before != 0) ++g.revisits;
    const int at = base + __popc(waiting & ((1u << lane()) - 1u));
    const uint2 waits{static_cast<unsigned>(w), fresh};
    if (at < near_length) {
      g.shared->near[next % 2][at] = waits;
    } else if (at - near_length < far_length()) {
      g.far[(next % 2) * far_length() + at - near_length] = waits;
    } else {
      atomicExch(&g.shared->overflow, 1);
    }
  }

  /// Of `bits`, those that nobody else is seen to have met w with. A claim may be lost, and w be walked from
  /// twice; none is there of what has not been met.
  __device__ std::uint32_t claim(const Group& g, int w, std::uint32_t bits) const {
    const unsigned long long mine = static_cast<unsigned long long>(bits) << 32 | static_cast<unsigned>(w);
    const unsigned long long old = atomicExch(&g.shared->claims[w % n_claims], mine);
    return static_cast<unsigned>(old) == static_cast<unsigned>(w)
               ? bits & ~static_cast<std::uint32_t>(old >> 32)
               : bits;
  }

  /// Of 32 vertices in lanes, the sources whose row has them.
  __device__ std::uint32_t row_bits(const Group& g, int line) const {
    const int v = line * lanes + lane();
    const bool listed = (g.listed[line / lanes] >> (line % lanes) & 1u) != 0;
    const std::uint32_t allowed = above(g, v);
    std::uint32_t bits = listed ? g.lower[v] & allowed : 0u;
    if (allowed != all) bits |= g.met[v] & ~allowed;
    return bits;
  }

  /// f(line) for the warp's share of the lines with entries, in ascending order.
  template <class F>
  __device__ void for_own_lines(const Group& g, const F& f) const {
    const int words = summary_words(), first_upper = g.least / lanes;
    const auto lines_of = [&](int w) {
      if (w >= words) return 0u;
      const int below = first_upper - w * lanes;
      const std::uint32_t upper = below <= 0 ? all : below >= lanes ? 0u : ~0u << below;
      return g.listed[w] | (g.touched[w] & upper);
    };
    for_share_of_bits(words, lines_of, warp(), warps, f);
  }

  /// Counts the rows, and writes them where they go (Lutra_GroupFill2RowsCuda.hpp).
  __device__ void finish(Group& g) const;
  __device__ long long settle(const Group& g, int lower_length, int length) const;
  __device__ void count_work(Group& g) const;

  __device__ void clear(Group& g) const {
    __syncthreads();
    const int words = summary_words();
    for (int w = warp(); w < words; w += warps) {
      for (std::uint32_t bits = g.touched[w]; bits != 0; bits &= bits - 1) {
        g.met[(w * lanes + __ffs(bits) - 1) * lanes + lane()] = 0;
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

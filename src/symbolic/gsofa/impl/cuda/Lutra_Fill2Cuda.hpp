// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2CUDA_HPP
#define LUTRA_FILL2CUDA_HPP

#include <algorithm>
#include <cstdint>

#include "Lutra_Arena.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_Fill2Launcher.hpp"
#include "Lutra_FrontierFill2Cuda.hpp"
#include "Lutra_GroupFill2RunsCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_WarpLanesCuda.hpp"

// fill2 for CUDA: a warp per source, synchronization within warps only, and marks in shared memory if enough
// of them fit. As many warps are resident as registers and shared memory allow, so that loads of one overlap
// with work of others.

namespace lutra::Impl {

/// Search from one source per warp, in the order of Rose and Tarjan's fill2 (GSoFa, Figure 3b): thresholds t,
/// the entries of L, in ascending order; from each a search through vertices below t that no threshold has
/// visited. A vertex is visited once, by its least threshold, so that there are neither labels nor revisits,
/// and one mark per vertex suffices. All marks above t are entries, so that the next mark is the next
/// threshold and the row is found in sorted order. This order costs parallelism within a source; many
/// concurrent sources replace it.
///
///     marks   0 0 1 0 1 1 0 0 1 0 …    thresholds 2, 4, 5, 8, … up to the source
///                 t                    new below t: expanded; new above t: an entry
///
/// A frontier is a stack: vertices of one threshold may be expanded in any order. Its edges are distributed
/// evenly over lanes. The first 64 vertices of the stack are in shared memory, the rest in global memory,
/// where a slot has one number for each vertex below its sources, which suffices for the stack and the
/// entries of L together.
struct WarpFill2 {
  static constexpr int lanes = 32;
  static constexpr int near_length = 64;  ///< vertices of a stack held in shared memory
  static constexpr int max_warps = 4;     ///< per block
  static constexpr unsigned all = 0xffffffffu;

  using Launch = Fill2Launch<Kokkos::Cuda>;
  using Vertices = Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  using Marks = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Kokkos::CudaSpace>;

  Launch common;                                 ///< sources, counts, and destination of rows
  Kokkos::View<uint2*, Kokkos::CudaSpace> rows;  ///< [n] first entry and number of entries of each row of A
  Vertices stacks;                               ///< (slot, sources)
  Marks marks;     ///< (slot, mark_words), zero; no slots: marks are in shared memory
  int mark_words;  ///< 32-bit words for all vertices; a multiple of 32

  static int mark_words_for(std::size_t n) { return static_cast<int>((n + 1023) / 1024 * 32); }

  /// A warp's data about its row. Uniform across lanes, except `lowest` and `highest`.
  struct Row {
    std::uint32_t* marks;
    uint2* near;  ///< bottom of the stack: rows of A of the vertices
    int* far;     ///< bottom up: the rest of the stack, vertices; top down: entries of L
    int source, threshold;
    int waiting;          ///< vertices on the stack
    int n_lower;          ///< entries of L found
    int lowest, highest;  ///< vertices marked by the lane
    unsigned long long edges;
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }

  template <bool SharedMarks>
  __device__ void run(std::uint32_t* shared) const {
    const int warp = static_cast<int>(threadIdx.x / lanes), warps = static_cast<int>(blockDim.x / lanes);
    const std::size_t slot = static_cast<std::size_t>(blockIdx.x) * warps + warp;
    if (slot >= stacks.extent(0)) return;
    Row row;
    row.near = reinterpret_cast<uint2*>(shared) + warp * near_length;
    row.far = &stacks(slot, 0);
    std::uint32_t* const own = shared + 2 * warps * near_length + warp * mark_words;
    row.marks = SharedMarks ? own : &marks(slot, 0);
    if (SharedMarks) {
      for (int w = lane(); w < mark_words; w += lanes) own[w] = 0;
      __syncwarp();
    }
    while ((row.source = next_source()) >= 0) {
      search(row);
      finish(row);
    }
  }

  __device__ int next_source() const {
    int source = 0;
    if (lane() == 0) {
      do source = static_cast<int>(common.take_source());
      while (source >= 0 && !common.store && common.counts(source) != 0);  // found by a group
    }
    return __shfl_sync(all, source, 0);
  }

  __device__ void search(Row& row) const {
    row.waiting = row.n_lower = 0;
    row.lowest = row.highest = row.source;
    row.edges = 0;
    if (lane() == 0) row.marks[row.source / 32] |= 1u << (row.source % 32);
    row.threshold = -1;  // each edge of the source is an entry
    __syncwarp();
    expand_one(row, row.source);
    const int lowest = -max_over_lanes(-row.lowest);
    for (int line = lowest / lanes; line * lanes < row.source; line = next_line(row, line + 1))
      search_line(row, line);
  }

  /// The first word from `from` on that has marks. The word of the source has some, and `from` is never
  /// beyond it.
  __device__ int next_line(const Row& row, int from) const {
    if (from > row.source / lanes) return from;
    for (int block = from / lanes * lanes;; block += lanes) {
      const int w = block + lane();
      const unsigned used = __ballot_sync(all, w >= from && row.marks[w] != 0);
      if (used != 0) return block + __ffs(used) - 1;
    }
  }

  /// Processes the thresholds among 32 vertices. All are checked at once; those with nothing new below them
  /// are done. The others are searched in ascending order, each after all before it are complete.
  __device__ void search_line(Row& row, int line) const {
    const int first = line * lanes;
    const unsigned below = row.source - first >= lanes ? all : (1u << (row.source - first)) - 1u;
    unsigned settled = 0;   // entries of L that are complete
    unsigned needed = 0;    // entries of L to search from
    unsigned open = below;  // vertices that may still become entries of L
    while (true) {
      const unsigned unchecked = row.marks[line] & open & ~(settled | needed);
      const unsigned up_to_first = needed ^ (needed - 1u);  // all bits if none is needed
      if ((unchecked & up_to_first) != 0) {
        needed |= check(row, first, unchecked);
        settled |= unchecked & ~needed;
      } else if (needed != 0) {
        const unsigned bit = needed & (~needed + 1u);
        row.threshold = first + __ffs(bit) - 1;
        expand_one(row, row.threshold);
        while (row.waiting > 0) expand_some(row);
        settled |= bit;
        needed ^= bit;
        open = below & ~(bit | (bit - 1u));
      } else {
        break;
      }
    }
    list_lower(row, first, settled);
  }

  /// Adds vertices of a line to the row of L.
  __device__ void list_lower(Row& row, int first, unsigned bits) const {
    const int end = static_cast<int>(stacks.extent(1));
    if ((bits >> lane() & 1u) != 0)
      row.far[end - 1 - row.n_lower - __popc(bits & ((1u << lane()) - 1u))] = first + lane();
    row.n_lower += __popc(bits);
  }

  /// Follows the edges of entries of L, one bit each, upwards only. Returns those with unvisited vertices
  /// below them.
  __device__ unsigned check(Row& row, int first, unsigned bits) const {
    const int rank = __popc(bits & ((1u << lane()) - 1u)), count = __popc(bits);
    if ((bits >> lane() & 1u) != 0) {  // the stack is empty
      row.near[rank] = rows(first + lane());
      row.near[lanes + rank].x = static_cast<unsigned>(lane());
    }
    __syncwarp();
    const uint2 a = lane() < count ? row.near[lane()] : uint2{0, 0};
    const int begin = lane() < count ? static_cast<int>(row.near[lanes + lane()].x) : 0;
    unsigned needed = 0;
    deal(row, a, count, [&](bool there, unsigned p, int owner) {
      const int from = __shfl_sync(all, begin, owner);
      const int w = there ? entry(p) : first + from;
      const bool news = there && !has(row, w);
      if (news && w > first + from) mark(row, w);
      if (news && w < first + from) needed |= 1u << from;
    });
    __syncwarp();
    return or_over_lanes(needed);
  }

  /// Expands one vertex.
  __device__ void expand_one(Row& row, int v) const {
    expand_row(row, rows(v));
    __syncwarp();
  }
  __device__ void expand_row(Row& row, uint2 a) const {
    row.edges += a.y;
    for (unsigned e = 0; e < a.y; e += lanes) {
      const unsigned own = e + static_cast<unsigned>(lane());
      visit(row, own < a.y, a.x + own);
    }
  }

  /// Pops up to 32 vertices from the stack and expands them, their edges distributed over lanes 32 at a time.
  /// A vertex without edges counts as one edge.
  __device__ void expand_some(Row& row) const {
    const int taken = row.waiting < lanes ? row.waiting : lanes;
    row.waiting -= taken;
    uint2 a{0, 0};
    if (lane() < taken) {
      const int at = row.waiting + lane();
      a = at < near_length ? row.near[at] : rows(row.far[at - near_length]);
    }
    __syncwarp();
    if (taken == 1) {
      expand_row(row, uint2{__shfl_sync(all, a.x, 0), __shfl_sync(all, a.y, 0)});
    } else {
      deal(row, a, taken, [&](bool there, unsigned p, int) { visit(row, there, p); });
    }
    __syncwarp();
  }

  template <class F>
  __device__ void deal(Row& row, uint2 a, int taken, const F& f) const {
    row.edges += static_cast<unsigned>(deal_edges(a, taken, f));
  }

  __device__ int entry(unsigned p) const { return static_cast<int>(common.pattern.entries.data()[p]); }

  __device__ static bool has(const Row& row, int w) { return (row.marks[w / 32] >> (w % 32) & 1u) != 0; }

  /// Marks w; false where another lane was first.
  __device__ static bool mark(Row& row, int w) {
    row.lowest = min(row.lowest, w);
    row.highest = max(row.highest, w);
    const std::uint32_t bit = 1u << (w % 32);
    return (atomicOr(row.marks + w / 32, bit) & bit) == 0;
  }

  /// Entry p of A leads to w. If w was not visited before, it is marked; if below the threshold, it is pushed
  /// onto the stack.
  __device__ void visit(Row& row, bool there, unsigned p) const {
    const int w = there ? entry(p) : 0;
    const bool fresh = there && !has(row, w) && mark(row, w);
    const bool waits = fresh && w < row.threshold;
    const unsigned waiting = __ballot_sync(all, waits);
    if (waits) {
      const int at = row.waiting + __popc(waiting & ((1u << lane()) - 1u));
      if (at < near_length) {
        row.near[at] = rows(w);
      } else {
        row.far[at - near_length] = w;
      }
    }
    row.waiting += __popc(waiting);
  }

  /// Counts the row, writes it to its destination, and clears the marks.
  __device__ void finish(Row& row) const {
    const int first_word = row.source / 32;
    const int end_word = max_over_lanes(row.highest) / 32 + 1;
    int upper = 0;
    for (int w = first_word + lane(); w < end_word; w += lanes) upper += __popc(upper_bits(row, w));
    upper = sum_over_lanes(upper);
    const Offset target = settle(row, static_cast<Offset>(row.n_lower) + upper);
    __syncwarp();
    if (target >= 0)
      write(row, common.store ? common.entries.data() + target : common.kept.entries.data() + target,
            end_word);
    const int begin = -max_over_lanes(-row.lowest) / 128 * 4;
    __syncwarp();
    for (int w = begin + 4 * lane(); w < end_word; w += 4 * lanes) {
      *reinterpret_cast<uint4*>(row.marks + w) = uint4{0, 0, 0, 0};
    }
    __syncwarp();
  }

  /// Bits of word w from the source on.
  __device__ std::uint32_t upper_bits(const Row& row, int w) const {
    return w == row.source / 32 ? row.marks[w] & ~0u << (row.source % 32) : row.marks[w];
  }

  /// Writes the counts; returns the row's destination, -1 if there is no space.
  __device__ Offset settle(const Row& row, Offset length) const {
    Offset target = 0;
    if (lane() == 0) {
      Kokkos::atomic_add(&common.statistics(0), static_cast<std::uint64_t>(row.edges));
      target = common.reserve_row(static_cast<Ordinal>(row.source), static_cast<Offset>(row.n_lower), length);
    }
    return __shfl_sync(all, target, 0);
  }

  __device__ void write(const Row& row, Ordinal* to, int end_word) const {
    const int end = static_cast<int>(stacks.extent(1));
    for (int k = lane(); k < row.n_lower; k += lanes) to[k] = static_cast<Ordinal>(row.far[end - 1 - k]);
    to += row.n_lower;
    for (int block = row.source / 32; block < end_word; block += lanes) {
      const std::uint32_t own = block + lane() < end_word ? upper_bits(row, block + lane()) : 0;
      for (unsigned used = __ballot_sync(all, own != 0); used != 0; used &= used - 1) {
        const int k = __ffs(used) - 1;
        const std::uint32_t bits = __shfl_sync(all, own, k);
        if ((bits >> lane() & 1u) != 0) {
          to[__popc(bits & ((1u << lane()) - 1u))] = static_cast<Ordinal>((block + k) * 32 + lane());
        }
        to += __popc(bits);
      }
    }
  }
};

template <class Search, bool SharedMarks>
__global__ void __launch_bounds__(Search::max_warps* Search::lanes, 12) fill2_warps(const Search search) {
  extern __shared__ uint4 fill2_shared[];
  search.template run<SharedMarks>(reinterpret_cast<std::uint32_t*>(fill2_shared));
}

/// Shape of the launches: marks in shared memory if at least `min_warps` per multiprocessor fit.
struct WarpFill2Shape {
  /// As the launch bound; fewer would hide too little latency, and with marks in global memory more fit.
  static constexpr int min_warps = 12;
  bool shared_marks = false;
  int warps = 1;                 ///< warps per block
  std::size_t shared_bytes = 0;  ///< shared memory per block
  std::size_t running = 1;       ///< number of concurrent warps

  template <class Search>
  static WarpFill2Shape make(const Kokkos::Cuda& exec, std::size_t n, bool allow_shared_marks) {
    const cudaDeviceProp& device = exec.cuda_device_prop();
    const std::size_t stack = Search::near_length * sizeof(uint2);
    const std::size_t with_marks = stack + Search::mark_words_for(n) * sizeof(std::uint32_t);
    WarpFill2Shape shape;
    shape.shared_marks = allow_shared_marks && with_marks <= device.sharedMemPerBlockOptin &&
                         with_marks * min_warps <= device.sharedMemPerMultiprocessor;
    const std::size_t each = shape.shared_marks ? with_marks : stack;
    const std::size_t fitting = device.sharedMemPerMultiprocessor / each;  // warps per multiprocessor
    shape.warps = fitting >= 56 ? Search::max_warps : fitting >= 32 ? 2 : 1;
    shape.shared_bytes = each * static_cast<std::size_t>(shape.warps);
    const auto kernel = shape.shared_marks ? fill2_warps<Search, true> : fill2_warps<Search, false>;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shape.shared_bytes)),
               "setting the shared memory of fill2");
    int blocks = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, shape.warps * Search::lanes,
                                                             shape.shared_bytes),
               "asking how many blocks of fill2 run at once");
    shape.running = static_cast<std::size_t>(std::max(1, blocks)) * static_cast<std::size_t>(shape.warps) *
                    static_cast<std::size_t>(device.multiProcessorCount);
    return shape;
  }

  template <class Search>
  void launch(const Kokkos::Cuda& exec, const Search& search) const {
    const std::size_t slots = search.stacks.extent(0);
    const auto blocks = static_cast<unsigned>((slots + static_cast<std::size_t>(warps) - 1) /
                                              static_cast<std::size_t>(warps));
    const auto kernel = shared_marks ? fill2_warps<Search, true> : fill2_warps<Search, false>;
    kernel<<<blocks, static_cast<unsigned>(warps * Search::lanes), shared_bytes, exec.cuda_stream()>>>(
        search);
    check_cuda(cudaGetLastError(), "launching fill2");
  }
};

/// Searches by warps and by groups of sources, as used by `Fill2Method`; the portable search if forced, or if
/// vertex or entry numbers exceed 32 bits.
struct Fill2LauncherCuda : Fill2Launcher<Kokkos::Cuda> {
  using Base = Fill2Launcher<Kokkos::Cuda>;
  using typename Base::Bytes;
  using typename Base::Launch;
  using typename Base::Pattern;
  using Search = WarpFill2;

  bool portable = true;
  WarpFill2Shape shape;
  Search search;
  bool in_groups = false;  ///< whether groups are faster and memory suffices
  GroupFill2Runs groups;
  bool in_frontiers = false;
  FrontierFill2Runs frontiers;

  Fill2Kernel kernel() const {
    if (portable) return Fill2Kernel::portable;
    return in_frontiers ? Fill2Kernel::frontiers : in_groups ? Fill2Kernel::groups : Fill2Kernel::warps;
  }

  void prepare(const Kokkos::Cuda& exec, const Pattern& pattern, const Fill2Options& options,
               MemoryReservation& scratch, const MemoryBudget& budget) {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    Base::prepare(exec, pattern, options, scratch, budget);
    const bool too_large = n >= std::size_t(1) << 30 || pattern.nnz() >= (std::int64_t(1) << 31);
    portable =
        options.kernel == Fill2Kernel::portable || (options.kernel == Fill2Kernel::automatic && too_large);
    if (portable) return;
    const bool asks_for_groups = options.kernel == Fill2Kernel::groups;
    if (too_large || (asks_for_groups && pattern.n_rows > groups.max_rows))
      throw InputError("options: fill2.kernel " + std::string(name_of(options.kernel)) +
                       " has no numbers for so large a matrix");
    shape = WarpFill2Shape::make<Search>(exec, n, options.shared_marks && !asks_for_groups);
    search.mark_words = Search::mark_words_for(n);
    in_frontiers = options.kernel == Fill2Kernel::frontiers;
    if (in_frontiers) frontiers.prepare(exec, pattern.n_rows, options, scratch, budget);
    in_groups = asks_for_groups || (options.kernel == Fill2Kernel::automatic && !shape.shared_marks &&
                                    pattern.n_rows <= groups.max_rows);
    if (in_groups) groups.prepare(exec, pattern.n_rows, scratch);
    if (in_groups && options.concurrent > 0)
      groups.running = std::max<std::size_t>(
          1, std::min(groups.running, static_cast<std::size_t>(options.concurrent) / groups.size));
    search.rows =
        scratch.allocate<Kokkos::View<uint2*, Kokkos::CudaSpace>>(exec, "lutra::symbolic::packed_rows", n);
    const auto rows = search.rows;
    const auto row_map = pattern.row_map;
    Kokkos::parallel_for(
        "lutra::symbolic::packed_rows",
        Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, static_cast<std::int64_t>(n)),
        KOKKOS_LAMBDA(const std::int64_t i) {
          rows(i) =
              uint2{static_cast<unsigned>(row_map(i)), static_cast<unsigned>(row_map(i + 1) - row_map(i))};
        });
  }

  std::size_t running(const Kokkos::Cuda& exec) const {
    if (in_frontiers) return frontiers.concurrent;
    return portable ? Base::running(exec) : shape.running;
  }

  /// Bytes for groups, and for warps that search the sources groups leave.
  std::size_t arena_bytes(std::int64_t n, std::size_t sources, std::size_t for_warps) const {
    if (in_frontiers)
      return std::max(slot_bytes(static_cast<std::size_t>(n), static_cast<std::size_t>(n)),
                      frontiers.chunk_bytes(for_warps));
    return in_groups ? std::max(groups.bytes(n, static_cast<std::int64_t>(sources)), for_warps / 4)
                     : for_warps;
  }

  std::size_t group_slots(std::int64_t n, std::size_t bytes, std::size_t sources) const {
    if (in_frontiers) return bytes >= frontiers.slot_bytes(static_cast<std::size_t>(n)) ? 1 : 0;
    return in_groups ? groups.slots(n, bytes, static_cast<std::int64_t>(sources)) : 0;
  }

  bool search_groups(const Kokkos::Cuda& exec, const Bytes& bytes, std::size_t n_slots, const Launch& common,
                     Fill2Statistics& statistics) {
    if (in_frontiers) return frontiers.run(exec, bytes, common, search.rows, bound, statistics);
    const std::size_t size = groups.size;
    statistics.slots = std::max(statistics.slots, n_slots * size);
    statistics.slot_bytes = std::max(statistics.slot_bytes, groups.slot_bytes(common.pattern.n_rows) / size);
    return groups.run(exec, bytes, n_slots, common);
  }

  std::size_t slot_bytes(std::size_t n, std::size_t sources) const {
    if (portable) return Base::slot_bytes(n, sources);
    const auto words = static_cast<std::size_t>(search.mark_words);
    const std::size_t of_warp =
        sources * sizeof(int) + (shape.shared_marks ? 0 : words * sizeof(std::uint32_t));
    return in_frontiers ? std::max(of_warp, frontiers.slot_bytes(sources)) : of_warp;
  }

  void divide(const Kokkos::Cuda& exec, Arena<Kokkos::CudaSpace>& arena, std::size_t n_slots, std::size_t n,
              std::size_t sources) {
    if (portable) return Base::divide(exec, arena, n_slots, n, sources);
    search.stacks = arena.cut<typename Search::Vertices>(n_slots, sources);
    search.marks = {};
    if (shape.shared_marks) return;
    search.marks = arena.cut<typename Search::Marks>(n_slots, static_cast<std::size_t>(search.mark_words));
    Kokkos::deep_copy(exec, search.marks, std::uint32_t(0));
  }

  void launch(const Kokkos::Cuda& exec, const Launch& common) {
    if (portable) return Base::launch(exec, common);
    search.common = common;
    shape.launch(exec, search);
  }
};

inline Fill2LauncherCuda make_fill2_launcher(const Kokkos::Cuda&) {
  return {};
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2METHOD_HPP
#define LUTRA_FILL2METHOD_HPP

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_Arena.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_Fill2Launcher.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_TwoParts.hpp"
#include "Lutra_Upload.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_Fill2Cuda.hpp"
#endif

namespace lutra::Impl {

/// fill2 in two passes: counts, prefix sum, positions ("End-to-End LU …", Algorithm 3), sources in ascending
/// ranges. All members are public, because nvcc accepts device lambdas only in public functions.
template <class ExecutionSpace>
struct Fill2Method {
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using Result = LuPattern<Memory>;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  using EntryView = Kokkos::View<Ordinal*, Memory>;
  using Launch = Fill2Launch<ExecutionSpace>;
  using Launcher = decltype(make_fill2_launcher(std::declval<const ExecutionSpace&>()));
  using Range = Kokkos::RangePolicy<ExecutionSpace>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  // Rows per launch: bounds the run time of a kernel.
  static constexpr std::size_t rows_per_launch = 1 << 17;
  // Maximum memory for slots without a budget limit. Larger: more rows at a time.
  static constexpr std::size_t unlimited_arena_bytes = std::size_t(16) << 30;
  // If slots for all teams do not fit, sources are divided into this many ranges, each with its own slot
  // size.
  static constexpr int n_ranges = 8;
  // Maximum memory for rows in transit to the host. Larger: fewer transfers.
  static constexpr std::size_t max_buffer_bytes = std::size_t(4) << 30;
  static constexpr std::size_t slack = 4096;  // headers and alignment of Views

  Fill2Method(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget,
              const Fill2Options& options)
      : m_exec(exec),
        m_budget(budget),
        m_options(options),
        m_n(pattern.n_rows),
        m_count(pattern.n_rows),
        m_scratch(budget),
        m_launch{} {
    m_launch.pattern = pattern;
    m_launch.last_first = options.last_first;
  }

  Result run() {
    Result result;
    result.n = m_n;
    result.method = SymbolicMethod::fill2;
    result.reservation = MemoryReservation(m_budget);
    auto diagonal =
        result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_n);
    find_rows(result, diagonal);
    m_exec.fence("lutra::symbolic: scratch is freed");
    result.nnz_u = static_cast<Offset>(result.entries.extent(0)) - result.nnz_l;
    return result;
  }

  /// Only the rows of L + U of the given sources, in the order given.
  /// @param sources [any number] distinct rows of A
  SourceRows<Memory> run(const Kokkos::View<const Ordinal*, Memory>& sources) {
    SourceRows<Memory> result;
    result.reservation = MemoryReservation(m_budget);
    m_launch.sources = sources;
    m_count = static_cast<Ordinal>(sources.extent(0));
    auto diagonal =
        result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_count);
    find_rows(result, diagonal);
    m_exec.fence("lutra::symbolic: scratch is freed");
    result.edges = static_cast<std::int64_t>(statistics().edges);
    return result;
  }

  using HostResult = LuPattern<Kokkos::HostSpace>;
  template <class T>
  using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

  /// Both passes; rows are copied to host memory in ranges, each while the next one is searched:
  ///
  ///     search range 0 │ search range 1 │ search range 2 │
  ///                    │ copy range 0   │ copy range 1   │ copy range 2
  HostResult stream() {
    MemoryReservation maps(m_budget);
    auto row_map = maps.allocate<OffsetView>(m_exec, "lutra::symbolic::row_map", m_n + 1);
    auto diagonal = maps.allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_n);
    allocate_scratch();
    Kokkos::deep_copy(m_exec, m_launch.kept.begin, Offset(-1));
    require_one_slot();
    search_all();
    const Offset nnz = make_row_map(row_map, diagonal);
    m_exec.fence("lutra::symbolic: the count pass is done");
    HostResult result;
    result.n = m_n;
    result.method = SymbolicMethod::fill2;
    const auto host_map = mirror_in<Kokkos::HostSpace>(row_map);
    const std::string label = "lutra::symbolic::entries";
    const auto entries = allocating(label, static_cast<std::size_t>(nnz) * sizeof(Ordinal), [&] {
      return HostArray<Ordinal>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label),
                                static_cast<std::size_t>(nnz));
    });
    m_launch.row_map = m_starts;
    m_launch.store = true;
    stream_rows(host_map, entries);
    result.nnz_l = m_nnz_lower;
    result.nnz_u = nnz - m_nnz_lower;
    result.row_map = host_map;
    result.diagonal = mirror_in<Kokkos::HostSpace>(diagonal);
    result.entries = entries;
    return result;
  }

  /// The fill pass in ranges of rows. Each range fits in one of two buffers. The buffers take half of the
  /// remaining memory, slots the rest.
  void stream_rows(const HostArray<Offset>& row_map, const HostArray<Ordinal>& entries) {
    const auto rows = static_cast<std::size_t>(m_n);
    Offset longest = 0;
    for (std::size_t i = 0; i < rows; ++i) longest = std::max(longest, row_map(i + 1) - row_map(i));
    const std::size_t left = m_budget.available_bytes();
    const auto share = static_cast<Offset>(std::min(left, max_buffer_bytes) / (4 * sizeof(Ordinal)));
    const Offset length = std::max(longest, std::min(share, row_map(rows)));
    const std::size_t least =
        2 * static_cast<std::size_t>(longest) * sizeof(Ordinal) + slot_bytes(rows) + 2 * slack;
    if (least > left) {
      throw OutOfMemoryError("symbolic factorization to host memory needs " + std::to_string(least) +
                                 " bytes for one row in flight and two of the longest rows, but " +
                                 std::to_string(left) + " bytes of the memory limit are left; a limit of " +
                                 std::to_string(m_budget.used_bytes() + least) + " bytes would do",
                             least);
    }
    m_launcher.bound = rows;
    MemoryReservation reservation(m_budget);
    EntryView buffers[2];
    for (auto& buffer : buffers)
      buffer = reservation.allocate<EntryView>(m_exec, "lutra::symbolic::streamed_rows", length);
    const std::size_t room = m_budget.limit_bytes() == 0 ? unlimited_arena_bytes : m_budget.available_bytes();
    const std::size_t fitting = (limited_to_chunk(room) - slack) / slot_bytes(rows);
    const std::size_t slots = std::max<std::size_t>(1, std::min({concurrent(), rows, fitting}));
    const auto arena = reservation.allocate<typename Arena<Memory>::Bytes>(
        m_exec, "lutra::symbolic::fill2_arena", slots * slot_bytes(rows) + Arena<Memory>::loss(8));
    divide(arena, slots, rows);
    const ExecutionSpace copier = Kokkos::Experimental::partition_space(m_exec, 1)[0];
    std::size_t begin = 0, end = 0, copied = 0;  // rows [copied, begin) are in the other buffer
    for (int parity = 0; copied < rows; parity = 1 - parity) {
      while (end < rows && row_map(end + 1) - row_map(begin) <= length) ++end;
      if (begin < end) {
        m_launch.entries = buffers[parity];
        m_launch.first_entry = row_map(begin);
        if (!search_groups(arena, begin, end)) {
          if (group_slots(arena, end - begin) > 0) divide(arena, slots, rows);
          search_range(begin, end);
        }
      }
      copy_out(copier, buffers[1 - parity], entries, row_map(copied), row_map(begin));
      m_exec.fence("lutra::symbolic: a range of rows is complete");
      copied = begin;
      begin = end;
    }
  }

  static void copy_out(const ExecutionSpace& copier, const EntryView& buffer,
                       const HostArray<Ordinal>& entries, Offset first, Offset last) {
    if (first == last) return;
    Kokkos::deep_copy(copier, Kokkos::subview(entries, Kokkos::make_pair(first, last)),
                      Kokkos::subview(buffer, Kokkos::make_pair(Offset(0), last - first)));
    copier.fence("lutra::symbolic: rows are on the host");
  }

  /// Both passes. @param result receives its row map, entries, diagonals and nnz(L)
  template <class ResultType>
  void find_rows(ResultType& result, const OffsetView& diagonal) {
    auto row_map =
        result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::row_map", m_count + 1);
    allocate_scratch();
    require_one_slot();
    MemoryReservation kept_reservation = allocate_kept();
    search_all();
    const Offset nnz = make_row_map(row_map, diagonal);
    if (static_cast<std::size_t>(nnz) * sizeof(Ordinal) + slack > m_budget.available_bytes()) {
      drop_kept(kept_reservation);
    }
    auto entries = result.reservation.template allocate<EntryView>(m_exec, "lutra::symbolic::entries", nnz);
    m_launch.row_map = m_starts;
    m_launch.entries = entries;
    copy_kept();
    m_statistics.searched_again = static_cast<std::size_t>(missed_rows());
    if (m_statistics.searched_again > 0) {
      kept_reservation = {};
      m_launch.kept.entries = {};
      require_one_slot();
      m_launch.store = true;
      search_all();
    }
    result.nnz_l = m_nnz_lower;
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
  }

  void allocate_scratch() {
    const auto allocate = [&](auto& view, const std::string& name, auto... extents) {
      view = m_scratch.template allocate<std::decay_t<decltype(view)>>(m_exec, "lutra::symbolic::" + name,
                                                                       extents...);
    };
    allocate(m_launch.lower_counts, "lower_counts", m_n);
    allocate(m_launch.counts, "counts", m_n);
    allocate(m_launch.kept.begin, "kept", m_n);
    allocate(m_launch.kept.end, "kept_end");
    allocate(m_launch.next, "next_source");
    allocate(m_launch.statistics, "statistics", 4);
    allocate(m_starts, "row_starts", m_n);
    set_to_zero(m_exec, m_launch.kept.end);
    set_to_zero(m_exec, m_launch.statistics);
    set_to_zero(m_exec, m_launch.counts);  // not found yet
    m_launcher.prepare(m_exec, m_launch.pattern, m_options, m_scratch, m_budget);
  }

  Fill2Statistics statistics() const {
    const auto counted = mirror_in<Kokkos::HostSpace>(m_launch.statistics);
    Fill2Statistics statistics = m_statistics;
    statistics.kernel = name_of(m_launcher.kernel());
    statistics.edges += counted(0);
    statistics.revisits += counted(1);
    statistics.groups = static_cast<std::size_t>(counted(2));
    statistics.groups_left = static_cast<std::size_t>(counted(3));
    return statistics;
  }

  std::size_t slot_bytes(std::size_t sources) const {
    return m_launcher.slot_bytes(static_cast<std::size_t>(m_n), sources);
  }

  /// Throws if the budget cannot hold one slot, with the least budget that would suffice.
  void require_one_slot() const {
    const std::size_t each = slot_bytes(static_cast<std::size_t>(m_n)) + slack;
    if (m_options.chunk_bytes > 0 && m_options.chunk_bytes < each)
      throw OutOfMemoryError(
          "options: fill2.chunk_bytes: one row in flight needs " + std::to_string(each) + " bytes", each);
    if (each <= m_budget.available_bytes()) return;
    throw OutOfMemoryError(
        "symbolic factorization needs " + std::to_string(each) + " bytes for one row in flight, but " +
            std::to_string(m_budget.available_bytes()) + " bytes of the memory limit are left; a limit of " +
            std::to_string(m_budget.used_bytes() + each) + " bytes is the least that gets past this point",
        each);
  }

  /// Allocates memory for rows kept by the count pass: enough for most factors, under a limit a quarter of
  /// the remaining budget, or none.
  MemoryReservation allocate_kept() {
    // 8 GiB of ordinals: rows beyond are searched twice, which costs time, not memory.
    constexpr std::size_t max_entries = std::size_t(1) << 31;
    const std::size_t fill = m_budget.limit_bytes() == 0 ? 128 : 24;
    const auto entries_of_a =
        static_cast<std::size_t>(m_launch.pattern.nnz()) + static_cast<std::size_t>(m_n);
    const std::size_t room = m_budget.available_bytes() / (4 * sizeof(Ordinal));
    const std::size_t beside_slot = slot_bytes(static_cast<std::size_t>(m_n)) + 2 * slack;
    MemoryReservation reservation(m_budget);
    if (!m_options.keep_rows) return reservation;
    const std::size_t length = std::min({max_entries, fill * entries_of_a, room});
    if (length * sizeof(Ordinal) + beside_slot > m_budget.available_bytes()) return reservation;
    try {
      m_launch.kept.entries = reservation.allocate<EntryView>(m_exec, "lutra::symbolic::kept_rows", length);
    } catch (const OutOfMemoryError&) {
      reservation = MemoryReservation(m_budget);
    }
    return reservation;
  }

  void drop_kept(MemoryReservation& reservation) {
    m_exec.fence("lutra::symbolic: kept rows are dropped");
    Kokkos::deep_copy(m_exec, m_launch.kept.begin, Offset(-1));
    m_launch.kept.entries = {};
    reservation = {};
  }

  /// Number of concurrent searches that fill the device, or as many as the options permit.
  std::size_t concurrent() const {
    const std::size_t running = m_launcher.running(m_exec);
    return m_options.concurrent == 0 ? running
                                     : std::min(running, static_cast<std::size_t>(m_options.concurrent));
  }

  std::size_t limited_to_chunk(std::size_t bytes) const {
    return m_options.chunk_bytes == 0 ? bytes : std::min(bytes, m_options.chunk_bytes);
  }

  /// Searches from all sources, in one range if slots for all teams fit, else in several. An explicit list is
  /// one range, with slots large enough for any source.
  void search_all() {
    const auto positions = static_cast<std::size_t>(m_count), rows = static_cast<std::size_t>(m_n);
    if (positions == 0) return;
    m_launch.query = m_budget.run().query();
    const std::size_t teams = std::min(positions, concurrent());
    const std::size_t each = slot_bytes(rows);
    const std::size_t room =
        limited_to_chunk(m_budget.limit_bytes() == 0 ? std::max(unlimited_arena_bytes, each + slack)
                                                     : m_budget.available_bytes());
    const std::size_t bytes = std::min(
        room - slack / 2, m_launcher.arena_bytes(m_n, positions, teams * each + Arena<Memory>::loss(8)));
    MemoryReservation reservation(m_budget);
    const auto arena =
        reservation.allocate<typename Arena<Memory>::Bytes>(m_exec, "lutra::symbolic::fill2_arena", bytes);
    const Kokkos::Timer timer;
    const bool all_fit = bytes >= teams * each + Arena<Memory>::loss(8);
    const bool one_range =
        all_fit || !m_options.remove_bubbles || positions != rows || group_slots(arena, positions) > 0;
    std::vector<std::size_t> ends;
    if (m_options.two_parts) {
      ends = {position_of_split(arena), positions};
    } else {
      const std::size_t step = one_range ? positions : (rows + n_ranges - 1) / n_ranges;
      for (std::size_t end = step; end < positions; end += step) ends.push_back(end);
      ends.push_back(positions);
    }
    m_statistics.parts.clear();
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (begin == end) continue;
      m_budget.run().poll(static_cast<double>(begin), static_cast<double>(positions));
      std::size_t sources = one_range || positions != rows ? rows : end;  // all sources are below it
      if (m_options.two_parts) sources = end < positions ? static_cast<std::size_t>(*m_split) : rows;
      search_part(arena, begin, end, sources);
      begin = end;
    }
    m_exec.fence("lutra::symbolic: all sources are searched");
    m_budget.run().poll();
    m_statistics.search_seconds += timer.seconds();
  }

  void search_part(const typename Arena<Memory>::Bytes& arena, std::size_t begin, std::size_t end,
                   std::size_t sources) {
    m_launcher.bound = sources;
    if (search_groups(arena, begin, end)) return;
    const std::size_t fitting = (arena.extent(0) - Arena<Memory>::loss(8)) / slot_bytes(sources);
    const std::size_t slots = std::max<std::size_t>(1, std::min({concurrent(), end - begin, fitting}));
    divide(arena, slots, sources);
    m_statistics.slots = std::max(m_statistics.slots, slots);
    m_statistics.slot_bytes = std::max(m_statistics.slot_bytes, slot_bytes(sources));
    m_statistics.parts.push_back({static_cast<std::int64_t>(end - begin), static_cast<std::int64_t>(slots)});
    search_range(begin, end);
    m_exec.fence("lutra::symbolic: the arena is divided anew");
  }

  /// First position of the second part of "End-to-End LU …", Algorithm 4.
  std::size_t position_of_split(const typename Arena<Memory>::Bytes& arena) {
    if (!m_split) m_split = find_split(arena);
    if (m_launch.sources.extent(0) == 0) return static_cast<std::size_t>(*m_split);
    return TwoParts::position(mirror_in<Kokkos::HostSpace>(m_launch.sources), *m_split);
  }

  Ordinal find_split(const typename Arena<Memory>::Bytes& arena) {
    const auto samples = TwoParts::samples(m_n);
    MemoryReservation reservation(m_budget);
    const auto work = reservation.allocate<OffsetView>(m_exec, "lutra::symbolic::frontiers", m_n);
    set_to_zero(m_exec, work);
    const Launch launch = m_launch;
    m_launch.sources = upload(m_exec, reservation, "lutra::symbolic::samples", samples);
    m_launch.work = work;
    m_launch.store = false;
    search_part(arena, 0, samples.size(), static_cast<std::size_t>(m_n));
    m_launch = launch;
    return TwoParts::split(samples, mirror_in<Kokkos::HostSpace>(work));
  }

  /// Number of groups of `sources` sources that fit in the arena; 0 if groups do not pay off.
  std::size_t group_slots(const typename Arena<Memory>::Bytes& arena, std::size_t sources) const {
    return m_launcher.group_slots(m_n, arena.extent(0), sources);
  }

  /// Searches a range of positions by groups; true if that finds all of their rows. Slots must be reallocated
  /// from the arena afterwards.
  bool search_groups(const typename Arena<Memory>::Bytes& arena, std::size_t begin, std::size_t end) {
    const std::size_t slots = group_slots(arena, end - begin);
    if (slots == 0) return false;
    start_launch(begin, end);
    return m_launcher.search_groups(m_exec, arena, slots, m_launch, m_statistics);
  }

  void divide(const typename Arena<Memory>::Bytes& bytes, std::size_t teams, std::size_t sources) {
    Arena<Memory> arena(bytes);
    m_launcher.divide(m_exec, arena, teams, static_cast<std::size_t>(m_n), sources);
  }

  void start_launch(std::size_t begin, std::size_t end) {
    set_to_zero(m_exec, m_launch.next);
    m_launch.first_position = static_cast<Ordinal>(begin);
    m_launch.end_position = static_cast<Ordinal>(end);
  }

  void search_range(std::size_t range_begin, std::size_t range_end) {
    for (std::size_t begin = range_begin; begin < range_end; begin += rows_per_launch) {
      m_budget.run().poll();
      start_launch(begin, std::min(range_end, begin + rows_per_launch));
      m_launcher.launch(m_exec, m_launch);
    }
  }

  /// Row map, diagonals and m_starts from the counts; returns nnz(L + U).
  Offset make_row_map(const OffsetView& row_map, const OffsetView& diagonal) {
    const auto sources = m_launch.sources;
    const auto counts = m_launch.counts, lower = m_launch.lower_counts, starts = m_starts;
    const bool listed = sources.extent(0) > 0;
    const Ordinal count = m_count;
    Offset nnz = 0;
    Kokkos::parallel_scan(
        "lutra::symbolic::row_map", Range(m_exec, 0, count + 1),
        KOKKOS_LAMBDA(const std::int64_t k, Offset& sum, const bool final) {
          if (final) row_map(k) = sum;
          if (k == count) return;
          const Ordinal source = listed ? sources(k) : static_cast<Ordinal>(k);
          if (final) {
            starts(source) = sum;
            diagonal(k) = sum + lower(source);
          }
          sum += counts(source);
        },
        nnz);
    m_nnz_lower = 0;
    Kokkos::parallel_reduce(
        "lutra::symbolic::nnz_lower", Range(m_exec, 0, count),
        KOKKOS_LAMBDA(const std::int64_t k, Offset& sum) {
          sum += lower(listed ? sources(k) : static_cast<Ordinal>(k));
        },
        m_nnz_lower);
    return nnz;
  }

  /// Copies rows found in the count pass to their positions.
  void copy_kept() {
    const auto search = m_launch;
    if (search.kept.entries.extent(0) == 0) return;
    const double mean =
        static_cast<double>(search.entries.extent(0)) / static_cast<double>(std::max<Ordinal>(1, m_count));
    const RowTeams share(m_exec, vector_length_for<ExecutionSpace>(mean));
    const Ordinal count = m_count;
    Kokkos::parallel_for(
        "lutra::symbolic::fill2_copy", share.policy(m_exec, count), KOKKOS_LAMBDA(const Team& team) {
          share.visit_rows(team, count, [&](const Ordinal k) {
            const Ordinal source = search.sources.extent(0) > 0 ? search.sources(k) : k;
            const Offset from = search.kept.begin(source), to = search.row_map(source);
            if (from < 0) return;
            Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, search.counts(source)), [&](const Offset e) {
              search.entries(to + e) = search.kept.entries(from + e);
            });
          });
        });
    m_exec.fence("lutra::symbolic: kept rows are freed");
  }

  /// Number of rows that the count pass has counted but not kept.
  Ordinal missed_rows() const {
    const auto begin = m_launch.kept.begin;
    const auto sources = m_launch.sources;
    const bool listed = sources.extent(0) > 0;
    Ordinal missed = 0;
    Kokkos::parallel_reduce(
        "lutra::symbolic::missed_rows", Range(m_exec, 0, m_count),
        KOKKOS_LAMBDA(const std::int64_t k, Ordinal& sum) {
          sum += begin(listed ? sources(k) : static_cast<Ordinal>(k)) < 0 ? 1 : 0;
        },
        missed);
    return missed;
  }

  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Fill2Options m_options;
  Ordinal m_n;
  Ordinal m_count;  ///< number of sources
  MemoryReservation m_scratch;
  Launch m_launch;
  OffsetView m_starts;  ///< [n] start of each source's row in the result
  Offset m_nnz_lower = 0;
  Fill2Statistics m_statistics;
  std::optional<Ordinal> m_split;  ///< first row of the second part, once it is known
  Launcher m_launcher;
};

}  // namespace lutra::Impl

#endif

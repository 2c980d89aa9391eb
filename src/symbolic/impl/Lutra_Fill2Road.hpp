// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2ROAD_HPP
#define LUTRA_FILL2ROAD_HPP

#include <algorithm>

#include "Lutra_Fill2.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// One piece of memory that Views are cut from, again and again.
template <class MemorySpace>
class Arena {
 public:
  using Bytes = Kokkos::View<char*, MemorySpace>;
  static constexpr std::size_t alignment = 128;
  /// Bytes that cutting `views` Views may lose to alignment.
  static std::size_t loss(std::size_t views) { return views * alignment; }

  explicit Arena(const Bytes& bytes) : m_bytes(bytes) {}
  template <class ViewType, class... Extents>
  ViewType cut(Extents... extents) {
    const auto start = (m_used + alignment - 1) / alignment * alignment;
    m_used = start + (sizeof(typename ViewType::value_type) * ... * static_cast<std::size_t>(extents));
    return ViewType(reinterpret_cast<typename ViewType::value_type*>(m_bytes.data() + start), extents...);
  }

 private:
  Bytes m_bytes;
  std::size_t m_used = 0;
};

/// fill2 in two stages: counts, prefix sum, positions ("End-to-End LU …", Algorithm 3), sources in ascending
/// ranges. No member is private, because nvcc wants lambdas in public functions only.
template <class Ordinal, class Offset, class ExecutionSpace>
struct Fill2Road {
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using Result = LuPattern<Ordinal, Offset, Memory>;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  using EntryView = Kokkos::View<Ordinal*, Memory>;
  using Search = Fill2Search<Ordinal, Offset, ExecutionSpace>;
  using Slots = typename Search::Slots;
  using Range = Kokkos::RangePolicy<ExecutionSpace>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  // Rows in one launch: bounds how long a kernel runs.
  static constexpr std::int64_t rows_per_launch = 1 << 17;
  // Threads of a team on a device. Frontiers of sparse factors rarely hold more edges than two warps take.
  static constexpr int team_threads = is_host_space<ExecutionSpace> ? 1 : 64;
  // Most memory taken for slots where no limit was set.
  static constexpr std::size_t unlimited_arena_bytes = std::size_t(16) << 30;
  // Where slots for all teams do not fit, sources go in this many ranges, each with slots of its own size.
  static constexpr int n_ranges = 8;
  static constexpr std::size_t slack = 4096;  // headers and alignment of Views

  Fill2Road(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : m_exec(exec), m_budget(budget), m_n(pattern.n_rows), m_scratch(budget), m_result{}, m_search{} {
    m_search.pattern = pattern;
    m_result.n = m_n;
    m_result.road = SymbolicRoad::fill2;
    m_result.charge = Charge(budget);
  }

  Result run() {
    auto row_map = m_result.charge.template allocate<OffsetView>(m_exec, "lutra::symbolic::row_map", m_n + 1);
    auto diagonal = m_result.charge.template allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_n);
    allocate_scratch();
    require_one_slot();
    Charge kept_charge = allocate_kept();
    search_all();
    const Offset nnz = prefix_sum<Offset>(m_exec, m_search.counts, row_map);
    m_result.nnz_l = total_of<Offset>(m_exec, m_search.lower_counts);
    m_result.nnz_u = nnz - m_result.nnz_l;
    if (static_cast<std::size_t>(nnz) * sizeof(Ordinal) + slack > m_budget.available_bytes()) {
      drop_kept(kept_charge);
    }
    auto entries = m_result.charge.template allocate<EntryView>(m_exec, "lutra::symbolic::entries", nnz);
    m_search.row_map = row_map;
    m_search.entries = entries;
    copy_kept();
    if (missed_rows() > 0) {
      kept_charge = {};
      m_search.kept.entries = {};
      require_one_slot();
      m_search.store = true;
      search_all();
    }
    locate_diagonals(row_map, diagonal);
    m_exec.fence("lutra::symbolic: scratch is freed");
    m_result.row_map = row_map;
    m_result.diagonal = diagonal;
    m_result.entries = entries;
    return m_result;
  }

  void allocate_scratch() {
    m_search.lower_counts =
        m_scratch.template allocate<OffsetView>(m_exec, "lutra::symbolic::lower_counts", m_n);
    m_search.counts = m_scratch.template allocate<OffsetView>(m_exec, "lutra::symbolic::counts", m_n);
    m_search.kept.place = m_scratch.template allocate<OffsetView>(m_exec, "lutra::symbolic::kept", m_n);
    m_search.kept.end =
        m_scratch.template allocate<Kokkos::View<Offset, Memory>>(m_exec, "lutra::symbolic::kept_end");
    m_search.next =
        m_scratch.template allocate<Kokkos::View<Ordinal, Memory>>(m_exec, "lutra::symbolic::next_source");
    m_search.statistics = m_scratch.template allocate<Kokkos::View<std::uint64_t*, Memory>>(
        m_exec, "lutra::symbolic::statistics", 2);
    Kokkos::deep_copy(m_exec, m_search.kept.end, Offset(0));
    Kokkos::deep_copy(m_exec, m_search.statistics, std::uint64_t(0));
  }

  std::size_t slot_bytes(std::size_t sources) const {
    return Slots::bytes_each(static_cast<std::size_t>(m_n), sources);
  }

  /// Throws where the budget cannot hold one slot, with the least budget that would do.
  void require_one_slot() const {
    const std::size_t each = slot_bytes(static_cast<std::size_t>(m_n)) + slack;
    if (each <= m_budget.available_bytes()) return;
    throw OutOfMemoryError(
        "symbolic factorization needs " + std::to_string(each) + " bytes for one row in flight, but " +
            std::to_string(m_budget.available_bytes()) + " bytes of the memory limit are left; a limit of " +
            std::to_string(m_budget.used_bytes() + each) + " bytes is the least that gets past this point",
        each);
  }

  /// Room for rows found in stage one: what most factors need, a quarter of what is left under a limit, or
  /// nothing.
  Charge allocate_kept() {
    constexpr std::size_t most_entries = std::size_t(1) << 31, fill = 24;
    const auto entries_of_a =
        static_cast<std::size_t>(m_search.pattern.nnz()) + static_cast<std::size_t>(m_n);
    const std::size_t room = m_budget.available_bytes() / (4 * sizeof(Ordinal));
    const std::size_t beside_slot = slot_bytes(static_cast<std::size_t>(m_n)) + 2 * slack;
    Charge charge(m_budget);
    const std::size_t length = std::min({most_entries, fill * entries_of_a, room});
    if (length * sizeof(Ordinal) + beside_slot > m_budget.available_bytes()) return charge;
    try {
      m_search.kept.entries = charge.allocate<EntryView>(m_exec, "lutra::symbolic::kept_rows", length);
    } catch (const OutOfMemoryError&) {
      charge = Charge(m_budget);
    }
    return charge;
  }

  void drop_kept(Charge& charge) {
    m_exec.fence("lutra::symbolic: kept rows are dropped");
    Kokkos::deep_copy(m_exec, m_search.kept.place, Offset(-1));
    m_search.kept.entries = {};
    charge = {};
  }

  /// Searches from all sources, in one range where slots for all teams fit, else in several.
  void search_all() {
    const auto rows = static_cast<std::size_t>(m_n);
    if (rows == 0) return;
    const std::size_t running = std::min(
        rows, std::max<std::size_t>(1, static_cast<std::size_t>(m_exec.concurrency()) / team_threads));
    const std::size_t each = slot_bytes(rows);
    const std::size_t room = m_budget.limit_bytes() == 0 ? std::max(unlimited_arena_bytes, each + slack)
                                                         : m_budget.available_bytes();
    const std::size_t bytes = std::min(room - slack / 2, running * each + Arena<Memory>::loss(8));
    Charge charge(m_budget);
    const auto arena =
        charge.allocate<typename Arena<Memory>::Bytes>(m_exec, "lutra::symbolic::fill2_arena", bytes);
    const bool all_fit = bytes >= running * each + Arena<Memory>::loss(8);
    const std::size_t step = all_fit ? rows : (rows + n_ranges - 1) / n_ranges;
    for (std::size_t begin = 0; begin < rows; begin += step) {
      const std::size_t end = std::min(rows, begin + step);
      const std::size_t fitting = (bytes - Arena<Memory>::loss(8)) / slot_bytes(end);
      divide(arena, std::max<std::size_t>(1, std::min({running, end - begin, fitting})), end);
      search_range(begin, end);
      m_exec.fence("lutra::symbolic: the arena is divided anew");
    }
    m_search.slots = {};
  }

  /// Cuts `teams` slots for sources below `sources` from the arena.
  void divide(const typename Arena<Memory>::Bytes& bytes, std::size_t teams, std::size_t sources) {
    using Bits = TeamBits<Memory>;
    const std::size_t words = Bits::words_for(static_cast<std::size_t>(m_n));
    const std::size_t active = Bits::words_for(sources);
    Arena<Memory> arena(bytes);
    Slots& slots = m_search.slots;
    slots.max_id = arena.template cut<decltype(slots.max_id)>(teams, sources);
    slots.windows = arena.template cut<decltype(slots.windows)>(teams);
    slots.found = {arena.template cut<decltype(slots.found.words)>(teams, words),
                   arena.template cut<decltype(slots.found.words)>(teams, Bits::words_for(words))};
    slots.active = {arena.template cut<decltype(slots.found.words)>(teams, active),
                    arena.template cut<decltype(slots.found.words)>(teams, Bits::words_for(active))};
    slots.places = arena.template cut<decltype(slots.places)>(teams, 2 * words);
    slots.found.empty(m_exec);
    slots.active.empty(m_exec);
    // No window is left, so that each team sets its labels before its first source.
    using Label = typename Slots::Label;
    Kokkos::deep_copy(m_exec, slots.windows, static_cast<Label>(~Label(0) / static_cast<Label>(m_n) - 1));
  }

  void search_range(std::size_t range_begin, std::size_t range_end) {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    const double mean = static_cast<double>(m_search.pattern.nnz()) / static_cast<double>(m_n);
    const int width = std::min(vector_length_for<ExecutionSpace>(mean), team_threads);
    const auto begin_of_all = static_cast<std::int64_t>(range_begin);
    const auto end_of_all = static_cast<std::int64_t>(range_end);
    for (std::int64_t begin = begin_of_all; begin < end_of_all; begin += rows_per_launch) {
      const std::int64_t end = std::min(end_of_all, begin + rows_per_launch);
      Kokkos::deep_copy(m_exec, m_search.next, Ordinal(0));
      m_search.first_place = static_cast<Ordinal>(begin);
      m_search.end_place = static_cast<Ordinal>(end);
      const auto teams = std::min(static_cast<std::int64_t>(m_search.slots.teams()), end - begin);
      Policy policy(m_exec, static_cast<int>(teams), team_threads / width, width);
      policy.set_scratch_size(0, Kokkos::PerTeam(sizeof(typename Search::RowState) + 16));
      Kokkos::parallel_for(
          m_search.store ? "lutra::symbolic::fill2_positions" : "lutra::symbolic::fill2_counts", policy,
          m_search);
    }
  }

  /// Moves rows found in stage one to their places.
  void copy_kept() {
    const auto kept = m_search.kept;
    if (kept.entries.extent(0) == 0) return;
    const auto row_map = m_search.row_map;
    const auto entries = m_search.entries;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    const double mean =
        static_cast<double>(entries.extent(0)) / static_cast<double>(std::max<Ordinal>(1, m_n));
    const int width = vector_length_for<ExecutionSpace>(mean);
    const int rows_each = is_host_space<ExecutionSpace> ? 1 : std::max(1, 128 / width);
    const Ordinal n = m_n;
    const auto teams = static_cast<int>((static_cast<std::int64_t>(n) + rows_each - 1) / rows_each);
    Kokkos::parallel_for(
        "lutra::symbolic::fill2_copy", Policy(m_exec, teams, rows_each, width),
        KOKKOS_LAMBDA(const Team& team) {
          const Ordinal first = static_cast<Ordinal>(team.league_rank()) * rows_each;
          const Ordinal end = first + rows_each < n ? first + rows_each : n;
          Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, end), [&](const Ordinal i) {
            const Offset from = kept.place(i), to = row_map(i);
            if (from < 0) return;
            Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row_map(i + 1) - to),
                                 [&](const Offset k) { entries(to + k) = kept.entries(from + k); });
          });
        });
    m_exec.fence("lutra::symbolic: kept rows are freed");
  }

  /// Rows stage one has counted but not kept.
  Ordinal missed_rows() const {
    const auto place = m_search.kept.place;
    Ordinal missed = 0;
    Kokkos::parallel_reduce(
        "lutra::symbolic::missed_rows", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t i, Ordinal& sum) { sum += place(i) < 0 ? 1 : 0; }, missed);
    return missed;
  }

  /// Position of the diagonal of each row: after its entries of L, rows being sorted.
  void locate_diagonals(const OffsetView& row_map, const OffsetView& diagonal) {
    const auto lower_counts = m_search.lower_counts;
    Kokkos::parallel_for(
        "lutra::symbolic::diagonals", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t i) { diagonal(i) = row_map(i) + lower_counts(i); });
  }

  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Ordinal m_n;
  Charge m_scratch;
  Result m_result;
  Search m_search;
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASKORDERCUDA_HPP
#define LUTRA_FRONTTASKORDERCUDA_HPP

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_LifetimePlacement.hpp"
#include "Lutra_SmallFrontsCuda.hpp"
#include "Lutra_TileFrontsCuda.hpp"
#include "Lutra_TilePairsCuda.hpp"

namespace lutra::Impl {

// Microseconds that steps take about, by which tasks are put in order; only their ratios matter.
struct FrontTimes {
  static constexpr double start = 6, pivot = 0.25, child = 0.3, step = 18, product = 1.2;
};

/// Pivot tiles of such fronts whose rows and columns are taken together.
inline constexpr int steps_together = 2;

/// In fronts of so many pivot tiles a diagonal tile makes its last product itself; in smaller ones the room
/// for what it needs would be a larger part of the front.
inline constexpr int min_linked_tiles = 4;

/// In fronts of so many pivot tiles one team works all diagonal tiles: a walker. Of the teams no more than
/// one in `teams_a_walker` are walkers, of the largest fronts, so that there are always teams for what they
/// wait for.
inline constexpr int min_walked_tiles = 12, teams_a_walker = 16;

/// Numbers of panels that one task clears.
inline constexpr int cleared_numbers = 1 << 15;

/// The order of tasks, and what follows from it: tasks on long paths to a root come first, and so each comes
/// behind all it needs. Where contributions stand follows too: one may take the place of others that were
/// read by tasks long before it, all tasks of a launch up to some number being complete by then, and panels
/// are such places too until the first of their front's tasks.
template <class Ordinal, class Offset>
class FrontTaskOrder {
 public:
  using Plan = FrontPlan<Ordinal, Offset, Kokkos::CudaSpace>;
  using Task = FrontTask<Ordinal, Offset>;
  using Small = SmallTask<Ordinal, Offset>;

  /// @param children of the plan
  /// @param places   of the plan
  /// @param teams    that work tasks at once
  FrontTaskOrder(const Plan& plan, const std::vector<Ordinal>& children, const std::vector<int>& places,
                 int teams)
      : fronts(plan.host_fronts), m_plan(plan), m_children(children), m_places(places) {
    find_small();
    measure_paths();
    choose_walked(teams / teams_a_walker);
    reserve_tasks();
    for (Ordinal f = 0; f < m_plan.count; ++f) add_tasks(f);
    sort_small();
    m_order =
        argsort_descending<std::uint32_t>(m_tasks.size(), [&](std::uint32_t t) { return m_priority[t]; });
    m_behind = teams / tasks_a_chunk;
    note_parts();
    pass_contributions();
    add_clearing();
    place_contributions();
  }

  /// Lists of narrow children; completes the tasks.
  void list_children() {
    const NarrowChildren<Offset> is_narrow(fronts);
    for (const auto& front : fronts) {
      std::stable_partition(m_children.begin() + static_cast<std::ptrdiff_t>(front.children),
                            m_children.begin() + static_cast<std::ptrdiff_t>(front.children_end),
                            [&](Ordinal c) { return !is_narrow(fronts[index(c)]); });
    }
    lists.reserve(is_narrow.numbers());
    std::vector<std::size_t> small_of(index(m_plan.count));
    for (std::size_t t = 0; t < small_tasks.size(); ++t) small_of[index(small_tasks[t].front)] = t;
    std::size_t next = 0;  // in m_tasks, which stand by fronts
    std::size_t tile = 0;  // of all fronts
    for (Ordinal f = 0; f < m_plan.count; ++f, tile += lists.parts.size()) {
      const Offset wide_end = list_narrow(f, is_narrow);
      if (m_small[index(f)]) {
        Small& task = small_tasks[small_of[index(f)]];
        task.wide_end = wide_end;
        task.narrow = lists.parts.front();
      } else if (!is_tiled(f)) {
        Task& task = m_tasks[next++];
        task.wide_end = wide_end;
        task.parts[0].narrow = lists.parts.front();
      } else {
        const auto& parts = parts_of_tiles(tile);
        const int count = tiles_of(f).count();
        for (; next < m_tasks.size() && m_tasks[next].front == f; ++next) {
          Task& task = m_tasks[next];
          task.wide_end = wide_end;
          if (task.row < 0) continue;
          task.parts[0] = parts[static_cast<std::size_t>(task.row * count + task.column)];
          if (task.rows + task.columns > 2)
            task.parts[1] = parts[static_cast<std::size_t>((task.row + task.rows - 1) * count + task.column +
                                                           task.columns - 1)];
        }
      }
    }
    m_tasks.insert(m_tasks.end(), m_clearing.begin(), m_clearing.end());
  }

  /// Tasks by fronts, behind them those that clear panels.
  const std::vector<Task>& tasks() const { return m_tasks; }
  /// Where in `tasks` each task in the order stands.
  const std::vector<std::uint32_t>& order() const { return m_order; }

  const std::vector<Ordinal>& children() const { return m_children; }

  std::vector<Front<Ordinal, Offset>> fronts;  ///< of the plan, contributions where this schedule has them,
                                               ///< counted from the first number of the panels
  std::vector<Contribution<Offset>> contributions;  ///< [count]
  Offset contributions = 0;                         ///< numbers contributions need behind the panels
  std::vector<Small> small_tasks;                   ///< in order
  GatherListMaker<Ordinal, Offset> lists;
  Offset flags = 0;        ///< of tiles
  Offset inverses = 0;     ///< numbers of all diagonal tiles' inverses, of U's or of L's
  int inverse_blocks = 0;  ///< blocks of lines of them
  Offset links = 0;        ///< numbers on their way to diagonal tiles

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }
  Task& task(std::size_t t) { return t < m_tasks.size() ? m_tasks[t] : m_clearing[t - m_tasks.size()]; }
  const Task& task(std::size_t t) const {
    return t < m_tasks.size() ? m_tasks[t] : m_clearing[t - m_tasks.size()];
  }
  /// Whether a task writes a contribution.
  bool in_contribution(const Task& task) const {
    return task.row >= 0 && std::min(task.row, task.column) >= tiles_of(task.front).pivot_tiles();
  }
  const Front<Ordinal, Offset>& front(Ordinal f) const { return fronts[index(f)]; }
  bool is_tiled(Ordinal f) const { return front(f).size() > m_plan.options.max_whole; }
  FrontTiles tiles_of(Ordinal f) const { return {front(f).pivots, front(f).below, m_plan.options.tile}; }

  void find_small() {
    m_small.assign(index(m_plan.count), 1);
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (front(f).size() > small_front_size) m_small[index(f)] = 0;
      if (!m_small[index(f)] && front(f).parent >= 0) m_small[index(front(f).parent)] = 0;
    }
  }

  double contribution_time(Ordinal f) const {
    const FrontTiles tiles = tiles_of(f);
    const double edge = tiles.count() - tiles.pivot_tiles();
    return FrontTimes::start + FrontTimes::product * tiles.pivot_tiles() * (1 + edge * edge / 256);
  }

  void measure_paths() {
    m_start.assign(index(m_plan.count), 0);
    for (Ordinal f = m_plan.count; f-- > 0;) {
      const double after = front(f).parent < 0 ? 0 : m_start[index(front(f).parent)];
      const double own = is_tiled(f) ? tiles_of(f).pivot_tiles() * FrontTimes::step + contribution_time(f)
                                     : FrontTimes::start + FrontTimes::pivot * front(f).pivots +
                                           FrontTimes::child *
                                               static_cast<double>(front(f).children_end - front(f).children);
      m_start[index(f)] = after + own;
    }
  }

  /// Lists of a front's narrow children. @returns the end of its wide ones
  Offset list_narrow(Ordinal f, const NarrowChildren<Offset>& is_narrow) {
    std::vector<const Front<Ordinal, Offset>*>& narrow = m_narrow;
    narrow.clear();
    Offset wide_end = front(f).children;
    for (Offset c = front(f).children; c < front(f).children_end; ++c) {
      const auto& child = front(m_children[static_cast<std::size_t>(c)]);
      if (is_narrow(child)) {
        narrow.push_back(&child);
      } else {
        ++wide_end;
      }
    }
    lists.add_front(narrow, m_places, tiles_of(f), is_tiled(f));
    return wide_end;
  }

  /// The fronts with most pivots are walked, up to `most` of them.
  void choose_walked(int most) {
    std::vector<Ordinal> walked;
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (is_tiled(f) && tiles_of(f).pivot_tiles() >= min_walked_tiles) walked.push_back(f);
    }
    std::ranges::stable_sort(walked, std::greater<>{}, [&](Ordinal f) { return front(f).pivots; });
    walked.resize(std::min(walked.size(), static_cast<std::size_t>(most)));
    m_walked.assign(index(m_plan.count), 0);
    for (const Ordinal f : walked) m_walked[index(f)] = 1;
  }

  void reserve_tasks() {
    std::size_t tiles = 0, small = 0;
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      const auto count = static_cast<std::size_t>(is_tiled(f) ? tiles_of(f).count() : 1);
      (m_small[index(f)] ? small : tiles) += count * count;
    }
    tiles += static_cast<std::size_t>(std::ranges::count(m_walked, char(1)));
    m_tasks.reserve(tiles);
    m_priority.reserve(m_tasks.capacity());
    small_tasks.reserve(small);
  }

  void sort_small() {
    std::vector<Ordinal> order;
    order.reserve(small_tasks.size());
    for (const Small& task : small_tasks) order.push_back(task.front);
    sort_descending(order, [&](Ordinal f) { return m_start[index(f)]; });
    for (std::size_t t = 0; t < order.size(); ++t) small_tasks[t].front = order[t];
  }

  void add_tasks(Ordinal f) {
    if (m_small[index(f)]) {
      small_tasks.push_back({f});
    } else if (!is_tiled(f)) {
      Task task;
      task.front = f;
      add(task, m_start[index(f)]);
    } else {
      add_tiles(f);
    }
  }

  /// When the task of a tile is to start, counted back from the contribution's. A tile starts before its turn
  /// by the time it needs for the products before that; next to the diagonal it is wanted first. In fronts
  /// with tasks of two tiles the rows and columns of some pivot tiles are taken together, those that meet on
  /// the diagonal at one place one after the other, and so, added in order of rows, each behind what it
  /// needs: neighbours then read one tile of L or U at about the same time, which reaches them from L2.
  static double tile_start(const FrontTiles& tiles, bool paired, int i, int j) {
    const int pivots = tiles.pivot_tiles(), step = std::min(i, j);
    if (step >= pivots) return 0;
    if (paired) {
      const int first = step - step % steps_together;
      return (pivots - first) * FrontTimes::step + first * FrontTimes::product -
             1e-3 * (std::max(i, j) - first);
    }
    const double within = i == j ? 0 : std::abs(i - j) == 1 ? FrontTimes::step / 4 : FrontTimes::step / 3;
    return (pivots - step) * FrontTimes::step - within + step * FrontTimes::product;
  }

  void add_tiles(Ordinal f) {
    const FrontTiles tiles = tiles_of(f);
    const int count = tiles.count(), pivots = tiles.pivot_tiles();
    const TilePairs pairs(tiles, front(f).parent < 0);
    const bool is_linked = pivots >= min_linked_tiles;
    const double end = (front(f).parent < 0 ? 0 : m_start[index(front(f).parent)]) + contribution_time(f);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) {
        if (pairs.is_second(i, j)) continue;
        Task task;
        task.front = f;
        task.row = i;
        task.column = j;
        if (pairs.is_first(i, j)) (pairs.in_upper(i, j) ? task.columns : task.rows) = 2;
        task.flags = flags;
        task.inverses = inverses;
        task.inverse_blocks = inverse_blocks;
        if (is_linked) task.links = links;
        task.is_walked = m_walked[index(f)];
        add(task, end + tile_start(tiles, pairs.any(), i, j));
        if (task.is_walked && i + j == 0) {  // the walker follows the first tile
          task.row = Task::walking;
          add(task, end + pivots * FrontTimes::step);
        }
      }
    }
    flags += static_cast<Offset>(count) * count + 3 * pivots;
    if (is_linked)
      links += static_cast<Offset>(m_walked[index(f)] ? 3 : 2) * tile_links * tiles.edge * tiles.edge;
    inverses += InverseTile::numbers_of_front(tiles);
    inverse_blocks += FrontTiles::inverse_lines(front(f).pivots) / InverseTile::block;
  }

  /// Steps are launches and chunks of tasks: the launch of small fronts is step 0, task t of the other one
  /// belongs to the step below. A step's number is that of the chunks up to it.
  static std::int64_t step_of(std::size_t t) { return 1 + static_cast<std::int64_t>(t) / tasks_a_chunk; }

  /// What of a front a task writes, in the order of tasks.
  struct Part {
    Ordinal front;
    enum : char { panels, contribution, whole, clearing } what;
  };

  Part part_of(const Task& task) const {
    return {task.front, task.row == Task::whole      ? Part::whole
                        : task.row == Task::clearing ? Part::clearing
                        : in_contribution(task)      ? Part::contribution
                                                     : Part::panels};
  }
  void note_parts() {
    m_parts.resize(m_order.size());
    for (std::size_t t = 0; t < m_order.size(); ++t) m_parts[t] = part_of(task(m_order[t]));
  }

  /// Where in the order the contribution of each front in tiles begins.
  std::vector<std::size_t> first_of_contributions() const {
    std::vector<std::size_t> first(index(m_plan.count), m_parts.size());
    for (std::size_t t = m_parts.size(); t-- > 0;) {
      if (m_parts[t].what == Part::contribution) first[index(m_parts[t].front)] = t;
    }
    return first;
  }

  /// The two widest children of a front in tiles, if they are in tiles too, add to its panels at once, but
  /// for those that come so early that nobody could clear the panels before.
  void pass_contributions() {
    m_first = first_of_contributions();
    const auto& first = m_first;
    const auto least = static_cast<std::size_t>((m_behind + 2) * tasks_a_chunk);
    m_passed.assign(index(m_plan.count), 0);
    std::vector<Ordinal> wide;
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (!is_tiled(f)) continue;
      wide.clear();
      for (Offset c = front(f).children; c < front(f).children_end; ++c) {
        const Ordinal child = m_children[static_cast<std::size_t>(c)];
        if (is_tiled(child) && front(child).below > narrow_child && first[index(child)] >= least)
          wide.push_back(child);
      }
      std::ranges::stable_sort(wide, std::greater<>{}, [&](Ordinal c) { return front(c).below; });
      for (std::size_t c = 0; c < std::min<std::size_t>(wide.size(), 2); ++c) {
        const auto rows = m_places.begin() + static_cast<std::ptrdiff_t>(front(wide[c]).rows);
        m_passed[index(wide[c])] =
            static_cast<int>(std::lower_bound(rows, rows + front(wide[c]).below, front(f).pivots) - rows);
      }
    }
  }

  /// Panels that children add to are cleared by tasks of their own, a while before the first of the children
  /// does so: until then contributions may stand there.
  void add_clearing() {
    const auto& first = m_first;
    std::vector<std::size_t> wanted(index(m_plan.count), m_order.size());  // first to add to a front's panels
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (m_passed[index(f)] == 0) continue;
      std::size_t& at = wanted[index(front(f).parent)];
      at = std::min(at, first[index(f)]);
    }
    std::vector<std::pair<std::size_t, std::uint32_t>> inserted;  // before which task, which one
    const auto ahead = static_cast<std::size_t>((m_behind + 1) * tasks_a_chunk);
    for (Ordinal f = 0; f < m_plan.count; ++f) {
      if (wanted[index(f)] == m_order.size()) continue;
      const Offset end = front(f).lower + panel_numbers(f);
      for (Offset begin = front(f).lower; begin < end; begin += cleared_numbers) {
        inserted.emplace_back(wanted[index(f)] - ahead,
                              static_cast<std::uint32_t>(m_tasks.size() + m_clearing.size()));
        Task clearing;
        clearing.front = f;
        clearing.row = Task::clearing;
        clearing.parts[0].entries = begin;
        clearing.parts[0].entries_end = std::min<Offset>(begin + cleared_numbers, end);
        m_clearing.push_back(clearing);
      }
    }
    std::ranges::stable_sort(inserted, {}, [](const auto& task) { return task.first; });
    std::vector<std::uint32_t> merged;
    std::vector<Part> parts;
    merged.reserve(m_order.size() + inserted.size());
    parts.reserve(merged.capacity());
    auto next = inserted.begin();
    for (std::size_t t = 0; t < m_order.size(); ++t) {
      for (; next != inserted.end() && next->first <= t; ++next) {
        merged.push_back(next->second);
        parts.push_back(part_of(task(next->second)));
      }
      merged.push_back(m_order[t]);
      parts.push_back(m_parts[t]);
    }
    m_order = std::move(merged);
    m_parts = std::move(parts);
  }

  Offset panel_numbers(Ordinal f) const {
    return static_cast<Offset>(front(f).pivots) * (front(f).size() + front(f).below);
  }
  /// Numbers a front's contribution takes.
  std::int64_t kept_numbers(Ordinal f) const {
    const std::int64_t kept = front(f).below - m_passed[index(f)];
    return kept * kept;
  }

  /// Steps in which a front's panels and contribution are begun and its last task is.
  struct FrontSteps {
    std::int64_t panels = 0, cleared = 0, contribution = 0, last = 0;
  };

  std::vector<FrontSteps> find_steps() const {
    std::vector<FrontSteps> steps(index(m_plan.count));
    for (std::size_t t = 0; t < m_parts.size(); ++t) {
      const Part now = m_parts[t];
      FrontSteps& own = steps[index(now.front)];
      own.last = step_of(t);
      if (own.panels == 0) own.panels = own.last;
      if (now.what == Part::clearing) own.cleared = own.last;
      if ((now.what == Part::whole || now.what == Part::contribution) && own.contribution == 0)
        own.contribution = own.last;
    }
    return steps;
  }

  /// The place of a contribution is given away a while after its last reader, so that nobody has to wait for
  /// it unless the order of time is far from that of tasks.
  void place_contributions() {
    const auto steps = find_steps();
    std::vector<Span> spans(fronts.size());
    std::vector<FixedSpan> panels;
    std::vector<std::size_t> front_of_panels;
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      const Ordinal parent = fronts[f].parent;
      spans[f].size = kept_numbers(static_cast<Ordinal>(f));
      spans[f].begin = steps[f].contribution;
      spans[f].end = parent < 0               ? std::numeric_limits<std::int64_t>::max()
                     : m_small[index(parent)] ? 1
                                              : steps[index(parent)].last + 1 + m_behind;
      if (m_small[f]) continue;  // written in step 0
      panels.push_back({fronts[f].lower, panel_numbers(static_cast<Ordinal>(f)), steps[f].panels});
      front_of_panels.push_back(f);
    }
    const SpanPlaces places = LifetimePlacement::place(spans, panels, m_plan.panels, m_behind + 2);
    contributions = static_cast<Offset>(places.total) - m_plan.panels;
    contributions.reserve(fronts.size());
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      fronts[f].contribution = static_cast<Offset>(places.place[f]);
      contributions.push_back({fronts[f].contribution, m_passed[f]});
    }
    std::vector<std::int64_t> panels_freed(fronts.size(), -1);
    for (std::size_t p = 0; p < panels.size(); ++p) panels_freed[front_of_panels[p]] = places.fixed_freed[p];
    for (std::size_t t = 0; t < m_order.size(); ++t)
      set_waits(m_parts[t].what == Part::contribution, steps, places.freed, panels_freed, task(m_order[t]));
  }

  /// Which tasks are to be complete before a task writes.
  void set_waits(bool contribution, const std::vector<FrontSteps>& steps,
                 const std::vector<std::int64_t>& freed, const std::vector<std::int64_t>& panels_freed,
                 Task& task) const {
    const std::size_t f = index(task.front);
    task.takes_panels = steps[f].cleared > 0;
    std::int64_t end = contribution ? freed[f] : panels_freed[f];               // of those that stood there
    if (!contribution && task.row >= 0 && task.row + task.column > 0) end = 0;  // the first tile has waited
    if (task.row == Task::whole) end = std::max(end, freed[f]);
    std::int64_t after = std::max<std::int64_t>(0, end - 1 - m_behind);
    if (contribution && m_passed[f] > 0) after = std::max(after, steps[index(fronts[f].parent)].cleared);
    task.after = static_cast<int>(after);
  }

  /// By rows of tiles.
  /// @param first_tile of the front
  const std::vector<FrontTaskPart<Offset>>& parts_of_tiles(std::size_t first_tile) {
    m_tile_parts.resize(lists.parts.size());
    for (std::size_t t = 0; t < m_tile_parts.size(); ++t) {
      m_tile_parts[t].narrow = lists.parts[t];
      m_tile_parts[t].entries = m_plan.host_tile_entries[first_tile + t];
      m_tile_parts[t].entries_end = m_plan.host_tile_entries[first_tile + t + 1];
    }
    return m_tile_parts;
  }

  void add(const Task& task, double priority) {
    m_tasks.push_back(task);
    m_priority.push_back(priority);
  }

  const Plan& m_plan;
  std::int64_t m_behind = 0;        ///< chunks that a place waits before it is given away
  std::vector<Ordinal> m_children;  ///< of each front, in the end wide ones first
  const std::vector<int>& m_places;
  std::vector<char> m_small, m_walked;
  std::vector<const Front<Ordinal, Offset>*> m_narrow;  ///< narrow children of a front
  std::vector<FrontTaskPart<Offset>> m_tile_parts;      ///< of a front's tiles
  std::vector<int> m_passed;
  std::vector<double> m_start;         ///< [count] time from a front's first task to the end of its root
  std::vector<Task> m_tasks;           ///< by fronts
  std::vector<double> m_priority;      ///< of each of them
  std::vector<Task> m_clearing;        ///< tasks that clear panels
  std::vector<std::uint32_t> m_order;  ///< in `m_tasks`, from its end on in `m_clearing`
  std::vector<Part> m_parts;           ///< what each task in the order writes
  std::vector<std::size_t>
      m_first;  ///< [count] see `first_of_contributions`, before tasks are added to the order
};

}  // namespace lutra::Impl

#endif

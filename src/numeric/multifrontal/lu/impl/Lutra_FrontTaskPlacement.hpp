// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASKPLACEMENT_HPP
#define LUTRA_FRONTTASKPLACEMENT_HPP

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_FrontTaskList.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LifetimePlacement.hpp"
#include "Lutra_LuPlan.hpp"

namespace lutra::Impl {

/// Assigns memory to contribution blocks. A block may reuse the memory of blocks whose readers ran long
/// before, once all tasks of a launch up to some number are complete, and also the memory of panels until the
/// first task of their front. Each task gets the number of chunks that must be complete before it writes.
///
///     array:   | panels of f | panels of g | …            | contributions after the panels |
///     step 3   | contribution of a         |              |
///     step 9     a's parent is complete
///     step 9+d | f's first task writes: it waits until chunks up to 9 are complete
///
/// Steps are launches and chunks of tasks: the launch of small fronts is step 0, task t of the other launch
/// belongs to step 1 + t / tasks_a_chunk, so that a step's number equals the number of chunks up to it. A
/// given contribution (of a front without pivots and so without tasks) exists from step 0 on; a root's
/// contribution is kept. Memory is reused d = `blocks` / tasks_a_chunk steps after its last reader: by then
/// blocks have nearly always passed, and no task has to wait.
class FrontTaskPlacement {
 public:
  using List = FrontTaskList;
  using Task = FrontTask;

  /// @param list     gains the tasks that clear panels; its `after` and `takes_panels` are set
  /// @param children of all fronts
  /// @param relative indices of all fronts
  /// @param layout   of the panels
  FrontTaskPlacement(List& list, const std::vector<Ordinal>& children, std::span<const int> relative,
                     const LuFrontLayout& layout)
      : m_list(list),
        m_children(children),
        m_relative(relative),
        m_layout(layout),
        m_behind(list.options.blocks / tasks_a_chunk) {
    note_parts();
    choose_direct();
    add_clearing();
    assign_offsets();
  }

  std::vector<Contribution> contributions;  ///< [count] relative to the first entry of the panels
  Offset extra = 0;                         ///< contribution entries needed after the panels

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }
  std::size_t count() const { return m_list.fronts.size(); }
  const Front& front(Ordinal f) const { return m_list.front(f); }
  static std::int64_t step_of(std::size_t t) { return 1 + static_cast<std::int64_t>(t) / tasks_a_chunk; }

  /// The part of a front that a task writes, in task order.
  struct Part {
    Ordinal front;
    enum : char { panels, contribution, whole, clearing } what;
  };
  Part part_of(const Task& task) const {
    return {task.front, task.row == Task::whole      ? Part::whole
                        : task.row == Task::clearing ? Part::clearing
                        : task.row >= 0 && task.in_contribution(m_list.tiles_of(task.front))
                            ? Part::contribution
                            : Part::panels};
  }
  void note_parts() {
    m_parts.resize(m_list.order.size());
    for_each_index(m_parts.size(),
                   [&](std::size_t t) { m_parts[t] = part_of(m_list.tasks[m_list.order[t]]); });
    m_first.assign(count(), m_parts.size());
    for (std::size_t t = m_parts.size(); t-- > 0;) {
      if (m_parts[t].what == Part::contribution) m_first[index(m_parts[t].front)] = t;
    }
  }

  /// Direct assembly: the two widest children of a tiled front, if tiled themselves, add directly to its
  /// panels, except those too early for the panels to be cleared before.
  void choose_direct() {
    const auto least = static_cast<std::size_t>((m_behind + 2) * tasks_a_chunk);
    m_passed.assign(count(), 0);
    std::vector<Ordinal> wide;
    for (Ordinal f = 0; f < static_cast<Ordinal>(count()); ++f) {
      if (!m_list.is_tiled(f)) continue;
      wide.clear();
      for (Offset c = front(f).children; c < front(f).children_end; ++c) {
        const Ordinal child = m_children[static_cast<std::size_t>(c)];
        if (m_list.is_tiled(child) && front(child).cb_rows > max_small_child && front(child).pivots > 0 &&
            m_first[index(child)] >= least)
          wide.push_back(child);
      }
      std::ranges::stable_sort(wide, std::greater<>{}, [&](Ordinal c) { return front(c).cb_rows; });
      for (std::size_t c = 0; c < std::min<std::size_t>(wide.size(), 2); ++c) {
        const auto rows = m_relative.begin() + static_cast<std::ptrdiff_t>(front(wide[c]).rows);
        m_passed[index(wide[c])] =
            static_cast<int>(std::lower_bound(rows, rows + front(wide[c]).cb_rows, front(f).pivots) - rows);
      }
    }
  }

  /// Adds tasks that clear panels for direct assembly, some steps before the first child adds to them; until
  /// then contributions may occupy the panels.
  void add_clearing() {
    auto& tasks = m_list.tasks;
    auto& order = m_list.order;
    std::vector<std::size_t> wanted(count(), order.size());  // first task to add to a front's panels
    for (std::size_t f = 0; f < count(); ++f) {
      if (m_passed[f] == 0) continue;
      std::size_t& at = wanted[index(m_list.fronts[f].parent)];
      at = std::min(at, m_first[f]);
    }
    std::vector<std::pair<std::size_t, std::uint32_t>> inserted;  // index to insert before, task
    const auto ahead = static_cast<std::size_t>((m_behind + 1) * tasks_a_chunk);
    const Offset cleared = m_list.options.model.cleared_entries;
    for (Ordinal f = 0; f < static_cast<Ordinal>(count()); ++f) {
      if (wanted[index(f)] == order.size()) continue;
      const Offset end = begin_of_panels(f + 1);
      for (Offset begin = begin_of_panels(f); begin < end; begin += cleared) {
        inserted.emplace_back(wanted[index(f)] - ahead, static_cast<std::uint32_t>(tasks.size()));
        Task clearing;
        clearing.front = f;
        clearing.row = Task::clearing;
        clearing.parts[0].entries = begin;
        clearing.parts[0].entries_end = std::min<Offset>(begin + cleared, end);
        tasks.push_back(clearing);
      }
    }
    std::ranges::stable_sort(inserted, {}, [](const auto& task) { return task.first; });
    std::vector<std::uint32_t> merged;
    std::vector<Part> parts;
    merged.reserve(order.size() + inserted.size());
    parts.reserve(merged.capacity());
    auto next = inserted.begin();
    for (std::size_t t = 0; t < order.size(); ++t) {
      for (; next != inserted.end() && next->first <= t; ++next) {
        merged.push_back(next->second);
        parts.push_back(part_of(tasks[next->second]));
      }
      merged.push_back(order[t]);
      parts.push_back(m_parts[t]);
    }
    order = std::move(merged);
    m_parts = std::move(parts);
  }

  Offset begin_of_panels(Ordinal f) const { return m_layout.panels[index(f)]; }

  /// Steps at which a front's panels and contribution are first written, its panels are cleared, and its last
  /// task runs.
  struct FrontSteps {
    std::int64_t panels = 0, cleared = 0, contribution = 0, last = 0;
  };

  std::vector<FrontSteps> find_steps() const {
    std::vector<FrontSteps> steps(count());
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

  void assign_offsets() {
    const auto& fronts = m_list.fronts;
    const auto steps = find_steps();
    std::vector<Span> spans(count());
    std::vector<FixedSpan> panels;
    std::vector<std::size_t> front_of_panels;
    for (std::size_t f = 0; f < count(); ++f) {
      const Ordinal parent = fronts[f].parent;
      const std::int64_t kept = fronts[f].cb_rows - m_passed[f];
      spans[f].size = kept * kept;
      spans[f].begin = steps[f].contribution;
      spans[f].end = parent < 0                ? std::numeric_limits<std::int64_t>::max()
                     : m_list.is_small(parent) ? 1
                                               : steps[index(parent)].last + 1 + m_behind;
      // small fronts are written in step 0
      if (m_list.is_small(static_cast<Ordinal>(f)) || fronts[f].pivots == 0) continue;
      panels.push_back({m_layout.panels[f], m_layout.panels[f + 1] - m_layout.panels[f], steps[f].panels});
      front_of_panels.push_back(f);
    }
    const SpanOffsets found = LifetimePlacement::assign(spans, panels, m_layout.entries());
    extra = static_cast<Offset>(found.total) - m_layout.entries();
    contributions.reserve(count());
    for (std::size_t f = 0; f < count(); ++f)
      contributions.push_back({static_cast<Offset>(found.offset[f]), m_passed[f]});
    std::vector<std::int64_t> panels_freed(count(), -1);
    for (std::size_t p = 0; p < panels.size(); ++p) panels_freed[front_of_panels[p]] = found.fixed_freed[p];
    for_each_index(m_parts.size(), [&](std::size_t t) {
      set_after(m_parts[t].what == Part::contribution, steps, found.freed, panels_freed,
                m_list.tasks[m_list.order[t]]);
    });
  }

  /// Sets the tasks that must be complete before a task writes.
  void set_after(bool contribution, const std::vector<FrontSteps>& steps,
                 const std::vector<std::int64_t>& freed, const std::vector<std::int64_t>& panels_freed,
                 Task& task) const {
    const std::size_t f = index(task.front);
    task.takes_panels = steps[f].cleared > 0;
    std::int64_t end = contribution ? freed[f] : panels_freed[f];  // last step of the previous contents
    if (!contribution && task.row >= 0 && task.row + task.column > 0) end = 0;  // the first tile has waited
    if (task.row == Task::whole) end = std::max(end, freed[f]);
    std::int64_t after = std::max<std::int64_t>(0, end - 1 - m_behind);
    if (contribution && m_passed[f] > 0)
      after = std::max(after, steps[index(m_list.fronts[f].parent)].cleared);
    task.after = static_cast<int>(after);
  }

  List& m_list;
  const std::vector<Ordinal>& m_children;
  std::span<const int> m_relative;
  const LuFrontLayout& m_layout;
  const std::int64_t m_behind;       ///< steps between last read and reuse
  std::vector<int> m_passed;         ///< [count] see Contribution
  std::vector<Part> m_parts;         ///< front part written by each task in order
  std::vector<std::size_t> m_first;  ///< [count] first writer of each contribution, clearing not counted
};

}  // namespace lutra::Impl

#endif

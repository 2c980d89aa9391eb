// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLCHILDLISTS_HPP
#define LUTRA_SMALLCHILDLISTS_HPP

#include <algorithm>
#include <vector>

#include "Lutra_FrontTaskPlacement.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Assembly data of tasks: small children by lists, wide ones successively. Completes the tasks. Host code.
class SmallChildLists {
 public:
  using List = FrontTaskList;
  using Task = FrontTask;
  using Fronts = std::vector<Front>;

  /// @param children     of all fronts
  /// @param relative     indices of all fronts
  /// @param tile_entries of the plan's layout
  SmallChildLists(List& list, const std::vector<Contribution>& contributions, std::vector<Ordinal> children,
                  const std::vector<int>& relative, const std::vector<Offset>& tile_entries)
      : m_fronts(list.fronts), m_children(std::move(children)), m_relative(relative) {
    for (std::size_t f = 0; f < m_fronts.size(); ++f)
      m_fronts[f].contribution = contributions[f].contribution;
    list_small(list, tile_entries);
    list_refs(list, contributions);
  }

  SmallChildListMaker lists;
  std::vector<ChildRef> refs;  ///< children of each front, wide ones first
  std::vector<int> cuts;       ///< first row of a child in each tile of its parent, and number of rows

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }

  void list_small(List& list, const std::vector<Offset>& tile_entries) {
    const SmallChildren is_small_child(m_fronts);
    for (const auto& front : m_fronts) {
      std::stable_partition(m_children.begin() + static_cast<std::ptrdiff_t>(front.children),
                            m_children.begin() + static_cast<std::ptrdiff_t>(front.children_end),
                            [&](Ordinal c) { return !is_small_child(m_fronts[index(c)]); });
    }
    lists.reserve(is_small_child.entries());
    std::vector<std::size_t> small_of(m_fronts.size());
    for (std::size_t t = 0; t < list.small_tasks.size(); ++t) small_of[index(list.small_tasks[t].front)] = t;
    std::size_t next = 0;  // index into the tasks, which are sorted by fronts
    std::size_t tile = 0;  // index over all fronts
    for (Ordinal f = 0; f < static_cast<Ordinal>(m_fronts.size()); ++f, tile += lists.parts.size()) {
      const Offset wide_end = add_front(list, f, is_small_child);
      if (m_fronts[index(f)].pivots == 0) continue;  // it has no task
      if (list.is_small(f)) {
        auto& task = list.small_tasks[small_of[index(f)]];
        task.wide_end = wide_end;
        task.small = lists.parts.front();
      } else if (!list.is_tiled(f)) {
        Task& task = list.tasks[next++];
        task.wide_end = wide_end;
        task.parts[0].small = lists.parts.front();
      } else {
        const auto& parts = parts_of_tiles(tile_entries, tile);
        const int edge = list.tiles_of(f).count();
        for (; next < list.tasks.size() && list.tasks[next].front == f &&
               list.tasks[next].row != Task::clearing;
             ++next) {
          Task& task = list.tasks[next];
          task.wide_end = wide_end;
          if (task.row < 0) continue;
          task.parts[0] = parts[static_cast<std::size_t>(task.row * edge + task.column)];
          if (!task.is_single())
            task.parts[1] = parts[static_cast<std::size_t>((task.row + task.rows - 1) * edge + task.column +
                                                           task.columns - 1)];
        }
      }
    }
  }

  /// Lists a front's small children. @returns the end of its wide ones
  Offset add_front(const List& list, Ordinal f, const SmallChildren& is_small_child) {
    const auto& front = m_fronts[index(f)];
    m_small.clear();
    Offset wide_end = front.children;
    for (Offset c = front.children; c < front.children_end; ++c) {
      const auto& child = m_fronts[index(m_children[static_cast<std::size_t>(c)])];
      if (is_small_child(child)) {
        m_small.push_back(&child);
      } else {
        ++wide_end;
      }
    }
    lists.add_front(m_small, m_relative, list.tiles_of(f), list.is_tiled(f));
    return wide_end;
  }

  /// Parts of the last front added, by tile rows.
  /// @param first_tile of the front
  const std::vector<FrontTaskPart>& parts_of_tiles(const std::vector<Offset>& tile_entries,
                                                   std::size_t first_tile) {
    m_tile_parts.resize(lists.parts.size());
    for (std::size_t t = 0; t < m_tile_parts.size(); ++t) {
      m_tile_parts[t].small = lists.parts[t];
      m_tile_parts[t].entries = tile_entries[first_tile + t];
      m_tile_parts[t].entries_end = tile_entries[first_tile + t + 1];
    }
    return m_tile_parts;
  }

  /// Lists children by parent, with cuts for tiled parents.
  void list_refs(const List& list, const std::vector<Contribution>& contributions) {
    refs.reserve(m_children.size());
    for (const Ordinal c : m_children) {
      const auto& child = m_fronts[index(c)];
      const int passed = contributions[index(c)].passed;
      refs.push_back({child.contribution - passed - static_cast<Offset>(passed) * (child.cb_rows - passed),
                      child.rows, static_cast<Offset>(cuts.size()), child.cb_rows, passed,
                      static_cast<int>(c)});
      if (!list.is_tiled(child.parent)) continue;
      const FrontTiles tiles = list.tiles_of(child.parent);
      const int* const relative = m_relative.data() + child.rows;
      for (int t = 0; t < tiles.count(); ++t)
        cuts.push_back(static_cast<int>(std::lower_bound(relative, relative + child.cb_rows, tiles.begin(t)) -
                                        relative));
      cuts.push_back(child.cb_rows);
    }
  }

  Fronts m_fronts;                  ///< fronts with the contribution offsets of the placement
  std::vector<Ordinal> m_children;  ///< children of each front, wide ones first
  const std::vector<int>& m_relative;
  std::vector<const Front*> m_small;        ///< small children of the current front
  std::vector<FrontTaskPart> m_tile_parts;  ///< tiles of the current front
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLCHILDLISTS_HPP
#define LUTRA_SMALLCHILDLISTS_HPP

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "Lutra_FrontTaskPlacement.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Assembly data of tasks: small children by lists, wide ones successively. Completes the tasks. Host code:
/// chunks of consecutive fronts, independent of each other, are listed on all threads. Joined, the arrays of
/// all chunks are the same for any number of chunks.
class SmallChildLists {
 public:
  using List = FrontTaskList;
  using Task = FrontTask;

  /// Arrays of consecutive fronts. Offsets that refer to them count from the first chunk's arrays.
  struct Chunk {
    Ordinal first = 0, end = 0;            ///< the fronts
    std::size_t tile = 0;                  ///< first tile of them, numbered over all fronts
    std::size_t task = 0;                  ///< first task of them …
    std::size_t tasks_end = 0;             ///< … and end, without tasks that clear
    std::vector<unsigned short> position;  ///< see SmallChildListMaker
    std::vector<std::uint32_t> source;
    std::vector<std::uint32_t> sum_source, sum_end, sum_place;
    std::vector<ChildRef> refs;  ///< children of each front, wide ones first
    std::vector<int> cuts;       ///< first row of a child in each tile of its parent, and number of rows
  };

  /// @param children     of all fronts
  /// @param relative     indices of all fronts
  /// @param tile_entries of the plan's layout
  /// @param sums         address of the first early sum, relative to the first entry of the panels
  /// @param n_chunks     about as many are made; 0: one or, on several threads, two for each
  SmallChildLists(List& list, const std::vector<Contribution>& contributions,
                  const std::vector<Ordinal>& children, std::span<const int> relative,
                  const std::vector<Offset>& tile_entries, Offset sums, std::size_t n_chunks = 0)
      : m_list(list),
        m_contributions(contributions),
        m_children(children),
        m_relative(relative),
        m_tile_entries(tile_entries),
        m_sums(sums),
        m_is_small(list.fronts, contributions),
        m_small_task(list.fronts.size()) {
    cut(n_chunks > 0 ? n_chunks : host_threads() > 1 ? 2 * host_threads() : 1);
    for (std::size_t t = 0; t < list.small_tasks.size(); ++t) at(m_small_task, list.small_tasks[t].front) = t;
    for_each_task(chunks.size(), [&](std::size_t k) { list_fronts(chunks[k]); });
    std::vector<Ends> begins(1);
    for (const Chunk& chunk : chunks) {
      const Ends& begin = begins.back();
      begins.push_back({begin.targets + static_cast<std::uint32_t>(chunk.position.size()),
                        begin.sources + static_cast<std::uint32_t>(chunk.source.size()),
                        begin.cuts + static_cast<Offset>(chunk.cuts.size()),
                        begin.sum_sources + static_cast<std::uint32_t>(chunk.sum_source.size()),
                        begin.sums + static_cast<std::uint32_t>(chunk.sum_end.size())});
    }
    for_each_task(chunks.size(), [&](std::size_t k) { move(chunks[k], begins[k]); });
    n_sums = static_cast<Offset>(begins.back().sums);
  }

  std::vector<Chunk> chunks;
  Offset n_sums = 0;  ///< early sums

  /// One array of all chunks.
  template <class T>
  std::vector<std::span<const T>> parts(std::vector<T> Chunk::*array) const {
    std::vector<std::span<const T>> all;
    for (const Chunk& chunk : chunks) all.emplace_back(chunk.*array);
    return all;
  }

 private:
  /// Lengths of the arrays before a chunk.
  struct Ends {
    std::uint32_t targets = 0, sources = 0;
    Offset cuts = 0;
    std::uint32_t sum_sources = 0, sums = 0;
  };

  /// Whether a front's contribution is assembled by lists.
  bool is_small(Ordinal c) const {
    const Front& child = m_list.front(c);
    const auto& [contribution, passed] = at(m_contributions, c);
    return m_is_small(child.cb_rows, contribution) ||
           (child.parent >= 0 && passed == 0 && m_list.has_many_children(child.parent) &&
            m_is_small.among_many(child.cb_rows, contribution));
  }
  bool sums_early(Ordinal f) const { return has_addresses() && m_list.has_many_children(f); }
  /// Whether 32 bits address all early sums, which have more than `max_listed_sources` sources on average.
  bool has_addresses() const {
    return m_sums + std::numeric_limits<std::uint32_t>::max() / max_listed_sources <=
           std::numeric_limits<std::uint32_t>::max();
  }

  /// Divides fronts by the entries of their small contribution blocks and by tiles.
  void cut(std::size_t n_chunks) {
    constexpr double a_source = 4;  // time to list a source, in times to look at a tile
    const double share =
        (static_cast<double>(m_tile_entries.size()) + a_source * static_cast<double>(m_is_small.entries())) /
        static_cast<double>(n_chunks);
    const auto count = static_cast<Ordinal>(m_list.fronts.size());
    double work = 0;
    std::size_t tile = 0;
    for (Ordinal f = 0; f < count; ++f) {
      if (work >= share * static_cast<double>(chunks.size())) {
        Chunk& chunk = chunks.emplace_back();
        chunk.first = f;
        chunk.end = count;
        chunk.tile = tile;
      }
      const Front& front = m_list.front(f);
      const int edge = m_list.is_tiled(f) ? m_list.tiles_of(f).count() : 1;
      const auto tiles = static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
      tile += tiles;
      work += static_cast<double>(tiles) + (is_small(f) ? a_source * front.cb_rows * front.cb_rows : 0);
    }
    const auto first_task = [&](Ordinal f) {
      return static_cast<std::size_t>(
          std::ranges::partition_point(
              m_list.tasks, [&](const Task& task) { return task.row != Task::clearing && task.front < f; }) -
          m_list.tasks.begin());
    };
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      if (k > 0) chunks[k - 1].end = chunks[k].first;
      chunks[k].task = first_task(chunks[k].first);
      if (k > 0) chunks[k - 1].tasks_end = chunks[k].task;
    }
    if (!chunks.empty()) chunks.back().tasks_end = first_task(count);
  }

  /// Children of one front.
  struct Children {
    std::vector<Ordinal> numbers;   ///< wide ones first
    std::vector<SmallChild> small;  ///< the small ones
    std::vector<Ordinal> small_numbers;
  };

  void list_fronts(Chunk& chunk) {
    SmallChildListMaker maker;
    maker.reserve(m_is_small.entries() / chunks.size());
    Children own;
    std::size_t tile = chunk.tile, next = chunk.task;
    for (Ordinal f = chunk.first; f < chunk.end; ++f, tile += maker.parts.size()) {
      sort_children(f, own);
      maker.add_front(own.small, m_relative, m_list.tiles_of(f), m_list.is_tiled(f), sums_early(f));
      for (const Ordinal c : own.numbers) add_ref(chunk, c);
      const Offset wide_end =
          m_list.front(f).children + static_cast<Offset>(own.numbers.size() - own.small.size());
      if (m_list.front(f).pivots == 0) continue;  // it has no task
      if (m_list.is_small(f)) {
        SmallTask& task = m_list.small_tasks[at(m_small_task, f)];
        task.wide_end = wide_end;
        task.small = maker.parts.front();
      } else if (!m_list.is_tiled(f)) {
        Task& task = m_list.tasks[next++];
        task.wide_end = wide_end;
        task.parts[0].small = maker.parts.front();
      } else {
        for (; next < chunk.tasks_end && m_list.tasks[next].front == f; ++next)
          complete(m_list.tasks[next], wide_end, tile, maker.parts);
      }
    }
    chunk.position = std::move(maker.position);
    chunk.source = std::move(maker.source);
    chunk.sum_source = std::move(maker.sum_source);
    chunk.sum_end = std::move(maker.sum_end);
    chunk.sum_place = std::move(maker.sum_place);
  }

  /// Completes the task of one or two tiles.
  /// @param tile  first tile of the front
  /// @param parts of its tiles
  void complete(Task& task, Offset wide_end, std::size_t tile,
                const std::vector<SmallChildPart>& parts) const {
    task.wide_end = wide_end;
    if (task.row < 0) return;
    const auto part_of = [&](int i, int j) {
      const auto t = static_cast<std::size_t>(i * m_list.tiles_of(task.front).count() + j);
      return FrontTaskPart{m_tile_entries[tile + t], m_tile_entries[tile + t + 1], parts[t]};
    };
    task.parts[0] = part_of(task.row, task.column);
    if (!task.is_single()) task.parts[1] = part_of(task.row + task.rows - 1, task.column + task.columns - 1);
  }

  void sort_children(Ordinal f, Children& own) const {
    own.numbers.clear();
    own.small.clear();
    own.small_numbers.clear();
    for (Offset k = m_list.front(f).children; k < m_list.front(f).children_end; ++k) {
      const Ordinal c = at(m_children, k);
      if (!is_small(c)) {
        own.numbers.push_back(c);
        continue;
      }
      const Front& child = m_list.front(c);
      own.small.push_back(
          {at(m_contributions, c).contribution, child.rows, child.cb_rows, m_list.is_small(c)});
      own.small_numbers.push_back(c);
    }
    own.numbers.insert(own.numbers.end(), own.small_numbers.begin(), own.small_numbers.end());
  }

  /// Lists a child, with its cuts if the parent is tiled.
  void add_ref(Chunk& chunk, Ordinal c) const {
    const Front& child = m_list.front(c);
    const auto& [contribution, passed] = at(m_contributions, c);
    chunk.refs.push_back({contribution - passed - static_cast<Offset>(passed) * (child.cb_rows - passed),
                          child.rows, static_cast<Offset>(chunk.cuts.size()), child.cb_rows, passed,
                          static_cast<int>(c)});
    if (!m_list.is_tiled(child.parent)) return;
    const FrontTiles tiles = m_list.tiles_of(child.parent);
    const int* const relative = m_relative.data() + child.rows;
    for (int t = 0; t < tiles.count(); ++t)
      chunk.cuts.push_back(
          static_cast<int>(std::lower_bound(relative, relative + child.cb_rows, tiles.begin(t)) - relative));
    chunk.cuts.push_back(child.cb_rows);
  }

  /// Makes offsets count from the first chunk's arrays, and sets the addresses of early sums.
  void move(Chunk& chunk, const Ends& begin) {
    for (std::size_t k = 0; k < chunk.sum_place.size(); ++k)
      chunk.source[chunk.sum_place[k]] =
          static_cast<std::uint32_t>(m_sums) + begin.sums + static_cast<std::uint32_t>(k);
    for (std::uint32_t& end : chunk.sum_end) end += begin.sum_sources;
    const auto move_part = [&](SmallChildPart& part) {
      if (part.count == 0) return;
      part.targets += begin.targets;
      part.sources += begin.sources;
    };
    for (ChildRef& ref : chunk.refs) ref.cuts += begin.cuts;
    for (std::size_t t = chunk.task; t < chunk.tasks_end; ++t)
      for (FrontTaskPart& part : m_list.tasks[t].parts) move_part(part.small);
    for (Ordinal f = chunk.first; f < chunk.end; ++f) {
      if (m_list.front(f).pivots > 0 && m_list.is_small(f))
        move_part(m_list.small_tasks[at(m_small_task, f)].small);
    }
  }

  List& m_list;
  const std::vector<Contribution>& m_contributions;
  const std::vector<Ordinal>& m_children;
  std::span<const int> m_relative;
  const std::vector<Offset>& m_tile_entries;
  const Offset m_sums;
  const SmallChildren m_is_small;
  std::vector<std::size_t> m_small_task;  ///< [fronts] index of a small front's task
};

}  // namespace lutra::Impl

#endif

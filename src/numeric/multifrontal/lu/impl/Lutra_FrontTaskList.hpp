// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASKLIST_HPP
#define LUTRA_FRONTTASKLIST_HPP

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_EarlySums.hpp"
#include "Lutra_FrontPaths.hpp"
#include "Lutra_FrontTask.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_UninitializedVector.hpp"

namespace lutra::Impl {

/// Selects tiles of a front that are computed two at a time: neighbours in a column, in U neighbours in a
/// row. Neither may be next to the diagonal, whose tiles are needed early, nor among the last, and both hold
/// pivots or both hold contribution rows.
class TilePairs {
 public:
  TilePairs(const FrontTiles& tiles, bool is_root, const FrontTaskModel& model)
      : m_tiles(tiles),
        m_any(tiles.count() >= (is_root ? model.min_paired_root_tiles : model.min_paired_tiles)),
        m_single_edge(is_root ? model.single_edge : 0),
        m_single_rows(is_root ? model.single_contribution_rows : 0) {}

  bool any() const { return m_any; }
  bool in_upper(int i, int j) const { return i < j && i < m_tiles.pivot_tiles(); }
  bool is_first(int i, int j) const { return m_any && (in_upper(i, j) ? starts(j, i) : starts(i, j)); }
  bool is_second(int i, int j) const {
    return m_any && (in_upper(i, j) ? starts(j - 1, i) : starts(i - 1, j));
  }

 private:
  /// Whether a pair starts at tile `position` of column, or in U row, `line`.
  bool starts(int position, int line) const {
    const int pivots = m_tiles.pivot_tiles(), begin = position < pivots ? 0 : pivots;
    const int end = position < pivots ? pivots : m_tiles.count();
    const bool aligned = position >= 0 && (position - begin) % 2 == 0 && position + 1 < end;
    if (!aligned) return false;
    const int rows_left = m_tiles.count() - position, edge_left = m_tiles.count() - line;
    if (line >= pivots) return rows_left > m_single_rows;
    return position > line + 1 && edge_left > m_single_edge;
  }

  FrontTiles m_tiles;
  bool m_any;
  int m_single_edge, m_single_rows;  ///< of a root's tail, whose tasks have a single tile
};

/// How fronts are divided into tasks, and how many blocks run concurrently.
struct FrontTaskOptions {
  FrontPlanOptions cut;
  int small_size = 32;  ///< largest size of fronts that, in subtrees of such fronts, are factorized by warps
  int blocks = 1;
  FrontTaskModel model;
  bool symmetric = false;  ///< if set, tiles above the diagonal of a front have no tasks
};

/// The tasks of a multifrontal factorization, and the order in which blocks take them: longest path to the
/// root first, timed by `FrontTaskModel`, so that each task follows all it waits for (Lutra_FrontTask.hpp).
/// Host code, linear in the tasks; tasks are made on all threads.
class FrontTaskList {
 public:
  using Fronts = std::vector<Front>;
  using Task = FrontTask;
  using Small = SmallTask;

  /// @param fronts   in postorder; kept by reference
  /// @param n_chunks that tasks are made by; 0: as suits the threads
  FrontTaskList(const Fronts& all_fronts, const FrontTaskOptions& task_options, std::size_t n_chunks = 0)
      : fronts(all_fronts), options(task_options) {
    m_small = find_small_subtrees(fronts, options.small_size, max_children_without_sums);
    m_start = measure_paths(fronts, [&](Ordinal f) { return own_time(f); });
    choose_swept(options.blocks / options.model.blocks_a_sweep);
    add_tasks(n_chunks > 0 ? n_chunks : host_threads() > 1 ? 4 * host_threads() : 1);
    list_small();
    order = argsort_descending<std::uint32_t>(tasks.size(), [&](std::uint32_t t) { return m_priority[t]; });
    m_priority = {};
  }

  const Fronts& fronts;
  const FrontTaskOptions options;
  UninitializedVector<Task> tasks;   ///< by fronts
  std::vector<std::uint32_t> order;  ///< indices into `tasks`, in execution order
  std::vector<Small> small_tasks;    ///< tasks of the preceding launch, in execution order
  Offset flags = 0;                  ///< number of tile flags
  Offset inverses = 0;               ///< entries of all diagonal tiles' inverses, of U or of L
  int inverse_blocks = 0;            ///< blocks of lines in the inverses
  Offset links = 0;                  ///< entries of hand-off buffers

  bool is_small(Ordinal f) const { return m_small[index(f)] != 0; }
  bool is_tiled(Ordinal f) const { return front(f).size() > options.cut.max_whole; }
  /// Whether a front that is not small has so many children that their long lists are cut into early sums.
  bool has_many_children(Ordinal f) const { return !is_small(f) && Impl::has_many_children(front(f)); }
  FrontTiles tiles_of(Ordinal f) const { return {front(f).pivots, front(f).cb_rows, options.cut.tile}; }
  const Front& front(Ordinal f) const { return fronts[index(f)]; }

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }
  Ordinal count() const { return static_cast<Ordinal>(fronts.size()); }

  double contribution_time(Ordinal f) const {
    const FrontTiles tiles = tiles_of(f);
    const double edge = tiles.count() - tiles.pivot_tiles();
    return options.model.start + options.model.product * tiles.pivot_tiles() * (1 + edge * edge / 256);
  }

  double own_time(Ordinal f) const {
    const FrontTaskModel& model = options.model;
    if (is_tiled(f)) return tiles_of(f).pivot_tiles() * model.step + contribution_time(f);
    return model.start + model.pivot * front(f).pivots +
           model.child * static_cast<double>(front(f).children_end - front(f).children);
  }

  /// Selects the fronts with the most pivots, up to `most`, whose diagonals are swept by one block each.
  void choose_swept(int most) {
    std::vector<Ordinal> swept;
    for (Ordinal f = 0; f < count(); ++f) {
      if (is_tiled(f) && tiles_of(f).pivot_tiles() >= options.model.min_swept_tiles) swept.push_back(f);
    }
    std::ranges::stable_sort(swept, std::greater<>{}, [&](Ordinal f) { return front(f).pivots; });
    swept.resize(std::min(swept.size(), static_cast<std::size_t>(most)));
    m_swept.assign(fronts.size(), 0);
    for (const Ordinal f : swept) m_swept[index(f)] = 1;
  }

  /// Numbers of tasks and of what they refer to.
  struct Numbers {
    std::size_t tasks = 0;
    Offset flags = 0, inverses = 0, links = 0;
    int inverse_blocks = 0;
    void operator+=(const Numbers& other) {
      tasks += other.tasks;
      flags += other.flags;
      inverses += other.inverses;
      links += other.links;
      inverse_blocks += other.inverse_blocks;
    }
  };

  /// Counts the tasks of chunks of fronts, then makes them.
  void add_tasks(std::size_t n_chunks) {
    const std::vector<Ordinal> begin = cut(n_chunks);
    n_chunks = begin.size() - 1;
    std::vector<Numbers> before(n_chunks + 1);
    for_each_task(n_chunks, [&](std::size_t k) {
      make_tasks(begin[k], begin[k + 1], before[k + 1], [](const Task&, std::size_t, double) {});
    });
    for (std::size_t k = 0; k < n_chunks; ++k) before[k + 1] += before[k];
    const Numbers& all = before.back();
    tasks.reserve(all.tasks + all.tasks / 4);  // for tasks that clear panels
    tasks.resize(all.tasks);
    m_priority.resize(all.tasks);
    for_each_task(n_chunks, [&](std::size_t k) {
      make_tasks(begin[k], begin[k + 1], before[k], [&](const Task& task, std::size_t t, double priority) {
        tasks[t] = task;
        m_priority[t] = priority;
      });
    });
    flags = all.flags;
    inverses = all.inverses;
    inverse_blocks = all.inverse_blocks;
    links = all.links;
  }

  /// Divides fronts by their numbers of tiles. @returns the first front of each chunk, and `count()`
  std::vector<Ordinal> cut(std::size_t n_chunks) const {
    const auto tiles = [&](Ordinal f) {
      const double edge = is_tiled(f) ? tiles_of(f).count() : 1;
      return edge * edge;
    };
    double all = 0, done = 0;
    for (Ordinal f = 0; f < count(); ++f) all += tiles(f);
    std::vector<Ordinal> begin;
    for (Ordinal f = 0; f < count(); ++f) {
      if (done >= all / static_cast<double>(n_chunks) * static_cast<double>(begin.size())) begin.push_back(f);
      done += tiles(f);
    }
    begin.push_back(count());
    return begin;
  }

  void list_small() {
    std::vector<Ordinal> sorted;
    for (Ordinal f = 0; f < count(); ++f)
      if (is_small(f) && front(f).pivots > 0) sorted.push_back(f);
    sort_descending(sorted, [&](Ordinal f) { return m_start[index(f)]; });
    small_tasks.reserve(sorted.size());
    for (const Ordinal f : sorted) small_tasks.push_back({f, 0, {}});
  }

  /// Calls add(task, number, priority) for the tasks of the fronts begin … end − 1. Skips fronts without
  /// pivots: their contribution is given before the factorization.
  /// @param before in: numbers before the first front; out: before `end`
  template <class Add>
  void make_tasks(Ordinal begin, Ordinal end, Numbers& before, const Add& add) const {
    for (Ordinal f = begin; f < end; ++f) {
      if (front(f).pivots == 0 || is_small(f)) continue;
      if (is_tiled(f)) {
        make_tiles(f, before, add);
      } else {
        Task task;
        task.front = f;
        add(task, before.tasks++, m_start[index(f)]);
      }
    }
  }

  /// Start time of a tile's task, measured back from the contribution's. A tile starts before its pivots'
  /// step by the time of its preceding products; tiles next to the diagonal come first. In fronts with
  /// two-tile tasks, the rows and columns of several pivot tiles are grouped, ordered by the diagonal tile at
  /// which they begin; added in row order, each follows its dependencies. Neighbours then read the same tile
  /// of L or U at about the same time, from L2.
  double tile_start(const FrontTiles& tiles, bool paired, int i, int j) const {
    const FrontTaskModel& model = options.model;
    const int pivots = tiles.pivot_tiles(), step = std::min(i, j);
    if (step >= pivots) return 0;
    if (paired) {
      const int first = step - step % model.steps_together;
      return (pivots - first) * model.step + first * model.product - 1e-3 * (std::max(i, j) - first);
    }
    const double within = i == j ? 0 : std::abs(i - j) == 1 ? model.step / 4 : model.step / 3;
    return (pivots - step) * model.step - within + step * model.product;
  }

  template <class Add>
  void make_tiles(Ordinal f, Numbers& before, const Add& add) const {
    const FrontTiles tiles = tiles_of(f);
    const int edge = tiles.count(), pivots = tiles.pivot_tiles();
    const TilePairs pairs(tiles, front(f).parent < 0, options.model);
    const bool is_linked = pivots >= options.model.min_linked_tiles;
    const double end = (front(f).parent < 0 ? 0 : m_start[index(front(f).parent)]) + contribution_time(f);
    for (int i = 0; i < edge; ++i) {
      for (int j = 0; j < edge; ++j) {
        if (pairs.is_second(i, j)) continue;
        Task task;
        task.front = f;
        task.row = i;
        task.column = j;
        if (pairs.is_first(i, j)) (pairs.in_upper(i, j) ? task.columns : task.rows) = 2;
        if (options.symmetric && task.row + task.rows <= task.column) continue;
        task.flags = before.flags;
        task.inverses = before.inverses;
        task.inverse_blocks = before.inverse_blocks;
        if (is_linked) task.links = before.links;
        task.is_swept = m_swept[index(f)];
        add(task, before.tasks++, end + tile_start(tiles, pairs.any(), i, j));
        if (task.is_swept && i + j == 0) {  // the sweep follows the first tile
          task.row = Task::sweeping;
          add(task, before.tasks++, end + pivots * options.model.step);
        }
      }
    }
    before.flags += static_cast<Offset>(TileFlags(tiles).size());
    if (is_linked)
      before.links += static_cast<Offset>(m_swept[index(f)] ? 3 : 2) * tile_links * tiles.edge * tiles.edge;
    before.inverses += InverseTile::entries_of_front(tiles);
    before.inverse_blocks += FrontTiles::inverse_lines(front(f).pivots) / InverseTile::block;
  }

  std::vector<char> m_small, m_swept;
  std::vector<double> m_start;             ///< [count] time from a front's first task to the end of its root
  UninitializedVector<double> m_priority;  ///< [tasks]
};

}  // namespace lutra::Impl

#endif

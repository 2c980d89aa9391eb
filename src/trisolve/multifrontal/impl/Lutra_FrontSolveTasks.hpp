// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVETASKS_HPP
#define LUTRA_FRONTSOLVETASKS_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_EarlySums.hpp"
#include "Lutra_FrontPaths.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuPlan.hpp"

namespace lutra::Impl {

/// Largest fronts that one warp solves, if their subtree has no larger front: in small ones each lane has one
/// row, in middle ones up to three.
inline constexpr int small_solve_size = 32, middle_solve_size = 96;
/// Most off-diagonal tiles that one thread block sums in a backward sweep; beyond that, other blocks compute
/// partial sums.
inline constexpr int max_unsplit_tiles = 6;
/// Off-diagonal tiles of a partial sum.
inline constexpr int tiles_per_part = 4;

/// A front as a warp reads it in a single load.
struct WarpSolveTask {
  Offset lower, rows;  ///< of its panels, and as in `Front`
  Ordinal first_pivot;
  int pivots, cb_rows;
};

/// A tile of a front as a thread block reads it.
struct FrontSolveTask : WarpSolveTask {
  Offset inverse = -1;      ///< entries of inverses before the tile's, as factorized; −1: none
  Offset partial_sums = 0;  ///< first partial sum of the tile
  int tile = 0;             ///< index of the tile of rows
  int part = -1;            ///< backward: index of the partial sum; −1: the tile itself
  int n_parts = 0;          ///< partial sums that other blocks compute for the tile
  int inverse_blocks = 0;   ///< blocks of lines of inverses before those of the tile
};

/// Tasks of both sweeps, in lists from which thread blocks take them in order. Every task follows all tasks
/// it waits for, so that blocks only wait for running blocks:
///
///   up:   tiles of the children  ->  pivot tile 0 -> 1 -> ...  ->  contribution tiles  ->  parent
///   down: parent's pivot tiles   ->  partial sums of tile i, tile i + 1  ->  tile i  ->  children
///
/// Tasks on the longest remaining path come first.
class FrontSolveTasks {
 public:
  using Task = FrontSolveTask;
  using WarpTask = WarpSolveTask;
  using Fronts = std::vector<Front>;

  /// @param options how the factorization partitions fronts; solves use the same `tile`
  /// @param interchanges rows are interchanged: partitioned fronts are then solved with their inverses
  FrontSolveTasks(const Fronts& fronts, const FrontPlanOptions& options, bool interchanges,
                  const FrontSolveCosts& costs)
      : m_fronts(fronts),
        m_layout(fronts),
        m_options(options),
        m_costs(costs),
        m_max_middle(interchanges ? std::min(middle_solve_size, options.max_whole) : middle_solve_size) {
    find_classes();
    measure_paths();
    Offset inverse = 0;
    int blocks = 0;
    for (std::size_t f = 0; f < m_fronts.size(); ++f) {
      const bool has_inverses = m_fronts[f].size() > m_options.max_whole;
      if (m_class[f] == tiled && m_fronts[f].pivots > 0)
        add_tiles(f, has_inverses ? inverse : Offset(-1), blocks);
      if (!has_inverses) continue;
      inverse += InverseTile::entries_of_front(tiles_of(f));
      blocks += FrontTiles::inverse_lines(m_fronts[f].pivots) / InverseTile::block;
    }
    for_each_task(2 * classes, [&](std::size_t k) {
      const std::size_t c = k / 2;
      const bool up = k % 2 == 0;
      if (c == tiled) {
        (up ? tiles_up : tiles_down) = (up ? m_up : m_down).sorted();
      } else {
        (up ? warps_up : warps_down)[c] = sorted_fronts(static_cast<int>(c), up ? m_to_root : m_height);
      }
    });
  }

  static constexpr int small = 0, middle = 1, tiled = 2, classes = 3;
  std::vector<WarpTask> warps_up[tiled], warps_down[tiled];  ///< small and middle fronts
  std::vector<Task> tiles_up, tiles_down;
  Offset partial_sums = 0;  ///< length of the vector of partial sums

  /// Whether long lists of sources from small fronts are summed before the front (Lutra_EarlySources.hpp).
  bool sums_early(Ordinal f) const { return at(m_class, f) != small && has_many_children(at(m_fronts, f)); }
  bool is_small(Ordinal f) const { return at(m_class, f) == small; }

 private:
  struct Prioritized {
    std::vector<Task> tasks;
    std::vector<double> priority;
    void add(const Task& task, double urgency) {
      tasks.push_back(task);
      priority.push_back(urgency);
    }
    std::vector<Task> sorted() const {
      const auto order =
          argsort_descending<std::size_t>(tasks.size(), [&](std::size_t t) { return priority[t]; });
      std::vector<Task> result;
      result.reserve(order.size());
      for (const std::size_t t : order) result.push_back(tasks[t]);
      return result;
    }
  };

  /// Tasks of the fronts of a class. Fronts without pivots, which represent other parts, have none.
  std::vector<WarpTask> sorted_fronts(int of_class, const std::vector<double>& priority) const {
    std::vector<Ordinal> order;
    for (std::size_t f = 0; f < m_fronts.size(); ++f)
      if (m_class[f] == of_class && m_fronts[f].pivots > 0) order.push_back(static_cast<Ordinal>(f));
    sort_descending(order, [&](Ordinal f) { return at(priority, f); });
    std::vector<WarpTask> result;
    result.reserve(order.size());
    for (const Ordinal f : order) result.push_back(task_of(static_cast<std::size_t>(f)));
    return result;
  }

  FrontTiles tiles_of(std::size_t f) const {
    return {m_fronts[f].pivots, m_fronts[f].cb_rows, m_options.tile};
  }

  Task task_of(std::size_t f) const {
    const auto& front = m_fronts[f];
    Task task;
    task.lower = m_layout.panels[f];
    task.rows = front.rows;
    task.first_pivot = front.first_pivot;
    task.pivots = front.pivots;
    task.cb_rows = front.cb_rows;
    return task;
  }

  /// Assigns each front to the class of the largest front in its subtree. Fronts with many children are not
  /// small, so that their children are solved in an earlier launch.
  void find_classes() {
    m_class.assign(m_fronts.size(), small);
    for (std::size_t f = 0; f < m_fronts.size(); ++f) {
      const int size = m_fronts[f].size();
      const bool fits_lanes = size <= small_solve_size && !has_many_children(m_fronts[f]);
      const int own = fits_lanes ? small : size <= m_max_middle ? middle : tiled;
      m_class[f] = std::max(m_class[f], own);
      if (m_fronts[f].parent >= 0)
        at(m_class, m_fronts[f].parent) = std::max(at(m_class, m_fronts[f].parent), m_class[f]);
    }
  }

  double own_time(std::size_t f) const {
    if (m_class[f] != tiled) return m_costs.start + m_costs.pivot * m_fronts[f].pivots;
    const FrontTiles tiles = tiles_of(f);
    return m_costs.start + m_costs.pivot_tile * tiles.pivot_tiles() +
           m_costs.tile * std::min(tiles.count(), max_unsplit_tiles);
  }

  void measure_paths() {
    m_height.assign(m_fronts.size(), 0);
    for (std::size_t f = 0; f < m_fronts.size(); ++f) {
      m_height[f] += own_time(f);
      if (m_fronts[f].parent >= 0)
        at(m_height, m_fronts[f].parent) = std::max(at(m_height, m_fronts[f].parent), m_height[f]);
    }
    m_to_root =
        Impl::measure_paths(m_fronts, [&](Ordinal f) { return own_time(static_cast<std::size_t>(f)); });
  }

  /// @param inverse entries of inverses before those of the front, or −1
  /// @param blocks blocks of their lines
  void add_tiles(std::size_t f, Offset inverse, int blocks) {
    const FrontTiles tiles = tiles_of(f);
    const int pivot_tiles = tiles.pivot_tiles(), further = tiles.count() - pivot_tiles;
    const int n_parts = further > max_unsplit_tiles ? (further + tiles_per_part - 1) / tiles_per_part : 0;
    Task task = task_of(f);
    const auto set_inverse = [&](int i) {
      const bool there = inverse >= 0 && i < pivot_tiles;
      task.inverse = there ? inverse + static_cast<Offset>(i) * InverseTile::entries(m_options.tile) : -1;
      task.inverse_blocks = blocks + i * (m_options.tile / InverseTile::block);
    };
    for (int i = 0; i < tiles.count(); ++i) {
      task.tile = i;
      set_inverse(i);
      m_up.add(task, m_to_root[f] - m_costs.pivot_tile * std::min(i, pivot_tiles));
    }
    task.n_parts = n_parts;
    for (int i = pivot_tiles; i-- > 0;) {
      const double urgency = m_height[f] - m_costs.pivot_tile * (pivot_tiles - 1 - i);
      task.tile = i;
      set_inverse(i);
      task.partial_sums = partial_sums;
      for (task.part = 0; task.part < n_parts; ++task.part) m_down.add(task, urgency);
      task.part = -1;
      m_down.add(task, urgency);
      partial_sums += static_cast<Offset>(n_parts) * m_options.tile;
    }
  }

  const Fronts& m_fronts;
  LuFrontLayout m_layout;
  const FrontPlanOptions m_options;
  const FrontSolveCosts m_costs;
  const int m_max_middle;  ///< most rows of a middle front
  std::vector<int> m_class;
  std::vector<double> m_to_root;  ///< [fronts] time from a front's start to the end of its root
  std::vector<double> m_height;   ///< [fronts] time from a front's backward start to the end of its subtree
  Prioritized m_up, m_down;       ///< tasks of tiles
};

/// One block's part in a front.
struct LdltSolveTask {
  Ordinal front = 0;
  int member = 0, members = 1;
};

/// Tasks of a data-flow sweep with L·D·Lᵀ, in the order of forward sweeps; backward sweeps process them in
/// reverse. A front may be shared by a gang of blocks;
/// the members of a gang are neighbours. A task waits only for fronts all of whose tasks precede it, and for
/// other members. Host code.
struct LdltSolveTasks {
  using Fronts = std::vector<Front>;
  std::vector<LdltSolveTask> small, large;

  /// @param edge   rows of a tile: a block has at least one
  /// @param blocks most members of a gang
  /// @param small_rows largest front that one warp processes, if its subtree has no larger one
  LdltSolveTasks(const Fronts& fronts, int edge, int blocks, int small_rows = 64) {
    const std::vector<char> is_small = find_small_subtrees(fronts, small_rows);
    constexpr double a_front = 30;  // time to begin and end a front, in pivots
    const auto path = measure_paths(fronts, [&](Ordinal f) { return a_front + at(fronts, f).pivots; });
    std::vector<double> entries(fronts.size(), 0);  // of each subtree
    double all = 0;
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      entries[f] += static_cast<double>(fronts[f].pivots) * fronts[f].size();
      (fronts[f].parent < 0 ? all : at(entries, fronts[f].parent)) += entries[f];
    }
    for (const Ordinal f :
         argsort_descending<Ordinal>(fronts.size(), [&](Ordinal g) { return at(path, g); })) {
      if (at(is_small, f) != 0) {
        small.push_back({f, 0, 1});
        continue;
      }
      // twice its share, because neighbours in the tree wait for others at different times
      const double share = all > 0 ? blocks * at(entries, f) / all : 1;
      const double useful =
          std::min(std::round(2 * share), std::ceil(static_cast<double>(at(fronts, f).size()) / edge));
      const int members = std::clamp(static_cast<int>(useful), 1, std::max(1, blocks));
      for (int member = 0; member < members; ++member) large.push_back({f, member, members});
      max_members = std::max(max_members, members);
    }
  }

  int max_members = 1;
};

}  // namespace lutra::Impl

#endif

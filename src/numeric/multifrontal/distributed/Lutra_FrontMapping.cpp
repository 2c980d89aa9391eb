// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontMapping.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "Lutra_At.hpp"

namespace lutra::Impl {

double front_flops(const AssemblyTree& tree, std::size_t f) {
  const auto up_to = [](double m) { return m * (m + 1) / 2 + m * (m + 1) * (2 * m + 1) / 3; };
  const double rest = contribution_rows(tree, f);
  return up_to(rest + pivots_of(tree, f) - 1) - up_to(rest - 1);
}

DividedTime divided_time(const AssemblyTree& tree, std::size_t f, int ranks, const DivisionCosts& costs) {
  // Blocks of a rank. More: ranks wait less for each other. Fewer: larger products, fewer messages.
  constexpr int blocks_a_rank = 8;
  constexpr int step = 8;  // the columns that hosts eliminate one by one
  const double k = pivots_of(tree, f), m = contribution_rows(tree, f), others = ranks - 1;
  DividedTime result;
  const int even = static_cast<int>(k) / (blocks_a_rank * ranks) / step * step;
  result.width = std::max(even, costs.block_columns);
  const double blocks = std::ceil(k / result.width);
  // The rank with most work has about half a block more than its share, and all wait for the first block and
  // for the last ones.
  const double share = std::min(1.0, (1 + (others / 2 + 1) / blocks) / ranks);
  // L of the others' blocks arrives, and at the end what they have above it and in the contribution columns.
  const double entries = (k * (k + m) - k * k / 2 + k * k / 2 + k * m + m * m) * others / ranks;
  result.time = costs.time_of(front_flops(tree, f), k + m) * share + costs.flops_per_entry * entries +
                costs.flops_per_message * blocks;
  return result;
}

namespace {

/// A mapping of a tree's tasks to ranks with its groups.
struct Mapping {
  TaskTree tasks;
  std::vector<int> rank;  ///< [tasks]
  std::vector<TaskGroup> groups;
  double time = std::numeric_limits<double>::infinity();
};

/// Searches for the mapping with the least time.
class TimeDivider {
 public:
  TimeDivider(const AssemblyTree& tree, int ranks, const DivisionCosts& costs)
      : m_tree(tree), m_ranks(ranks), m_costs(costs), m_children(tree.parent.size()) {
    for (std::size_t f = 0; f < tree.parent.size(); ++f) {
      m_work.push_back(costs.time_of(front_flops(tree, f), pivots_of(tree, f) + contribution_rows(tree, f)));
      m_subtree.push_back(m_work[f]);
      for (const std::size_t c : m_children[f]) m_subtree[f] += m_subtree[c];
      if (tree.parent[f] >= 0) at(m_children, tree.parent[f]).push_back(f);
      if (tree.parent[f] < 0) m_cut.push({m_subtree[f], f});
    }
    m_roots = m_cut;
  }

  FrontRanks run() {
    search();
    if (m_costs.divides_fronts && m_ranks > 1) {
      // once after mappings of whole fronts, and once with all of them divided from the start
      divide_fronts();
      const Mapping first = std::exchange(m_best, {});
      m_divides = true;
      m_cut = m_roots;
      m_top.clear();
      search();
      divide_fronts();
      if (first.time <= m_best.time) m_best = first;
    }
    put_largest_root_on_rank_0();
    return result();
  }
  /// Whether there are so many trees that no mapping of them is tried.
  bool has_too_many_trees() const { return m_cut.size() > max_tasks; }

  /// Parts of a given mapping.
  FrontRanks run_with(const std::vector<int>& rank_of_front, const std::vector<bool>& is_divided) {
    std::vector<bool> is_whole(m_tree.parent.size(), true);
    for (std::size_t f = 0; f < is_divided.size(); ++f) is_whole[f] = !is_divided[f];
    for (std::size_t f = 0; f < is_whole.size(); ++f)
      for (const std::size_t c : m_children[f])
        is_whole[f] = is_whole[f] && is_whole[c] && rank_of_front[c] == rank_of_front[f];
    m_cut = {};
    for (std::size_t f = is_whole.size(); f-- > 0;) {
      if (!is_whole[f]) m_top.push_back(f);
      if (is_whole[f] && (m_tree.parent[f] < 0 || !at(is_whole, m_tree.parent[f])))
        m_cut.push({m_subtree[f], f});
    }
    TaskTree tasks = make_tasks();
    std::vector<int> rank;
    for (const std::size_t root : tasks.root) rank.push_back(rank_of_front[root]);
    for (std::size_t t = 0; t < tasks.count(); ++t)
      if (!is_divided.empty() && is_divided[tasks.root[t]]) divide(tasks, t, rank[t], all_ranks());
    take(tasks, rank, std::numeric_limits<std::size_t>::max());
    return result();
  }

 private:
  /// Maps the tasks of one cut after another.
  void search() {
    // Bounds the time, since each split maps all tasks anew: that many splits without a better mapping.
    const int most_splits = std::min(3 * m_ranks + 8, 48);
    for (int vain = 0; vain <= most_splits && !m_cut.empty(); ++vain) {
      if (m_cut.size() + m_top.size() > max_tasks) break;
      if (map_cut()) vain = 0;
      const std::size_t f = m_cut.top().second;
      if (m_ranks == 1 || m_children[f].empty()) break;  // the largest subtree is a single front
      m_cut.pop();
      m_top.push_back(f);
      for (const std::size_t c : m_children[f]) m_cut.push({m_subtree[c], c});
    }
    improve();
  }

  /// The subtrees of the cut and the fronts above it.
  TaskTree make_tasks() const {
    TaskTree tasks;
    tasks.root = m_top;
    for (auto rest = m_cut; !rest.empty(); rest.pop()) tasks.root.push_back(rest.top().second);
    std::sort(tasks.root.begin(), tasks.root.end());
    std::vector<bool> is_top(m_tree.parent.size(), false);
    for (const std::size_t f : m_top) is_top[f] = true;
    for (const std::size_t f : tasks.root) {
      const double rows = contribution_rows(m_tree, f);
      const auto above =
          std::lower_bound(tasks.root.begin(), tasks.root.end(), static_cast<std::size_t>(m_tree.parent[f]));
      tasks.parent.push_back(m_tree.parent[f] < 0 ? -1 : static_cast<int>(above - tasks.root.begin()));
      tasks.whole.push_back(!is_top[f]);
      tasks.work.push_back(is_top[f] ? m_work[f] : m_subtree[f]);
      tasks.passing.push_back(m_costs.flops_per_entry * rows * rows);
    }
    return tasks;
  }

  /// Maps the tasks of the current cut in several ways. @returns true if one is the best so far
  bool map_cut() {
    const TaskTree tasks = make_tasks();
    bool better = false;
    // also to fewer ranks, whose contributions take less time to pass
    for (int count = m_ranks; count > 0; count /= 2) {
      better = try_mapping(tasks, assign(tasks, count, 0)) || better;
      for (int uncounted = 1, rank = 1; count > 1 && rank <= count; rank *= 2)
        better = try_mapping(tasks, assign(tasks, count, uncounted++)) || better;
    }
    if (m_divides) better = try_mapping(tasks, assign_by_subtrees(tasks)) || better;
    return better;
  }

  /// Keeps a mapping if it is the best so far, also with all large single fronts divided among the ranks of
  /// their subtrees, or among all.
  bool try_mapping(const TaskTree& tasks, const std::vector<int>& rank) {
    bool better = take(tasks, rank, max_parts);
    if (!m_divides) return better;
    const double all_work = std::accumulate(tasks.work.begin(), tasks.work.end(), 0.0);
    for (const double share : {0.003, 0.01, 0.03}) {
      for (const bool among_all : {false, true}) {
        TaskTree divided(tasks);
        for (std::size_t t = 0; t < tasks.count(); ++t)
          if (tasks.work[t] >= share * all_work && is_single(tasks, t))
            divide(divided, t, rank[t], among_all ? all_ranks() : ranks_below(tasks, rank, t));
        if (!divided.helpers.empty()) better = take(divided, rank, max_parts) || better;
      }
    }
    return better;
  }
  std::vector<int> all_ranks() const {
    std::vector<int> all(static_cast<std::size_t>(m_ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  /// Assigns ranks from the roots down: a front's are dealt out to its children by the work of their subtrees
  /// (A. Pothen and C. Sun, SIAM J. Sci. Comput. 14, 1993). A task is on the first of its ranks; a subtree
  /// that is not split, on the least loaded.
  std::vector<int> assign_by_subtrees(const TaskTree& tasks) const {
    std::vector<std::vector<int>> ranks(tasks.count()), children(tasks.count());
    std::vector<int> rank(tasks.count(), 0);
    std::vector<double> load(static_cast<std::size_t>(m_ranks), 0);
    for (std::size_t t = tasks.count(); t-- > 0;) {
      if (tasks.parent[t] >= 0)
        at(children, tasks.parent[t]).push_back(static_cast<int>(t));
      else
        ranks[t] = all_ranks();
    }
    for (std::size_t t = tasks.count(); t-- > 0;) {
      rank[t] = ranks[t].front();
      if (tasks.whole[t])
        for (const int r : ranks[t])
          if (at(load, r) < at(load, rank[t])) rank[t] = r;
      at(load, rank[t]) += tasks.work[t];
      deal(tasks, children[t], ranks[t], ranks);
    }
    return rank;
  }
  /// Deals out ranks to the largest children; others may have all of them.
  void deal(const TaskTree& tasks, std::vector<int>& children, const std::vector<int>& own,
            std::vector<std::vector<int>>& ranks) const {
    const auto size = [&](int c) { return m_subtree[at(tasks.root, c)]; };
    std::ranges::stable_sort(children, std::greater<>{}, size);
    double rest = 0;
    for (const int c : children) rest += size(c);
    std::size_t begin = 0;
    for (const int c : children) {
      const double left = static_cast<double>(own.size() - begin);
      const auto count = static_cast<std::size_t>(std::lround(left * size(c) / rest));
      rest -= size(c);
      const std::size_t end = std::min(begin + count, own.size());
      if (begin == end)
        at(ranks, c) = own;
      else
        at(ranks, c).assign(own.begin() + static_cast<std::ptrdiff_t>(begin),
                            own.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
  }

  /// Assigns single fronts from the roots down: the largest child of a front to its parent's rank, others to
  /// the least loaded rank; then subtrees, the largest first, to the least loaded rank. The largest tree has
  /// its root on rank 0.
  /// @param count     the first ranks, which get tasks
  /// @param uncounted that many fronts on the way down from a root are no load, since nothing else is left to
  ///                  do then; 0: all single fronts are on rank 0
  std::vector<int> assign(const TaskTree& tasks, int count, int uncounted) const {
    std::vector<int> rank(tasks.count(), 0);
    std::vector<int> depth(rank);
    std::vector<double> load(static_cast<std::size_t>(count), 0);
    for (std::size_t t = tasks.count(); uncounted > 0 && t-- > 0;) {
      if (tasks.whole[t]) continue;
      const int parent = tasks.parent[t];
      depth[t] = parent < 0 ? 0 : at(depth, parent) + 1;
      rank[t] =
          is_largest(tasks, t) ? (parent < 0 ? 0 : at(rank, parent)) : least_loaded(tasks, t, rank, load);
      if (depth[t] >= uncounted) at(load, rank[t]) += tasks.work[t];
    }
    for (const std::size_t t : by_work(tasks)) {
      if (!tasks.whole[t]) continue;
      rank[t] = least_loaded(tasks, t, rank, load);
      at(load, rank[t]) += tasks.work[t];
    }
    return rank;
  }
  /// Whether a task is the root of the largest subtree below its parent, or of the largest tree.
  bool is_largest(const TaskTree& tasks, std::size_t t) const {
    const auto size = [&](std::size_t s) { return m_subtree[tasks.root[s]]; };
    for (std::size_t s = 0; s < tasks.count(); ++s) {
      if (s == t || tasks.parent[s] != tasks.parent[t]) continue;
      if (size(s) > size(t) || (size(s) == size(t) && s > t)) return false;
    }
    return true;
  }
  static int least_loaded(const TaskTree& tasks, std::size_t t, const std::vector<int>& rank,
                          const std::vector<double>& load) {
    const int near = tasks.parent[t] < 0 ? 0 : at(rank, tasks.parent[t]);
    const auto with = [&](std::size_t r) {
      return load[r] + (tasks.parent[t] >= 0 && static_cast<int>(r) != near ? tasks.passing[t] : 0.0);
    };
    std::size_t least = static_cast<std::size_t>(near) < load.size() ? static_cast<std::size_t>(near) : 0;
    for (std::size_t r = 0; r < load.size(); ++r)
      if (with(r) < with(least)) least = r;
    return static_cast<int>(least);
  }
  static std::vector<std::size_t> by_work(const TaskTree& tasks) {
    std::vector<std::size_t> order(tasks.count());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tasks.work[a] > tasks.work[b]; });
    return order;
  }

  /// Keeps a mapping if it is the best so far.
  bool take(const TaskTree& tasks, const std::vector<int>& rank, std::size_t most_parts) {
    const TaskSchedule schedule(tasks, m_ranks, m_costs.flops_per_part);
    std::vector<int> order;
    const double enough = (1 - least_gain) * m_best.time;
    if (schedule.run(rank, order) >= enough) return false;
    std::vector<TaskGroup> groups = schedule.group(rank, order);
    const double time = schedule.time_of(groups);
    std::vector<std::size_t> parts(static_cast<std::size_t>(m_ranks), 0);
    for (const TaskGroup& group : groups) ++at(parts, group.rank);
    if (time >= enough || *std::max_element(parts.begin(), parts.end()) > most_parts) return false;
    m_best = {tasks, rank, std::move(groups), time};
    return true;
  }

  /// Moves single tasks of the best mapping to other ranks as long as that helps.
  void improve() {
    int trials = 1000;  // bounds the time
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t t : by_work(m_best.tasks)) {
        if (m_best.tasks.work[t] + m_best.tasks.passing[t] < least_gain * m_best.time) continue;
        for (int r = 0; r < m_ranks && trials > 0; ++r) {
          std::vector<int> rank(m_best.rank);
          if (rank[t] == r) continue;
          rank[t] = r;
          --trials;
          TaskTree tasks(m_best.tasks);
          if (tasks.is_divided(t)) {  // the new rank's place among the helpers is the old one's
            auto& helpers = tasks.helpers[t];
            const auto found = std::ranges::find(helpers, r);
            if (found == helpers.end()) continue;
            *found = m_best.rank[t];
          }
          changed = take(tasks, rank, max_parts) || changed;
        }
      }
    }
  }

  /// Lets some ranks work on a single front, or its own alone.
  /// @param ranks in any order, with the front's own
  void divide(TaskTree& tasks, std::size_t t, int own, const std::vector<int>& ranks) const {
    if (ranks.size() < 2 && !tasks.is_divided(t)) return;
    tasks.helpers.resize(tasks.count());
    tasks.helpers[t].clear();
    for (const int r : ranks)
      if (r != own) tasks.helpers[t].push_back(r);
    const std::size_t f = tasks.root[t];
    tasks.work[t] =
        tasks.is_divided(t) ? divided_time(m_tree, f, tasks.ranks_of(t), m_costs).time : m_work[f];
  }

  /// Ranks of a task and of all tasks below it.
  std::vector<int> ranks_below(const TaskTree& tasks, const std::vector<int>& rank, std::size_t top) const {
    std::vector<bool> is_below(tasks.count(), false);
    std::vector<int> ranks;
    for (std::size_t t = top + 1; t-- > 0;) {
      const int parent = tasks.parent[t];
      is_below[t] = t == top || (parent >= 0 && at(is_below, parent));
      if (is_below[t] && std::ranges::find(ranks, rank[t]) == ranks.end()) ranks.push_back(rank[t]);
    }
    std::ranges::sort(ranks);
    return ranks;
  }
  bool is_single(const TaskTree& tasks, std::size_t t) const {
    return !tasks.whole[t] || m_children[tasks.root[t]].empty();
  }

  /// Divides single fronts of the best mapping otherwise as long as that helps, the largest first.
  void divide_fronts() {
    constexpr double least_share = 0.01;  // of the time: smaller fronts are not worth the search
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t t : by_work(m_best.tasks)) {
        if (m_best.tasks.work[t] < least_share * m_best.time) break;
        if (!is_single(m_best.tasks, t)) continue;
        const std::vector<int> rank(m_best.rank), own{rank[t]};
        for (const auto& ranks : {ranks_below(m_best.tasks, rank, t), all_ranks(), own}) {
          TaskTree tasks(m_best.tasks);
          divide(tasks, t, rank[t], ranks);
          changed = take(tasks, rank, max_parts) || changed;
        }
      }
      if (changed) improve();
    }
  }

  /// Exchanges the numbers of two ranks.
  void put_largest_root_on_rank_0() {
    int largest = -1;
    for (std::size_t t = 0; t < m_best.tasks.count(); ++t)
      if (m_best.tasks.parent[t] < 0 && is_largest(m_best.tasks, t)) largest = static_cast<int>(t);
    if (largest < 0) return;
    const int its = at(m_best.rank, largest);
    for (TaskGroup& group : m_best.groups) {
      if (group.rank == 0 || group.rank == its) group.rank = its - group.rank;
      for (int& helper : group.helpers)
        if (helper == 0 || helper == its) helper = its - helper;
      std::ranges::sort(group.helpers);
    }
  }

  FrontRanks result() const {
    FrontRanks ranks;
    ranks.entries.resize(static_cast<std::size_t>(m_ranks), 0);
    ranks.flops = ranks.entries;
    ranks.time = m_best.groups.empty() ? 0 : m_best.time;
    ranks.part.assign(m_tree.parent.size(), -1);
    if (!m_best.tasks.helpers.empty()) {
      ranks.helpers.resize(m_best.groups.size());
      ranks.block_columns.resize(m_best.groups.size(), 0);
    }
    for (std::size_t g = 0; g < m_best.groups.size(); ++g) {
      ranks.rank_of_part.push_back(m_best.groups[g].rank);
      if (const auto& helpers = m_best.groups[g].helpers; !helpers.empty()) {
        const auto root = at(m_best.tasks.root, m_best.groups[g].tasks.front());
        ranks.helpers[g] = helpers;
        ranks.block_columns[g] =
            divided_time(m_tree, root, static_cast<int>(helpers.size()) + 1, m_costs).width;
      }
      for (const int t : m_best.groups[g].tasks)
        at(ranks.part, at(m_best.tasks.root, t)) = static_cast<int>(g);
    }
    for (std::size_t f = ranks.part.size(); f-- > 0;) {
      if (ranks.part[f] < 0) ranks.part[f] = at(ranks.part, m_tree.parent[f]);
      const std::vector<int> members = ranks.members(ranks.part[f]);
      for (const int r : members)
        at(ranks.flops, r) += front_flops(m_tree, f) / static_cast<double>(members.size());
    }
    return ranks;
  }

  static constexpr std::size_t max_parts = 8;    ///< of a rank
  static constexpr std::size_t max_tasks = 128;  ///< of a cut: grouping them takes the cube of that
  static constexpr double least_gain = 0.005;    ///< share of the time; smaller ones are not worth the search

  const AssemblyTree& m_tree;
  int m_ranks;
  DivisionCosts m_costs;
  std::vector<double> m_work, m_subtree;             ///< [fronts] time of each front, and of its subtree
  std::vector<std::vector<std::size_t>> m_children;  ///< [fronts]
  std::vector<std::size_t> m_top;                    ///< fronts above the cut
  using Roots = std::priority_queue<std::pair<double, std::size_t>>;
  Roots m_cut;             ///< roots of subtrees, the largest first
  Roots m_roots;           ///< of whole trees
  bool m_divides = false;  ///< whether mappings are also tried with divided fronts
  Mapping m_best;
};

}  // namespace

std::optional<FrontRanks> divide_for_time(const AssemblyTree& tree, int ranks, const DivisionCosts& costs) {
  TimeDivider divider(tree, ranks, costs);
  if (divider.has_too_many_trees()) return std::nullopt;
  return divider.run();
}

}  // namespace lutra::Impl

namespace lutra {

FrontRanks make_parts(const AssemblyTree& tree, const std::vector<int>& rank, int ranks,
                      const DivisionCosts& costs, const std::vector<bool>& divided) {
  return Impl::TimeDivider(tree, ranks, costs).run_with(rank, divided);
}

}  // namespace lutra

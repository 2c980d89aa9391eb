// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTMAPPING_HPP
#define LUTRA_FRONTMAPPING_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_FrontRanks.hpp"

namespace lutra::Impl {

inline double pivots_of(const AssemblyTree& tree, std::size_t f) {
  return static_cast<double>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
}
inline double contribution_rows(const AssemblyTree& tree, std::size_t f) {
  return static_cast<double>(tree.row_begin[f + 1] - tree.row_begin[f]);
}
/// The sum of m + 2m² for m = order − 1, …, contribution rows.
double front_flops(const AssemblyTree& tree, std::size_t f);

/// What a front divided by columns among `ranks` ranks takes, without the contributions that it receives.
struct DividedTime {
  int width = 1;    ///< pivots of a block
  double time = 0;  ///< until the rank of the part has all columns
};
DividedTime divided_time(const AssemblyTree& tree, std::size_t f, int ranks, const DivisionCosts& costs);

/// Tasks are subtrees and single fronts; one rank runs a task, or several a single front. Children have
/// smaller numbers than their parents. Times are those of flops at full speed.
struct TaskTree {
  std::vector<std::size_t> root;  ///< the front of each task whose contribution it passes to its parent
  std::vector<int> parent;        ///< the task with the parent of that front, or −1
  std::vector<bool> whole;        ///< the task is the subtree, not only its root
  std::vector<double> work;       ///< time of the task's fronts
  std::vector<double> passing;    ///< time for which the parent's rank receives the contribution
  std::vector<std::vector<int>> helpers;  ///< other ranks that work on the task; no list if there are none

  std::size_t count() const { return root.size(); }
  bool is_divided(std::size_t t) const { return !helpers.empty() && !helpers[t].empty(); }
  int ranks_of(std::size_t t) const { return is_divided(t) ? static_cast<int>(helpers[t].size()) + 1 : 1; }
};

/// Tasks of one rank that are factorized together, or a task of several ranks.
struct TaskGroup {
  int rank = 0;
  std::vector<int> tasks;
  std::vector<int> helpers = {};
};

/// Simulates ranks that work on the tasks of a tree.
class TaskSchedule {
 public:
  TaskSchedule(const TaskTree& tree, int ranks, double flops_per_part)
      : m_tree(tree), m_ranks(static_cast<std::size_t>(ranks)), m_flops_per_part(flops_per_part) {}

  /// List scheduling: a rank that is free starts the ready task with the longest way to the root.
  /// @param rank  [tasks]
  /// @param order tasks in the order of their start
  /// @returns the time of all tasks, without what starting parts takes
  double run(const std::vector<int>& rank, std::vector<int>& order) const;

  /// The time of groups that start in their order, once what they need has arrived.
  double time_of(const std::vector<TaskGroup>& groups) const;

  /// Groups tasks: unites successive ones of a rank as long as the time hardly grows.
  /// @param order tasks in an order of start
  std::vector<TaskGroup> group(const std::vector<int>& rank, const std::vector<int>& order) const;

 private:
  double passing_to(int parent, int t, bool other_rank) const;
  std::vector<int> groups_of_tasks(const std::vector<TaskGroup>& groups) const;
  bool unite(std::vector<TaskGroup>& groups, std::size_t first, std::size_t second) const;

  const TaskTree& m_tree;
  std::size_t m_ranks;
  double m_flops_per_part;
};

/// The division of a tree among ranks for time, see `distribute_fronts`; nothing if there are too many trees.
std::optional<FrontRanks> divide_for_time(const AssemblyTree& tree, int ranks, const DivisionCosts& costs);

}  // namespace lutra::Impl

#endif

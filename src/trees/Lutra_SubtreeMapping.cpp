// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SubtreeMapping.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "Lutra_Index.hpp"
#include "Lutra_TreeSums.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Root of the subtree below the cut that contains each vertex; −1 above the cut.
std::vector<Ordinal> cut_subtrees(const std::vector<Ordinal>& parent, const std::vector<double>& subtree_work,
                                  double max_work) {
  std::vector<Ordinal> root(parent.size());
  for (std::size_t v = parent.size(); v-- > 0;) {
    const bool parent_is_below = parent[v] >= 0 && at(root, parent[v]) >= 0;
    root[v] = parent_is_below               ? at(root, parent[v])
              : subtree_work[v] <= max_work ? static_cast<Ordinal>(v)
                                            : Ordinal(-1);
  }
  return root;
}

/// Tasks of adjacent subtrees.
struct TaskList {
  std::vector<Ordinal> task;  ///< [n] task of each vertex that is the root of a subtree below the cut
  std::vector<double> work;   ///< [tasks]
};

TaskList group_subtrees(const std::vector<Ordinal>& root, const std::vector<double>& subtree_work,
                        double min_work) {
  TaskList list;
  list.task.resize(root.size());
  for (std::size_t v = 0; v < root.size(); ++v) {
    if (root[v] != static_cast<Ordinal>(v)) continue;
    if (list.work.empty() || list.work.back() >= min_work) list.work.push_back(0);
    list.work.back() += subtree_work[v];
    list.task[v] = static_cast<Ordinal>(list.work.size()) - 1;
  }
  return list;
}

/// Rank of each task by descending work; ties keep their order.
std::vector<Ordinal> rank_by_work(const std::vector<double>& work) {
  std::vector<Ordinal> sorted(work.size());
  std::iota(sorted.begin(), sorted.end(), Ordinal(0));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](Ordinal a, Ordinal b) { return at(work, a) > at(work, b); });
  return Impl::inverse_of(sorted);
}

}  // namespace

SubtreeMapping map_subtrees(const std::vector<Ordinal>& parent, const std::vector<double>& work, int threads,
                            const SubtreeMappingOptions& options) {
  const double mean = std::accumulate(work.begin(), work.end(), 0.0) / threads;
  const auto subtree_work = Impl::subtree_sums(parent, work);
  const auto root = cut_subtrees(parent, subtree_work, options.max_subtree * mean);
  const auto list = group_subtrees(root, subtree_work, options.min_task * mean);
  const auto rank = rank_by_work(list.work);
  const auto tasks = static_cast<Ordinal>(list.work.size());
  const auto task_of = [&](std::size_t v) { return root[v] < 0 ? tasks : at(rank, at(list.task, root[v])); };
  SubtreeMapping mapping;
  mapping.task_begin.assign(list.work.size() + 2, 0);
  for (std::size_t v = 0; v < root.size(); ++v) ++at(mapping.task_begin, task_of(v) + 1);
  std::partial_sum(mapping.task_begin.begin(), mapping.task_begin.end(), mapping.task_begin.begin());
  auto next = mapping.task_begin;
  mapping.order.resize(root.size());
  for (std::size_t v = 0; v < root.size(); ++v)
    at(mapping.order, at(next, task_of(v))++) = static_cast<Ordinal>(v);
  mapping.task_begin.pop_back();  // vertices after the last task are above the cut
  return mapping;
}

}  // namespace lutra

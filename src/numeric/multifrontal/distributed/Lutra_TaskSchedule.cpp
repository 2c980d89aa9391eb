// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_FrontMapping.hpp"

namespace lutra::Impl {

/// The time for which a rank of the parent receives the contribution of a task. Ranks that divide the parent
/// take their columns, nearly all of them from other ranks.
double TaskSchedule::passing_to(int parent, int t, bool other_rank) const {
  const int ranks = m_tree.ranks_of(static_cast<std::size_t>(parent));
  return ranks > 1 ? at(m_tree.passing, t) / ranks : other_rank ? at(m_tree.passing, t) : 0;
}

double TaskSchedule::run(const std::vector<int>& rank, std::vector<int>& order) const {
  const std::size_t n = m_tree.count();
  std::vector<double> duration(m_tree.work), level(n), ready_at(n, 0), free(m_ranks, 0);
  std::vector<int> missing(n, 0), ready;
  for (std::size_t t = n; t-- > 0;) {
    const int parent = m_tree.parent[t];
    level[t] = m_tree.work[t] + (parent < 0 ? 0 : at(level, parent));
    if (parent < 0) continue;
    ++at(missing, parent);
    at(duration, parent) += passing_to(parent, static_cast<int>(t), rank[t] != at(rank, parent));
  }
  for (std::size_t t = 0; t < n; ++t)
    if (missing[t] == 0) ready.push_back(static_cast<int>(t));
  const auto for_each_rank = [&](int t, const auto& visit) {
    visit(at(free, at(rank, t)));
    if (m_tree.is_divided(static_cast<std::size_t>(t)))
      for (const int r : at(m_tree.helpers, t)) visit(at(free, r));
  };
  const auto start = [&](int t) {
    double begin = at(ready_at, t);
    for_each_rank(t, [&](double is_free) { begin = std::max(begin, is_free); });
    return begin;
  };
  const auto is_before = [&](int s, int t) {
    if (start(s) != start(t)) return start(s) < start(t);
    return at(level, s) != at(level, t) ? at(level, s) > at(level, t) : s < t;
  };
  double all = 0;
  order.clear();
  while (!ready.empty()) {
    const auto next = std::min_element(ready.begin(), ready.end(), is_before);
    const int t = *next;
    ready.erase(next);
    order.push_back(t);
    const double end = start(t) + at(duration, t);
    for_each_rank(t, [&](double& is_free) { is_free = end; });
    all = std::max(all, end);
    const int parent = at(m_tree.parent, t);
    if (parent < 0) continue;
    at(ready_at, parent) = std::max(at(ready_at, parent), end);
    if (--at(missing, parent) == 0) ready.push_back(parent);
  }
  return all;
}

std::vector<int> TaskSchedule::groups_of_tasks(const std::vector<TaskGroup>& groups) const {
  std::vector<int> group(m_tree.count());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int t : groups[g].tasks) at(group, t) = static_cast<int>(g);
  return group;
}

double TaskSchedule::time_of(const std::vector<TaskGroup>& groups) const {
  const std::vector<int> group = groups_of_tasks(groups);
  std::vector<double> duration(groups.size(), m_flops_per_part), ready_at(groups.size(), 0), free(m_ranks, 0);
  for (std::size_t t = 0; t < m_tree.count(); ++t) {
    at(duration, group[t]) += m_tree.work[t];
    const int parent = m_tree.parent[t];
    if (parent >= 0 && group[t] != at(group, parent))
      at(duration, at(group, parent)) += passing_to(
          parent, static_cast<int>(t), at(groups, group[t]).rank != at(groups, at(group, parent)).rank);
  }
  double all = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double& of_rank = at(free, groups[g].rank);
    for (const int r : groups[g].helpers) of_rank = std::max(of_rank, at(free, r));
    of_rank = std::max(of_rank, ready_at[g]) + duration[g];
    for (const int r : groups[g].helpers) at(free, r) = of_rank;
    all = std::max(all, of_rank);
    for (const int t : groups[g].tasks)
      if (at(m_tree.parent, t) >= 0) {
        double& ready = at(ready_at, at(group, at(m_tree.parent, t)));
        ready = std::max(ready, of_rank);
      }
  }
  return all;
}

/// Unites two groups of a rank without another between them, in the place of the second if no group between
/// them needs the first, or in that of the first if the second needs none between them.
bool TaskSchedule::unite(std::vector<TaskGroup>& groups, std::size_t first, std::size_t second) const {
  if (!groups[first].helpers.empty() || !groups[second].helpers.empty()) return false;
  const std::vector<int> group = groups_of_tasks(groups);
  const auto is_between = [&](int g) { return g > static_cast<int>(first) && g < static_cast<int>(second); };
  bool is_needed = false, needs = false;
  for (std::size_t t = 0; t < m_tree.count(); ++t) {
    if (m_tree.parent[t] < 0) continue;
    const int above = at(group, m_tree.parent[t]);
    is_needed = is_needed || (group[t] == static_cast<int>(first) && is_between(above));
    needs = needs || (above == static_cast<int>(second) && is_between(group[t]));
  }
  if (is_needed && needs) return false;
  const std::size_t place = is_needed ? first : second, other = is_needed ? second : first;
  groups[place].tasks.insert(groups[place].tasks.end(), groups[other].tasks.begin(),
                             groups[other].tasks.end());
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(other));
  return true;
}

std::vector<TaskGroup> TaskSchedule::group(const std::vector<int>& rank,
                                           const std::vector<int>& order) const {
  std::vector<TaskGroup> groups;
  for (const int t : order) {
    groups.push_back({at(rank, t), {t}});
    if (m_tree.is_divided(static_cast<std::size_t>(t))) groups.back().helpers = at(m_tree.helpers, t);
  }
  const double most = 1.01 * time_of(groups);  // fewer parts are worth a little
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t first = 0; first < groups.size();) {
      const auto begin = groups.begin() + static_cast<std::ptrdiff_t>(first);
      const auto second = std::find_if(begin + 1, groups.end(),
                                       [&](const TaskGroup& g) { return g.rank == groups[first].rank; });
      std::vector<TaskGroup> united;
      if (second != groups.end()) {
        united = groups;
        if (!unite(united, first, static_cast<std::size_t>(second - groups.begin()))) united.clear();
      }
      const double now = united.empty() ? 0 : time_of(united);
      if (united.empty() || now > most) {
        ++first;
        continue;
      }
      groups = std::move(united);  // where `first` may be united with more
      changed = true;
    }
  }
  return groups;
}

}  // namespace lutra::Impl

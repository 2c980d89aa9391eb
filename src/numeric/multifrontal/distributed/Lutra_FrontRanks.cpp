// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontRanks.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Divides a tree among ranks, step by step.
class FrontDistributor {
 public:
  FrontDistributor(const AssemblyTree& tree, int ranks, DivisionGoal goal, double flops_per_entry)
      : m_tree(tree),
        m_for_time(goal == DivisionGoal::time),
        m_flops_per_entry(flops_per_entry),
        m_ranks(static_cast<std::size_t>(ranks)),
        m_panels(tree.parent.size(), 0),
        m_arena(m_panels),
        m_gap(m_panels),
        m_flops(m_panels),
        m_children(tree.parent.size()) {
    for (std::size_t f = 0; f < m_panels.size(); ++f) {
      add_front(f);
      if (tree.parent[f] < 0) m_cut.push({weight(f), f});
    }
  }

  FrontRanks run() {
    // Bounds the time, since each split deals out all subtrees anew.
    constexpr std::size_t splits_a_rank = 64;
    FrontRanks best = deal(m_ranks);
    for (std::size_t split = 0; m_ranks > 1 && split < splits_a_rank * m_ranks && !m_cut.empty(); ++split) {
      const std::size_t f = m_cut.top().second;
      if (m_children[f].empty()) break;  // the largest subtree is a single front
      m_cut.pop();
      m_top.push_back(f);
      for (const std::size_t c : m_children[f]) m_cut.push({weight(c), c});
      // for time also to fewer ranks, whose contributions take less time to pass
      for (std::size_t ranks = m_ranks; ranks > 1; ranks = m_for_time ? ranks / 2 : 1) {
        FrontRanks other = deal(ranks);
        if (cost(other) < cost(best)) best = std::move(other);
      }
    }
    for (std::size_t f = best.rank.size(); f-- > 0;) {  // descendants of a subtree's root
      if (best.rank[f] == unknown) best.rank[f] = at(best.rank, m_tree.parent[f]);
    }
    return best;
  }

 private:
  static constexpr int unknown = -2;

  double pivots(std::size_t f) const {
    return static_cast<double>(m_tree.pivot_begin[f + 1] - m_tree.pivot_begin[f]);
  }
  double panel_entries(std::size_t f) const { return pivots(f) * (pivots(f) + 2 * contribution_rows(f)); }
  double block_entries(std::size_t f) const { return contribution_rows(f) * contribution_rows(f); }
  double contribution_rows(std::size_t f) const {
    return static_cast<double>(m_tree.row_begin[f + 1] - m_tree.row_begin[f]);
  }
  /// The sum of m + 2m² for m = f − 1, …, contribution rows.
  double front_flops(std::size_t f) const {
    const auto up_to = [](double m) { return m * (m + 1) / 2 + m * (m + 1) * (2 * m + 1) / 3; };
    const double rest = contribution_rows(f);
    return up_to(rest + pivots(f) - 1) - up_to(rest - 1);
  }
  /// Adds a front to its subtree: its panels, and an arena for the children's contributions and for its own
  /// block, unless that fits into the gaps between theirs.
  void add_front(std::size_t f) {
    m_panels[f] += panel_entries(f);
    m_flops[f] += front_flops(f);
    if (block_entries(f) > m_gap[f]) m_arena[f] += block_entries(f);
    if (m_tree.parent[f] < 0) return;
    const Ordinal parent = m_tree.parent[f];
    at(m_panels, parent) += m_panels[f];
    at(m_flops, parent) += m_flops[f];
    at(m_arena, parent) += m_arena[f];
    at(m_gap, parent) = std::max(at(m_gap, parent), m_arena[f] - block_entries(f));
    at(m_children, parent).push_back(f);
  }
  double subtree_entries(std::size_t f) const { return m_panels[f] + m_arena[f]; }
  /// What is balanced, of a subtree.
  double weight(std::size_t f) const { return m_for_time ? m_flops[f] : subtree_entries(f); }
  double cost(const FrontRanks& ranks) const {
    const auto& loads = m_for_time ? ranks.flops : ranks.entries;
    return *std::max_element(loads.begin(), loads.end()) + (m_for_time ? ranks.top_flops : 0.0);
  }

  /// Entries of the top, counted as in `add_front`, with the subtrees' blocks in its leaves.
  double top_entries(const std::vector<std::size_t>& roots) const {
    std::vector<double> arena(m_panels.size(), 0), gap(arena);
    for (const std::size_t f : roots) {
      if (m_tree.parent[f] >= 0) at(arena, m_tree.parent[f]) += block_entries(f);
    }
    std::vector<std::size_t> top(m_top);
    std::sort(top.begin(), top.end());
    double entries = 0;
    for (const std::size_t f : top) {
      if (block_entries(f) > gap[f]) arena[f] += block_entries(f);
      entries += panel_entries(f);
      if (m_tree.parent[f] < 0) {
        entries += arena[f];
        continue;
      }
      at(arena, m_tree.parent[f]) += arena[f];
      at(gap, m_tree.parent[f]) = std::max(at(gap, m_tree.parent[f]), arena[f] - block_entries(f));
    }
    return entries;
  }

  /// @param count the first ranks, which get subtrees
  FrontRanks deal(std::size_t count) const {
    FrontRanks ranks{std::vector<int>(m_panels.size(), unknown), std::vector<double>(m_ranks, 0),
                     std::vector<double>(m_ranks, 0), 0.0};
    for (const std::size_t f : m_top) {
      ranks.rank[f] = FrontRanks::top;
      ranks.top_flops += front_flops(f);
    }
    std::vector<std::size_t> roots;  // the largest subtree first
    for (auto rest = m_cut; !rest.empty(); rest.pop()) roots.push_back(rest.top().second);
    ranks.entries[0] = top_entries(roots);
    const auto& loads = m_for_time ? ranks.flops : ranks.entries;
    for (const std::size_t f : roots) {
      const auto least = static_cast<std::size_t>(
          std::min_element(loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(count)) -
          loads.begin());
      ranks.rank[f] = static_cast<int>(least);
      ranks.entries[least] += subtree_entries(f);
      ranks.flops[least] += m_flops[f];
      if (least > 0 && m_tree.parent[f] >= 0) ranks.top_flops += m_flops_per_entry * block_entries(f);
    }
    return ranks;
  }

  const AssemblyTree& m_tree;
  bool m_for_time;
  double m_flops_per_entry;
  std::size_t m_ranks;
  std::vector<double> m_panels;  ///< [fronts] panel entries of each subtree
  std::vector<double> m_arena;   ///< [fronts] contribution entries of each subtree
  std::vector<double> m_gap;  ///< [fronts] largest part of a child's arena not used by the child's own block
  std::vector<double> m_flops;                       ///< [fronts] of each subtree
  std::vector<std::vector<std::size_t>> m_children;  ///< [fronts]
  std::vector<std::size_t> m_top;
  std::priority_queue<std::pair<double, std::size_t>> m_cut;  ///< roots of subtrees, the largest first
};

}  // namespace

FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks, DivisionGoal goal, double flops_per_entry) {
  return FrontDistributor(tree, ranks, goal, flops_per_entry).run();
}

}  // namespace lutra

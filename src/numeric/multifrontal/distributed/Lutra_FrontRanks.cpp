// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontRanks.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_FrontMapping.hpp"
#include "Lutra_Index.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Divides a tree for memory, step by step.
class MemoryDivider {
 public:
  MemoryDivider(const AssemblyTree& tree, int ranks)
      : m_tree(tree),
        m_ranks(static_cast<std::size_t>(ranks)),
        m_panels(tree.parent.size(), 0),
        m_arena(m_panels),
        m_gap(m_panels),
        m_children(tree.parent.size()) {
    for (std::size_t f = 0; f < m_panels.size(); ++f) {
      add_front(f);
      if (tree.parent[f] < 0) m_cut.push({subtree_entries(f), f});
    }
  }

  FrontRanks run() {
    // Bounds the time, since each split deals out all subtrees anew.
    constexpr std::size_t splits_a_rank = 64;
    Division best = deal();
    for (std::size_t split = 0; m_ranks > 1 && split < splits_a_rank * m_ranks && !m_cut.empty(); ++split) {
      const std::size_t f = m_cut.top().second;
      if (m_children[f].empty()) break;  // the largest subtree is a single front
      m_cut.pop();
      m_top.push_back(f);
      for (const std::size_t c : m_children[f]) m_cut.push({subtree_entries(c), c});
      Division other = deal();
      if (most(other) < most(best)) best = std::move(other);
    }
    for (std::size_t f = best.rank.size(); f-- > 0;) {  // descendants of a subtree's root
      if (best.rank[f] == unknown) best.rank[f] = at(best.rank, m_tree.parent[f]);
    }
    return parts_of(best);
  }

 private:
  static constexpr int unknown = -2, top = -1;
  struct Division {
    std::vector<int> rank;        ///< [fronts] or `top`
    std::vector<double> entries;  ///< [ranks]
  };
  static double most(const Division& of) { return *std::max_element(of.entries.begin(), of.entries.end()); }

  /// The subtrees of each rank, then the top.
  FrontRanks parts_of(const Division& division) const {
    FrontRanks ranks;
    ranks.part.resize(division.rank.size());
    ranks.entries = division.entries;
    ranks.flops.resize(m_ranks, 0);
    for (int r = 0; r <= static_cast<int>(m_ranks); ++r) {
      const int which = r < static_cast<int>(m_ranks) ? r : top;
      if (std::find(division.rank.begin(), division.rank.end(), which) == division.rank.end()) continue;
      for (std::size_t f = 0; f < division.rank.size(); ++f)
        if (division.rank[f] == which) ranks.part[f] = ranks.n_parts();
      ranks.rank_of_part.push_back(which == top ? 0 : which);
    }
    for (std::size_t f = 0; f < ranks.part.size(); ++f)
      at(ranks.flops, ranks.rank(f)) += Impl::front_flops(m_tree, f);
    return ranks;
  }

  double contribution_rows(std::size_t f) const { return Impl::contribution_rows(m_tree, f); }
  double panel_entries(std::size_t f) const {
    const double pivots = Impl::pivots_of(m_tree, f);
    return pivots * (pivots + 2 * contribution_rows(f));
  }
  double block_entries(std::size_t f) const { return contribution_rows(f) * contribution_rows(f); }
  /// Adds a front to its subtree: its panels, and an arena for the children's contributions and for its own
  /// block, unless that fits into the gaps between theirs.
  void add_front(std::size_t f) {
    m_panels[f] += panel_entries(f);
    if (block_entries(f) > m_gap[f]) m_arena[f] += block_entries(f);
    if (m_tree.parent[f] < 0) return;
    const Ordinal parent = m_tree.parent[f];
    at(m_panels, parent) += m_panels[f];
    at(m_arena, parent) += m_arena[f];
    at(m_gap, parent) = std::max(at(m_gap, parent), m_arena[f] - block_entries(f));
    at(m_children, parent).push_back(f);
  }
  double subtree_entries(std::size_t f) const { return m_panels[f] + m_arena[f]; }
  /// Entries of the top, counted as in `add_front`, with the subtrees' blocks in its leaves.
  double top_entries(const std::vector<std::size_t>& roots) const {
    std::vector<double> arena(m_panels.size(), 0), gap(arena);
    for (const std::size_t f : roots) {
      if (m_tree.parent[f] >= 0) at(arena, m_tree.parent[f]) += block_entries(f);
    }
    std::vector<std::size_t> above(m_top);
    std::sort(above.begin(), above.end());
    double entries = 0;
    for (const std::size_t f : above) {
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

  Division deal() const {
    Division division{std::vector<int>(m_panels.size(), unknown), std::vector<double>(m_ranks, 0)};
    for (const std::size_t f : m_top) division.rank[f] = top;
    std::vector<std::size_t> roots;  // the largest subtree first
    for (auto rest = m_cut; !rest.empty(); rest.pop()) roots.push_back(rest.top().second);
    division.entries[0] = top_entries(roots);
    for (const std::size_t f : roots) {
      const auto least = std::min_element(division.entries.begin(), division.entries.end());
      division.rank[f] = static_cast<int>(least - division.entries.begin());
      *least += subtree_entries(f);
    }
    return division;
  }

  const AssemblyTree& m_tree;
  std::size_t m_ranks;
  std::vector<double> m_panels;  ///< [fronts] panel entries of each subtree
  std::vector<double> m_arena;   ///< [fronts] contribution entries of each subtree
  std::vector<double> m_gap;  ///< [fronts] largest part of a child's arena not used by the child's own block
  std::vector<std::vector<std::size_t>> m_children;  ///< [fronts]
  std::vector<std::size_t> m_top;
  std::priority_queue<std::pair<double, std::size_t>> m_cut;  ///< roots of subtrees, the largest first
};

}  // namespace

FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks, DivisionGoal goal,
                             const DivisionCosts& costs) {
  if (goal == DivisionGoal::time)
    if (auto divided = Impl::divide_for_time(tree, ranks, costs)) return std::move(*divided);
  return MemoryDivider(tree, ranks).run();
}

}  // namespace lutra

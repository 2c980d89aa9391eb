// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PartBoundaries.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_At.hpp"

namespace lutra::Impl {

int PartOutline::local(int row) const {
  const auto others = position.begin() + n_pivots;
  const auto in_pivots = std::lower_bound(position.begin(), others, row);
  if (in_pivots != others && *in_pivots == row) return static_cast<int>(in_pivots - position.begin());
  return static_cast<int>(std::lower_bound(others, position.end(), row) - position.begin());
}

namespace {

PartEdge& find_or_add(std::vector<PartEdge>& edges, int part, int rank) {
  const auto found = std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.part == part; });
  if (found != edges.end()) return *found;
  edges.push_back({part, rank, {}, {}, {}, {}});
  return edges.back();
}

void sort_by_part(std::vector<PartEdge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.part < b.part; });
}

/// The ranks that work on a part's front, which is the last one of the part.
PartMembers members_of(const AssemblyTree& tree, const FrontRanks& ranks, int part) {
  if (ranks.helpers.empty() || at(ranks.helpers, part).empty()) return {};
  PartMembers members{ranks.members(part), {}};
  const auto front = static_cast<int>(std::ranges::find(ranks.part, part) - ranks.part.begin());
  DividedColumns& columns = members.columns;
  columns.pivots = at(tree.pivot_begin, front + 1) - at(tree.pivot_begin, front);
  columns.cb_rows = static_cast<int>(at(tree.row_begin, front + 1) - at(tree.row_begin, front));
  columns.ranks = static_cast<int>(members.ranks.size());
  columns.width = at(ranks.block_columns, part);
  return members;
}

/// Appends the columns of a front's contribution in its parent.
void add_columns(const AssemblyTree& tree, int f, std::vector<int>& columns) {
  const int parent = at(tree.parent, f), first = at(tree.pivot_begin, parent);
  const int pivots = at(tree.pivot_begin, parent + 1) - first;
  const auto rows = tree.rows.begin() + at(tree.row_begin, parent);
  const auto rows_end = tree.rows.begin() + at(tree.row_begin, parent + 1);
  for (auto r = at(tree.row_begin, f); r < at(tree.row_begin, f + 1); ++r) {
    const int row = at(tree.rows, r);
    columns.push_back(row < first + pivots
                          ? row - first
                          : pivots + static_cast<int>(std::lower_bound(rows, rows_end, row) - rows));
  }
}

}  // namespace

std::vector<PartBoundary> find_boundaries(const AssemblyTree& tree, const FrontRanks& ranks,
                                          const std::vector<PartOutline>& outlines) {
  const auto n_parts = outlines.size();
  std::vector<PartBoundary> boundaries(n_parts);
  std::vector<std::size_t> roots(n_parts, 0), leaves(roots);  // those visited
  std::vector<std::vector<bool>> has(n_parts);                // which rows of other parts have their edge
  for (std::size_t p = 0; p < n_parts; ++p) {
    boundaries[p].number = static_cast<int>(p);
    boundaries[p].members = members_of(tree, ranks, static_cast<int>(p));
    has[p].resize(outlines[p].position.size(), false);
  }
  for (int f = 0; f < tree.count(); ++f) {
    if (at(tree.parent, f) < 0) continue;
    const int low = at(ranks.part, f), high = at(ranks.part, at(tree.parent, f));
    if (low == high) continue;
    PartEdge& above = find_or_add(at(boundaries, low).above, high, at(ranks.rank_of_part, high));
    PartEdge& below = find_or_add(at(boundaries, high).below, low, at(ranks.rank_of_part, low));
    above.fronts.push_back(at(outlines, low).open_roots[at(roots, low)++]);
    below.fronts.push_back(at(outlines, high).foreign_leaves[at(leaves, high)++]);
    if (const PartMembers& members = at(boundaries, high).members; members.are_several()) {
      add_columns(tree, f, above.columns);
      below.columns = above.columns;
      above.members = below.members = members;
    }
    for (auto r = at(tree.row_begin, f); r < at(tree.row_begin, f + 1); ++r) {
      const int local = at(outlines, low).local(at(tree.rows, r));
      if (at(at(has, low), local)) continue;
      at(at(has, low), local) = true;
      above.solutions.push_back(local);
      below.solutions.push_back(at(outlines, high).local(at(tree.rows, r)));
    }
  }
  for (PartBoundary& boundary : boundaries) {
    sort_by_part(boundary.below);
    sort_by_part(boundary.above);
  }
  return boundaries;
}

PartBoundary for_helpers(const PartBoundary& boundary) {
  PartBoundary result(boundary);
  result.above.clear();
  for (PartEdge& edge : result.below) edge.solutions.clear();
  return result;
}

PartArrivals::PartArrivals(const std::vector<PartBoundary>& boundaries, int rank, int ranks, bool upward,
                           bool members)
    : m_from(static_cast<std::size_t>(ranks)) {
  for (std::size_t p = 0; p < boundaries.size(); ++p) {
    const auto& edges = upward ? boundaries[p].below : boundaries[p].above;
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (edges[e].rank != rank) at(m_from, edges[e].rank).push_back({p, e, edges[e].part});
    const auto& working = boundaries[p].members.ranks;
    for (std::size_t m = 1; members && m < working.size() && working.front() == rank; ++m)
      at(m_from, working[m]).push_back({p, Arrival::columns, boundaries[p].number});
  }
  for (auto& arrivals : m_from)
    std::sort(arrivals.begin(), arrivals.end(), [&](const Arrival& a, const Arrival& b) {
      const std::pair of_a(a.sender, a.part), of_b(b.sender, b.part);
      return upward ? of_a < of_b : of_b < of_a;
    });
  reset();
}

std::size_t index_of_part(const std::vector<PartBoundary>& boundaries, int number) {
  const auto found = std::find_if(boundaries.begin(), boundaries.end(),
                                  [&](const PartBoundary& of) { return of.number == number; });
  return static_cast<std::size_t>(found - boundaries.begin());
}
const PartEdge& edge_to(const std::vector<PartEdge>& edges, int part) {
  return *std::find_if(edges.begin(), edges.end(), [&](const PartEdge& edge) { return edge.part == part; });
}

}  // namespace lutra::Impl

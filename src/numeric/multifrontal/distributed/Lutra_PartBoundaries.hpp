// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARTBOUNDARIES_HPP
#define LUTRA_PARTBOUNDARIES_HPP

#include <algorithm>
#include <cstddef>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_DividedColumns.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_FrontRanks.hpp"

namespace lutra {

/// Ranks that factorize the only front of a part together; no ranks if the part's rank does so alone.
struct PartMembers {
  std::vector<int> ranks;  ///< that of the part first; their indices are those of `columns`
  DividedColumns columns;

  bool are_several() const { return !ranks.empty(); }
  /// The index of a rank.
  int index_of(int rank) const { return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin()); }
  FrontShare share_of(int rank) const { return {columns, index_of(rank)}; }
};

/// What passes between two parts, in the numbering of one of them. The lists of both parts correspond.
struct PartEdge {
  int part = -1;               ///< the other part
  int rank = -1;               ///< its rank
  std::vector<int> fronts;     ///< upward, contributions: of the lower part's roots, which are leaves of the
                               ///< upper part, ascending
  std::vector<int> solutions;  ///< downward: rows of the lower part's fronts that other parts eliminate; each
                               ///< belongs to one edge of the lower part. The upper part may itself read them
  PartMembers members;         ///< of the upper part; each gets its columns of the contributions
  std::vector<int> columns;    ///< with members: columns of the upper part's front of all rows of `fronts`
};

/// A part's neighbours, ascending.
struct PartBoundary {
  int number = -1;              ///< of the part
  std::vector<PartEdge> below;  ///< parts whose contributions it assembles
  std::vector<PartEdge> above;  ///< parts that assemble its contributions
  PartMembers members;          ///< other ranks than the first have no edges above, and no solves
};

namespace Impl {

/// What the boundaries of a part depend on.
struct PartOutline {
  std::vector<int> position;  ///< as in the part's plan
  int n_pivots = 0;
  std::vector<int> open_roots, foreign_leaves;

  explicit PartOutline(const FrontPartPlan& plan)
      : position(plan.position),
        n_pivots(plan.n_pivots()),
        open_roots(plan.open_roots()),
        foreign_leaves(plan.foreign_leaves()) {}
  /// The part's number of a row of F that it has.
  int local(int row) const;
};

/// @param outlines [parts]
/// @returns those of the parts' ranks
std::vector<PartBoundary> find_boundaries(const AssemblyTree& tree, const FrontRanks& ranks,
                                          const std::vector<PartOutline>& outlines);

/// The boundary of a part for its other members.
PartBoundary for_helpers(const PartBoundary& boundary);

/// As numbers, for messages.
std::vector<int> packed(const PartBoundary& boundary);
/// @throws DamagedMessage
PartBoundary unpacked(const std::vector<int>& message);

/// The messages that a rank's parts receive from other ranks, in the order in which each rank sends them. A
/// rank sends the messages of one part together, after it has worked on it; upward by ascending, downward by
/// descending numbers of its parts, and those of one part by the numbers of the parts they are for. A message
/// for a later part may therefore arrive before one for the current part. No rank waits for a message that
/// waits for this rank: a part receives messages only of parts before it in the common order of all parts.
/// Of a part with several members the others send what they have computed to the first one, after they have
/// worked on it.
class PartArrivals {
 public:
  PartArrivals() = default;
  /// @param boundaries of the rank's parts, ascending
  /// @param members    whether columns arrive from other members of parts
  PartArrivals(const std::vector<PartBoundary>& boundaries, int rank, int ranks, bool upward,
               bool members = false);

  /// An edge of one of the rank's parts, or columns of its front.
  struct Arrival {
    static constexpr std::size_t columns = static_cast<std::size_t>(-1);
    std::size_t part = 0, edge = columns;
    int sender = -1;  ///< the other part
    bool are_columns() const { return edge == columns; }
  };

  /// Starts again.
  void reset() { m_next.assign(m_from.size(), 0); }
  /// Calls receive(rank, arrival) for the messages that a part needs, and those that are sent before them.
  /// @param columns of its front from other members, once the rank has worked on the part; otherwise before
  template <class Receive>
  void take(std::size_t part, const Receive& receive, bool columns = false) {
    for (std::size_t r = 0; r < m_from.size(); ++r) {
      std::size_t end = m_next[r];
      for (std::size_t k = m_next[r]; k < m_from[r].size(); ++k)
        if (m_from[r][k].part == part && m_from[r][k].are_columns() == columns) end = k + 1;
      for (; m_next[r] < end; ++m_next[r]) receive(static_cast<int>(r), m_from[r][m_next[r]]);
    }
  }

 private:
  std::vector<std::vector<Arrival>> m_from;  ///< [ranks]
  std::vector<std::size_t> m_next;           ///< [ranks] the next one
};

/// The index of a part among the boundaries of its rank.
std::size_t index_of_part(const std::vector<PartBoundary>& boundaries, int number);
/// The edge to a part.
const PartEdge& edge_to(const std::vector<PartEdge>& edges, int part);

}  // namespace Impl
}  // namespace lutra

#endif

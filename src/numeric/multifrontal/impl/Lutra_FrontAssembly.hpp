// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTASSEMBLY_HPP
#define LUTRA_FRONTASSEMBLY_HPP

#include "Lutra_BinarySearch.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// One column of a front being assembled: row r of a pivot is top[r · stride], any other row is bottom[r].
/// Rows have the positions of relative indices.
template <class Scalar>
struct FrontColumn {
  Scalar* top;
  std::int64_t stride;
  Scalar* bottom;
};

/// Assembly of fronts by teams (Lutra_FrontTeams.hpp), the same for LU and LDLᵀ. `Panel` is the storage of a
/// front:
///
///   for_each_block(visit)   visit(entries, columns, column length) for its dense blocks
///   set(position, value)    stores an entry of F, unless the panel keeps only the other triangle
///   pivots                  own pivots, without delayed ones
///   first_row(b)            first row that it takes of column b of a child: 0, or b if it is symmetric
///   column(c)               FrontColumn of position c
///
/// Sums follow the order of the children, so that they do not depend on the threads.
template <class Scalar>
struct FrontAssembly {
  PackedPositions entry_position;
  const Scalar* entries;        ///< of the scaled matrix, front by front
  const int* relative;          ///< indices of all fronts
  const Scalar* contributions;  ///< of all fronts

  template <class Team, class Panel>
  KOKKOS_FUNCTION void clear(const Team& team, const Panel& panel) const {
    panel.for_each_block([&](Scalar* block, int columns, int length) {
      team.columns(columns, length, [&](int c, int begin, int end) {
        Scalar* const column = block + static_cast<std::int64_t>(c) * length;
        for (int i = begin; i < end; ++i) column[i] = Scalar(0);
      });
    });
  }

  template <class Team, class Panel>
  KOKKOS_FUNCTION void add_entries(const Team& team, const Front& front, const Panel& panel) const {
    team.ranges(static_cast<int>(front.entries_end - front.entries), 1.0, [&](int begin, int end) {
      for (Offset e = front.entries + begin; e < front.entries + end; ++e)
        panel.set(entry_position(e), entries[e]);
    });
  }

  /// Extend-add: the child's columns are distributed over threads, so that no two write the same entry.
  template <class Team, class Panel>
  KOKKOS_FUNCTION void add_child(const Team& team, const Front& child, const Panel& panel) const {
    const int* const position = relative + child.rows;
    const Scalar* const contribution = contributions + child.contribution;
    const int rows = child.cb_rows;
    // relative indices ascend: rows that are pivots of the front come first
    const int own = first_not_before(0, rows, [&](int a) { return position[a] < panel.pivots; });
    team.columns(rows, rows, [&](int b, int begin, int end) {
      const Scalar* const KOKKOS_RESTRICT from = contribution + static_cast<std::int64_t>(b) * rows;
      const int first = Kokkos::max(begin, panel.first_row(b)), last = Kokkos::min(end, own);
      const FrontColumn<Scalar> to = panel.column(position[b]);
      Scalar* const KOKKOS_RESTRICT top = to.top;
      for (int a = first; a < last; ++a) top[position[a] * to.stride] += from[a];
      Scalar* const KOKKOS_RESTRICT bottom = to.bottom;
      for (int a = Kokkos::max(first, own); a < end; ++a) bottom[position[a]] += from[a];
    });
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODELISTS_HPP
#define LUTRA_SUPERNODELISTS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_SupernodalLu.hpp"

namespace lutra::Impl {

// Kernels that make the lists, pairs and maps of a supernodal plan. A thread takes a column, supernode, pair
// or row, with its vector lanes.

/// Supernodes with their lists, as the kernels below read them.
template <class Memory>
struct SupernodeLists {
  Kokkos::View<const SupernodeBlock*, Memory> blocks;
  Kokkos::View<const Ordinal*, Memory> of_row, row_lists, column_lists;

  /// Row of the lower panel of K for a row that it has.
  KOKKOS_FUNCTION Ordinal lower_row(const SupernodeBlock& K, Ordinal row) const {
    if (row < K.end()) return row - K.first;
    return K.size + search(row_lists, K.row_list, K.rows, row);
  }
  /// Column of the upper panel of K for a column that it has.
  KOKKOS_FUNCTION Ordinal upper_column(const SupernodeBlock& K, Ordinal column) const {
    return search(column_lists, K.column_list, K.columns, column);
  }
  /// Index of the first element of a list that is not before `wanted`.
  KOKKOS_FUNCTION static Ordinal search(const Kokkos::View<const Ordinal*, Memory>& lists, Offset begin,
                                        Ordinal length, Ordinal wanted) {
    return first_not_before(Ordinal(0), length, [&](Ordinal e) { return lists(begin + e) < wanted; });
  }
  /// Calls visit(pair) for each later supernode that J has rows or columns of, in ascending order.
  template <class Visit>
  KOKKOS_FUNCTION void for_each_pair(const SupernodeBlock& J, const Visit& visit) const {
    SupernodePair pair;
    while (pair.row < J.rows || pair.column < J.columns) {
      const Ordinal none = static_cast<Ordinal>(blocks.extent(0));
      const Ordinal below = pair.row < J.rows ? of_row(row_lists(J.row_list + pair.row)) : none;
      const Ordinal right =
          pair.column < J.columns ? of_row(column_lists(J.column_list + pair.column)) : none;
      pair.to = Kokkos::min(below, right);
      const Ordinal end = blocks(pair.to).end();
      pair.row_end = search(row_lists, J.row_list, J.rows, end);
      pair.column_end = search(column_lists, J.column_list, J.columns, end);
      visit(pair);
      pair.row = pair.row_end;
      pair.column = pair.column_end;
    }
  }
};

/// Elements of `positions` that a pair of J needs for rows and for columns.
KOKKOS_INLINE_FUNCTION Offset row_positions(const SupernodeBlock& J, const SupernodePair& pair) {
  return pair.column < pair.column_end ? J.rows - pair.row : 0;
}
KOKKOS_INLINE_FUNCTION Offset column_positions(const SupernodeBlock& J, const SupernodePair& pair) {
  return pair.row < pair.row_end ? J.columns - pair.column_end : 0;
}

/// Finds the diagonal of each column and the lengths of columns of L and rows of U beside it.
template <class Memory>
struct MeasureColumns {
  CsrPattern<Ordinal, Offset, Memory> columns;  ///< of L + U
  Kokkos::View<const Offset*, Memory> row_map, row_diagonal;
  Kokkos::View<Offset*, Memory> column_diagonal;  ///< out
  Kokkos::View<Ordinal*, Memory> lower, upper;    ///< out

  KOKKOS_FUNCTION void operator()(const Ordinal j) const {
    const Offset begin = columns.row_map(j), end = columns.row_map(j + 1);
    const Offset at = first_not_before(begin, end, [&](Offset q) { return columns.entries(q) < j; });
    column_diagonal(j) = at;
    lower(j) = static_cast<Ordinal>(end - at - 1);
    upper(j) = static_cast<Ordinal>(row_map(j + 1) - row_diagonal(j) - 1);
  }
};

/// Copies the lists of each supernode from its last row and column.
template <class ExecutionSpace>
struct CopyLists {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>::member_type;
  RowTeams share;
  Ordinal count;
  Kokkos::View<const SupernodeBlock*, Memory> blocks;
  Kokkos::View<const Ordinal*, Memory> row_entries, column_entries;
  Kokkos::View<const Offset*, Memory> row_diagonal, column_diagonal;
  Kokkos::View<Ordinal*, Memory> row_lists, column_lists;  ///< out

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, count, [&](const Ordinal s) {
      const SupernodeBlock J = blocks(s);
      const Offset below = column_diagonal(J.end() - 1) + 1, right = row_diagonal(J.end() - 1) + 1;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, J.rows),
                           [&](const Ordinal i) { row_lists(J.row_list + i) = column_entries(below + i); });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, J.columns), [&](const Ordinal k) {
        column_lists(J.column_list + k) = row_entries(right + k);
      });
    });
  }
};

/// Counts the pairs of each supernode and the positions that they need.
template <class Memory>
struct CountPairs {
  SupernodeLists<Memory> lists;
  Kokkos::View<Offset*, Memory> pairs, positions;  ///< [count] out

  KOKKOS_FUNCTION void operator()(const Ordinal s) const {
    const SupernodeBlock J = lists.blocks(s);
    Offset found = 0, needed = 0;
    lists.for_each_pair(J, [&](const SupernodePair& pair) {
      ++found;
      needed += row_positions(J, pair) + column_positions(J, pair);
    });
    pairs(s) = found;
    positions(s) = needed;
  }
};

/// Writes the pairs and the pair of each element of the lists.
template <class ExecutionSpace>
struct FillPairs {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>::member_type;
  RowTeams share;
  SupernodeLists<Memory> lists;
  Kokkos::View<const Offset*, Memory> pair_begin, position_begin;  ///< [count + 1]
  Kokkos::View<SupernodePair*, Memory> pairs;                      ///< out
  Kokkos::View<Ordinal*, Memory> to, of_row, of_column;            ///< out

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, static_cast<Ordinal>(lists.blocks.extent(0)), [&](const Ordinal s) {
      const SupernodeBlock J = lists.blocks(s);
      Offset next = pair_begin(s), position = position_begin(s);
      lists.for_each_pair(J, [&](const SupernodePair& found) {
        SupernodePair pair = found;
        pair.rows_at = position;
        pair.columns_at = position + row_positions(J, pair);
        position = pair.columns_at + column_positions(J, pair);
        const auto own = static_cast<Ordinal>(next++);
        Kokkos::single(Kokkos::PerThread(team), [&]() {
          pairs(own) = pair;
          to(own) = pair.to;
        });
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pair.row, pair.row_end),
                             [&](const Ordinal i) { of_row(J.row_list + i) = own; });
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pair.column, pair.column_end),
                             [&](const Ordinal k) { of_column(J.column_list + k) = own; });
      });
    });
  }
};

/// Finds the positions of all pairs.
template <class ExecutionSpace>
struct FindPositions {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>::member_type;
  RowTeams share;
  SupernodeLists<Memory> lists;
  Kokkos::View<const Offset*, Memory> pair_begin;
  Kokkos::View<const SupernodePair*, Memory> pairs;
  Kokkos::View<Ordinal*, Memory> positions;  ///< out

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto count = static_cast<Ordinal>(lists.blocks.extent(0));
    share.visit_rows(team, static_cast<Ordinal>(pairs.extent(0)), [&](const Ordinal p) {
      const SupernodePair pair = pairs(p);
      const SupernodeBlock J = lists.blocks(row_of_entry(pair_begin, count, static_cast<Offset>(p)));
      const SupernodeBlock K = lists.blocks(pair.to);
      if (pair.column < pair.column_end) {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pair.row, J.rows), [&](const Ordinal i) {
          positions(pair.rows_at + i - pair.row) = lists.lower_row(K, lists.row_lists(J.row_list + i));
        });
      }
      if (pair.row < pair.row_end) {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pair.column_end, J.columns),
                             [&](const Ordinal k) {
                               positions(pair.columns_at + k - pair.column_end) =
                                   lists.upper_column(K, lists.column_lists(J.column_list + k));
                             });
      }
    });
  }
};

/// Finds the position among the values of each entry of L + U by rows.
template <class ExecutionSpace>
struct LocateRows {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>::member_type;
  RowTeams share;
  SupernodeLists<Memory> lists;
  CsrPattern<Ordinal, Offset, Memory> rows;
  Kokkos::View<Offset*, Memory> row_to_panel;  ///< out

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, rows.n_rows, [&](const Ordinal i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, rows.row_map(i), rows.row_map(i + 1)),
                           [&](const Offset p) { row_to_panel(p) = position(i, rows.entries(p)); });
    });
  }
  KOKKOS_FUNCTION Offset position(Ordinal i, Ordinal j) const {
    const SupernodeBlock K = lists.blocks(lists.of_row(Kokkos::min(i, j)));
    if (j < K.end()) return K.lower + lists.lower_row(K, i) + (j - K.first) * K.stride();
    return K.upper + static_cast<Offset>(i - K.first) * K.columns + lists.upper_column(K, j);
  }
};

}  // namespace lutra::Impl

#endif

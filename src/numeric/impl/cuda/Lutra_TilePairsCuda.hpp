// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEPAIRSCUDA_HPP
#define LUTRA_TILEPAIRSCUDA_HPP

#include "Lutra_FrontTiles.hpp"

namespace lutra::Impl {

/// Fronts of so many tiles along an edge have tasks of two tiles: in narrower ones there are too few of them.
/// A root, beside which there is no other front to work, has them from more tiles on, since a task of two
/// tiles takes longer than one of one.
inline constexpr int min_paired_tiles = 24, min_paired_root_tiles = 44;

/// Where no more than so many tiles of a root's rows and columns are left, and in so many last rows of what
/// it contributes, a task has one tile: tasks of two would end long after the others.
inline constexpr int single_edge = 12, single_contribution_rows = 2;

/// Which tiles of a front are worked two at a time: neighbours in a column, in U neighbours in a row, neither
/// of them next to the diagonal, whose tiles are waited for, nor among the last, and both of pivots or both
/// of further rows.
class TilePairs {
 public:
  TilePairs(const FrontTiles& tiles, bool is_root)
      : m_tiles(tiles),
        m_any(tiles.count() >= (is_root ? min_paired_root_tiles : min_paired_tiles)),
        m_ends_alone(is_root) {}

  bool any() const { return m_any; }
  bool in_upper(int i, int j) const { return i < j && i < m_tiles.pivot_tiles(); }
  bool is_first(int i, int j) const { return m_any && (in_upper(i, j) ? starts(j, i) : starts(i, j)); }
  bool is_second(int i, int j) const {
    return m_any && (in_upper(i, j) ? starts(j - 1, i) : starts(i - 1, j));
  }

 private:
  /// A pair starts at tile `place` of column, or in U row, `line`.
  bool starts(int place, int line) const {
    const int pivots = m_tiles.pivot_tiles(), begin = place < pivots ? 0 : pivots;
    const int end = place < pivots ? pivots : m_tiles.count();
    const bool aligned = place >= 0 && (place - begin) % 2 == 0 && place + 1 < end;
    if (!aligned) return false;
    const int rows_left = m_tiles.count() - place, edge_left = m_tiles.count() - line;
    if (line >= pivots) return !m_ends_alone || rows_left > single_contribution_rows;
    return place > line + 1 && (!m_ends_alone || edge_left > single_edge);
  }

  FrontTiles m_tiles;
  bool m_any, m_ends_alone;
};

}  // namespace lutra::Impl

#endif

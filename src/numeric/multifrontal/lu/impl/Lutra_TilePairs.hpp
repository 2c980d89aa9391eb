// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEPAIRS_HPP
#define LUTRA_TILEPAIRS_HPP

#include "Lutra_DeviceModel.hpp"
#include "Lutra_FrontTiles.hpp"

namespace lutra::Impl {

/// Selects tiles of a front that are computed two at a time: neighbours in a column, in U neighbours in a
/// row. Neither may be next to the diagonal, whose tiles are needed early, nor among the last, and both hold
/// pivots or both hold contribution rows.
class TilePairs {
 public:
  TilePairs(const FrontTiles& tiles, bool is_root, const FrontTaskModel& model)
      : m_tiles(tiles),
        m_any(tiles.count() >= (is_root ? model.min_paired_root_tiles : model.min_paired_tiles)),
        m_single_edge(is_root ? model.single_edge : 0),
        m_single_rows(is_root ? model.single_contribution_rows : 0) {}

  bool any() const { return m_any; }
  bool in_upper(int i, int j) const { return i < j && i < m_tiles.pivot_tiles(); }
  bool is_first(int i, int j) const { return m_any && (in_upper(i, j) ? starts(j, i) : starts(i, j)); }
  bool is_second(int i, int j) const {
    return m_any && (in_upper(i, j) ? starts(j - 1, i) : starts(i - 1, j));
  }

 private:
  /// Whether a pair starts at tile `position` of column, or in U row, `line`.
  bool starts(int position, int line) const {
    const int pivots = m_tiles.pivot_tiles(), begin = position < pivots ? 0 : pivots;
    const int end = position < pivots ? pivots : m_tiles.count();
    const bool aligned = position >= 0 && (position - begin) % 2 == 0 && position + 1 < end;
    if (!aligned) return false;
    const int rows_left = m_tiles.count() - position, edge_left = m_tiles.count() - line;
    if (line >= pivots) return rows_left > m_single_rows;
    return position > line + 1 && edge_left > m_single_edge;
  }

  FrontTiles m_tiles;
  bool m_any;
  int m_single_edge, m_single_rows;  ///< of a root's tail, whose tasks have a single tile
};

}  // namespace lutra::Impl

#endif

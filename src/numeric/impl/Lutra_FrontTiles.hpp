// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTILES_HPP
#define LUTRA_FRONTTILES_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace lutra::Impl {

/// A front cut into square tiles: pivots and contribution rows each start a new tile, so that no tile holds
/// both.
struct FrontTiles {
  int pivots, cb_rows, edge;
  KOKKOS_FUNCTION FrontTiles(int k, int m, int tile_edge) : pivots(k), cb_rows(m), edge(tile_edge) {}

  KOKKOS_FUNCTION int pivot_tiles() const { return (pivots + edge - 1) / edge; }
  KOKKOS_FUNCTION int count() const { return pivot_tiles() + (cb_rows + edge - 1) / edge; }
  /// Tile of a position.
  KOKKOS_FUNCTION int of(int position) const {
    return position < pivots ? position / edge : pivot_tiles() + (position - pivots) / edge;
  }
  /// First position of a tile.
  KOKKOS_FUNCTION int begin(int tile) const {
    const int k = pivot_tiles();
    return tile < k ? tile * edge : pivots + (tile - k) * edge;
  }
  /// Lines that the inverse of a triangle of so many pivots takes.
  KOKKOS_FUNCTION static int inverse_lines(int of_pivots) {
    return (of_pivots + inverse_block - 1) / inverse_block * inverse_block;
  }
  static constexpr int inverse_block = 16;

  /// Positions in a tile.
  KOKKOS_FUNCTION int extent(int tile) const {
    const int first = begin(tile), end = tile < pivot_tiles() ? pivots : pivots + cb_rows;
    return end - first < edge ? end - first : edge;
  }
};

/// Where the inverse of a diagonal tile's triangle stands: L's by columns, U's by rows. Each line begins with
/// its block of the diagonal, 16 lines at the same position, or where rows have been interchanged all of L's
/// with the tile. Positions behind a tile's last block are left out.
struct InverseTile {
  static constexpr int block = FrontTiles::inverse_block;
  int lines;   ///< of the tile, and positions of its longest one
  bool whole;  ///< with all positions of a line

  /// Entries of a tile without its empty positions.
  KOKKOS_FUNCTION static int entries(int lines) { return lines * (lines + block) / 2; }
  /// The same of all pivot tiles of a front.
  KOKKOS_FUNCTION static std::int64_t entries_of_front(const FrontTiles& tiles) {
    const int rest = FrontTiles::inverse_lines(tiles.pivots % tiles.edge);
    return static_cast<std::int64_t>(tiles.pivots / tiles.edge) * entries(tiles.edge) + entries(rest);
  }
  /// First position of a line.
  KOKKOS_FUNCTION int begin(int line) const { return whole ? 0 : line / block * block; }
  /// Index of a position that the line has.
  KOKKOS_FUNCTION int operator()(int line, int position) const {
    if (whole) return line * lines + position;
    const int before = line / block;  // blocks
    return before * block * lines - before * (before - 1) / 2 * block * block +
           line % block * (lines - before * block) + position - before * block;
  }
};

}  // namespace lutra::Impl

#endif

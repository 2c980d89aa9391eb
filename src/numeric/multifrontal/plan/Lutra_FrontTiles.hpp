// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTILES_HPP
#define LUTRA_FRONTTILES_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace lutra::Impl {

/// Tile width and height in large fronts on CUDA. A tile takes 32 KiB of shared memory in double, 16 KiB in
/// double complex.
template <class Scalar>
inline constexpr int front_tile = sizeof(Scalar) > 8 ? 32 : 64;

/// Threads of a block that factorizes a front or a tile on CUDA. A thread has 16 entries of a
/// tile of 64 × 64, 4 of one of 32 × 32.
inline constexpr int front_threads = 256;
inline constexpr int front_warps = front_threads / 32;

/// A front divided into square tiles. Pivots and contribution rows each start a new tile, so no tile holds
/// both.
struct FrontTiles {
  int pivots, cb_rows, edge;
  KOKKOS_FUNCTION FrontTiles(int k, int m, int tile_edge) : pivots(k), cb_rows(m), edge(tile_edge) {}

  KOKKOS_FUNCTION int pivot_tiles() const { return (pivots + edge - 1) / edge; }
  KOKKOS_FUNCTION int count() const { return pivot_tiles() + (cb_rows + edge - 1) / edge; }
  /// Tile that contains a position.
  KOKKOS_FUNCTION int of(int position) const {
    return position < pivots ? position / edge : pivot_tiles() + (position - pivots) / edge;
  }
  /// First position of a tile.
  KOKKOS_FUNCTION int begin(int tile) const {
    const int k = pivot_tiles();
    return tile < k ? tile * edge : pivots + (tile - k) * edge;
  }
  /// Lines in the inverse of a triangle of `of_pivots` pivots.
  KOKKOS_FUNCTION static int inverse_lines(int of_pivots) {
    return (of_pivots + inverse_block - 1) / inverse_block * inverse_block;
  }
  static constexpr int inverse_block = 16;

  /// Number of positions in a tile.
  KOKKOS_FUNCTION int extent(int tile) const {
    const int first = begin(tile), end = tile < pivot_tiles() ? pivots : pivots + cb_rows;
    return end - first < edge ? end - first : edge;
  }
};

/// Layout of the inverse of a diagonal tile's triangle: L's by columns, U's by rows. Each line starts at its
/// block of the diagonal, 16 lines at the same position; after row interchanges all lines of L start at the
/// tile's first position. Positions past a tile's last block are omitted.
struct InverseTile {
  static constexpr int block = FrontTiles::inverse_block;
  int lines;   ///< of the tile; also the length of its longest line
  bool whole;  ///< whether lines store all positions

  /// Entries stored per tile.
  KOKKOS_FUNCTION static int entries(int lines) { return lines * (lines + block) / 2; }
  /// Entries stored for all pivot tiles of a front.
  KOKKOS_FUNCTION static std::int64_t entries_of_front(const FrontTiles& tiles) {
    const int rest = FrontTiles::inverse_lines(tiles.pivots % tiles.edge);
    return static_cast<std::int64_t>(tiles.pivots / tiles.edge) * entries(tiles.edge) + entries(rest);
  }
  /// First stored position of a line.
  KOKKOS_FUNCTION int begin(int line) const { return whole ? 0 : line / block * block; }
  /// Index of a position stored in the line.
  KOKKOS_FUNCTION int operator()(int line, int position) const {
    if (whole) return line * lines + position;
    const int before = line / block;  // blocks
    return before * block * lines - before * (before - 1) / 2 * block * block +
           line % block * (lines - before * block) + position - before * block;
  }
};

}  // namespace lutra::Impl

#endif

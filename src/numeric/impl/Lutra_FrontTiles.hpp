// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTILES_HPP
#define LUTRA_FRONTTILES_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace lutra::Impl {

/// A front cut into square tiles: pivots and further rows each start a new tile, so that no tile holds both.
struct FrontTiles {
  int pivots, below, edge;
  KOKKOS_FUNCTION FrontTiles(int k, int m, int tile_edge) : pivots(k), below(m), edge(tile_edge) {}

  KOKKOS_FUNCTION int pivot_tiles() const { return (pivots + edge - 1) / edge; }
  KOKKOS_FUNCTION int count() const { return pivot_tiles() + (below + edge - 1) / edge; }
  /// Tile of a position.
  KOKKOS_FUNCTION int of(int position) const {
    return position < pivots ? position / edge : pivot_tiles() + (position - pivots) / edge;
  }
  /// First position of a tile.
  KOKKOS_FUNCTION int begin(int tile) const {
    const int k = pivot_tiles();
    return tile < k ? tile * edge : pivots + (tile - k) * edge;
  }
  /// Lines of `edge` numbers that the inverse of a triangle of so many pivots takes.
  KOKKOS_FUNCTION static int inverse_lines(int of_pivots) {
    return (of_pivots + inverse_block - 1) / inverse_block * inverse_block;
  }
  static constexpr int inverse_block = 16;
  /// Numbers of the inverses of all pivot tiles, tile after tile L's and U's.
  KOKKOS_FUNCTION std::int64_t inverse_numbers() const {
    return 2 * static_cast<std::int64_t>(edge) * inverse_lines(pivots);
  }

  /// Positions in a tile.
  KOKKOS_FUNCTION int extent(int tile) const {
    const int first = begin(tile), end = tile < pivot_tiles() ? pivots : pivots + below;
    return end - first < edge ? end - first : edge;
  }
};

}  // namespace lutra::Impl

#endif

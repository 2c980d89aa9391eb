// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASK_HPP
#define LUTRA_FRONTTASK_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SmallChildListMaker.hpp"

namespace lutra::Impl {

// Tasks of a factorization in fronts as data flow, and the flags by which blocks wait for one another. Plain
// data: lists of tasks are made on the host (Lutra_FrontTaskList.hpp), given memory
// (Lutra_FrontTaskPlacement.hpp) and worked by kernels of a device.
//
// Blocks take tasks in the order of the list. Each flag a task waits for is raised by tasks before it in the
// order, so that the first incomplete task is always worked by some block and waits for nothing. The sweep
// down a diagonal is the exception: one block makes the steps of a front one after the other, and takes its
// task before those it waits for. What a step waits for comes, in the order, before every task that waits for
// the step's flag, and sweeps with the blocks that pause beside them are at most an eighth of all blocks.
//
//     tile (i, j), left-looking, s = 0, 1, …:        sweep of a front, s = 0, 1, …:
//       wait  tile(i, s) and tile(s, j)                wait  diagonal_link(s)
//       subtract L(i, s)·U(s, j)                       wait  link(s − 1, L) and link(s − 1, U)
//     next to the diagonal: raise link(s, ·)           last product, LU, inverses
//       wait  tile(s, s), multiply by an inverse       raise tile(s, s)
//       raise tile(i, j)
//     on the diagonal of a front that is swept: raise diagonal_link(s), and nothing else
//
// Of symmetric matrices the task of tile (i, j), i > j, raises tile(j, i) as well, and link(s, U) with
// link(s, L): what waits for those comes behind it in the order, as it comes behind tile (j, i) otherwise.
//
// unit_tests/numeric/Lutra_Test_FrontTasks.cpp checks this over assembly trees of many shapes.

/// Diagonal tiles of a front whose neighbours are in hand-off buffers at a time.
inline constexpr int tile_links = 2;

/// Tasks of a launch are counted by chunks, in their order, as they are completed.
inline constexpr int tasks_a_chunk = 32;

/// A child as its parent assembles it.
struct ChildRef {
  /// Where its contribution would begin, had it kept its first rows and columns too
  Offset contribution = 0;
  Offset rows = 0;  ///< in `relative`
  Offset cuts = 0;  ///< in `cuts`, where the parent is cut into tiles
  int cb_rows = 0;
  int passed = 0;  ///< first rows and columns, which it has added to the parent's panels itself
  int number = 0;  ///< of its flag

  KOKKOS_FORCEINLINE_FUNCTION int stride() const { return cb_rows - passed; }
};

/// Where a front stores its contribution block, instead of where the plan says.
struct Contribution {
  Offset contribution = 0;
  int passed = 0;  ///< first rows: pivots of the parent, assembled directly into its panels
};

/// What of F and of small children falls into a front or one of its tiles.
struct FrontTaskPart {
  Offset entries = 0, entries_end = 0;  ///< of F
  SmallChildPart small;                 ///< of small children
};

/// One task of the data-flow launch: a front as a whole, one or two neighbouring tiles of a front, clearing
/// some of its panels, or the sweep down its diagonal.
struct FrontTask {
  static constexpr int whole = -1, clearing = -2, sweeping = -3;
  Ordinal front = 0;
  int row = whole, column = -1;  ///< of the first tile, or what else there is to do
  int rows = 1, columns = 1;     ///< tiles, one of the two being 1
  int after = 0;                 ///< chunks of tasks that are complete before this one writes
  Offset wide_end = 0;           ///< end of the front's wide children
  Offset flags = 0;              ///< first flag of the front's tiles, see TileFlags
  Offset inverses = 0;           ///< entries of inverses before those of the front
  int inverse_blocks = 0;        ///< blocks of lines of them
  Offset links = -1;  ///< hand-off buffers of the front; −1: diagonal tiles read their neighbours' panels
  bool is_swept = false;      ///< whether one block works all diagonal tiles of the front
  bool takes_panels = false;  ///< whether children have added to the front's panels
  FrontTaskPart parts[2];     ///< of each tile; to clear, `entries` of the first are those of panels

  // of tiles, those of the front being cut as `cut` says

  KOKKOS_FORCEINLINE_FUNCTION bool in_contribution(const FrontTiles& cut) const {
    return row >= cut.pivot_tiles() && column >= cut.pivot_tiles();
  }
  KOKKOS_FORCEINLINE_FUNCTION bool in_upper(const FrontTiles& cut) const {
    return row < column && row < cut.pivot_tiles();
  }
  /// Pivot tiles before the task's.
  KOKKOS_FORCEINLINE_FUNCTION int steps(const FrontTiles& cut) const {
    const int least = row < column ? row : column;
    return least < cut.pivot_tiles() ? least : cut.pivot_tiles();
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_single() const { return rows + columns == 2; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_diagonal(const FrontTiles& cut) const {
    return row == column && !in_contribution(cut);
  }
  /// Whether the tile below a diagonal tile, or beside it, is copied to a hand-off buffer before its own last
  /// step, for the task of the next diagonal tile.
  KOKKOS_FORCEINLINE_FUNCTION bool hands_off(const FrontTiles& cut) const {
    const int next = row > column ? row : column;
    return is_single() && links >= 0 && next == steps(cut) + 1 && next < cut.pivot_tiles();
  }
  /// Whether the last product before a diagonal tile is made from hand-off buffers.
  KOKKOS_FORCEINLINE_FUNCTION bool makes_last_product(const FrontTiles& cut) const {
    return is_single() && links >= 0 && is_diagonal(cut);
  }
};

/// Flags of one front in tiles, from its first one on. A flag holds the number of the factorization that
/// raised it last, so that none is ever reset.
struct TileFlags {
  int tiles, pivot_tiles;  ///< along an edge
  KOKKOS_FORCEINLINE_FUNCTION explicit TileFlags(const FrontTiles& cut)
      : tiles(cut.count()), pivot_tiles(cut.pivot_tiles()) {}
  KOKKOS_FORCEINLINE_FUNCTION TileFlags(int count, int of_pivots) : tiles(count), pivot_tiles(of_pivots) {}

  /// Tile (i, j) of L\U is stored, a diagonal one with its inverses.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t tile(int i, int j) const {
    return static_cast<std::int64_t>(i) * tiles + j;
  }
  /// Tile (s + 1, s), or of U (s, s + 1), is in its hand-off buffer.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t link(int s, bool of_upper) const {
    return tile(tiles, 0) + 2 * s + (of_upper ? 1 : 0);
  }
  /// Diagonal tile s, less all products but the last, is in its hand-off buffer.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t diagonal_link(int s) const { return link(pivot_tiles, false) + s; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t size() const { return diagonal_link(pivot_tiles); }
};

/// A front of a subtree of small fronts, worked by one warp in a launch before the tasks'.
struct SmallTask {
  Ordinal front = 0;
  Offset wide_end = 0;   ///< end of its wide children
  SmallChildPart small;  ///< of its small ones
};

}  // namespace lutra::Impl

#endif

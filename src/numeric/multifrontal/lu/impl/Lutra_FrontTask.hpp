// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASK_HPP
#define LUTRA_FRONTTASK_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SmallChildListMaker.hpp"
#include "Lutra_TaskQueue.hpp"

namespace lutra::Impl {

// Tasks of a multifrontal factorization as data flow, and the flags that synchronize blocks. Plain data: task
// lists are built on the host (Lutra_FrontTaskList.hpp), assigned memory (Lutra_FrontTaskPlacement.hpp) and
// executed by device kernels.
//
// Blocks take tasks in list order. Each flag a task waits for is raised by earlier tasks, so that the first
// incomplete task is always running and waits for nothing. The diagonal sweep is the exception: one block
// performs all steps of a front successively, and takes its task before those it waits for. The tasks a step
// waits for precede, in the order, every task that waits for the step's flag, and sweeps together with the
// blocks that idle for them are at most an eighth of all blocks.
//
//     tile (i, j), left-looking, s = 0, 1, …:        sweep of a front, s = 0, 1, …:
//       wait  tile(i, s) and tile(s, j)                wait  diagonal_link(s)
//       subtract L(i, s)·U(s, j)                       wait  link(s − 1, L) and link(s − 1, U)
//     next to the diagonal: raise link(s, ·)           last product, LU, inverses
//       wait  tile(s, s), multiply by an inverse       raise tile(s, s)
//       raise tile(i, j)
//     on the diagonal of a swept front: raise only diagonal_link(s)
//
// For symmetric matrices the task of tile (i, j), i > j, also raises tile(j, i), and link(s, U) with link(s,
// L). Tasks that wait for those flags come after it in the order, just as they come after tile (j, i)
// otherwise.
//
// unit_tests/numeric/Lutra_Test_FrontTasks.cpp checks this for assembly trees of many shapes.

/// Diagonal tiles of a front whose neighbours occupy hand-off buffers at a time.
inline constexpr int tile_links = 2;

/// A child during assembly of its parent.
struct ChildRef {
  /// Virtual start of its contribution, as if it had kept its first rows and columns
  Offset contribution = 0;
  Offset rows = 0;  ///< offset in `relative`
  Offset cuts = 0;  ///< offset in `cuts`, if the parent is tiled
  int cb_rows = 0;
  int passed = 0;  ///< leading rows and columns that the child has already added to the parent's panels
  int number = 0;  ///< index of its flag

  KOKKOS_FORCEINLINE_FUNCTION int stride() const { return cb_rows - passed; }
};

/// Storage of a front's contribution block, overriding the plan's.
struct Contribution {
  Offset contribution = 0;
  int passed = 0;  ///< leading rows: pivots of the parent, assembled directly into its panels
};

/// Entries of F and of small children in a front or tile.
struct FrontTaskPart {
  Offset entries = 0, entries_end = 0;  ///< range of entries of F
  SmallChildPart small;                 ///< lists of small children
};

/// One task of the data-flow launch: a whole front, one tile or two adjacent tiles of a front, the clearing
/// of some of its panels, or the sweep of its diagonal.
struct FrontTask {
  static constexpr int whole = -1, clearing = -2, sweeping = -3;
  Ordinal front = 0;
  int row = whole, column = -1;  ///< first tile, or one of the kinds above
  int rows = 1, columns = 1;     ///< number of tiles; one of the two is 1
  int after = 0;                 ///< chunks of tasks that must be complete before this task writes
  Offset wide_end = 0;           ///< end of the front's wide children
  Offset flags = 0;              ///< offset of the front's tile flags, see TileFlags
  Offset inverses = 0;           ///< offset of the front's inverses
  int inverse_blocks = 0;        ///< blocks of lines before those of the front
  Offset links = -1;  ///< offset of the front's hand-off buffers; −1: diagonal tiles read their neighbours'
                      ///< panels
  bool is_swept = false;      ///< whether one block factorizes all diagonal tiles of the front
  bool takes_panels = false;  ///< whether children add directly to the front's panels
  FrontTaskPart parts[2];     ///< of each tile; for clearing, `entries` of the first is a range of the panels

  // The following apply to tiles; `cut` is the front's tiling.

  KOKKOS_FORCEINLINE_FUNCTION bool in_contribution(const FrontTiles& cut) const {
    return row >= cut.pivot_tiles() && column >= cut.pivot_tiles();
  }
  KOKKOS_FORCEINLINE_FUNCTION bool in_upper(const FrontTiles& cut) const {
    return row < column && row < cut.pivot_tiles();
  }
  /// Pivot tiles before the tile.
  KOKKOS_FORCEINLINE_FUNCTION int steps(const FrontTiles& cut) const {
    const int least = row < column ? row : column;
    return least < cut.pivot_tiles() ? least : cut.pivot_tiles();
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_single() const { return rows + columns == 2; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_diagonal(const FrontTiles& cut) const {
    return row == column && !in_contribution(cut);
  }
  /// Whether the tile below or right of a diagonal tile is copied to a hand-off buffer before its own last
  /// step, for the task of the next diagonal tile.
  KOKKOS_FORCEINLINE_FUNCTION bool hands_off(const FrontTiles& cut) const {
    const int next = row > column ? row : column;
    return is_single() && links >= 0 && next == steps(cut) + 1 && next < cut.pivot_tiles();
  }
  /// Whether the last product before a diagonal tile reads the hand-off buffers.
  KOKKOS_FORCEINLINE_FUNCTION bool makes_last_product(const FrontTiles& cut) const {
    return is_single() && links >= 0 && is_diagonal(cut);
  }
};

/// Flags of one tiled front, relative to its first one. A flag holds the number of the factorization that
/// last raised it, so flags are never reset.
struct TileFlags {
  int tiles, pivot_tiles;  ///< number along each dimension
  KOKKOS_FORCEINLINE_FUNCTION explicit TileFlags(const FrontTiles& cut)
      : tiles(cut.count()), pivot_tiles(cut.pivot_tiles()) {}
  KOKKOS_FORCEINLINE_FUNCTION TileFlags(int count, int of_pivots) : tiles(count), pivot_tiles(of_pivots) {}

  /// Raised when tile (i, j) of L\U is stored, a diagonal one with its inverses.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t tile(int i, int j) const {
    return static_cast<std::int64_t>(i) * tiles + j;
  }
  /// Raised when tile (s + 1, s), or for U (s, s + 1), is in its hand-off buffer.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t link(int s, bool of_upper) const {
    return tile(tiles, 0) + 2 * s + (of_upper ? 1 : 0);
  }
  /// Raised when diagonal tile s, minus all products but the last, is in its hand-off buffer.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t diagonal_link(int s) const { return link(pivot_tiles, false) + s; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t size() const { return diagonal_link(pivot_tiles); }
};

/// A front of a subtree of small fronts, factorized by one warp in a launch before the tasks.
struct SmallTask {
  Ordinal front = 0;
  Offset wide_end = 0;   ///< end of its wide children
  SmallChildPart small;  ///< lists of its small children
};

}  // namespace lutra::Impl

#endif

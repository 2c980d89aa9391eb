// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPLAN_HPP
#define LUTRA_FRONTPLAN_HPP

#include <cstdint>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// One front: a dense matrix of f = pivots + cb_rows rows and columns. Positions within it count from 0, its
/// pivots first, then its contribution rows in ascending order. Sizes are data: nothing is compiled for them.
struct Front {
  /// In `panels`: its first `pivots` columns, f × pivots by columns; L\U of the pivots on top
  Offset lower = 0;
  Offset upper = 0;         ///< in `panels`: the pivots' rows of U beyond them, pivots × cb_rows by rows
  Offset contribution = 0;  ///< in `contributions`: what the parent adds, cb_rows × cb_rows by columns
  Offset rows = 0;          ///< in `rows` and `relative`
  Offset entries = 0, entries_end = 0;    ///< of F in this front, in `entry_position`
  Offset children = 0, children_end = 0;  ///< in `children`
  Ordinal first_pivot = 0;
  Ordinal parent = -1;
  int pivots = 0;
  int cb_rows = 0;  ///< rows of the contribution block (CB)

  KOKKOS_FUNCTION int size() const { return pivots + cb_rows; }
};

/// Position of an entry of F in its front; one of the two is a pivot.
struct FrontPosition {
  int row = 0, column = 0;
};

/// Positions of entries of F in their fronts, 16 bits for a row and a column each.
struct PackedPositions {
  const std::uint32_t* low;   ///< [nnz(A)]
  const std::uint32_t* high;  ///< [nnz(A)] what 16 bits do not hold; null where they hold all

  KOKKOS_FORCEINLINE_FUNCTION FrontPosition operator()(std::int64_t e) const {
    FrontPosition position{static_cast<int>(low[e] >> 16), static_cast<int>(low[e] & 0xffffu)};
    if (high != nullptr) {
      position.row += static_cast<int>(high[e] >> 16 << 16);
      position.column += static_cast<int>((high[e] & 0xffffu) << 16);
    }
    return position;
  }
};

/// The same where it is kept.
template <class MemorySpace>
struct EntryPositions {
  Kokkos::View<const std::uint32_t*, MemorySpace> low, high;
  PackedPositions data() const { return {low.data(), high.data()}; }
};

/// Entries of A whose user's row is noted: the first of each so many.
inline constexpr int entries_a_mark = 256;

/// How a plan cuts fronts that are worked by several teams.
struct FrontPlanOptions {
  int tile = 64;       ///< edge of a tile of such a front
  int max_whole = 96;  ///< fronts of more rows are cut into tiles
};

/// What of a plan follows from the assembly tree alone, on the host: sizes of fronts, and where their arrays
/// begin.
struct FrontLayout {
  std::vector<Front> fronts;          ///< in postorder; with entries once a plan has been made
  std::vector<Ordinal> children;      ///< of each front, ascending
  std::vector<Ordinal> level_map;     ///< [levels + 1] in the plan's `by_level`; of a plan, as what follows
  std::vector<Ordinal> level_pivots;  ///< [levels] pivots of a level's fronts
  std::vector<Offset> tile_entries;   ///< [tiles + 1] first entry of F in each tile, those of a front by rows
                                      ///< of tiles, a front that is not cut being one
  Offset panels = 0;                  ///< entries of all panels
  Offset contributions = 0;  ///< entries contributions have room for; a front may overwrite what its children
                             ///< have added, so that fronts are factorized after all their descendants

  std::size_t levels() const { return level_map.empty() ? 0 : level_map.size() - 1; }
};

/// All a factorization in fronts needs besides values; made once for a pattern, in memory space
/// `MemorySpace`.
template <class MemorySpace>
struct FrontPlan {
  Ordinal n = 0;
  Ordinal count = 0;
  FrontPlanOptions options;
  Kokkos::View<const Front*, MemorySpace> fronts;  ///< [count] in postorder
  Kokkos::View<const Ordinal*, MemorySpace> rows;  ///< contribution rows of all fronts, by their numbers in F
  /// relative indices: position of each of them in the parent
  Kokkos::View<const int*, MemorySpace> relative;
  Kokkos::View<const Ordinal*, MemorySpace> children;  ///< of each front, ascending
  EntryPositions<MemorySpace> entry_position;          ///< [nnz(A)] by fronts, in tiled ones by tiles
  CsrPattern<Ordinal, Offset, MemorySpace> A;          ///< the user's matrix
  Kokkos::View<const std::uint32_t*, MemorySpace> entry_target;  ///< [nnz(A)] by the user's matrix: positions
                                                                 ///< in the order of `entry_position`, …
  Kokkos::View<const Offset*, MemorySpace> entry_target_wide;  ///< … of more than 32 bits count; else empty
  /// [nnz(A) / entries_a_mark, rounded up, + 1] user's row of each entry that is marked and of the last
  Kokkos::View<const Ordinal*, MemorySpace> entry_marks;
  Kokkos::View<const Ordinal*, MemorySpace> by_level;  ///< [count] leaves first, largest first within a level
  Offset panels = 0;                                   ///< as in the layout
  Offset contributions = 0;                            ///< as in the layout
  FrontLayout layout;
  double flops = 0;
  MemoryReservation reservation;

  std::size_t levels() const { return layout.levels(); }
};

/// The user's row and column at each permuted index of the F that the tree is of, and A itself; on the host.
struct FrontEntries {
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A;
  const std::vector<Ordinal>& row_order;
  const std::vector<Ordinal>& col_order;
};

/// O(fronts)
FrontLayout lay_out_fronts(const AssemblyTree& tree);

/// Bytes of the lists of a plan that shares the pattern of A. O(fronts)
/// @param nnz entries of A
std::size_t bytes_of_front_lists(const AssemblyTree& tree, std::int64_t nnz);

/// Relative indices: the position in its parent of each contribution row. O(rows of all fronts)
std::vector<int> relative_indices(const FrontLayout& layout, const AssemblyTree& tree);

/// Offsets of fronts, the assembly map of A's entries, relative indices of contribution rows, levels. Offsets
/// and levels are found on the host; entries and rows, on devices, by all threads, which takes room for
/// sorted keys for a while; where that is short, on the host too. O(nnz(A)·log f + rows).
/// @param entries its orders already follow `tree.order`
/// @param A       the pattern of `entries` in the space's memory, which the plan shares; empty: it has a copy
/// @throws OutOfMemoryError
template <class ExecutionSpace>
FrontPlan<typename ExecutionSpace::memory_space> plan_fronts(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options = {},
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A = {});

/// The pattern of L + U as the fronts store it, the zeros of amalgamation among its entries. It is symmetric:
/// by columns it reads the same.
/// @param source [nnz] out: position in `panels` of each entry
/// @throws OutOfMemoryError
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source);

}  // namespace lutra

#endif

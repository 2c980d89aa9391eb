// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPLAN_HPP
#define LUTRA_FRONTPLAN_HPP

#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// One front: a dense matrix of f = pivots + cb_rows rows and columns. Local indices start at 0: first the
/// pivots, then the contribution rows in ascending order. Sizes are run-time values.
struct Front {
  Offset contribution = 0;  ///< offset in `contributions` of the block passed to the parent, cb_rows ×
                            ///< cb_rows by columns
  Offset rows = 0;          ///< offset in `rows` and `relative`
  Offset entries = 0, entries_end = 0;    ///< range of its entries of F in `entry_position`
  Offset children = 0, children_end = 0;  ///< range in `children`
  Ordinal first_pivot = 0;
  Ordinal parent = -1;
  int pivots = 0;
  int cb_rows = 0;  ///< rows of the contribution block (CB)

  KOKKOS_FUNCTION int size() const { return pivots + cb_rows; }
};

/// Position of an entry of F in its front; its row or its column is a pivot.
struct FrontPosition {
  int row = 0, column = 0;
};

/// Positions of F's entries in their fronts, 16 bits each for row and column.
struct PackedPositions {
  const std::uint32_t* low;   ///< [nnz(A)]
  const std::uint32_t* high;  ///< [nnz(A)] the upper 16 bits of each; null if 16 bits suffice

  KOKKOS_FORCEINLINE_FUNCTION FrontPosition operator()(std::int64_t e) const {
    FrontPosition position{static_cast<int>(low[e] >> 16), static_cast<int>(low[e] & 0xffffu)};
    if (high != nullptr) {
      position.row += static_cast<int>(high[e] >> 16 << 16);
      position.column += static_cast<int>((high[e] & 0xffffu) << 16);
    }
    return position;
  }
};

/// Owning counterpart of PackedPositions.
template <class MemorySpace>
struct EntryPositions {
  Kokkos::View<const std::uint32_t*, MemorySpace> low, high;
  PackedPositions data() const { return {low.data(), high.data()}; }
};

/// Spacing of the entries of A whose user row is stored. Larger: less memory, longer searches.
inline constexpr int entries_a_mark = 256;

/// Tiling of large fronts, which several teams factorize. A plan lists the entries of a tiled front by tiles.
struct FrontPlanOptions {
  int tile = 64;       ///< tile width and height
  int max_whole = 96;  ///< fronts with more rows are tiled

  static FrontPlanOptions untiled() { return {64, std::numeric_limits<int>::max()}; }
};

/// The part of a plan that depends only on the assembly tree, on the host: front sizes and array offsets.
struct FrontLayout {
  std::vector<Front> fronts;          ///< in postorder; entry ranges are set once a plan has been made
  std::vector<Ordinal> children;      ///< children of each front, ascending
  std::vector<Ordinal> level_map;     ///< [levels + 1] offsets into the plan's `by_level`; set by the plan,
                                      ///< like the two below
  std::vector<Ordinal> level_pivots;  ///< [levels] total pivots of each level's fronts
  std::vector<Offset> tile_entries;   ///< [tiles + 1] first entry of F in each tile, by tile rows within a
                                      ///< front; an untiled front is one tile
  Offset contributions = 0;  ///< capacity for contributions. A front may overwrite the blocks its children
                             ///< have added, so factorize it after all its descendants

  std::size_t levels() const { return level_map.empty() ? 0 : level_map.size() - 1; }
};

/// What LU and LDLᵀ need of a pattern: its tree, the positions of its entries, and contribution blocks. Made
/// once per pattern, in `MemorySpace`. Each of the two adds the layout of its panels (LuPlan, LdltPlan).
template <class MemorySpace>
struct FrontPlan {
  Ordinal n = 0;
  Ordinal count = 0;
  FrontPlanOptions options;
  Kokkos::View<const Front*, MemorySpace> fronts;  ///< [count] in postorder
  Kokkos::View<const Ordinal*, MemorySpace> rows;  ///< contribution rows of all fronts, as indices of F
  /// relative indices: position of each contribution row in the parent
  Kokkos::View<const int*, MemorySpace> relative;
  Kokkos::View<const Ordinal*, MemorySpace> children;  ///< children of each front, ascending
  EntryPositions<MemorySpace> entry_position;          ///< [nnz(A)] by fronts, in tiled fronts by tiles
  CsrPattern<Ordinal, Offset, MemorySpace> A;          ///< the user's matrix
  /// [nnz(A)] in A's order: slot of each entry in `entry_position`, …
  Kokkos::View<const std::uint32_t*, MemorySpace> entry_target;
  Kokkos::View<const Offset*, MemorySpace> entry_target_wide;  ///< … if 32 bits do not suffice; else empty
  /// [nnz(A) / entries_a_mark, rounded up, + 1] user row of every entries_a_mark-th entry and of the last
  Kokkos::View<const Ordinal*, MemorySpace> entry_marks;
  Kokkos::View<const Ordinal*, MemorySpace> by_level;  ///< [count] leaves first, largest first within a level
  Offset contributions = 0;                            ///< as in the layout
  FrontLayout layout;
  MemoryReservation reservation;

  std::size_t levels() const { return layout.levels(); }
};

/// A and the user's row and column at each permuted index of F, the matrix of the tree; on the host.
struct FrontEntries {
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A;
  const std::vector<Ordinal>& row_order;
  const std::vector<Ordinal>& col_order;
};

/// Computes front sizes and offsets. O(fronts)
FrontLayout lay_out_fronts(const AssemblyTree& tree);

/// Bytes of the lists of a plan that shares A's pattern. O(fronts)
/// @param nnz entries of A
std::size_t bytes_of_front_lists(const AssemblyTree& tree, std::int64_t nnz);

/// Relative indices: the position of each contribution row in the parent. O(rows of all fronts)
std::vector<int> relative_indices(const FrontLayout& layout, const AssemblyTree& tree);

/// Computes front offsets, the assembly map of A's entries, relative indices and levels. Offsets and levels
/// are computed on the host; the assembly map and relative indices in parallel on devices, with temporary
/// memory for sorted keys, or on the host if that memory is short. O(nnz(A)·log f + rows).
/// @param entries its orders already follow `tree.order`
/// @param A       pattern of `entries` in the space's memory, shared by the plan; empty: the plan copies it
/// @throws OutOfMemoryError
template <class ExecutionSpace>
FrontPlan<typename ExecutionSpace::memory_space> plan_fronts(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options = FrontPlanOptions::untiled(),
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A = {});

/// The pattern of L + U, or of L + Lᵀ without delayed columns, as stored in the fronts, including the
/// explicit zeros of amalgamation. It is symmetric, so its rows and columns read the same.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget);

/// What the outcomes of multifrontal LU and LDLᵀ share. Kept in memory of the execution space during a
/// factorization.
struct FrontOutcome {
  double largest_entry = 0;  ///< max |entry of the scaled matrix|
  /// LU: max |entry of L\U|; LDLᵀ: max |entry of D|, since L is bounded by 1/u. Infinity where one is not
  /// finite
  double largest_factor = 0;
  std::int64_t perturbed = 0;  ///< pivots raised to the threshold
  int stopped_front = -1;      ///< front at which the watchdog timed out, or −1
};

/// Predicted bytes of one object of factors, without the plan.
struct FrontFactorBytes {
  std::size_t panels = 0;  ///< values of the factors
  std::size_t all = 0;     ///< values, working storage and flags
};

}  // namespace lutra

#endif

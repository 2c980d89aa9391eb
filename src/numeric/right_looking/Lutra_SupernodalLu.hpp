// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODALLU_HPP
#define LUTRA_SUPERNODALLU_HPP

#include <cstdint>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// A supernode J of consecutive rows and columns, and where its values are. Its columns of L share one row
/// list, its rows of U share one column list:
///
///                 size      columns           lower: [(size + rows) × size] by columns, L\U of the diagonal
///            ┌───────────┬───────────┐               block on top
///      size  │   L \ U   │     U     │        upper: [size × columns] by rows
///            ├───────────┼───────────┘
///      rows  │     L     │
///            └───────────┘
struct SupernodeBlock {
  Ordinal first = 0, size = 0;           ///< rows and columns of the diagonal block
  Ordinal rows = 0, columns = 0;         ///< rows of L below it, columns of U right of it
  Offset row_list = 0, column_list = 0;  ///< where these begin in the lists of the plan
  Offset lower = 0, upper = 0;           ///< positions of the panels among the values

  KOKKOS_FORCEINLINE_FUNCTION Ordinal end() const { return first + size; }
  /// Distance of columns in the lower panel.
  KOKKOS_FORCEINLINE_FUNCTION Offset stride() const { return static_cast<Offset>(size) + rows; }
};

/// What supernode J updates in a later supernode K. Positions are relative to the lists of J.
struct SupernodePair {
  Ordinal to = 0;                      ///< K
  Ordinal row = 0, row_end = 0;        ///< J's rows of L that are rows of K
  Ordinal column = 0, column_end = 0;  ///< J's columns of U that are columns of K
  /// `positions(rows_at + i − row)`: row of K's lower panel of J's row i ≥ row; only if J has columns of K
  Offset rows_at = 0;
  /// `positions(columns_at + k − column_end)`: column of K's upper panel of J's column k ≥ column_end; only
  /// if J has rows of K
  Offset columns_at = 0;
};

/// A part of a panel or of a product that one team works on, in the lists of a supernode.
struct SupernodeTile {
  Ordinal supernode = 0;
  Ordinal row = 0, rows = 0;        ///< rows of L; none: columns of the upper panel are solved
  Ordinal column = 0, columns = 0;  ///< columns of U; none: rows of the lower panel are solved
};

/// Maximum number of columns that is fastest: on devices one team eliminates a diagonal block.
template <class ExecutionSpace>
inline constexpr int default_supernode_size = Impl::is_host_space<ExecutionSpace> ? 128 : 32;

/// Everything a supernodal factorization needs except values. Made once per pattern, in `MemorySpace`;
/// factorizations do not change it.
template <class MemorySpace>
struct SupernodalLuPlan {
  LuPattern<MemorySpace> rows;                              ///< L + U by rows
  Ordinal count = 0;                                        ///< supernodes
  Kokkos::View<const Ordinal*, MemorySpace> begin;          ///< [count + 1] first row of each; n at the end
  Kokkos::View<const Ordinal*, MemorySpace> of_row;         ///< [n] supernode of each row
  Kokkos::View<const SupernodeBlock*, MemorySpace> blocks;  ///< [count]
  Kokkos::View<const Ordinal*, MemorySpace> row_lists;     ///< rows of L of all supernodes, ascending in each
  Kokkos::View<const Ordinal*, MemorySpace> column_lists;  ///< columns of U of all supernodes
  Kokkos::View<const SupernodePair*, MemorySpace> pairs;   ///< by the updating supernode, then by `to`
  Kokkos::View<const Ordinal*, MemorySpace> pair_of_row;   ///< pair of each element of `row_lists`
  Kokkos::View<const Ordinal*, MemorySpace> pair_of_column;  ///< pair of each element of `column_lists`
  Kokkos::View<const Ordinal*, MemorySpace> positions;       ///< of all pairs
  /// [nnz(L + U)] position among the values of each entry by rows
  Kokkos::View<const Offset*, MemorySpace> row_to_panel;
  Levels<MemorySpace> levels;                               ///< of the graph of supernodes
  Kokkos::View<const SupernodeTile*, MemorySpace> solves;   ///< parts of panels, by level of their supernode
  Kokkos::View<const SupernodeTile*, MemorySpace> updates;  ///< parts of products, by level
  std::vector<std::int64_t> solve_begin, update_begin;      ///< [levels + 1] first tile of each level
  std::vector<Ordinal> largest;                             ///< [levels] columns of the largest supernode
  Offset n_values = 0;                                      ///< entries stored: those of L + U, and zeros
  Offset zeros = 0;                                         ///< entries stored that are not in the pattern
  double flops = 0;  ///< flops of one factorization, on zeros too; real flops for real scalars
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// Working storage of successive factorizations. Any number of workspaces may share a plan.
template <class MemorySpace>
struct SupernodalLuWorkspace {
  /// [1] on devices; on hosts empty
  Impl::AsyncResult<Impl::FactorChanges, typename MemorySpace::execution_space> changes;
  RunControl run;  ///< limits in time
  MemoryReservation reservation;
};

/// Partitions L + U into supernodes and plans their updates.
///
/// Supernodes are those of `find_supernodes` (type T3, amalgamated), cut where zeros would exceed
/// `relaxation`. In one, U(k, k + 1) and L(k + 1, k) are entries for all k but the last, so that by fill
///
///     struct U(k, :) right of the supernode ⊆ struct U(last, :),    struct L(:, k) below it ⊆ struct L(:,
///     last).
///
/// Hence the lists of the supernode are those of its last row and column. Type T3 makes the rows of U equal;
/// the columns of L need not be, and what they lack is stored as zeros. All of row list × column list is in
/// the pattern of L + U, so updates need no test. Positions of an update are found once for each pair of
/// supernodes, as in Demmel, Eisenstat, Gilbert, Li and Liu, SIAM J. Matrix Anal. Appl. 20 (1999).
///
/// @param options `relaxation`: maximum fraction of zeros in what a supernode stores, in U by amalgamation,
/// in
///                L and U together by cuts
/// @param levels  how the levels of supernodes are found
/// @throws InputError as `find_supernodes`; OutOfMemoryError
template <class ExecutionSpace>
SupernodalLuPlan<typename ExecutionSpace::memory_space> plan_supernodal_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const SupernodeOptions& options, const LevelizationOptions& levels = {});

/// Allocates a workspace, which factorizations on any plan may use.
/// @param budget memory and limits in time of the factorizations
/// @throws OutOfMemoryError
template <class ExecutionSpace>
SupernodalLuWorkspace<typename ExecutionSpace::memory_space> make_supernodal_lu_workspace(
    const ExecutionSpace& exec, const MemoryBudget& budget);

/// Supernodal right-looking LU without interchanges, on every execution space. Level by level of the graph of
/// supernodes: L\U of the diagonal blocks; L := A·U⁻¹ and U := L⁻¹·A of the panels; then the products L·U,
/// tile by tile, which are subtracted from the panels of later supernodes.
///
/// @param values    [plan.n_values] in: the matrix at `row_to_panel`, zeros elsewhere; out: L (unit diagonal
///                  not stored) and U in place
/// @param threshold smaller pivots are perturbed: raised to this magnitude, with their argument kept
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// @throws CancelledError by the limits of the workspace; `values` are then undefined
/// Cost: `plan.flops`; three launches per level. Waits for `exec` once. With more than one thread the order
/// of additions, and so the last bits, may vary from run to run.
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_supernodal(
    const ExecutionSpace& exec, const SupernodalLuPlan<typename ExecutionSpace::memory_space>& plan,
    const SupernodalLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed);

}  // namespace lutra

#endif

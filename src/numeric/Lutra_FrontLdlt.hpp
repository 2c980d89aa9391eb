// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLDLT_HPP
#define LUTRA_FRONTLDLT_HPP

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "Lutra_Factorization.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Pivoting.hpp"
#include "Lutra_SubtreeMapping.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

namespace Impl {
template <class MemorySpace>
class LdltSchedule;
}

/// Which pivots a factorization accepts.
struct LdltPivotRule {
  /// none: the diagonal in order, no test. static_perturbed: complete pivoting within diagonal blocks; pivots
  /// that are too small are perturbed, none is delayed. threshold (and automatic): as at factorize_ldlt
  Pivoting pivoting = Pivoting::threshold;
  Symmetry symmetry = Symmetry::symmetric;
  bool definite = false;    ///< with `none`: a pivot that is not positive ends the factorization (Cholesky)
  double threshold = 0.01;  ///< u: |entries of L| ≤ 1/u; 0 < u ≤ 0.5
  /// Columns all of whose entries are at most this times the largest scaled entry are zero pivots; negative:
  /// 16 times the distance from 1 to the next number
  double zero_tolerance = -1;
  double perturbation = 0;  ///< with `static_perturbed`: least magnitude of a pivot over the largest entry
};

/// What a slot of a front holds once the front has been factorized.
enum class PivotKind : unsigned char {
  one_by_one,
  first_of_two,  ///< of a 2 × 2 pivot, the next slot holding the second
  second_of_two,
  perturbed,  ///< a 1 × 1 pivot that was replaced by a larger one
  zero,       ///< a zero pivot: its column was zero up to the tolerance. D is 0 there and L's column 0
  delayed     ///< not eliminated here but in an ancestor
};

/// Room of one front. Its panel has N = pivots + delayed_in columns and N + cb_rows rows, delayed_in being
/// the columns that its children have delayed to it in this factorization, at most max_delayed. The panel is
/// stored by columns with the leading dimension N + cb_rows, so that it stands without gaps.
struct LdltFrontRoom {
  Offset panel = 0;  ///< in `panels`
  Offset slots = 0;  ///< in the arrays of slots: pivots + max_delayed of them
  /// In `workspace`, of fronts that are eliminated by blocks; shared by levels, but for data flow
  Offset work = 0;
  int max_delayed = 0;
};

/// Room of all fronts. Part of the plan at first; a factorization whose delayed columns do not fit has it
/// enlarged (enlarge_room), and then a room of its own.
template <class MemorySpace>
struct LdltRoom {
  Kokkos::View<const LdltFrontRoom*, MemorySpace> fronts;  ///< [count]
  std::vector<LdltFrontRoom> host_fronts;                  ///< the same on the host
  Offset panels = 0;     ///< entries of all panels, and some behind them that host kernels may read
  Offset slots = 0;      ///< slots of all fronts
  Offset workspace = 0;  ///< entries that the fronts of any level need at once
  Offset max_work = 0;   ///< entries that any front needs
  MemoryReservation reservation;
};

/// How a plan is made.
struct LdltPlanOptions {
  int min_room = 32;        ///< delayed columns a front has room for, at least, …
  double room_share = 0.1;  ///< … and over its own pivots; never more than its children can delay
  /// CUDA: fronts as data flow in two launches instead of level by level. By default where no front has more
  /// children than `max_children`: one block adds them up one after another, the largest of levels at once.
  std::optional<bool> data_flow = std::nullopt;
  int max_children = 1 << 14;
  int blocks = 0;  ///< with `data_flow`: blocks that run at once; 0: as the device says
  /// Hosts: fronts of more rows are eliminated by block columns with a-posteriori pivoting first, so that all
  /// threads can work on one; others column by column.
  int max_column_rows = 512;
};

/// All a factorization needs besides values and room, made once for a pattern.
template <class MemorySpace>
struct LdltPlan {
  /// Fronts, contribution rows, relative indices, children, assembly map, levels. Of its offsets `lower` and
  /// `upper` do not apply; `contribution` does, and blocks are cb_rows × cb_rows by columns of which the
  /// lower triangle is used.
  FrontPlan<MemorySpace> base;
  Kokkos::View<const Ordinal*, MemorySpace> order;  ///< [n] user's row at each permuted index
  LdltPlanOptions options;
  LdltRoom<MemorySpace> room;                                       ///< what factorizations start with
  std::shared_ptr<const Impl::LdltSchedule<MemorySpace>> schedule;  ///< of data flow, or none
  SubtreeMapping mapping;        ///< of fronts to host threads; empty for one thread and on devices
  Offset predicted_entries = 0;  ///< of L and D where nothing is delayed
  double flops = 0;              ///< where nothing is delayed
  MemoryReservation reservation;
};

/// What happened to one front. `stopped` fronts and their ancestors were not factorized.
struct LdltRecord {
  int delayed_in = 0;   ///< columns delayed to it by its children, in their order
  int eliminated = 0;   ///< columns eliminated: the first so many slots
  int delayed_out = 0;  ///< columns delayed to the parent: pivots + delayed_in − eliminated, the last slots
  int wanted = 0;       ///< where delayed_in did not fit: columns that there should be room for; else 0
  int stopped = 0;      ///< 1: not factorized, for want of room, a bad value, or a child that stopped
  /// Entries by which the panel begins before its room. Hosts put panels side by side: room that delayed
  /// columns do not need would lie between small ones.
  std::int64_t moved = 0;
};

/// Outcome of one factorization. Kept in memory of the execution space while it runs.
struct LdltOutcome {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

  double largest_entry = 0;   ///< max |entry of the scaled matrix|
  double largest_factor = 0;  ///< max |entry of D|; of L no more than 1/u is known
  /// Of pivots that are not zero, min |d|, or |det| / max |entry| of 2 × 2 pivots; infinity: there are none
  double smallest_pivot = std::numeric_limits<double>::infinity();
  std::int64_t positive = 0;  ///< inertia of D; not of complex matrices that are not Hermitian
  std::int64_t negative = 0;
  std::int64_t zero = 0;               ///< zero pivots
  std::int64_t two_by_two = 0;         ///< 2 × 2 pivots
  std::int64_t delayed = 0;            ///< columns delayed to a parent, once for each front that did
  std::int64_t perturbed = 0;          ///< perturbed pivots
  std::int64_t entries = 0;            ///< of L and D: 1 for each diagonal entry, no zeros of upper triangles
  std::int64_t max_delayed = 0;        ///< largest delayed_in of any front
  std::int64_t overflow_front = none;  ///< the first front whose delayed columns did not fit
  std::int64_t not_definite = none;    ///< the first permuted index whose pivot was not positive (`definite`)
  std::int64_t not_finite = none;      ///< the first front in which pivots were not finite
  int stopped_front = -1;  ///< the front at which the watchdog gave up waiting, or −1; of kernels that wait

  bool overflowed() const { return overflow_front != none; }
  bool succeeded() const {
    return !overflowed() && not_definite == none && not_finite == none && stopped_front < 0;
  }
};

/// What factorizations work in, one after the other, and leave their result in. Several may share a plan.
///
/// Front f, N = pivots + delayed_in, e = eliminated, offsets from room.fronts(f):
///
///           slots 0 … e−1      e … N−1
///         ┌───────────────┬─────────────┐      slot j: permuted index variables[slots + j]
///     e   │ L11, unit     │             │      D:      diagonal[slots + j], off_diagonal[slots + j] =
///         ├───────────────┼─────────────┤              D(j + 1, j) at the first of two, kind[slots + j]
///    N−e  │ L21           │ delayed: the│      L(j + 1, j) of a 2 × 2 pivot is 0; L's diagonal is not
///    stored,
///         ├───────────────┤ Schur       │      what stands there has no meaning, nor what is above it
/// cb_rows │ L31           │ complement  │      rows N … : contribution rows, in the order of base.rows
///         └───────────────┴─────────────┘
///
/// Before elimination the front's columns stand at positions: own pivots 0 … pivots − 1, then delayed columns
/// child by child, in the order of the child's slots e … N−1. positions[slots + j] is the position of what
/// slot j holds. A contribution row of a child with relative index r is at position r of its parent where
/// r < pivots, else its row r + delayed_in.
template <class Scalar, class ExecutionSpace>
struct LdltFactors {
  using Memory = typename ExecutionSpace::memory_space;

  LdltRoom<Memory> room;
  Kokkos::View<LdltRecord*, Memory> records;              ///< [count]
  Kokkos::View<Scalar*, Memory> panels;                   ///< [room.panels]
  Kokkos::View<Scalar*, Memory> contributions;            ///< not read after a factorization
  Kokkos::View<Scalar*, Memory> workspace;                ///< the same
  Kokkos::View<Scalar*, Memory> entries;                  ///< [nnz(A)] the scaled matrix by fronts; the same
  Kokkos::View<Ordinal*, Memory> variables;               ///< [room.slots] permuted index
  Kokkos::View<int*, Memory> positions;                   ///< [room.slots] position before elimination
  Kokkos::View<int*, Memory> scratch;                     ///< [room.slots]
  Kokkos::View<Scalar*, Memory> diagonal;                 ///< [room.slots] D(j, j)
  Kokkos::View<Scalar*, Memory> off_diagonal;             ///< [room.slots] D(j + 1, j), else 0
  Kokkos::View<PivotKind*, Memory> kind;                  ///< [room.slots]
  Kokkos::View<RealOf<Scalar>*, Memory> product_buffers;  ///< of host threads; else empty
  Kokkos::View<std::uint64_t*, Memory> flags;             ///< of data flow; else empty
  Kokkos::View<LdltOutcome, Memory> outcome;
  /// Of a tree with one root, with the portable kernels and on hosts: the root is assembled only, what stands
  /// in it then comes here, and the identity takes its room; in its children all columns are eliminated.
  /// Empty: the root is eliminated
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> complement;
  int resident_blocks[2] = {-1, -1};  ///< that run at once of the launches of data flow; −1: not asked yet
  Symmetry symmetry = Symmetry::symmetric;  ///< of the last factorization
  MemoryReservation reservation;            ///< of all but the room

  bool has_values() const { return outcome.data() != nullptr; }
};

/// Values to factorize: S·A·S and a shift of its diagonal, by the user's rows.
template <class Scalar, class MemorySpace>
struct LdltValues {
  ScaledValues<Scalar, MemorySpace> A;  ///< row_scale and col_scale are the same
  /// [n] added to A's diagonal before it is scaled; empty: nothing. The pattern need not have the diagonal.
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> shift = {};
};

/// Fronts, assembly map and room for a symmetric matrix.
/// @param tree    of A(order, order)
/// @param entries the pattern, both triangles, with tree.order as both of its orders. F's lower triangle is
/// read
/// @param A       the pattern of `entries` in the space's memory, which the plan shares; empty: it has a copy
/// Cost: as plan_fronts. @throws OutOfMemoryError
template <class ExecutionSpace>
LdltPlan<typename ExecutionSpace::memory_space> plan_ldlt(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const LdltPlanOptions& options = {},
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A = {});

/// Room for values, by the plan's room where the factors have none of their own. Does nothing where there is
/// room already.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void allocate_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                   const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors);

/// Multifrontal L·D·Lᵀ (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983) with a-posteriori
/// threshold pivoting (J. Hogg, E. Ovtchinnikov and J. Scott, ibid. 42, 2016): a diagonal block is factorized
/// with complete pivoting, 1 × 1 and 2 × 2; the rows below are solved for and the first column with an entry
/// of L above 1/u found; it and the columns behind it are given up and stand behind the rest. What failed is
/// tried again column by column with the threshold test. What fails then is delayed to the parent. At roots
/// every column is eliminated: complete pivoting keeps |L| ≤ 2 there.
///
/// Sums have one order: the same bits from run to run, and for any number of threads.
///
/// @param factors with room for values. On return its outcome, once `exec` is fenced, says what happened:
/// with
///                `overflowed()` nothing can be solved; call enlarge_room and factorize again
/// Cost: plan.flops and what delayed columns add. Does not fence on devices, does not allocate. `portable`
/// takes the portable kernels on hosts.
/// @throws InputError for a threshold outside (0, 0.5]
template <class Scalar, class ExecutionSpace>
void factorize_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const LdltValues<Scalar, typename ExecutionSpace::memory_space>& values,
                    const LdltPivotRule& rule, LdltFactors<Scalar, ExecutionSpace>& factors,
                    bool portable = false);

/// The outcome on the host. Fences.
template <class Scalar, class ExecutionSpace>
LdltOutcome read_outcome(const ExecutionSpace& exec, const LdltFactors<Scalar, ExecutionSpace>& factors);

/// After a factorization that overflowed: the fronts that did and their ancestors get twice their room, at
/// least what was wanted, and the arrays are allocated anew; values are lost. Fences.
/// @returns entries of all panels
/// @throws OutOfMemoryError; the factors then have room for no values
template <class Scalar, class ExecutionSpace>
Offset enlarge_room(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors);

}  // namespace lutra

#endif

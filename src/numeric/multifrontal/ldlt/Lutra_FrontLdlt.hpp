// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLDLT_HPP
#define LUTRA_FRONTLDLT_HPP

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SubtreeMapping.hpp"

namespace lutra {

namespace Impl {
/// How the fronts of one plan are run; immutable.
template <class MemorySpace>
struct LdltSchedule;
/// What successive factorizations write, values excepted.
template <class Scalar, class ExecutionSpace>
struct LdltRunState;
}  // namespace Impl

/// Pivoting strategy and tolerances.
struct LdltPivotRule {
  /// none: the diagonal in order, without a test. static_perturbed: complete pivoting within diagonal blocks;
  /// small pivots are perturbed, none is delayed. threshold (and automatic): see factorize_ldlt
  Pivoting pivoting = Pivoting::threshold;
  Symmetry symmetry = Symmetry::symmetric;
  bool definite = false;    ///< with `none`: a pivot that is not positive stops the factorization (Cholesky)
  double threshold = 0.01;  ///< u: |entries of L| ≤ 1/u; 0 < u ≤ 0.5
  /// A column is a zero pivot if all its entries are at most this times the largest scaled entry; negative:
  /// 16 times the machine epsilon
  double zero_tolerance = -1;
  double perturbation = 0;  ///< with `static_perturbed`: least pivot magnitude relative to the largest entry
  /// For a plan whose trees are those of several matrices (Lutra_LdltMatrices.hpp): the largest scaled entry
  /// of each, in memory of the execution space, and the number of fronts of each. Tolerances are then
  /// relative to the largest entry of a front's own matrix. Null: to that of all
  const double* largest_entries = nullptr;
  Ordinal fronts_a_matrix = 1;

  /// The largest entry to which tolerances of a front are relative; 1 if all are zero.
  /// @param of_all largest entry of all matrices
  KOKKOS_FUNCTION double largest_entry(Ordinal front, double of_all) const {
    const double largest = largest_entries != nullptr ? largest_entries[front / fronts_a_matrix] : of_all;
    return largest > 0 ? largest : 1.0;
  }
};

/// Content of a slot once its front has been factorized.
enum class PivotKind : unsigned char {
  one_by_one,
  first_of_two,  ///< first column of a 2 × 2 pivot; the next slot holds the second
  second_of_two,
  perturbed,  ///< 1 × 1 pivot raised to a larger magnitude
  zero,       ///< zero pivot: its column was zero up to the tolerance; D and L's column are 0
  delayed     ///< eliminated in an ancestor
};

/// Storage of one front. Its panel has N = pivots + delayed_in columns and N + cb_rows rows, delayed_in being
/// the columns its children delayed in this factorization, at most max_delayed. Panels are stored by columns
/// with leading dimension N + cb_rows, hence without gaps.
struct LdltFrontPlace {
  Offset panel = 0;  ///< offset in `panels`
  Offset slots = 0;  ///< offset in the slot arrays, pivots + max_delayed slots
  /// Offset in `workspace` for fronts eliminated by blocks; levels share it, except with data flow
  Offset work = 0;
  int max_delayed = 0;
};

/// Storage of all fronts. Initially part of the plan; a factorization whose delayed columns do not fit gets
/// its own, larger copy (enlarge_room).
template <class MemorySpace>
struct LdltFrontLayout {
  Kokkos::View<const LdltFrontPlace*, MemorySpace> fronts;  ///< [count]
  std::vector<LdltFrontPlace> host_fronts;                  ///< host copy of `fronts`
  Offset panels = 0;     ///< entries of all panels, plus padding that host kernels may read
  Offset slots = 0;      ///< slots of all fronts
  Offset workspace = 0;  ///< entries that the fronts of any one level need together
  Offset max_work = 0;   ///< largest number of entries that a front needs
  MemoryReservation reservation;
};

/// Options of plan_ldlt.
struct LdltPlanOptions {
  int min_room = 32;        ///< least capacity of a front for delayed columns, …
  double room_share = 0.1;  ///< … and relative to its own pivots; never more than its children can delay
  /// CUDA: runs fronts as data flow in two launches instead of level by level. By default on if no front has
  /// more than `max_children` children, since a single block assembles them successively, starting with the
  /// largest of each level.
  std::optional<bool> data_flow = std::nullopt;
  int max_children = 1 << 14;
  int blocks = 0;  ///< with `data_flow`: resident blocks; 0: as the device reports
  /// Hosts: larger fronts are first eliminated by block columns with a-posteriori pivoting, so that all
  /// threads can share one front; smaller fronts are eliminated column by column.
  int max_column_rows = 512;
};

/// Everything a factorization needs except values and storage; made once per pattern.
template <class MemorySpace>
struct LdltPlan {
  FrontPlan<MemorySpace> base;                      ///< contribution blocks hold their lower triangles only
  Kokkos::View<const Ordinal*, MemorySpace> order;  ///< [n] user row at each permuted index
  LdltPlanOptions options;
  LdltFrontLayout<MemorySpace> room;  ///< initial storage of factorizations
  bool data_flow = false;             ///< whether fronts run as data flow, each with a workspace of its own
  std::shared_ptr<const Impl::LdltSchedule<MemorySpace>> schedule;
  MemoryReservation reservation;
};

/// Entries of L and D without delayed pivots. O(fronts)
Offset predicted_ldlt_entries(const std::vector<Front>& fronts);

/// Subtrees of a plan's fronts by host threads, which solves follow too; empty for one thread.
const SubtreeMapping& subtrees_of(const LdltPlan<Kokkos::HostSpace>& plan);

/// Result of one front. `stopped` fronts and their ancestors were not factorized.
struct LdltRecord {
  int delayed_in = 0;   ///< columns delayed to it by its children, in the children's order
  int eliminated = 0;   ///< columns eliminated; they occupy the first slots
  int delayed_out = 0;  ///< columns delayed to the parent: pivots + delayed_in − eliminated, in the last
                        ///< slots
  int wanted = 0;       ///< required capacity if delayed_in did not fit; else 0
  int stopped = 0;      ///< 1: not factorized because of missing storage, a value that is not finite, or a
                        ///< stopped child
  /// Entries by which the panel starts before its reserved offset. Hosts pack panels contiguously, so that
  /// unused capacity for delayed columns does not separate small ones.
  std::int64_t moved = 0;

  /// Completes the record of a front, `done` of whose columns have been eliminated.
  KOKKOS_FUNCTION void finish(int done, int columns, bool failed) {
    if (failed) stopped = 1;
    if (stopped != 0) return;
    eliminated = done;
    delayed_out = columns - done;
  }
};

/// Outcome of one factorization.
struct LdltOutcome : FrontOutcome {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

  /// Over nonzero pivots, min |d|, or |det| / max |entry| of 2 × 2 pivots; infinity without any
  double smallest_pivot = std::numeric_limits<double>::infinity();
  std::int64_t positive = 0;  ///< positive eigenvalues of D; not for complex matrices that are not Hermitian
  std::int64_t negative = 0;
  std::int64_t zero = 0;               ///< zero pivots
  std::int64_t two_by_two = 0;         ///< 2 × 2 pivots
  std::int64_t delayed = 0;            ///< delayed columns, counted once per front that delays them
  std::int64_t entries = 0;            ///< entries of L and D; each diagonal entry counts 1, zeros of upper
                                       ///< triangles do not count
  std::int64_t max_delayed = 0;        ///< largest delayed_in of any front
  std::int64_t overflow_front = none;  ///< first front whose delayed columns did not fit
  std::int64_t not_definite = none;    ///< first permuted index whose pivot was not positive (`definite`)
  std::int64_t not_finite = none;      ///< first front with pivots that were not finite

  bool overflowed() const { return overflow_front != none; }
  bool succeeded() const {
    return !overflowed() && not_definite == none && not_finite == none && stopped_front < 0;
  }
};

/// Factors and working storage of successive factorizations. Several may share a plan.
///
/// Front f, N = pivots + delayed_in, e = eliminated, offsets from room.fronts(f):
///
///           slots 0 … e−1      e … N−1
///         ┌───────────────┬─────────────┐      slot j: permuted index variables[slots + j]
///     e   │ L11, unit     │             │      D:      diagonal[slots + j], off_diagonal[slots + j] =
///         ├───────────────┼─────────────┤              D(j + 1, j) at the first of two, kind[slots + j]
///    N−e  │ L21           │ delayed: the│      L(j + 1, j) of a 2 × 2 pivot is 0; L's diagonal and the
///         ├───────────────┤ Schur       │      upper triangle are not stored, their contents undefined
/// cb_rows │ L31           │ complement  │      rows N … : contribution rows, in the order of base.rows
///         └───────────────┴─────────────┘
///
/// Before elimination, columns have these positions: own pivots 0 … pivots − 1, then delayed columns child by
/// child, in the order of the child's slots e … N−1. positions[slots + j] is the position of the column now
/// in slot j. A contribution row of a child with relative index r has position r in its parent if r < pivots,
/// else position r + delayed_in.
template <class Scalar, class ExecutionSpace>
struct LdltFactors {
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;

  LdltFrontLayout<Memory> room;
  Kokkos::View<LdltRecord*, Memory> records;    ///< [count]
  Kokkos::View<Scalar*, Memory> panels;         ///< [room.panels]
  Kokkos::View<Scalar*, Memory> contributions;  ///< working storage of one factorization
  Kokkos::View<Scalar*, Memory> workspace;      ///< working storage of one factorization
  Kokkos::View<Scalar*, Memory> entries;        ///< [nnz(A)] scaled matrix by fronts; working storage
  Kokkos::View<Ordinal*, Memory> variables;     ///< [room.slots] permuted index
  Kokkos::View<int*, Memory> positions;         ///< [room.slots] position before elimination
  Kokkos::View<int*, Memory> scratch;           ///< [room.slots]
  Kokkos::View<Scalar*, Memory> diagonal;       ///< [room.slots] D(j, j)
  Kokkos::View<Scalar*, Memory> off_diagonal;   ///< [room.slots] D(j + 1, j), else 0
  Kokkos::View<PivotKind*, Memory> kind;        ///< [room.slots]
  Kokkos::View<LdltOutcome, Memory> outcome;
  /// For a tree with one root, with portable kernels and on hosts: the root is assembled but not eliminated;
  /// its entries are copied here and the identity takes their place; its children eliminate all columns.
  /// Empty: the root is eliminated
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> complement;
  std::shared_ptr<Impl::LdltRunState<Scalar, ExecutionSpace>> state;
  Symmetry symmetry = Symmetry::symmetric;  ///< of the last factorization
  MemoryReservation reservation;            ///< covers everything except `room` and `state`

  bool has_values() const { return outcome.data() != nullptr; }
};

/// Values to factorize: S·A·S plus a shift of its diagonal, in the user's row numbering.
template <class Scalar, class MemorySpace>
struct LdltValues {
  ScaledValues<Scalar, MemorySpace> A;  ///< row_scale and col_scale are equal
  /// [n] added to A's diagonal before scaling; empty: no shift. The diagonal may be absent from the pattern.
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> shift = {};
};

/// Plans fronts, assembly map and storage for a symmetric matrix.
/// @param tree    of A(order, order)
/// @param entries the pattern, both triangles, with tree.order as both orders; F's lower triangle is read
/// @param A       pattern of `entries` in the space's memory, shared by the plan; empty: the plan copies it
/// Cost: as plan_fronts.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
LdltPlan<typename ExecutionSpace::memory_space> plan_ldlt(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const LdltPlanOptions& options = {},
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A = {});

/// Predicts the bytes of factors with the plan's own storage. Exact up to 8 bytes per array. `panels`
/// includes the space that is reserved for delayed columns.
template <class Scalar, class ExecutionSpace>
FrontFactorBytes predict_ldlt_bytes(const LdltPlan<typename ExecutionSpace::memory_space>& plan);

/// Allocates storage for values, sized by the factors' own LdltFrontLayout or else the plan's. Does nothing
/// if already allocated.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void allocate_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                   const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors);

/// Multifrontal L·D·Lᵀ (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983) with a-posteriori
/// threshold pivoting (J. Hogg, E. Ovtchinnikov and J. Scott, ibid. 42, 2016). A diagonal block is factorized
/// with complete pivoting, 1 × 1 and 2 × 2; the rows below are solved for. The first column with an entry of
/// L above 1/u fails, with all columns after it; these move to the end. They are tried again column by column
/// with the threshold test; columns that fail again are delayed to the parent. Roots eliminate every column:
/// complete pivoting keeps |L| ≤ 2 there.
///
/// Sums have a fixed order: results are bitwise equal from run to run and for any number of threads.
///
/// @param factors  with storage for values. Its outcome is valid once `exec` is fenced. If `overflowed()`,
///                 the factors cannot be used; call enlarge_room and factorize again
/// @param portable forces the portable kernels on hosts
/// Cost: plan.flops plus the work of delayed columns. Does not fence on devices, does not allocate.
/// @throws InputError for a threshold outside (0, 0.5]
template <class Scalar, class ExecutionSpace>
void factorize_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const LdltValues<Scalar, typename ExecutionSpace::memory_space>& values,
                    const LdltPivotRule& rule, LdltFactors<Scalar, ExecutionSpace>& factors,
                    bool portable = false);

/// Copies the outcome to the host. Fences.
template <class Scalar, class ExecutionSpace>
LdltOutcome read_outcome(const ExecutionSpace& exec, const LdltFactors<Scalar, ExecutionSpace>& factors);

/// Recovers from a factorization that overflowed: doubles the capacity of the fronts that overflowed and
/// their ancestors, at least to `wanted`, and reallocates the arrays; values are lost. Fences.
/// @returns entries of all panels
/// @throws OutOfMemoryError; the factors then have no storage for values
template <class Scalar, class ExecutionSpace>
Offset enlarge_room(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors);

/// Reallocates the arrays for the given numbers of delayed columns, which become at most those that the
/// children can delay; values are lost. Fences.
/// @param max_delayed [count] capacity of each front
/// @returns entries of all panels
/// @throws OutOfMemoryError; the factors then have no storage for values
template <class Scalar, class ExecutionSpace>
Offset change_room(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                   const MemoryBudget& budget, std::vector<int> max_delayed,
                   LdltFactors<Scalar, ExecutionSpace>& factors);

/// Determinant of A = S⁻¹·Pᵀ·L·D·Lᵀ·P·S⁻¹: det(D) divided by the squared scales. Perturbed pivots enter with
/// their perturbed values. Runs on one host thread, in pivot order; copies D to the host; O(slots) there.
/// Fences.
/// @param factors of a successful factorization
/// @param scale   [n] S in the user's row numbering; empty: ones
template <class Scalar, class ExecutionSpace>
Determinant<Scalar> determinant(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale);

}  // namespace lutra

#endif

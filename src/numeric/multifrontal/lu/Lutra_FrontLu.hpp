// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLU_HPP
#define LUTRA_FRONTLU_HPP

#include <memory>
#include <optional>

#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuPlan.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Outcome of one multifrontal factorization.
struct FrontLuOutcome : FrontOutcome {
  std::int64_t interchanged = 0;  ///< pivots chosen off the diagonal
};

namespace Impl {
/// Tasks of one plan on one execution space; immutable, shared by any number of factorizations.
template <class Scalar, class ExecutionSpace>
struct FrontSchedule;
/// Flags and buffers that successive factorizations on one schedule write, values excepted.
template <class Scalar, class ExecutionSpace>
struct FrontRunState;
}  // namespace Impl

/// State of threshold pivoting, see factorize_fronts.
template <class MemorySpace>
struct FrontInterchanges {
  double threshold = 0;
  /// [n] permuted index of the row eliminated at each pivot. Panels of untiled fronts hold their rows in this
  /// order. In tiled fronts (those with inverses) only the diagonal tile and the tiles right of it do; the
  /// inverse of L's tile takes rows in their original order
  Kokkos::View<Ordinal*, MemorySpace> row_of_pivot;
  /// those of symmetric and Hermitian matrices apply to rows and columns alike
  Impl::Interchanges kind = Impl::Interchanges::rows;
  bool is_symmetric() const { return kind != Impl::Interchanges::rows; }
  /// [n] permuted index of the column eliminated at each pivot; without symmetric interchanges empty. The
  /// inverse of a tile's U gives its rows in their original order
  Kokkos::View<Ordinal*, MemorySpace> column_of_pivot = {};
};

/// Factors and working storage of successive multifrontal factorizations. Several may share a plan and a
/// schedule.
template <class Scalar, class ExecutionSpace>
struct FrontFactors {
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LuPlan<Memory>;
  Kokkos::View<Scalar*, Memory> panels;  ///< L\U, front by front
  /// contribution blocks that do not fit among the panels; stored after them
  Kokkos::View<Scalar*, Memory> contributions;
  Kokkos::View<Scalar*, Memory> entries;  ///< [nnz(A)] entries of the scaled matrix, front by front
  Kokkos::View<FrontLuOutcome, Memory> outcome;
  double min_largest_entry = 0;  ///< initial largest_entry: the largest entry outside these fronts, if any
  /// absent with static pivoting; set before allocate_values
  std::optional<FrontInterchanges<Memory>> interchanges;
  /// For a tree with one root: the root is assembled but not eliminated; its entries are copied here and the
  /// identity takes their place. Supported by host and portable kernels. Empty: the root is eliminated
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> complement;
  std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> schedule;
  std::shared_ptr<Impl::FrontRunState<Scalar, ExecutionSpace>> state;
  MemoryReservation values_reservation;  ///< covers everything except schedule and state

  bool has_values() const { return outcome.data() != nullptr; }
  /// Row order of threshold pivoting; empty with static pivoting.
  Kokkos::View<Ordinal*, Memory> row_of_pivot() const {
    return interchanges ? interchanges->row_of_pivot : Kokkos::View<Ordinal*, Memory>();
  }
  /// Column order of symmetric interchanges; otherwise empty.
  Kokkos::View<Ordinal*, Memory> column_of_pivot() const {
    return interchanges ? interchanges->column_of_pivot : Kokkos::View<Ordinal*, Memory>();
  }
};

/// Whether pivots j and j + 1 form one of order two, by the orders of symmetric interchanges. Their rows are
/// then interchanged: U has the off-diagonal entry of the pair at (j, j).
template <class Order>
KOKKOS_FUNCTION bool starts_pair(const Order& row_of_pivot, const Order& column_of_pivot, std::int64_t j) {
  return row_of_pivot[j] != column_of_pivot[j] && row_of_pivot[j] == column_of_pivot[j + 1];
}

/// Inverses of the diagonal tiles of large fronts (InverseTile), which a factorization leaves to the solves:
/// of U by rows and of L by columns, front by front in postorder. Null if the last factorization left none.
template <class Scalar>
struct FrontInverses {
  const Scalar* upper = nullptr;
  const Scalar* lower = nullptr;
};
template <class Scalar, class ExecutionSpace>
FrontInverses<Scalar> inverses_of(const FrontFactors<Scalar, ExecutionSpace>& factors);

/// Tiling of fronts for this scalar and space.
template <class Scalar, class ExecutionSpace>
FrontPlanOptions front_plan_options();

/// Entry counts of the multifrontal factors in an execution space.
struct FrontSizes {
  std::int64_t panels = 0;         ///< entries of L + U
  std::int64_t contributions = 0;  ///< contribution entries stored outside the panels
  std::int64_t inverses = 0;       ///< entries of the inverted diagonal tiles, without interchanges
};

/// Computed from the tree, without plan or values. O(rows of all fronts); on devices plus the cost of the
/// task order.
template <class Scalar, class ExecutionSpace>
FrontSizes sizes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree,
                           const DeviceModel& model = default_device_model<ExecutionSpace>());

/// Bytes of the host threads' packing buffers for dense products, in the real type of `Scalar`; 0 on devices.
template <class Scalar, class ExecutionSpace>
std::size_t bytes_of_product_buffers(int threads);

/// Predicted bytes of a tree's plan and factors without interchanges. On hosts exact up to 8 bytes per array;
/// on devices the task lists are not counted.
/// @param nnz     entries of the matrix
/// @param threads threads of the execution space, each with its own buffer
/// Cost: as sizes_of_fronts.
template <class Scalar, class ExecutionSpace>
std::size_t predict_bytes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree, std::int64_t nnz,
                                    int threads,
                                    const DeviceModel& model = default_device_model<ExecutionSpace>());

/// Predicts the bytes of factors over a schedule. Exact up to 8 bytes per array.
/// @param interchanges whether there will be interchanges, and whether they are symmetric
template <class Scalar, class ExecutionSpace>
FrontFactorBytes predict_factor_bytes(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                      const Impl::FrontSchedule<Scalar, ExecutionSpace>& schedule,
                                      const std::optional<Impl::Interchanges>& interchanges);

/// Task schedule of a plan, shared by any number of factors.
/// @param model    cost model that orders the tasks, on devices
/// @param symmetry of all matrices to come: CUDA then computes only the lower triangle of large fronts, U
///                 being D·Lᵀ or D·Lᴴ. Not with interchanges
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> make_front_schedule(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, const DeviceModel& model = default_device_model<ExecutionSpace>(),
    const std::optional<Symmetry>& symmetry = {});

/// Factors without storage for values: only the parts that do not depend on them.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
FrontFactors<Scalar, ExecutionSpace> make_front_factors(
    const ExecutionSpace& exec,
    const std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>>& schedule,
    const MemoryBudget& budget);

/// Allocates storage for values, unless it exists.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void allocate_values(const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
                     const MemoryBudget& budget, FrontFactors<Scalar, ExecutionSpace>& factors);

/// Entries of the array in which allocate_values puts values.
/// @param interchanges whether there will be interchanges, and whether they are symmetric
template <class Scalar, class ExecutionSpace>
std::size_t value_entries(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                          const Impl::FrontSchedule<Scalar, ExecutionSpace>& schedule,
                          const std::optional<Impl::Interchanges>& interchanges);

/// Puts values into an array of the caller, in place of allocate_values; `outcome` and the orders of
/// interchanges are the caller's, too. Later factors in the same array replace the values.
/// @param storage [value_entries] whose first entry is aligned to 256 bytes
template <class Scalar, class ExecutionSpace>
void place_values(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                  const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& storage,
                  FrontFactors<Scalar, ExecutionSpace>& factors);

/// Multifrontal LU (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983, on the pattern of F + Fᵀ):
/// each front assembles its entries of F and its children's Schur complements, in an order independent of the
/// threads, eliminates its pivots and passes its own Schur complement to its parent.
///
/// Static pivoting keeps all rows in place. With `factors.interchanges` and threshold u, rows are
/// interchanged among the pivots of a front, on devices among those of one tile: a diagonal entry is accepted
/// if it is at least u times the largest entry of its column within them; otherwise the first row with the
/// largest entry becomes the pivot row. Patterns, plans and contribution blocks are unchanged. Symmetric
/// interchanges choose pivots of order one and two among the same columns (Bunch and Kaufman), or take the
/// columns in order, one or two at a time; the matrix has to be symmetric or Hermitian, with a schedule for
/// that.
///
/// @param factors      with storage for values
/// @param perturbation pivots smaller than this times the largest scaled entry are perturbed: raised to that
///                     magnitude, with their argument kept
/// @param perturbed    [n] out: 1 where the pivot was perturbed, else 0
/// @param portable     forces the portable kernels; these may allocate contributions, and then fence
/// Cost: `plan.flops`. Does not fence on devices and copies nothing to the host: `factors.outcome` is valid
/// once `exec` is fenced.
template <class Scalar, class ExecutionSpace>
void factorize_fronts(const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
                      const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                      double perturbation, const FrontFactors<Scalar, ExecutionSpace>& factors,
                      const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
                      bool portable = false);

/// The contribution block of a front, by columns. For a root whose rows another tree eliminates: read it
/// after a factorization. For a front without pivots, whose contribution is given: write it before each
/// factorization.
template <class Scalar, class ExecutionSpace>
Kokkos::View<Scalar*, typename ExecutionSpace::memory_space> contribution_of(
    const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontFactors<Scalar, ExecutionSpace>& factors, Ordinal front);

/// Writes the largest magnitude in the panels to the outcome, infinity if one is not finite; for solves that
/// read the panels directly. Cost: one read of the panels. Does not fence on devices.
template <class Scalar, class ExecutionSpace>
void find_largest_factor(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors);

/// Sets values(p) = panels(source(p)), and writes the largest magnitude to the outcome. Does not fence on
/// devices. Not for factors with interchanges, whose L by rows has a different pattern.
/// @throws InputError for those
template <class Scalar, class ExecutionSpace>
void gather_factors(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors,
                    const Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source,
                    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values);

}  // namespace lutra

#endif

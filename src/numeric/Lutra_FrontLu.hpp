// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLU_HPP
#define LUTRA_FRONTLU_HPP

#include <memory>
#include <optional>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

/// Outcome of one factorization in fronts. Kept in memory of the execution space while it runs.
struct FrontLuOutcome {
  double largest_entry = 0;       ///< max |entry of the scaled matrix|
  double largest_factor = 0;      ///< max |entry of L\U|; infinity where one is not finite
  std::int64_t perturbed = 0;     ///< perturbed pivots
  std::int64_t interchanged = 0;  ///< pivots for which two rows were interchanged
  int stopped_front = -1;         ///< the front at which the watchdog gave up waiting, or −1
};

namespace Impl {
/// Tasks of one execution space for one plan. Not changed by factorizations, any number of which share it.
template <class Scalar, class ExecutionSpace>
struct FrontSchedule;
/// What one factorization after the other with a schedule writes beside values: flags, buffers.
template <class Scalar, class ExecutionSpace>
struct FrontRunState;
}  // namespace Impl

/// Of threshold pivoting, see factorize_fronts.
template <class MemorySpace>
struct FrontInterchanges {
  double threshold = 0;
  Kokkos::View<Ordinal*, MemorySpace> row_of_pivot;  ///< [n] permuted index whose row was eliminated at
                                                     ///< each pivot. Panels of fronts as a whole hold rows in
                                                     ///< this order. In tiled fronts (those with inverses)
                                                     ///< only the diagonal tile and what is right of it does,
                                                     ///< and the inverse of L's tile takes rows as they came
};

/// What factorizations in fronts work in, one after the other, and leave their result in. Several may share a
/// plan and a schedule.
template <class Scalar, class ExecutionSpace>
struct FrontFactors {
  using Memory = typename ExecutionSpace::memory_space;
  Kokkos::View<Scalar*, Memory> panels;  ///< L\U by fronts
  /// contribution blocks that do not fit among the panels, behind them
  Kokkos::View<Scalar*, Memory> contributions;
  Kokkos::View<Scalar*, Memory> entries;   ///< [nnz(A)] the scaled matrix by fronts
  Kokkos::View<Scalar*, Memory> scratch;   ///< both of these, which are not read between factorizations
  Kokkos::View<Scalar*, Memory> inverses;  ///< of diagonal tiles, where a schedule leaves them to the solves
  Kokkos::View<FrontLuOutcome, Memory> outcome;
  Kokkos::View<FrontLuOutcome, Memory> no_outcome;  ///< what `outcome` starts from
  /// none with static pivoting; to be set before values get room
  std::optional<FrontInterchanges<Memory>> interchanges;
  /// Of a tree with one root: the root is assembled only, what stands in it then comes here, and the identity
  /// takes its room. Hosts and the portable kernels do this. Empty: the root is eliminated
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> complement;
  std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> schedule;
  std::shared_ptr<Impl::FrontRunState<Scalar, ExecutionSpace>> state;
  MemoryReservation values_reservation;  ///< of all but schedule and state

  bool has_values() const { return no_outcome.data() != nullptr; }
  /// Of threshold pivoting, else empty.
  Kokkos::View<Ordinal*, Memory> row_of_pivot() const {
    return interchanges ? interchanges->row_of_pivot : Kokkos::View<Ordinal*, Memory>();
  }
};

/// How a plan for this scalar and space cuts fronts.
template <class Scalar, class ExecutionSpace>
FrontPlanOptions front_plan_options();

/// Numbers that a factorization in fronts keeps in an execution space.
struct FrontSizes {
  std::int64_t panels = 0;         ///< of L + U
  std::int64_t contributions = 0;  ///< of contributions, those beside the panels
  std::int64_t inverses = 0;       ///< of inverses of diagonal tiles, without interchanges
};

/// Without plan and values. O(rows of all fronts); on devices also what their order of tasks takes.
template <class Scalar, class ExecutionSpace>
FrontSizes sizes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree,
                           const DeviceModel& model = default_device_model<ExecutionSpace>());

/// Bytes of the buffers in which threads of a host pack the operands of products, by real numbers; none on
/// devices.
template <class Scalar, class ExecutionSpace>
std::size_t bytes_of_product_buffers(int threads);

/// Bytes that a plan for a tree and its factors will take, without interchanges: on hosts just as many, but
/// for less than 8 an array; on devices all but the lists of their tasks.
/// @param nnz     entries of the matrix
/// @param threads of the execution space: each has a buffer of its own
/// Cost: as sizes_of_fronts.
template <class Scalar, class ExecutionSpace>
std::size_t predict_bytes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree, std::int64_t nnz,
                                    int threads,
                                    const DeviceModel& model = default_device_model<ExecutionSpace>());

/// Tasks for a plan, which any number of factors share.
/// @param model    by which tasks are put in order, on devices
/// @param symmetry of all matrices to come: CUDA then works the lower triangle of large fronts alone, U being
///                 D·Lᵀ or D·Lᴴ. Not with interchanges
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> make_front_schedule(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, const DeviceModel& model = default_device_model<ExecutionSpace>(),
    const std::optional<Symmetry>& symmetry = {});

/// Factors without room for values: what does not depend on them.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
FrontFactors<Scalar, ExecutionSpace> make_front_factors(
    const ExecutionSpace& exec,
    const std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>>& schedule,
    const MemoryBudget& budget);

/// The same with a schedule of their own.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
FrontFactors<Scalar, ExecutionSpace> make_front_factors(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget);

/// Room for values, where there is none yet.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void allocate_values(const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                     const MemoryBudget& budget, FrontFactors<Scalar, ExecutionSpace>& factors);

/// Multifrontal LU (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983, on the pattern of F + Fᵀ):
/// each front gathers its entries of F and its children's Schur complements, in one order whatever the
/// threads do, eliminates its pivots and leaves its own Schur complement to its parent.
///
/// Rows stay where they are, or with `factors.interchanges` of threshold u are interchanged among the pivots
/// of a front, on devices among those of one of its tiles: a diagonal entry stays where it is at least u
/// times the greatest of its column there, else the first row with the greatest becomes the pivot row.
/// Patterns, plans and what parents get are the same.
///
/// @param factors      with room for values
/// @param perturbation pivots smaller than this times the largest scaled entry are perturbed: they get that
///                     magnitude, and keep their argument
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`. Does not fence on devices and brings nothing to the host: `factors.outcome` holds what
/// happened, once `exec` is fenced. `portable` takes the portable kernels where there are others; it may need
/// room of its own for contributions, and fences then.
template <class Scalar, class ExecutionSpace>
void factorize_fronts(const ExecutionSpace& exec,
                      const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                      const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                      double perturbation, const FrontFactors<Scalar, ExecutionSpace>& factors,
                      const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
                      bool portable = false);

/// The contribution block of a front, by columns: of a root whose rows another tree eliminates, to be read
/// after a factorization; of a front without pivots, whose contribution is given, to be written before each.
template <class Scalar, class ExecutionSpace>
Kokkos::View<Scalar*, typename ExecutionSpace::memory_space> contribution_of(
    const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontFactors<Scalar, ExecutionSpace>& factors, Ordinal front);

/// Brings the largest magnitude in the panels into the outcome, infinity where one is not finite: for solves
/// that read the panels themselves. Cost: the panels read once. Does not fence on devices.
template <class Scalar, class ExecutionSpace>
void find_largest_factor(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors);

/// values(p) = panels(source(p)), and the largest of them into the outcome. Does not fence on devices. Not
/// for factors with interchanges, whose L by rows has another pattern.
/// @throws InputError for those
template <class Scalar, class ExecutionSpace>
void gather_factors(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors,
                    const Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source,
                    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values);

}  // namespace lutra

#endif

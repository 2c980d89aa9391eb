// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGENGINE_HPP
#define LUTRA_RIGHTLOOKINGENGINE_HPP

#include "Lutra_Index.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_ScaledEntries.hpp"

namespace lutra::Impl {

/// Simplicial engine for devices: right-looking LU by columns (Lutra_RightLookingLu.hpp).
template <class Scalar, class ExecutionSpace>
struct RightLookingEngine {
  using Memory = typename ExecutionSpace::memory_space;
  using Values = Kokkos::View<Scalar*, Memory>;

  struct Plan {
    PermutedPattern<Memory> F;
    RightLookingLuPlan<Memory> lu;
    MemoryReservation reservation;               ///< memory of the members below
    Kokkos::View<const Offset*, Memory> target;  ///< [nnz(A)] position of each entry in L + U by columns
  };
  struct Factors {
    Values column_values;                            ///< [nnz(L + U)] by columns
    Values row_values;                               ///< [nnz(L + U)] by rows
    Kokkos::View<unsigned char*, Memory> perturbed;  ///< [n] 1 where the pivot was perturbed
    RightLookingLuWorkspace<Memory> workspace;       ///< flags of the kernels
    AsyncResult<double, ExecutionSpace> largest;     ///< [1] max |entry of the scaled matrix|
    MemoryReservation reservation;
  };

  /// @param permuted pattern of F, freed with its reservation
  /// @param filled   pattern of L + U
  static Plan plan(const ExecutionSpace& exec, const PermutedPattern<Memory>& F,
                   CsrPattern<Ordinal, Offset, Memory> permuted, MemoryReservation reservation,
                   const LuPattern<Memory>& filled, const ColumnOptions& options,
                   const MemoryBudget& budget) {
    permuted = {};
    reservation = MemoryReservation(budget);
    Plan plan{F, plan_right_looking_lu(exec, filled, budget, options), reservation, {}};
    plan.target = locate_entries(exec, F, filled, plan.lu.row_to_column, plan.reservation, budget);
    return plan;
  }
  static std::vector<std::int64_t> level_widths(const Plan& plan) {
    const auto& begin = plan.lu.levels.level_map;
    std::vector<std::int64_t> widths;
    for (std::size_t l = 0; l + 1 < begin.size(); ++l)
      widths.push_back(static_cast<std::int64_t>(begin[l + 1] - begin[l]));
    return widths;
  }
  static void allocate(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
                       Factors& factors) {
    factors.workspace = make_right_looking_lu_workspace(exec, plan.lu, budget);
    factors.column_values = factors.reservation.template allocate<Values>(
        exec, "lutra::numeric::values by columns", plan.lu.rows.entries.extent(0));
    factors.largest = {exec, factors.reservation, "lutra::solver::largest entry", 1};
  }
  /// Bytes of `allocate`; the dense columns of modes A, B and C take what memory is left.
  static std::size_t bytes(const Plan& plan) {
    return plan.lu.rows.entries.extent(0) * sizeof(Scalar) +
           static_cast<std::size_t>(plan.lu.rows.n) * sizeof(unsigned);
  }
  static FactorizationOutcome factorize(const ExecutionSpace& exec, const Plan& plan,
                                        const ScaledValues<Scalar, Memory>& A, double perturbation,
                                        Factors& factors) {
    const auto& largest = factors.largest;
    scatter_scaled(exec, plan.F.A, plan.target, A, factors.column_values, largest.device());
    largest.queue_fetch(exec);
    const auto outcome = factorize_right_looking<Scalar>(
        exec, plan.lu, factors.workspace, factors.column_values, {perturbation, largest.device().data()},
        factors.perturbed);  // waits for the device
    FactorizationOutcome result{outcome.perturbed, std::nullopt, largest.host()(0), outcome.largest};
    result.columns = outcome.columns;
    return result;
  }
  static void update_rows(const ExecutionSpace& exec, const Plan& plan, const Factors& factors) {
    copy_by_source(exec, plan.lu.row_to_column, factors.column_values, factors.row_values);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODALENGINE_HPP
#define LUTRA_SUPERNODALENGINE_HPP

#include "Lutra_ColumnOptions.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_ScaledEntries.hpp"
#include "Lutra_SupernodalLu.hpp"

namespace lutra::Impl {

/// Simplicial engine by supernodes, on every execution space: right-looking LU of blocks
/// (Lutra_SupernodalLu.hpp).
template <class Scalar, class ExecutionSpace>
struct SupernodalEngine {
  using Memory = typename ExecutionSpace::memory_space;
  using Values = Kokkos::View<Scalar*, Memory>;

  struct Plan {
    PermutedPattern<Memory> F;
    SupernodalLuPlan<Memory> lu;
    MemoryReservation reservation;               ///< memory of the members below
    Kokkos::View<const Offset*, Memory> target;  ///< [nnz(A)] position of each entry among the panels' values
  };
  struct Factors {
    Values panels;                                   ///< [lu.n_values]
    Values row_values;                               ///< [nnz(L + U)] by rows
    Kokkos::View<unsigned char*, Memory> perturbed;  ///< [n] 1 where the pivot was perturbed
    AsyncResult<double, ExecutionSpace> largest;     ///< [1] max |entry of the scaled matrix|
    SupernodalLuWorkspace<Memory> workspace;         ///< results of the kernels, limits in time
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
    const int size =
        options.supernode_size > 0 ? options.supernode_size : default_supernode_size<ExecutionSpace>;
    const SupernodeOptions supernodes{size, options.supernode_zeros};
    Plan plan{F,
              plan_supernodal_lu(exec, filled, budget, supernodes, {options.levels, options.launches}),
              reservation,
              {}};
    plan.target = locate_entries(exec, F, filled, plan.lu.row_to_panel, plan.reservation, budget);
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
    factors.workspace = make_supernodal_lu_workspace(exec, budget);
    factors.panels = factors.reservation.template allocate<Values>(
        exec, "lutra::numeric::panels of supernodes", static_cast<std::size_t>(plan.lu.n_values));
    factors.largest = {exec, factors.reservation, "lutra::solver::largest entry", 1};
  }
  /// Bytes of `allocate`.
  static std::size_t bytes(const Plan& plan) {
    return static_cast<std::size_t>(plan.lu.n_values) * sizeof(Scalar);
  }
  static FactorizationOutcome factorize(const ExecutionSpace& exec, const Plan& plan,
                                        const ScaledValues<Scalar, Memory>& A, double perturbation,
                                        Factors& factors) {
    const auto& largest = factors.largest;
    scatter_scaled(exec, plan.F.A, plan.target, A, factors.panels, largest.device());
    largest.queue_fetch(exec);
    const auto outcome = factorize_supernodal<Scalar>(exec, plan.lu, factors.workspace, factors.panels,
                                                      {perturbation, largest.device().data()},
                                                      factors.perturbed);  // waits for the device
    return {outcome.perturbed, std::nullopt, largest.host()(0), outcome.largest};
  }
  static void update_rows(const ExecutionSpace& exec, const Plan& plan, const Factors& factors) {
    copy_by_source(exec, plan.lu.row_to_panel, factors.panels, factors.row_values);
  }
};

}  // namespace lutra::Impl

#endif

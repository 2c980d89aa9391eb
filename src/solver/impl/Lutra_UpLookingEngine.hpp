// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOOKINGENGINE_HPP
#define LUTRA_UPLOOKINGENGINE_HPP

#include "Lutra_ColumnOptions.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScaledEntries.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra::Impl {

/// Simplicial engine for hosts: up-looking LU by rows (Lutra_UpLookingLu.hpp).
template <class Scalar, class ExecutionSpace>
struct UpLookingEngine {
  using Memory = typename ExecutionSpace::memory_space;
  using Values = Kokkos::View<Scalar*, Memory>;

  struct Plan {
    PermutedPattern<Memory> F;
    UpLookingLuPlan lu;
    MemoryReservation reservation;  ///< memory of the pattern of F in `lu`
  };
  struct Factors {
    Values scaled;                                   ///< [nnz(A)] the scaled matrix by rows of F
    Values row_values;                               ///< [nnz(L + U)]
    Kokkos::View<unsigned char*, Memory> perturbed;  ///< [n] 1 where the pivot was perturbed
    UpLookingLuWorkspace<Scalar> workspace;
    MemoryReservation reservation;
  };

  /// @param permuted pattern of F, which the plan keeps with its reservation
  /// @param filled   pattern of L + U
  static Plan plan(const ExecutionSpace& exec, const PermutedPattern<Memory>& F,
                   const CsrPattern<Ordinal, Offset, Memory>& permuted, MemoryReservation reservation,
                   const LuPattern<Memory>& filled, const ColumnOptions& options,
                   const MemoryBudget& budget) {
    if (options != ColumnOptions())
      throw InputError(
          "options: columns are of the right-looking engine of devices; on hosts the simplicial engine is "
          "up-looking, by rows");
    return {F, plan_up_looking_lu(exec, filled, permuted, budget), std::move(reservation)};
  }
  static std::vector<std::int64_t> level_widths(const Plan& plan) {
    return {plan.lu.level_widths.begin(), plan.lu.level_widths.end()};
  }
  static void allocate(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
                       Factors& factors) {
    factors.workspace = make_up_looking_lu_workspace<Scalar>(plan.lu, budget);
    factors.scaled = factors.reservation.template allocate<Values>(exec, "lutra::solver::F_values",
                                                                   plan.lu.F.entries.extent(0));
  }
  /// Bytes of `allocate`.
  static std::size_t bytes(const Plan& plan) {
    const auto n = static_cast<std::size_t>(plan.lu.n()), threads = static_cast<std::size_t>(plan.lu.threads);
    return ((threads + 1) * n + plan.lu.F.entries.extent(0)) * sizeof(Scalar) +
           (threads > 1 ? (n + 1) * sizeof(int) : 0);
  }
  static FactorizationOutcome factorize(const ExecutionSpace& exec, const Plan& plan,
                                        const ScaledValues<Scalar, Memory>& A, double perturbation,
                                        const Factors& factors) {
    const double largest = scale_rows_of_F(exec, plan.F, plan.lu.F.row_map, A, factors.scaled);
    const auto threshold = static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0));
    const auto outcome = factorize_up_looking<Scalar>(
        exec, plan.lu, factors.scaled, threshold, factors.workspace, factors.row_values, factors.perturbed);
    return {outcome.perturbed, std::nullopt, largest, outcome.largest};
  }
  static void update_rows(const ExecutionSpace&, const Plan&, const Factors&) {}  // already stored by rows
};

}  // namespace lutra::Impl

#endif

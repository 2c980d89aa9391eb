// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUFOREST_HPP
#define LUTRA_LUFOREST_HPP

#include <optional>

#include "Lutra_FrontForest.hpp"

namespace lutra::Impl {

/// LU of a forest. Pivots are not perturbed: the threshold would be that of the largest entry of all systems.
/// Small pivots are found afterwards. Panels of a slot are contiguous.
template <class Scalar, class ExecutionSpace>
class LuForest final : public FrontForest<Scalar, ExecutionSpace> {
 public:
  using Base = FrontForest<Scalar, ExecutionSpace>;
  using typename Base::Memory, typename Base::Real, typename Base::RealScales;

  LuForest(const ExecutionSpace& exec, const ForestPattern& all, const LuOptions& options, std::size_t slots,
           const RealScales& row_scale, const RealScales& col_scale, const MemoryBudget& budget);
  void factorize(const ExecutionSpace& exec, double perturbation, std::span<SlotFindings> found) override;
  std::size_t bytes_of_solves(std::size_t columns) const override;

 private:
  using typename Base::System;

  void inspect(const ExecutionSpace& exec, double perturbation, std::span<SlotFindings> found) const;
  void solve_system(const ExecutionSpace& exec, const System& system, const char* active) override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;

  MemoryReservation m_keep;
  LuPlan<Memory> m_plan;
  FrontFactors<Scalar, ExecutionSpace> m_factors;
  std::optional<FrontSolver<Scalar, ExecutionSpace>> m_solver;
  Kokkos::View<unsigned char*, Memory> m_perturbed;  ///< [slots][n] all 0
  Kokkos::View<const Offset*, Memory> m_diagonal;    ///< [n] place of each pivot in the panels of a slot
  Offset m_panel_entries = 0;                        ///< of a slot
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULE_HPP
#define LUTRA_FRONTSCHEDULE_HPP

#include "Lutra_FrontsPortable.hpp"

namespace lutra::Impl {

/// What schedules share that place contributions as the plan does.
template <class Scalar, class ExecutionSpace>
struct PortableLuSchedule {
  using Plan = LuPlan<typename ExecutionSpace::memory_space>;
  using State = FrontRunState<Scalar, ExecutionSpace>;

  void run_portable(const ExecutionSpace& exec, const Plan& plan, const FrontLuData<Scalar>& data,
                    const State&) const {
    factorize_fronts_portable(exec, plan, data);
  }
  static FrontSizes sizes(const ExecutionSpace&, const AssemblyTree&, const FrontLayout& layout,
                          const NumericDeviceModel&) {
    return {LuFrontLayout(layout.fronts).entries(), layout.contributions, 0};
  }
  /// Contribution entries after the panels.
  static Offset contributions(const Plan& plan) { return plan.contributions; }
  /// Start of a root's or a given contribution, relative to the first entry of the panels.
  static Offset contribution_begin(const Plan& plan, Ordinal f) {
    return plan.panel_layout.entries() + plan.layout.fronts[static_cast<std::size_t>(f)].contribution;
  }
  /// Entries of inverted diagonal tiles, if a specialization stores them for the solves.
  static std::size_t inverse_entries(bool) { return 0; }
  /// Leading pivots of a front whose rows may be interchanged.
  static int interchanged_pivots(const Plan& plan) { return plan.options.tile; }
};

/// Portable kernels need only the plan.
template <class Scalar, class ExecutionSpace>
struct FrontSchedule : PortableLuSchedule<Scalar, ExecutionSpace> {
  using Base = PortableLuSchedule<Scalar, ExecutionSpace>;

  FrontSchedule(const ExecutionSpace&, const typename Base::Plan&, const MemoryBudget&,
                const NumericDeviceModel&, const std::optional<Symmetry>&) {}
  void run(const ExecutionSpace& exec, const typename Base::Plan& plan, const FrontLuData<Scalar>& data,
           const typename Base::State& state) const {
    this->run_portable(exec, plan, data, state);
  }
};

template <class Scalar, class ExecutionSpace>
struct FrontRunState {
  FrontRunState(const ExecutionSpace&, const FrontSchedule<Scalar, ExecutionSpace>&, const MemoryBudget&) {}
};

/// Inverses of diagonal tiles that the last factorization left to the solves: none.
template <class Scalar, class Schedule, class State>
FrontInverses<Scalar> inverses_of(const Schedule&, const State&) {
  return {};
}

}  // namespace lutra::Impl

#include "Lutra_LuHostSchedule.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontScheduleCuda.hpp"
#endif

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULE_HPP
#define LUTRA_FRONTSCHEDULE_HPP

#include "Lutra_FrontsPortable.hpp"

namespace lutra::Impl {

/// Empty: portable kernels need only the plan.
template <class Scalar, class ExecutionSpace>
struct FrontSchedule {
  using Plan = FrontPlan<typename ExecutionSpace::memory_space>;
  using State = FrontRunState<Scalar, ExecutionSpace>;

  FrontSchedule(const ExecutionSpace&, const Plan&, const MemoryBudget&, const NumericDeviceModel&,
                const std::optional<Symmetry>&) {}

  void run(const ExecutionSpace& exec, const Plan& plan, const FrontLuData<Scalar>& data, State&) const {
    factorize_fronts_portable(exec, plan, data);
  }
  static FrontSizes sizes(const ExecutionSpace&, const AssemblyTree&, const FrontLayout& layout,
                          const NumericDeviceModel&) {
    return {layout.panels, layout.contributions, 0};
  }
  /// Contribution entries after the panels.
  static Offset contributions(const Plan& plan) { return plan.contributions; }
  /// Start of a root's or a given contribution, relative to the first entry of the panels.
  static Offset contribution_begin(const Plan& plan, Ordinal f) {
    return plan.panels + plan.layout.fronts[static_cast<std::size_t>(f)].contribution;
  }
  /// Entries of inverted diagonal tiles, if a specialization stores them for the solves.
  static std::size_t inverse_entries(bool) { return 0; }
};

template <class Scalar, class ExecutionSpace>
struct FrontRunState {
  FrontRunState(const ExecutionSpace&, const FrontSchedule<Scalar, ExecutionSpace>&, const MemoryBudget&) {}
  void forget_inverses() {}
};

/// Inverses of diagonal tiles that the last factorization left to the solves: none.
template <class Scalar, class Schedule, class State>
FrontInverses<Scalar> inverses_of(const Schedule&, const State&, const Scalar*) {
  return {};
}

}  // namespace lutra::Impl

#include "Lutra_HostFronts.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontScheduleCuda.hpp"
#include "Lutra_Index.hpp"
#endif

#endif

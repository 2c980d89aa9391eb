// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULE_HPP
#define LUTRA_FRONTSCHEDULE_HPP

#include "Lutra_FrontsPortable.hpp"

namespace lutra::Impl {

/// Portable kernels need no more than the plan.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct FrontSchedule {
  FrontSchedule(const ExecutionSpace&,
                const FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space>&, const MemoryBudget&,
                MemoryReservation&) {}

  void run(const ExecutionSpace& exec,
           const FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space>& plan,
           const FrontLuData<Scalar, Ordinal, Offset>& data) {
    factorize_fronts_portable(exec, plan, data);
  }
  template <class Outline>
  static FrontSizes sizes(const ExecutionSpace&, const Outline& outline) {
    return {outline.plan.panels, outline.plan.contributions, 0};
  }
  /// Numbers contributions take.
  static Offset contributions(const FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space>& plan) {
    return plan.contributions;
  }
  /// Numbers of inverses of diagonal tiles, where a specialisation leaves them to the solves.
  static std::size_t inverse_numbers(bool) { return 0; }
  void forget_inverses() {}
};

}  // namespace lutra::Impl

#include "Lutra_HostFronts.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontScheduleCuda.hpp"
#endif

#endif

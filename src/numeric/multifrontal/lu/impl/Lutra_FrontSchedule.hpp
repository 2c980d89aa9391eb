// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSCHEDULE_HPP
#define LUTRA_FRONTSCHEDULE_HPP

#include "Lutra_FrontsPortable.hpp"

namespace lutra::Impl {

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
  /// Bytes that the constructor allocates for a schedule.
  static std::size_t bytes(const FrontSchedule<Scalar, ExecutionSpace>&) { return 0; }
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

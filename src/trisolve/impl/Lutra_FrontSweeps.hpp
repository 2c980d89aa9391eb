// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSWEEPS_HPP
#define LUTRA_FRONTSWEEPS_HPP

#include "Lutra_FrontSolver.hpp"
#include "Lutra_PortableFrontSweeps.hpp"

namespace lutra::Impl {

/// Portable sweeps are all a space has, unless it is specialised.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class FrontSweeps {
 public:
  using Portable = PortableFrontSweeps<Scalar, Ordinal, Offset, ExecutionSpace>;
  using Plan = typename Portable::Plan;
  using Data = typename Portable::Data;
  using Factors = typename Portable::Factors;

  FrontSweeps(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
              const FrontSolverOptions&)
      : m_portable(exec, plan, budget) {}
  Data data_of(const Plan& plan, const Scalar* panels) const { return m_portable.data_of(plan, panels); }
  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const Data& data) {
    m_portable.run(exec, plan, factors, data);
  }
  std::int64_t consume_timeout(const ExecutionSpace&) { return -1; }

 private:
  Portable m_portable;
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontSweepsCuda.hpp"
#endif

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSWEEPS_HPP
#define LUTRA_FRONTSWEEPS_HPP

#include <memory>
#include <utility>

#include "Lutra_FrontSolver.hpp"
#include "Lutra_PortableFrontSweeps.hpp"

namespace lutra::Impl {

/// Sweeps of an execution space without specialized kernels.
template <class Scalar, class ExecutionSpace>
class FrontSweeps {
 public:
  using Portable = PortableFrontSweeps<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = typename Portable::Plan;
  using Data = typename Portable::Data;
  using Factors = typename Portable::Factors;
  using Lists = FrontSolveLists<Memory>;

  FrontSweeps(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
              const FrontSolverOptions&)
      : FrontSweeps(std::make_shared<const Lists>(make_front_solve_lists(exec, plan, budget)), budget) {}
  FrontSweeps(std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)), m_portable(budget) {}

  std::unique_ptr<FrontSweeps> with_own_vectors(const ExecutionSpace&, const MemoryBudget& budget) const {
    return std::make_unique<FrontSweeps>(m_lists, budget);
  }
  Data data_of(const Plan& plan, const Scalar* panels) const {
    return front_solve_data(plan, *m_lists, panels);
  }
  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const Data& data) {
    m_portable.run(exec, plan, factors, data);
  }
  std::int64_t consume_timeout(const ExecutionSpace&) { return -1; }

 private:
  std::shared_ptr<const Lists> m_lists;
  Portable m_portable;
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontSweepsCuda.hpp"
#endif

#endif

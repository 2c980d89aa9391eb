// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltSolver.hpp"

#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltSweeps.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
LdltSolver<Scalar, ExecutionSpace>::LdltSolver(const ExecutionSpace& exec, const Plan& plan,
                                               const MemoryBudget& budget, double watchdog_seconds)
    : LdltSolver(
          std::make_shared<Sweeps>(Sweeps::Flow::make_lists(exec, plan, budget, watchdog_seconds), budget)) {}

template <class Scalar, class ExecutionSpace>
LdltSolver<Scalar, ExecutionSpace>::LdltSolver(std::shared_ptr<Sweeps> sweeps)
    : m_sweeps(std::move(sweeps)) {}

template <class Scalar, class ExecutionSpace>
auto LdltSolver<Scalar, ExecutionSpace>::with_own_vectors(const MemoryBudget& budget) const -> LdltSolver {
  return LdltSolver(std::make_shared<Sweeps>(m_sweeps->lists(), budget));
}

template <class Scalar, class ExecutionSpace>
void LdltSolver<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec, const Plan& plan,
                                               const Factors& factors,
                                               const FrontSystem<Scalar, Memory>& system,
                                               const LdltParts& parts) {
  if (plan.base.n > 0) m_sweeps->run(exec, plan, factors, system, parts);
}

template <class Scalar, class ExecutionSpace>
std::int64_t LdltSolver<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec,
                                                                 const Plan& plan) {
  const int front = m_sweeps->consume_stop(exec);
  return front < 0 ? -1 : static_cast<std::int64_t>(Impl::at(plan.base.layout.fronts, front).first_pivot);
}

#define LUTRA_LDLT_SOLVER(Scalar, Space) template class LdltSolver<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_SOLVER)

}  // namespace lutra

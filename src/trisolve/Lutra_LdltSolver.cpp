// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltSolver.hpp"

#include <utility>

#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltSweeps.hpp"

namespace lutra {

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
LdltSolver<Scalar, Ordinal, Offset, ExecutionSpace>::LdltSolver(const ExecutionSpace& exec, const Plan& plan,
                                                                const MemoryBudget& budget)
    : LdltSolver(std::make_shared<Sweeps>(Sweeps::make_lists(exec, plan, budget), budget)) {}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
LdltSolver<Scalar, Ordinal, Offset, ExecutionSpace>::LdltSolver(std::shared_ptr<Sweeps> sweeps)
    : m_sweeps(std::move(sweeps)) {}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto LdltSolver<Scalar, Ordinal, Offset, ExecutionSpace>::with_own_vectors(const MemoryBudget& budget) const
    -> LdltSolver {
  return LdltSolver(std::make_shared<Sweeps>(m_sweeps->lists(), budget));
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LdltSolver<Scalar, Ordinal, Offset, ExecutionSpace>::solve(
    const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
    const FrontSystem<Scalar, Ordinal, Memory>& system, const LdltParts& parts) {
  if (plan.base.n > 0) m_sweeps->run(exec, plan, factors, system, parts);
}

#define LUTRA_LDLT_SOLVER(Scalar, Ordinal, Offset, Space) \
  template class LdltSolver<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_LDLT_SOLVER)

}  // namespace lutra

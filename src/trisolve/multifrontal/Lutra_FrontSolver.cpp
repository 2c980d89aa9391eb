// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontSolver.hpp"

#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_FrontSweeps.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
FrontSolver<Scalar, ExecutionSpace>::FrontSolver(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget,
                                                 const FrontSolverOptions& options)
    : FrontSolver(std::make_shared<Sweeps>(exec, plan, budget, options), options.interchanges) {}

template <class Scalar, class ExecutionSpace>
FrontSolver<Scalar, ExecutionSpace>::FrontSolver(std::shared_ptr<Sweeps> sweeps, bool interchanges)
    : m_sweeps(std::move(sweeps)), m_interchanges(interchanges) {}

template <class Scalar, class ExecutionSpace>
auto FrontSolver<Scalar, ExecutionSpace>::with_own_vectors(const ExecutionSpace& exec,
                                                           const MemoryBudget& budget) const -> FrontSolver {
  return FrontSolver(m_sweeps->with_own_vectors(exec, budget), m_interchanges);
}

template <class Scalar, class ExecutionSpace>
void FrontSolver<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec, const Plan& plan,
                                                const Factors& factors,
                                                const FrontSystem<Scalar, Memory>& system) {
  if (plan.n == 0) return;
  if (factors.interchanges && !m_interchanges)
    throw InputError("FrontSolver: it was not made for factors with interchanges");
  m_sweeps->run(exec, plan, factors, system);
}

template <class Scalar, class ExecutionSpace>
std::int64_t FrontSolver<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  return m_sweeps->consume_timeout(exec);
}

#define LUTRA_FRONT_SOLVER(Scalar, Space) template class FrontSolver<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_SOLVER)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontSolver.hpp"

#include <type_traits>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltSweeps.hpp"
#include "Lutra_PortableFrontSweeps.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontSweepsCuda.hpp"
#endif

namespace lutra {
namespace {

/// Clang 14 instantiates members of explicit instantiations even where their constraints are not satisfied.
template <class Parts>
constexpr bool has_halves = std::is_same_v<Parts, LuParts>;

}  // namespace

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::FrontSolver(const ExecutionSpace& exec,
                                                                   const Plan& plan,
                                                                   const MemoryBudget& budget,
                                                                   const FrontSolverOptions& options)
    : FrontSolver(std::make_shared<Sweeps>(exec, Sweeps::make_lists(exec, plan, budget, options), budget),
                  options.interchanges) {}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::FrontSolver(std::shared_ptr<Sweeps> sweeps,
                                                                   bool interchanges)
    : m_sweeps(std::move(sweeps)), m_interchanges(interchanges) {}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
auto FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::with_own_vectors(const ExecutionSpace& exec,
                                                                             const MemoryBudget& budget) const
    -> FrontSolver {
  return FrontSolver(std::make_shared<Sweeps>(exec, m_sweeps->lists(), budget), m_interchanges);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
std::size_t FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::predict_bytes(const Plan& plan,
                                                                                 bool interchanges,
                                                                                 int n_columns) const {
  return m_sweeps->predict_bytes(plan, interchanges, n_columns);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
void FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::solve(const ExecutionSpace& exec,
                                                                  const Plan& plan, const Factors& factors,
                                                                  const FrontSystem<Scalar, Memory>& system,
                                                                  const Parts& parts) {
  if (system.in_row.extent(0) == 0) return;
  if constexpr (requires { factors.interchanges; }) {
    if (factors.interchanges && !m_interchanges)
      throw InputError("FrontSolver: it was not made for factors with interchanges");
  }
  m_sweeps->run(exec, plan, factors, system, parts);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
void FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::reserve(
    const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
    int n_columns) requires std::is_same_v<Parts, LuParts> {
  if constexpr (has_halves<Parts>) m_sweeps->halves().reserve_halves(exec, plan, factors, n_columns);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
void FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::sweep_up(
    const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
    const FrontSystem<Scalar, Memory>& system, const FrontValues<const Scalar, Memory>& given,
    const FrontValues<Scalar, Memory>& sums) requires std::is_same_v<Parts, LuParts> {
  if constexpr (has_halves<Parts>) m_sweeps->halves().sweep_up(exec, plan, factors, system, given, sums);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
void FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::sweep_down(
    const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
    const FrontSystem<Scalar, Memory>& system, const FrontValues<const Scalar, Memory>& solved,
    const FrontValues<Scalar, Memory>& read) requires std::is_same_v<Parts, LuParts> {
  if constexpr (has_halves<Parts>) m_sweeps->halves().sweep_down(exec, plan, factors, system, solved, read);
}

template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf, class Parts>
std::int64_t FrontSolver<Scalar, ExecutionSpace, FactorsOf, Parts>::consume_timeout(
    const ExecutionSpace& exec, const Plan& plan) {
  return m_sweeps->consume_timeout(exec, plan);
}

#define LUTRA_FRONT_SOLVER(Scalar, Space)    \
  template class FrontSolver<Scalar, Space>; \
  template class FrontSolver<Scalar, Space, LdltFactors, LdltParts>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_SOLVER)

}  // namespace lutra

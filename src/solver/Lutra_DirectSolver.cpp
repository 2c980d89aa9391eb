// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DirectSolver.hpp"

#include "Lutra_Instantiate.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace, class Options>
void DirectSolver<Scalar, ExecutionSpace, Options>::analyze_matrix(const matrix_type& A) {
  if (m_numeric) return m_numeric->rematch(A);
  analyze(A, nullptr);
}

template <class Scalar, class ExecutionSpace, class Options>
void DirectSolver<Scalar, ExecutionSpace, Options>::analyze(const matrix_type& A,
                                                            const std::shared_ptr<border_type>& border) {
  m_numeric = std::make_unique<numeric_type>(
      lutra::analyze<Scalar, ExecutionSpace>(m_exec, A, m_options, m_budget, nullptr, border), m_options,
      m_exec, m_budget);
}

#define LUTRA_DIRECT_SOLVER(Scalar, Space)               \
  template class DirectSolver<Scalar, Space, LuOptions>; \
  template class DirectSolver<Scalar, Space, LdltOptions>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_DIRECT_SOLVER)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DirectSolver.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltNumeric.hpp"
#include "Lutra_LuNumeric.hpp"

namespace lutra {

template <class Numeric>
void DirectSolver<Numeric>::analyze_matrix(const matrix_type& A) {
  if (m_numeric) return m_numeric->rematch(A);
  m_numeric = std::make_unique<Numeric>(Numeric::analyze(m_exec, A, m_options, m_budget), m_options, m_exec,
                                        m_budget);
}

template <class Numeric>
void DirectSolver<Numeric>::analyze(const matrix_type& A,
                                    const std::shared_ptr<typename Numeric::border_type>& border) {
  m_numeric = std::make_unique<Numeric>(Numeric::analyze(m_exec, A, m_options, m_budget, border), m_options,
                                        m_exec, m_budget);
}

#define LUTRA_DIRECT_SOLVER(Scalar, Space)               \
  template class DirectSolver<LuNumeric<Scalar, Space>>; \
  template class DirectSolver<LdltNumeric<Scalar, Space>>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_DIRECT_SOLVER)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DirectSolver.hpp"

#include "Lutra_HostColumns.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltNumeric.hpp"
#include "Lutra_LuNumeric.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {

template <class Numeric>
void DirectSolver<Numeric>::analyze(const matrix_type& A) {
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

template <class Numeric>
void DirectSolver<Numeric>::analyze(const host_matrix_type& A) {
  MemoryReservation reservation(m_budget);
  analyze(Impl::to_device(m_exec, reservation, A));
}

template <class Numeric>
void DirectSolver<Numeric>::factorize(const host_matrix_type& A) {
  numeric_type& numeric = analyzed();
  MemoryReservation reservation(m_budget);
  numeric.factorize(Impl::to_device(m_exec, reservation, A));
  m_exec.fence("lutra::driver: the copy of the matrix is freed");
}

template <class Numeric>
Status DirectSolver<Numeric>::solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op) {
  const auto n = m_numeric ? static_cast<std::size_t>(m_numeric->analysis()->n) : std::size_t(0);
  return Impl::solve_host_columns(m_exec, m_budget, n, B, X,
                                  [&](const auto& from, const auto& to) { return solve(from, to, op); });
}

#define LUTRA_DIRECT_SOLVER(Scalar, Ordinal, Offset, Space)               \
  template class DirectSolver<LuNumeric<Scalar, Ordinal, Offset, Space>>; \
  template class DirectSolver<LdltNumeric<Scalar, Ordinal, Offset, Space>>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_DIRECT_SOLVER)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CsrOperator.hpp"

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrKernels.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ResidualColumn.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
CsrOperator<Scalar, ExecutionSpace>::CsrOperator(const ExecutionSpace& exec, const Pattern& pattern,
                                                 const Kokkos::View<const Offset*, Memory>& source,
                                                 bool conjugate, const MemoryBudget& budget)
    : m_rows{pattern, {}, source, conjugate, {}}, m_reservation(budget) {
  m_rows.long_rows = Impl::find_long_rows(exec, m_reservation, pattern, Offset(m_rows.max_short_row));
}

template <class Scalar, class ExecutionSpace>
void CsrOperator<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, const Rows& X,
                                                const Rows& Y) const {
  const Impl::ProductRow<decltype(m_rows), Rows> row{m_rows, X, Y};
  Impl::visit_rows(exec, "lutra::krylov::apply", row, X.extent(1), Kokkos::View<double*, Memory>());
}

template <class Scalar, class ExecutionSpace>
void CsrOperator<Scalar, ExecutionSpace>::residual(const ExecutionSpace& exec, const Rows& B, const Rows& X,
                                                   const Rows& R,
                                                   const ResidualMaxima<ExecutionSpace>& maxima) const {
  if constexpr (Impl::HostExecution<ExecutionSpace>) {
    if (X.extent(1) == 1 && m_rows.source.extent(0) == 0 && !m_rows.conjugate)
      return Impl::residual_of_column(exec, m_rows, this->norm(), B, X, R, maxima);
  }
  const Impl::ResidualRow<decltype(m_rows), Rows> row{m_rows, B, X, R};
  Impl::visit_rows(exec, "lutra::krylov::residual", row, X.extent(1), maxima.slots());
}

template <class Scalar, class ExecutionSpace>
void CsrOperator<Scalar, ExecutionSpace>::gather_norm(const ExecutionSpace& exec, const Scale& row_scale,
                                                      const Scale& col_scale,
                                                      const ResidualMaxima<ExecutionSpace>& maxima) const {
  const Impl::NormRow<decltype(m_rows), Scale> row{m_rows, row_scale, col_scale, maxima.norm_slot()};
  Impl::visit_rows(exec, "lutra::krylov::norm", row, 1, maxima.slots());
}

template <class Scalar, class ExecutionSpace>
void CsrOperator<Scalar, ExecutionSpace>::apply_magnitudes(const ExecutionSpace& exec, const Rows& X,
                                                           const Rows& G) const {
  const Impl::MagnitudeRow<decltype(m_rows), Rows> row{m_rows, X, G};
  Impl::visit_rows(exec, "lutra::krylov::magnitudes", row, X.extent(1), Kokkos::View<double*, Memory>());
}

template <class Scalar, class ExecutionSpace>
BilinearForm CsrOperator<Scalar, ExecutionSpace>::bilinear_form(const ExecutionSpace& exec, const Rows& W,
                                                                const Rows& Z) const {
  const Impl::BilinearRows<decltype(m_rows), Rows> rows{m_rows, W, Z};
  BilinearForm form;
  Kokkos::parallel_reduce("lutra::krylov::bilinear_form",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, size()), rows, form);
  if (const auto count = static_cast<int>(m_rows.long_rows.extent(0)); count > 0) {
    const int team = Impl::is_host_space<ExecutionSpace> ? 1 : 128;
    Kokkos::TeamPolicy<ExecutionSpace> policy(exec, count, team);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(rows.scratch_bytes(team))));
    BilinearForm of_long_rows;
    Kokkos::parallel_reduce("lutra::krylov::bilinear_form_of_long_rows", policy, rows, of_long_rows);
    rows.join(form, of_long_rows);
  }
  Impl::wait_for(exec, "lutra::krylov: a bilinear form is known");
  return form;
}

#define LUTRA_CSR_OPERATOR(Scalar, Space) template class CsrOperator<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_CSR_OPERATOR)

}  // namespace lutra

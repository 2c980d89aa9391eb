// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltNumeric.hpp"

#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckVector.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltEngine.hpp"
#include "Lutra_StoppedSolve.hpp"

namespace lutra {
namespace {

/// Options of the solves; S has been checked when it gets there.
LuOptions solve_options(const LdltOptions& options) {
  check_options(options);
  LuOptions result;
  result.perturbation = options.perturbation;
  result.max_refinement_steps = options.max_refinement_steps;
  result.tolerance = options.tolerance;
  result.solve_singular = options.solve_singular;
  result.estimate_condition = options.estimate_condition;
  result.validate_input = false;
  result.time_stages = options.time_stages;
  result.memory_limit = options.memory_limit;
  return result;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
LdltNumeric<Scalar, ExecutionSpace>::LdltNumeric(std::shared_ptr<const analysis_type> analysis,
                                                 const LdltOptions& options, const ExecutionSpace& exec,
                                                 const MemoryBudget& budget)
    : m_options(options),
      m_exec(exec),
      m_budget(budget),
      m_analysis(std::move(analysis)),
      m_direct(m_analysis, solve_options(options), exec, budget),
      m_check(exec, budget) {}

template <class Scalar, class ExecutionSpace>
void LdltNumeric<Scalar, ExecutionSpace>::factorize(const matrix_type& A, const shift_type& shift) {
  const auto& S = m_analysis->S;
  if (shift.extent(0) != 0 && shift.extent(0) != S.diagonal.extent(0))
    throw InputError("shift: it has " + std::to_string(shift.extent(0)) + " elements, but the matrix has " +
                     std::to_string(S.diagonal.extent(0)) + " rows");
  check_same_pattern(m_exec, A, m_analysis->A, m_check, m_options.validate_input,
                     m_analysis->ldlt_options.triangle);
  if (m_options.validate_input) {
    check_symmetry(m_exec, A, S, m_analysis->symmetry);
    Impl::check_finite(m_exec, "shift", shift);
  }
  if (m_values.extent(0) != S.source.extent(0)) {
    m_reservation = MemoryReservation(m_budget);
    m_values = m_reservation.template allocate<decltype(m_values)>(m_exec, "lutra::driver::S_values",
                                                                   S.source.extent(0));
  }
  gather_triangles<Scalar>(m_exec, S, m_analysis->symmetry, A.values, m_values, shift);
  const auto& pattern = S.pattern;
  m_direct.factorize({pattern.n_rows, pattern.n_cols, pattern.row_map, pattern.entries, m_values});
  follow_analysis();
}

/// Takes over an analysis that a factorization or a solve has renewed.
template <class Scalar, class ExecutionSpace>
void LdltNumeric<Scalar, ExecutionSpace>::follow_analysis() {
  m_analysis = std::static_pointer_cast<const analysis_type>(m_direct.analysis());
}

/// The factors, which an analysis by analyze_ldlt made. @throws CallOrderError where there are none
template <class Scalar, class ExecutionSpace>
auto LdltNumeric<Scalar, ExecutionSpace>::engine(const char* message) const -> Engine& {
  auto* const factorization = m_direct.factorization();
  if (factorization == nullptr) throw CallOrderError(message);
  return static_cast<Engine&>(*factorization);
}

template <class Scalar, class ExecutionSpace>
void LdltNumeric<Scalar, ExecutionSpace>::solve_columns(const typename Direct::const_multivector_type& B,
                                                        const typename Direct::multivector_type& X,
                                                        const LdltParts& parts, Transposition op) {
  Engine& solver = engine("solve_parts: there are no factors; call analyze and factorize first");
  check_enumerator("op", op, Transposition::adjoint);
  Impl::check_extents(static_cast<std::size_t>(m_analysis->n), B, X);
  solver.solve_parts(m_exec, op, B, X, parts);
  m_exec.fence("lutra::driver: X is complete");
  Impl::throw_if_stopped(m_exec, "solve_parts", solver);
}

template <class Scalar, class ExecutionSpace>
Determinant<Scalar> LdltNumeric<Scalar, ExecutionSpace>::determinant() const {
  return engine("determinant: there are no factors; call analyze and factorize first").determinant(m_exec);
}

template <class Scalar, class ExecutionSpace>
void LdltNumeric<Scalar, ExecutionSpace>::set_analysis(std::shared_ptr<const analysis_type> analysis) {
  m_direct.set_analysis(analysis);
  // Nothing has changed until here, and nothing throws from here on.
  m_analysis = std::move(analysis);
  m_values = {};
  m_reservation = {};
}

#define LUTRA_LDLT_NUMERIC(Scalar, Space) template class LdltNumeric<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_NUMERIC)

}  // namespace lutra

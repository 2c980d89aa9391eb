// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseILU.hpp"

#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_StoppedSolve.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {
namespace {

/// Whether a View lies as a block by rows does.
template <class View>
bool is_by_rows(const View& view) {
  return (view.extent(1) == 1 || view.stride(1) == 1) && view.stride(0) == view.extent(1);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SparseILU<Scalar, ExecutionSpace>::SparseILU(SparseIluOptions options, const ExecutionSpace& exec,
                                             const MemoryBudget& budget)
    : Calls(exec, budget), m_options(std::move(options)) {
  check_options(m_options);
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::set_analysis(const std::shared_ptr<const analysis_type>& analysis) {
  std::unique_ptr<factorization_type> factorization;
  if (analysis->plan) factorization = std::make_unique<factorization_type>(m_exec, *analysis->plan, m_budget);
  Report report = analysis->report;
  if (factorization) report_factors(*analysis, *factorization, report);
  m_exec.fence("lutra::solver: the analysis of incomplete factors is complete");
  // Nothing has changed until here, and nothing throws from here on.
  m_factorization = std::move(factorization);  // before the plan it refers to
  m_analysis = analysis;
  m_report = std::move(report);
  m_usable = m_factorized_before = false;
  update_memory();
}

template <class Scalar, class ExecutionSpace>
const SparseIluOptions& SparseILU<Scalar, ExecutionSpace>::options_of(
    const std::shared_ptr<const analysis_type>& analysis) {
  if (!analysis)
    throw CallOrderError("SparseILU: there is no analysis; call analyze of the solver it comes from first");
  return analysis->options;
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::analyze_matrix(const matrix_type& A) {
  set_analysis(analyze_ilu(m_exec, A, m_options, m_budget));
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::factorize_matrix(const matrix_type& A) {
  check_same_pattern(m_exec, A, m_analysis->pattern, m_check, m_options.validate_input);
  if (!m_factorization) return;  // structurally singular
  m_usable = false;
  m_report.escalations.clear();
  m_report.pivots = {};
  m_report.status = Status::not_solved;
  try {
    m_report.status = factorize_values(A);
  } catch (const std::bad_alloc&) {
    m_usable = false;
    m_report.status = Status::out_of_memory;
    update_memory();
    throw;
  }
}

template <class Scalar, class ExecutionSpace>
Status SparseILU<Scalar, ExecutionSpace>::factorize_values(const matrix_type& A) {
  const Impl::StageTimer timer(m_exec, m_options.time_stages);
  const FactorizationOutcome outcome = m_factorization->factorize(m_exec, {A.values, {}, {}}, 0);
  (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
  m_factorized_before = true;
  m_usable = outcome.is_finite();
  const IncompleteSteps& steps = m_factorization->steps();
  m_report.pivots.growth = outcome.growth();
  m_report.pivots.shift = steps.shift;
  if (steps.shifts > 0) {
    m_report.escalations.push_back(Impl::formatted("diagonal shift %.3g%s: ", steps.shift,
                                                   m_usable ? "" : " and none before it helped") +
                                   steps.why);
  }
  report_factors(*m_analysis, *m_factorization, m_report);
  update_memory();
  return m_usable ? Status::not_solved : Status::breakdown;
}

/// What the factors are like now: ParILUT changes their pattern, values how they are applied.
template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::report_factors(const analysis_type& analysis,
                                                       const factorization_type& factorization,
                                                       Report& report) {
  const auto& factors = factorization.factors();
  const std::int64_t nnz_l = factorization.nnz_l();
  report.factors.nnz_l = nnz_l;
  report.factors.nnz_u = static_cast<std::int64_t>(factors.nnz()) - nnz_l;
  report.factors.fill_ratio = analysis.pattern.nnz() > 0 ? static_cast<double>(factors.nnz()) /
                                                               static_cast<double>(analysis.pattern.nnz())
                                                         : 0.0;
  report.choice.why = analysis.report.choice.why;
  if (const std::string reason = factorization.reason(); !reason.empty()) Impl::add_reason(report, reason);
  const auto* const parts = factorization.parts();
  if (parts == nullptr) return;
  report.factors.levels = parts->levels();
  report.choice.trisolve = parts->method();
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::update_memory() {
  m_report.memory.device_peak_bytes = m_budget.peak_bytes();
  if (m_budget.limit_bytes() > 0) m_report.memory.limit_bytes = m_budget.limit_bytes();
}

template <class Scalar, class ExecutionSpace>
auto SparseILU<Scalar, ExecutionSpace>::factorization() const -> factorization_type& {
  if (!m_factorization)
    throw CallOrderError(
        "factorization: there is none; call analyze with a matrix that is not structurally "
        "singular first");
  return *m_factorization;
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::apply_views(const const_multivector_type& B,
                                                    const multivector_type& X, Transposition op) {
  if (!m_usable) throw CallOrderError("apply: there are no usable factors; call factorize first");
  const auto n = static_cast<std::size_t>(m_analysis->pattern.n_rows);
  check_enumerator("op", op, Transposition::adjoint);
  Impl::check_extents(n, B, X);
  Impl::throw_if_stopped(m_exec, "apply", *m_factorization);
  const std::size_t columns = B.extent(1);
  if (is_by_rows(B) && is_by_rows(X)) {
    const Rows from(const_cast<Scalar*>(B.data()), n, columns), to(X.data(), n, columns);
    return m_factorization->apply(m_exec, op, from, to);
  }
  if (m_scratch.extent(0) * m_scratch.extent(1) < n * columns) {
    m_exec.fence("lutra::solver: the smaller scratch is freed");
    m_scratch = {};
    m_scratch_reservation = MemoryReservation(m_budget);
    m_scratch = m_scratch_reservation.template allocate<Rows>(m_exec, "lutra::solver::apply", n, columns);
  }
  const Rows block(m_scratch.data(), n, columns);
  Impl::copy_block(m_exec, B, block);
  m_factorization->apply(m_exec, op, block, block);
  Impl::copy_block(m_exec, block, X);
}

template <class Scalar, class ExecutionSpace>
void SparseILU<Scalar, ExecutionSpace>::apply_host(std::span<const Scalar> B, std::span<Scalar> X,
                                                   Transposition op) {
  this->on_host_arrays(B, X, [&](const auto& from, const auto& to) {
    apply(from, to, op);
    return 0;
  });
  if (m_factorization) Impl::throw_if_stopped(m_exec, "apply", *m_factorization);
}

#define LUTRA_SPARSE_ILU(Scalar, Space) template class SparseILU<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SPARSE_ILU)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseILU.hpp"

#include <cstdio>
#include <numeric>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {
namespace {

/// Adds 1 for each row whose diagonal entry is missing or zero.
template <class Matrix>
struct CountMissingDiagonals {
  Matrix A;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    using Scalar = typename decltype(A.values)::non_const_value_type;
    auto p = A.row_map(i);
    while (p < A.row_map(i + 1) && static_cast<std::int64_t>(A.entries(p)) < i) ++p;
    const bool there =
        p < A.row_map(i + 1) && static_cast<std::int64_t>(A.entries(p)) == i && A.values(p) != Scalar(0);
    sum += there ? 0 : 1;
  }
};

/// Whether a View lies as a block by rows does.
template <class View>
bool is_by_rows(const View& view) {
  return (view.extent(1) == 1 || view.stride(1) == 1) && view.stride(0) == view.extent(1);
}

template <class Ordinal>
MatchingResult<Ordinal> identity_matching(Ordinal n) {
  MatchingResult<Ordinal> result;
  result.row_of_column.resize(static_cast<std::size_t>(n));
  std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  result.row_scale.assign(static_cast<std::size_t>(n), 1.0);
  result.col_scale.assign(static_cast<std::size_t>(n), 1.0);
  return result;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::SparseILU(SparseIluOptions options,
                                                              const ExecutionSpace& exec,
                                                              const MemoryBudget& budget)
    : m_options(std::move(options)), m_exec(exec), m_budget(budget), m_check(exec, budget) {
  check_options(m_options);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::has_full_diagonal(const matrix_type& A) const {
  std::int64_t missing = 0;
  Kokkos::parallel_reduce("lutra::driver::missing_diagonals",
                          Kokkos::RangePolicy<ExecutionSpace>(m_exec, 0, A.n_rows),
                          CountMissingDiagonals<matrix_type>{A}, missing);
  return missing == 0;
}

/// Matching and ordering. Empty where the pattern is structurally singular.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::order(const matrix_type& A, Report& report) const
    -> std::optional<typename factorization_type::Matrix> {
  LuOptions lu;
  lu.matching = m_options.matching;
  lu.ordering = m_options.ordering;
  lu.user_permutation = m_options.user_permutation;
  if (lu.matching == Matching::automatic) {
    const bool match = !m_options.ilu.symmetric && !has_full_diagonal(A);
    lu.matching = match ? Matching::exact : Matching::none;
    if (match) Impl::add_reason(report, "exact matching: diagonal entries are missing or zero");
  }
  const bool matched = lu.matching != Matching::none;
  if (lu.ordering == Ordering::automatic) lu.ordering = Ordering::natural;
  if (!matched && lu.ordering == Ordering::natural) {
    report.choice.matching = "none";
    report.choice.ordering = "natural";
    typename factorization_type::Matrix F;
    F.pattern = A.pattern();
    return F;
  }
  const auto on_host = Impl::copy_to_host(m_exec, A);
  if (!matched) {  // nothing is asked of the pattern, so that its rank need not be found
    const Kokkos::Timer timer;
    report.choice.matching = "none";
    report.choice.ordering = name_of(lu.ordering);
    auto columns = lu.ordering == Ordering::user
                       ? std::vector<Ordinal>(lu.user_permutation.begin(), lu.user_permutation.end())
                       : lutra::order(on_host.pattern(), lu.ordering);
    report.times.ordering = timer.seconds();
    const PivotOrder<Ordinal> pivots(identity_matching(A.n_rows), std::move(columns));
    return Impl::order_matrix<Scalar>(m_exec, on_host.pattern(), pivots, m_budget);
  }
  const auto pivots = choose_pivots(m_exec, A, on_host, lu, m_budget, report);
  if (!pivots) return std::nullopt;
  return Impl::order_matrix<Scalar>(m_exec, on_host.pattern(), *pivots, m_budget);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::analyze(const matrix_type& A) {
  check_square_matrix(m_exec, A, m_check);
  if (m_options.ordering == Ordering::user) check_permutation(m_options.user_permutation, A.n_rows);
  Report report;
  report.choice.method = report.choice.precond = name_of(m_options.ilu);
  MemoryReservation reservation(m_budget);
  const auto pattern = Impl::copy_pattern(m_exec, reservation, A.pattern());
  const auto F = order({A.n_rows, A.n_cols, pattern.row_map, pattern.entries, A.values}, report);
  std::unique_ptr<factorization_type> factorization;
  if (F) {
    const Impl::StageTimer timer(m_exec, true);
    factorization = std::make_unique<factorization_type>(m_exec, *F, m_options, m_budget);
    report.times.symbolic = timer.seconds();
  }
  m_exec.fence("lutra::driver: the analysis of incomplete factors is complete");
  // Nothing has changed until here.
  m_factorization = std::move(factorization);
  m_pattern = pattern;
  m_reservation = reservation;
  m_report = report;
  m_analyzed = true;
  m_usable = m_factorized_before = false;
  if (m_factorization) report_factors();
  update_memory();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::analyze(const host_matrix_type& A) {
  MemoryReservation reservation(m_budget);
  analyze(Impl::to_device(m_exec, reservation, A));
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const host_matrix_type& A) {
  MemoryReservation reservation(m_budget);
  const Status status = factorize(Impl::to_device(m_exec, reservation, A));
  m_exec.fence("lutra::driver: the copy of the matrix is freed");
  return status;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const matrix_type& A) {
  if (!m_analyzed) throw CallOrderError("factorize: there is no analysis; call analyze first");
  check_same_pattern(m_exec, A, m_pattern, m_check, m_options.validate_input);
  if (!m_factorization) return m_report.status;  // structurally singular
  m_usable = false;
  m_report.escalations.clear();
  m_report.pivots = {};
  m_report.status = Status::not_solved;
  try {
    return m_report.status = factorize_values(A);
  } catch (const std::bad_alloc&) {
    m_report.status = Status::out_of_memory;
    update_memory();
    throw;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::factorize_values(const matrix_type& A) {
  const Impl::StageTimer timer(m_exec, m_options.time_stages);
  const FactorizationOutcome outcome = m_factorization->factorize(m_exec, {A.values, {}, {}}, 0);
  (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
  m_factorized_before = true;
  m_usable = outcome.is_finite();
  const IncompleteSteps& steps = m_factorization->steps();
  m_report.pivots.growth = outcome.growth();
  m_report.pivots.shift = steps.shift;
  if (steps.shifts > 0) {
    char text[64];
    std::snprintf(text, sizeof text, "diagonal shift %.3g%s: ", steps.shift,
                  m_usable ? "" : " and none before it helped");
    m_report.escalations.push_back(text + steps.why);
  }
  report_factors();
  update_memory();
  return m_usable ? Status::not_solved : Status::breakdown;
}

/// What the factors are like now: ParILUT changes their pattern, values how they are applied.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::report_factors() {
  const auto& factors = m_factorization->factors();
  const std::int64_t nnz_l = m_factorization->nnz_l();
  m_report.factors.nnz_l = nnz_l;
  m_report.factors.nnz_u = static_cast<std::int64_t>(factors.nnz()) - nnz_l;
  m_report.factors.fill_ratio =
      m_pattern.nnz() > 0 ? static_cast<double>(factors.nnz()) / static_cast<double>(m_pattern.nnz()) : 0.0;
  const auto* const parts = m_factorization->parts();
  if (parts == nullptr) return;
  m_report.factors.levels = parts->levels();
  m_report.choice.trisolve = parts->method();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::update_memory() {
  m_report.memory.device_peak_bytes = m_budget.peak_bytes();
  if (m_budget.limit_bytes() > 0) m_report.memory.limit_bytes = m_budget.limit_bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::factorization() const -> factorization_type& {
  if (!m_factorization)
    throw CallOrderError(
        "factorization: there is none; call analyze with a matrix that is not structurally "
        "singular first");
  return *m_factorization;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseILU<Scalar, Ordinal, Offset, ExecutionSpace>::apply_views(const const_multivector_type& B,
                                                                     const multivector_type& X,
                                                                     Transposition op) {
  if (!m_usable) throw CallOrderError("apply: there are no usable factors; call factorize first");
  const auto n = static_cast<std::size_t>(m_pattern.n_rows);
  Impl::check_extents(n, B, X);
  const std::size_t columns = B.extent(1);
  if (is_by_rows(B) && is_by_rows(X)) {
    const Rows from(const_cast<Scalar*>(B.data()), n, columns), to(X.data(), n, columns);
    return m_factorization->apply(m_exec, op, from, to);
  }
  if (m_scratch.extent(0) * m_scratch.extent(1) < n * columns) {
    m_exec.fence("lutra::driver: the smaller scratch is freed");
    m_scratch = {};
    m_scratch_reservation = MemoryReservation(m_budget);
    m_scratch = m_scratch_reservation.template allocate<Rows>(m_exec, "lutra::driver::apply", n, columns);
  }
  const Rows block(m_scratch.data(), n, columns);
  Impl::copy_block(m_exec, B, block);
  m_factorization->apply(m_exec, op, block, block);
  Impl::copy_block(m_exec, block, X);
}

#define LUTRA_SPARSE_ILU(Scalar, Ordinal, Offset, Space) \
  template class SparseILU<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_SPARSE_ILU)

}  // namespace lutra

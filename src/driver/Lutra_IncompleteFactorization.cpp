// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteFactorization.hpp"

#include <cstdio>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_IluPattern.hpp"
#include "Lutra_InspectFactors.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ParIlu.hpp"
#include "Lutra_ParIlut.hpp"

namespace lutra {
namespace {

constexpr double first_shift = 1e-3, shift_growth = 4;

/// Adds the entries of L in each row.
template <class Factors>
struct CountLower {
  decltype(Factors::row_map) row_map;
  decltype(Factors::diagonal) diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    sum += diagonal(i) - row_map(i);
  }
};

IncompleteSolveOptions solve_options(const SparseIluOptions& options) {
  IncompleteSolveOptions result{options.ilu.apply, options.ilu.jacobi_sweeps, {}};
  result.triangular.method = options.trisolve;
  return result;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::IncompleteFactorization(
    const ExecutionSpace& exec, const Matrix& F, const SparseIluOptions& options, const MemoryBudget& budget)
    : m_matrix(F),
      m_options(options),
      m_budget(budget),
      m_reservation(budget),
      m_inspection(exec, m_reservation, "lutra::driver::inspection", 1) {
  if (F.source.extent(0) > 0)
    m_values = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(exec, "lutra::driver::F_values",
                                                                              F.source.extent(0));
  set_pattern(exec, make_incomplete_factors<Scalar>(exec, F.pattern, options.ilu.fill_level, budget));
  if (options.ilu.method == IluMethod::parilut) {
    m_first = m_factors;
  } else {
    make_parts(exec);
  }
}

/// Takes a pattern, and analyses what computes values on it.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::set_pattern(const ExecutionSpace& exec,
                                                                                   const Factors& factors) {
  m_factors = factors;
  if (m_options.ilu.method == IluMethod::parilu) {
    m_sweeps = std::make_unique<ParIlu<Scalar, Ordinal, Offset, ExecutionSpace>>(exec, factors, m_options.ilu,
                                                                                 m_budget);
  } else {
    m_elimination = std::make_unique<Elimination>(exec, factors, m_options.ilu.schedule, m_budget);
  }
  Kokkos::parallel_reduce("lutra::driver::count_L",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(factors.n)),
                          CountLower<Factors>{factors.row_map, factors.diagonal}, m_nnz_l);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::make_parts(
    const ExecutionSpace& exec) {
  m_parts = std::make_unique<Parts>(exec, m_factors, solve_options(m_options), m_budget, m_matrix.order);
  m_first = {};
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::matrix_of(
    const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values) -> View {
  const auto& F = m_matrix.pattern;
  const auto& source = m_matrix.source;
  if (source.extent(0) == 0) return {F.n_rows, F.n_cols, F.row_map, F.entries, values};
  Kokkos::parallel_for(
      "lutra::driver::gather_scaled",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(source.extent(0))),
      Impl::GatherScaled<decltype(m_values), std::decay_t<decltype(values)>, std::decay_t<decltype(source)>,
                         decltype(m_matrix.scale)>{m_values, values, source, m_matrix.scale});
  return {F.n_rows, F.n_cols, F.row_map, F.entries, m_values};
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double) {
  const View F = matrix_of(exec, A.values);
  m_steps = {};
  m_steps.shift = m_options.ilu.shift;
  for (;;) {
    const IncompleteOutcome outcome = compute(exec, F, m_steps.shift);
    if (!outcome.is_finite()) {
      const std::int64_t row = m_elimination ? m_elimination->consume_timeout(exec) : -1;
      if (row >= 0)
        throw TimeoutError("factorize: row " + std::to_string(m_matrix.user_row(row)) +
                           " waited too long for others in an elimination, which was given up");
    }
    const std::string fault = fault_of(outcome);
    m_has_values = fault.empty();
    if (m_has_values) {
      if (!m_parts) make_parts(exec);
      m_parts->update_values(exec);
      return {m_steps.shift > 0 ? static_cast<std::int64_t>(m_factors.n) : 0, std::nullopt,
              outcome.largest_entry, outcome.largest_factor};
    }
    m_steps.why = fault;
    if (m_steps.shifts == m_options.ilu.max_shifts)
      return {0, std::nullopt, outcome.largest_entry, std::numeric_limits<double>::infinity()};
    ++m_steps.shifts;
    m_steps.shift = m_steps.shift > 0 ? shift_growth * m_steps.shift : first_shift;
  }
}

/// What makes factors unusable; empty: nothing.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::string IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::fault_of(
    const IncompleteOutcome& outcome) const {
  constexpr double max_growth = 1e-3 / static_cast<double>(epsilon_of<Scalar>);
  if (outcome.bad_row >= 0)
    return "row " + std::to_string(m_matrix.user_row(outcome.bad_row)) + " has no usable pivot";
  if (!outcome.is_finite()) return "factors hold NaN or infinity";
  if (outcome.largest_factor <= max_growth * outcome.largest_entry) return "";
  char text[64];
  std::snprintf(text, sizeof text, "entries grow by %.1e", outcome.largest_factor / outcome.largest_entry);
  return text;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteOutcome IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::compute(
    const ExecutionSpace& exec, const View& F, double shift) {
  const auto inspect = [&] {
    return inspect_factors(exec, F, m_factors, m_options.ilu.symmetric, m_inspection);
  };
  if (m_sweeps) {
    const auto outcome = m_sweeps->compute(exec, F, shift, m_factors,
                                           m_has_values ? ParIluStart::factors : ParIluStart::matrix);
    m_steps.sweeps = outcome.sweeps;
    m_steps.residual = outcome.first_residual > 0 ? outcome.last_residual / outcome.first_residual : 0.0;
    return inspect();
  }
  if (m_first.n > 0) {
    if (m_factors.entries.data() != m_first.entries.data()) set_pattern(exec, m_first);  // after a failure
    m_elimination->eliminate(exec, F, shift, m_factors);
    const IncompleteOutcome outcome = inspect();
    if (!fault_of(outcome).empty()) return outcome;
    find_pattern(exec, F, shift);
  }
  m_elimination->eliminate(exec, F, shift, m_factors);
  return inspect();
}

/// ParILUT from the factors as they are.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::find_pattern(
    const ExecutionSpace& exec, const View& F, double shift) {
  Factors found = m_factors;
  const ParIlutOutcome outcome = parilut(exec, F, shift, m_options.ilu, m_budget, found);
  m_steps.steps = outcome.steps;
  m_steps.residual = outcome.first_residual > 0 ? outcome.residual / outcome.first_residual : 0.0;
  set_pattern(exec, found);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::vector<Pivot> IncompleteFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::pivots(
    const ExecutionSpace&) const {
  std::vector<Pivot> result;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(m_factors.n); ++k) {
    const std::int64_t column = m_matrix.columns.empty() ? k : m_matrix.columns[static_cast<std::size_t>(k)];
    result.push_back({m_matrix.user_row(k), column, m_steps.shift > 0});
  }
  return result;
}

#define LUTRA_INCOMPLETE_FACTORIZATION(Scalar, Ordinal, Offset, Space) \
  template class IncompleteFactorization<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_INCOMPLETE_FACTORIZATION)

}  // namespace lutra

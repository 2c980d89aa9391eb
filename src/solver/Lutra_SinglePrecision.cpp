// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SinglePrecision.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "Lutra_ForRange.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

template <class Single>
KOKKOS_INLINE_FUNCTION Single rounded(double value) {
  return static_cast<Single>(value);
}
template <class Single>
KOKKOS_INLINE_FUNCTION Single rounded(const Kokkos::complex<double>& value) {
  return Single(static_cast<float>(value.real()), static_cast<float>(value.imag()));
}
KOKKOS_INLINE_FUNCTION double widened(float value) {
  return static_cast<double>(value);
}
KOKKOS_INLINE_FUNCTION Kokkos::complex<double> widened(const Kokkos::complex<float>& value) {
  return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
}

/// Writes r·a·c, rounded, for all entries.
template <class Scalar, class ExecutionSpace, class Single>
void round_scaled(const ExecutionSpace& exec,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                  const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                  const Kokkos::View<Single*, typename ExecutionSpace::memory_space>& result) {
  if (pattern.n_rows == 0) return;
  constexpr int lanes_a_row = 8;
  const RowTeams teams(exec, lanes_a_row, 64);
  const Ordinal n = pattern.n_rows;
  const auto row_map = pattern.row_map;
  const auto columns = pattern.entries;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>::member_type;
  Kokkos::parallel_for(
      "lutra::solver::round_scaled", teams.policy(exec, n), KOKKOS_LAMBDA(const Member& team) {
        teams.visit_rows(team, n, [&](const Ordinal i) {
          const auto scale = A.row_scale(i);
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row_map(i), row_map(i + 1)),
                               [&](const Offset p) {
                                 result(p) = rounded<Single>(A.values(p) * scale * A.col_scale(columns(p)));
                               });
        });
      });
}

/// Writes max |scale·b| of each column of B, or 1 for a column of zeros.
template <class ExecutionSpace, class Rows, class Scale, class Magnitude>
void measure_columns(const ExecutionSpace& exec, const Rows& B, const Scale& scale,
                     const Magnitude& magnitude) {
  using Traits = ScalarTraits<typename Rows::value_type>;
  const auto n = static_cast<std::int64_t>(B.extent(0));
  for (std::size_t c = 0; c < B.extent(1); ++c) {
    const auto result = Kokkos::subview(magnitude, c);
    Kokkos::parallel_reduce(
        "lutra::solver::measure_columns", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
        KOKKOS_LAMBDA(const std::int64_t i, double& largest) {
          const double size = static_cast<double>(scale(i)) * Traits::magnitude(B(i, c));
          if (!(size <= largest)) largest = size;
        },
        Kokkos::Max<double, typename ExecutionSpace::memory_space>(result));
  }
  for_range(
      exec, "lutra::solver::no_zero_columns", static_cast<std::int64_t>(B.extent(1)),
      KOKKOS_LAMBDA(const std::int64_t c) {
        if (!(magnitude(c) > 0)) magnitude(c) = 1;
      });
}

template <class From, class To>
void append(const std::vector<From>& from, std::vector<To>& to) {
  for (const From& value : from) to.push_back(widened(value));
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
SinglePrecisionPlan<Scalar, ExecutionSpace>::make_factorization(const ExecutionSpace& exec,
                                                                const MemoryBudget& budget) const {
  return std::make_unique<SinglePrecisionFactorization<Scalar, ExecutionSpace>>(exec, *this, budget);
}

template <class Scalar, class ExecutionSpace>
std::optional<MemoryForecast> SinglePrecisionPlan<Scalar, ExecutionSpace>::forecast(int n_columns) const {
  auto result = single->forecast(n_columns);
  if (!result) return result;
  const std::size_t values = A.entries.extent(0) * sizeof(Single), k = static_cast<std::size_t>(n_columns);
  result->factorization.device += values;
  result->solve.device += values + k * (sizeof(double) + static_cast<std::size_t>(A.n_rows) * sizeof(Single));
  return result;
}

template <class Scalar, class ExecutionSpace>
SinglePrecisionFactorization<Scalar, ExecutionSpace>::SinglePrecisionFactorization(const ExecutionSpace& exec,
                                                                                   const Plan& plan,
                                                                                   const MemoryBudget& budget)
    : m_plan(plan), m_budget(budget), m_single(plan.single->make_factorization(exec, budget)) {}

/// Allocates memory for the rounded values on the first call.
template <class Scalar, class ExecutionSpace>
void SinglePrecisionFactorization<Scalar, ExecutionSpace>::reserve_values(const ExecutionSpace& exec) {
  if (m_values.extent(0) > 0) return;
  MemoryReservation reservation(m_budget);
  m_values = reservation.template allocate<decltype(m_values)>(
      exec, "lutra::solver::values in single precision", m_plan.A.entries.extent(0));
  m_values_reservation = reservation;
}

template <class Scalar, class ExecutionSpace>
void SinglePrecisionFactorization<Scalar, ExecutionSpace>::reserve_columns(const ExecutionSpace& exec,
                                                                           std::size_t n_columns) {
  if (m_columns.extent(1) == n_columns) return;
  exec.fence("lutra::solver: columns of another number are freed");
  m_columns = {};
  m_columns_reservation = MemoryReservation(m_budget);
  m_magnitude = m_columns_reservation.template allocate<decltype(m_magnitude)>(
      exec, "lutra::solver::magnitudes of columns", n_columns);
  m_columns = m_columns_reservation.template allocate<SingleRows>(
      exec, "lutra::solver::columns in single precision", static_cast<std::size_t>(m_plan.A.n_rows),
      n_columns);
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome SinglePrecisionFactorization<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double perturbation) {
  if (m_working) return factorize_working(exec, A, perturbation);
  m_A = A;
  reserve_values(exec);
  round_scaled(exec, m_plan.A, A, m_values);
  // Smaller pivots are rounding errors of single precision.
  const double smallest = std::pow(static_cast<double>(epsilon_of<Single>), 5.0 / 8.0);
  return m_single->factorize(exec, {m_values, m_plan.ones, m_plan.ones}, std::max(perturbation, smallest));
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome SinglePrecisionFactorization<Scalar, ExecutionSpace>::factorize_working(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double perturbation) {
  FactorizationOutcome outcome;
  try {
    outcome = m_working->factorize(exec, A, perturbation);
  } catch (...) {
    if (m_single) {
      m_working.reset();
      m_working_plan.reset();
    }
    throw;
  }
  m_A = A;
  m_single.reset();
  m_values = {};
  m_columns = {};
  m_magnitude = {};
  m_values_reservation = m_columns_reservation = {};
  return outcome;
}

template <class Scalar, class ExecutionSpace>
bool SinglePrecisionFactorization<Scalar, ExecutionSpace>::raise_precision(const ExecutionSpace& exec) {
  if (m_working) return false;
  auto plan = m_plan.plan_working(exec, m_budget);
  m_working = plan->make_factorization(exec, m_budget);
  m_working_plan = std::move(plan);
  exec.fence("lutra::solver: solves in single precision are complete");
  return true;
}

template <class Scalar, class ExecutionSpace>
void SinglePrecisionFactorization<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, Transposition op,
                                                                 const Rows& B, const Rows& X) {
  if (!m_single) return m_working->apply(exec, op, B, X);
  const bool plain = op == Transposition::none;
  const auto in_scale = plain ? m_A.row_scale : m_A.col_scale;
  const auto out_scale = plain ? m_A.col_scale : m_A.row_scale;
  reserve_columns(exec, B.extent(1));
  const auto columns = m_columns;
  const auto magnitude = m_magnitude;
  const auto n = static_cast<std::int64_t>(B.extent(0));
  const std::size_t k = B.extent(1);
  measure_columns(exec, B, in_scale, magnitude);
  for_range(
      exec, "lutra::solver::round_columns", n, KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::size_t c = 0; c < k; ++c)
          columns(i, c) = rounded<Single>(B(i, c) * (in_scale(i) / magnitude(c)));
      });
  m_single->apply(exec, op, columns, columns);
  for_range(
      exec, "lutra::solver::widen_columns", n, KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::size_t c = 0; c < k; ++c) X(i, c) = widened(columns(i, c)) * (out_scale(i) * magnitude(c));
      });
}

template <class Scalar, class ExecutionSpace>
std::vector<Pivot> SinglePrecisionFactorization<Scalar, ExecutionSpace>::pivots(
    const ExecutionSpace& exec) const {
  return m_single ? m_single->pivots(exec) : m_working->pivots(exec);
}

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> SinglePrecisionFactorization<Scalar, ExecutionSpace>::write_out(
    const ExecutionSpace& exec) const {
  if (!m_single)
    return dynamic_cast<const WritableFactors<Scalar, ExecutionSpace>&>(*m_working).write_out(exec);
  auto single = dynamic_cast<const WritableFactors<Single, ExecutionSpace>&>(*m_single).write_out(exec);
  FactorValues<Scalar> factors;
  factors.row_order = std::move(single.row_order);
  factors.col_order = std::move(single.col_order);
  factors.rows = std::move(single.rows);
  factors.columns = std::move(single.columns);
  factors.row_scale = to_host(exec, m_A.row_scale);
  factors.col_scale = to_host(exec, m_A.col_scale);
  append(single.values, factors.values);
  return factors;
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_in_single_precision(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    typename SinglePrecisionPlan<Scalar,
                                 ExecutionSpace>::template PlanPointer<typename SingleOf<Scalar>::type>
        single,
    typename SinglePrecisionPlan<Scalar, ExecutionSpace>::PlanWorking plan_working,
    const MemoryBudget& budget) {
  using Plan = SinglePrecisionPlan<Scalar, ExecutionSpace>;
  auto plan = std::make_shared<Plan>();
  plan->counts = single->counts;
  plan->level_widths = single->level_widths;
  plan->solve_method = single->solve_method;
  plan->solve_reason = single->solve_reason;
  plan->A = A;
  plan->single = std::move(single);
  plan->plan_working = std::move(plan_working);
  plan->reservation = MemoryReservation(budget);
  const auto ones = plan->reservation.template allocate<
      Kokkos::View<RealOf<typename Plan::Single>*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::solver::scales of the scaled matrix", static_cast<std::size_t>(A.n_rows));
  Kokkos::deep_copy(exec, ones, RealOf<typename Plan::Single>(1));
  plan->ones = ones;
  exec.fence("lutra::solver: the scales are complete");
  return plan;
}

#define LUTRA_SINGLE_PRECISION(Scalar, Space)                                                        \
  template struct SinglePrecisionPlan<Scalar, Space>;                                                \
  template class SinglePrecisionFactorization<Scalar, Space>;                                        \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_in_single_precision<Scalar>( \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,                \
      std::shared_ptr<const FactorizationPlan<typename SingleOf<Scalar>::type, Space>>,              \
      typename SinglePrecisionPlan<Scalar, Space>::PlanWorking, const MemoryBudget&);
#define LUTRA_SINGLE_OF_REAL(Space) LUTRA_IF_F32(LUTRA_IF_F64(LUTRA_SINGLE_PRECISION(double, Space)))
#define LUTRA_SINGLE_OF_COMPLEX(Space) \
  LUTRA_IF_C64(LUTRA_IF_C128(LUTRA_SINGLE_PRECISION(Kokkos::complex<double>, Space)))
LUTRA_FOR_EACH_SPACE(LUTRA_SINGLE_OF_REAL)
LUTRA_FOR_EACH_SPACE(LUTRA_SINGLE_OF_COMPLEX)

}  // namespace lutra::Impl

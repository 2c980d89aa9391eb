// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteSolve.hpp"

#include <cmath>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_JacobiTriangle.hpp"
#include "Lutra_LuTriangularSolves.hpp"

namespace lutra {
namespace {

constexpr double max_share_of_exact = 0.5;  ///< predicted time of Jacobi, as its solves cost iterations
constexpr double max_difference = 0.3;      ///< of its solutions from exact ones, in parts of those

template <class Factors>
auto pattern_of(const Factors& factors) {
  using Memory = typename decltype(factors.values)::memory_space;
  LuPattern<typename decltype(factors.entries)::non_const_value_type,
            typename decltype(factors.row_map)::non_const_value_type, Memory>
      lu;
  lu.n = factors.n;
  lu.row_map = factors.row_map;
  lu.entries = factors.entries;
  lu.diagonal = factors.diagonal;
  return lu;
}

/// Seconds of Jacobi sweeps on one triangle: launches, or all its bytes for each sweep.
template <class Scalar, class Ordinal>
double predict_jacobi_seconds(const TriangularReport& triangle, int sweeps, const TrisolveCosts& costs) {
  const double bytes = static_cast<double>(triangle.nnz) * (sizeof(Scalar) + sizeof(Ordinal)) +
                       static_cast<double>(triangle.n) * 4 * sizeof(Scalar);
  return (sweeps + 1) * costs.level_launch_seconds + sweeps * bytes / costs.bandwidth;
}

/// b(i) = ±1, and ‖x − y‖₂²/‖y‖₂² of two vectors: how far the application of L·U by sweeps is off.
template <class Rows>
struct FillSigns {
  Rows b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::uint64_t z = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    b(i, 0) = typename Rows::value_type((z >> 63) != 0 ? 1 : -1);
  }
};

struct SquareSums {
  double difference = 0, size = 0;
  KOKKOS_FUNCTION SquareSums& operator+=(const SquareSums& other) {
    difference += other.difference;
    size += other.size;
    return *this;
  }
};

template <class Rows>
struct CompareVectors {
  using value_type = SquareSums;
  Rows x, y;
  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(std::int64_t i, value_type& sum) const {
    using Scalar = typename Rows::value_type;
    const auto d = static_cast<double>(ScalarTraits<Scalar>::magnitude(x(i, 0) - y(i, 0)));
    const auto s = static_cast<double>(ScalarTraits<Scalar>::magnitude(y(i, 0)));
    sum += {d * d, s * s};
  }
};

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::IncompleteSolve(
    const ExecutionSpace& exec, const Factors& factors, const IncompleteSolveOptions& options,
    const MemoryBudget& budget, const Order& order)
    : m_factors(factors), m_order(order), m_reservation(budget) {
  if (options.jacobi_sweeps < 1) throw InputError("options: jacobi_sweeps must be 1 or more");
  m_uses_jacobi = options.apply == IluApply::jacobi;
  if (factors.n == 0) return;
  if (!m_uses_jacobi)
    m_exact = std::make_unique<Solves>(exec, pattern_of(factors), order.row_order, order.col_order,
                                       options.triangular, budget);
  if (m_uses_jacobi) m_jacobi = make_jacobi(exec, options, budget);
  if (options.apply != IluApply::automatic) return;
  const auto& costs =
      options.triangular.device_model.value_or(default_device_model<ExecutionSpace>()).trisolve.methods;
  double exact = 0, jacobi = 0;
  for (const TriangularReport* triangle : {&m_exact->lower_report(), &m_exact->upper_report()}) {
    exact += triangle->predicted_seconds;
    jacobi += predict_jacobi_seconds<Scalar, Ordinal>(*triangle, options.jacobi_sweeps, costs);
  }
  if (jacobi >= max_share_of_exact * exact) return;
  m_jacobi = make_jacobi(exec, options, budget);
  for (Rows& vector : m_trial)
    vector = m_reservation.template allocate<Rows>(exec, "lutra::ilu::trial",
                                                   static_cast<std::size_t>(factors.n), 1);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::~IncompleteSolve() = default;

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::make_jacobi(
    const ExecutionSpace& exec, const IncompleteSolveOptions& options, const MemoryBudget& budget) const
    -> std::unique_ptr<Solves> {
  using Engine = Impl::JacobiTriangle<Scalar, Ordinal, Offset, ExecutionSpace>;
  const auto make = [sweeps = options.jacobi_sweeps](const ExecutionSpace&, const auto& input,
                                                     const MemoryBudget& account, const Impl::TimeoutFlag&) {
    auto plan = std::make_shared<typename Engine::Plan>();
    static_cast<typename Solves::Input&>(*plan) = input;
    plan->sweeps = sweeps;
    return std::make_unique<Engine>(std::move(plan), account);
  };
  return std::make_unique<Solves>(exec, pattern_of(m_factors), m_order.row_order, m_order.col_order,
                                  options.triangular, budget, make);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::update_values(const ExecutionSpace& exec) {
  for (Solves* solves : {m_exact.get(), m_jacobi.get()}) {
    if (solves != nullptr) solves->set_values(exec, m_factors.values);
  }
  if (m_exact && m_jacobi) choose(exec);
}

/// Takes Jacobi where it comes close to the exact solution with the present values.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::choose(const ExecutionSpace& exec) {
  const auto& [b, x, y] = m_trial;
  const Kokkos::RangePolicy<ExecutionSpace> all(exec, 0, static_cast<std::int64_t>(m_factors.n));
  Kokkos::parallel_for("lutra::ilu::signs", all, FillSigns<Rows>{b});
  m_jacobi->solve(exec, Transposition::none, m_order.row_scale, m_order.col_scale, b, x);
  m_exact->solve(exec, Transposition::none, m_order.row_scale, m_order.col_scale, b, y);
  SquareSums sums;
  Kokkos::parallel_reduce("lutra::ilu::compare", all, CompareVectors<Rows>{x, y}, sums);
  const double difference = std::sqrt(sums.difference / sums.size);
  m_uses_jacobi = difference <= max_difference;  // not where it is NaN
  m_reason = m_uses_jacobi
                 ? "applied by Jacobi sweeps: predicted to take less than half the time of exact solves"
                 : "applied by exact solves: Jacobi sweeps are too far from them";
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::apply(const ExecutionSpace& exec,
                                                                     Transposition op, const Rows& B,
                                                                     const Rows& X) {
  if (m_factors.n > 0) solves().solve(exec, op, m_order.row_scale, m_order.col_scale, B, X);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::apply_lower(const ExecutionSpace& exec,
                                                                           Transposition op, const Rows& B,
                                                                           const Rows& X) {
  if (m_factors.n == 0) return;
  if (op == Transposition::none) return solves().solve_first(exec, op, m_order.row_scale, B, X);
  solves().solve_second(exec, op, m_order.row_scale, B, X);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::apply_upper(const ExecutionSpace& exec,
                                                                           Transposition op, const Rows& B,
                                                                           const Rows& X) {
  if (m_factors.n == 0) return;
  if (op == Transposition::none) return solves().solve_second(exec, op, m_order.col_scale, B, X);
  solves().solve_first(exec, op, m_order.col_scale, B, X);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::string IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::method() const {
  if (m_uses_jacobi || !m_exact) return "jacobi";
  return std::string(name_of(m_exact->upper_report().method));
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::int64_t IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::levels() const {
  return m_exact ? m_exact->lower_report().levels : 0;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::int64_t IncompleteSolve<Scalar, Ordinal, Offset, ExecutionSpace>::consume_timeout(
    const ExecutionSpace& exec) {
  return m_exact ? m_exact->consume_timeout(exec) : -1;
}

#define LUTRA_INCOMPLETE_SOLVE(Scalar, Ordinal, Offset, Space) \
  template class IncompleteSolve<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_INCOMPLETE_SOLVE)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteSolve.hpp"

#include <cmath>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_JacobiTriangle.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_PowerOfTwo.hpp"

namespace lutra {
namespace {

template <class Factors>
auto pattern_of(const Factors& factors) {
  using Memory = typename decltype(factors.values)::memory_space;
  LuPattern<Memory> lu;
  lu.n = factors.n;
  lu.row_map = factors.row_map;
  lu.entries = factors.entries;
  lu.diagonal = factors.diagonal;
  return lu;
}

/// Predicted seconds of Jacobi sweeps on one triangle: launch time, or the time to read all its bytes, per
/// sweep.
template <class Scalar>
double predict_jacobi_seconds(const TriangularReport& triangle, int sweeps, const TrisolveCosts& costs) {
  const double bytes = static_cast<double>(triangle.nnz) * (sizeof(Scalar) + sizeof(Ordinal)) +
                       static_cast<double>(triangle.n) * 4 * sizeof(Scalar);
  return (sweeps + 1) * costs.level_launch_seconds + sweeps * bytes / costs.bandwidth;
}

/// Row i of Uᴴ and U, and √u_ii. Entries of U are copied, with the real part on the diagonal; those left of
/// it are conj(u_ji), or 0 if U has no such entry.
template <class Factors>
struct MirrorUpper {
  using Scalar = typename decltype(Factors::values)::non_const_value_type;
  Factors factors;
  decltype(Factors::values) to;
  Kokkos::View<RealOf<Scalar>*, typename decltype(Factors::values)::memory_space> roots;
  Impl::RowTeams rows;

  KOKKOS_FUNCTION Scalar mirrored(Ordinal i, Ordinal j) const {
    const auto end = factors.row_map(j + 1);
    const auto q = Impl::first_not_before(factors.diagonal(j) + 1, end,
                                          [&](const auto at) { return factors.entries(at) < i; });
    return q < end && factors.entries(q) == i ? ScalarTraits<Scalar>::conjugate(factors.values(q))
                                              : Scalar(0);
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    rows.visit_rows(team, factors.n, [&](const auto i) {
      const auto diagonal = factors.diagonal(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, factors.row_map(i), factors.row_map(i + 1)),
                           [&](const auto p) {
                             to(p) = p < diagonal    ? mirrored(i, factors.entries(p))
                                     : p == diagonal ? Scalar(real_part(factors.values(p)))
                                                     : factors.values(p);
                           });
      Kokkos::single(Kokkos::PerThread(team),
                     [&]() { roots(i) = Kokkos::sqrt(real_part(factors.values(diagonal))); });
    });
  }
  KOKKOS_FUNCTION static RealOf<Scalar> real_part(const Scalar& value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return value.real();
    } else {
      return value;
    }
  }
};

/// Sets b(i) = ±1, and computes ‖x − y‖₂²/‖y‖₂² for two vectors, the error of applying L·U by sweeps. Squares
/// are scaled by a power of two.
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
struct FindLargest {
  using Real = RealOf<typename Rows::value_type>;
  Rows y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Real& largest) const {
    largest = Kokkos::max(largest, Impl::largest_part(y(i, 0)));
  }
};

template <class Rows>
struct CompareVectors {
  using value_type = SquareSums;
  Rows x, y;
  int exponent;
  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(std::int64_t i, value_type& sum) const {
    using Scalar = typename Rows::value_type;
    const auto part = [this](const Scalar& value) {
      return static_cast<double>(ScalarTraits<Scalar>::magnitude(Impl::scale_by_power(value, -exponent)));
    };
    const double d = part(x(i, 0) - y(i, 0)), s = part(y(i, 0));
    sum += {d * d, s * s};
  }
};

template <class ExecutionSpace, class Rows>
SquareSums add_squares(const ExecutionSpace& exec, const CompareVectors<Rows>& compare) {
  SquareSums sums;
  const auto n = static_cast<std::int64_t>(compare.x.extent(0));
  Kokkos::parallel_reduce("lutra::ilu::compare", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n), compare,
                          sums);
  return sums;
}
/// On hosts one thread adds, so that the choice does not depend on the number of threads.
template <Impl::HostExecution ExecutionSpace, class Rows>
SquareSums add_squares(const ExecutionSpace& exec, const CompareVectors<Rows>& compare) {
  SquareSums sums;
  exec.fence("lutra::ilu: the trial solves are complete");
  for (std::size_t i = 0; i < compare.x.extent(0); ++i) compare(static_cast<std::int64_t>(i), sums);
  return sums;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
IncompleteSolve<Scalar, ExecutionSpace>::IncompleteSolve(const ExecutionSpace& exec, const Factors& factors,
                                                         const IncompleteSolveOptions& options,
                                                         const MemoryBudget& budget, const Order& order)
    : m_factors(factors),
      m_order(order),
      m_is_symmetric(options.symmetric),
      m_reservation(budget),
      m_wanted(options.apply) {
  check_enumerator("options: apply", options.apply, IluApply::jacobi);
  if (options.jacobi_sweeps < 1) throw InputError("options: jacobi_sweeps must be 1 or more");
  m_uses_jacobi = options.apply == IluApply::jacobi;
  if (factors.n == 0) return;
  if (!m_uses_jacobi)
    m_exact = std::make_unique<Solves>(exec, pattern_of(factors), order.row_order, order.col_order,
                                       options.triangular, budget,
                                       Impl::analyse_triangle<Scalar, ExecutionSpace>, options.symmetric);
  if (m_uses_jacobi) m_jacobi = make_jacobi(exec, options, budget);
  if (options.apply != IluApply::automatic) return;
  const DeviceModel model = options.triangular.device_model.value_or(default_device_model<ExecutionSpace>());
  m_costs = model.ilu;
  for (const TriangularReport* triangle : {&m_exact->lower_report(), &m_exact->upper_report()}) {
    m_properties.exact_seconds += triangle->predicted_seconds;
    m_properties.jacobi_seconds +=
        predict_jacobi_seconds<Scalar>(*triangle, options.jacobi_sweeps, model.trisolve.methods);
  }
  const ApplyChoice choice = choose_apply(m_properties, m_wanted, m_costs);
  m_reason = choice.reason;
  if (choice.apply == IluApply::jacobi) m_jacobi = make_jacobi(exec, options, budget);
}

template <class Scalar, class ExecutionSpace>
IncompleteSolve<Scalar, ExecutionSpace>::IncompleteSolve(const IncompleteSolve& analysed,
                                                         const Factors& factors, const MemoryBudget& budget)
    : m_factors(factors),
      m_order(analysed.m_order),
      m_is_symmetric(analysed.m_is_symmetric),
      m_reservation(budget),
      m_uses_jacobi(analysed.m_uses_jacobi),
      m_wanted(analysed.m_wanted),
      m_costs(analysed.m_costs),
      m_properties(analysed.m_properties),
      m_reason(analysed.m_reason) {}

template <class Scalar, class ExecutionSpace>
auto IncompleteSolve<Scalar, ExecutionSpace>::with_own_values(const ExecutionSpace& exec,
                                                              const Factors& factors,
                                                              const MemoryBudget& budget) const
    -> std::unique_ptr<IncompleteSolve> {
  std::unique_ptr<IncompleteSolve> result(new IncompleteSolve(*this, factors, budget));
  const auto share = [&](const std::unique_ptr<Solves>& from, std::unique_ptr<Solves>& to) {
    if (from) to = std::make_unique<Solves>(from->with_own_values(exec, budget));
  };
  share(m_exact, result->m_exact);
  share(m_jacobi, result->m_jacobi);
  return result;
}

/// Allocates values and vectors unless already done.
template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::allocate(const ExecutionSpace& exec) {
  const auto n = static_cast<std::size_t>(m_factors.n);
  if (m_is_symmetric && m_between.extent(0) == 0) {
    m_hermitian = m_reservation.template allocate<decltype(m_hermitian)>(exec, "lutra::ilu::hermitian",
                                                                         m_factors.entries.extent(0));
    m_between = m_reservation.template allocate<decltype(m_between)>(exec, "lutra::ilu::between", n);
  }
  if (!m_exact || !m_jacobi || m_trial[2].data() != nullptr) return;
  for (Rows& vector : m_trial)
    vector = m_reservation.template allocate<Rows>(exec, "lutra::ilu::trial", n, 1);
}

template <class Scalar, class ExecutionSpace>
IncompleteSolve<Scalar, ExecutionSpace>::~IncompleteSolve() = default;

template <class Scalar, class ExecutionSpace>
auto IncompleteSolve<Scalar, ExecutionSpace>::make_jacobi(const ExecutionSpace& exec,
                                                          const IncompleteSolveOptions& options,
                                                          const MemoryBudget& budget) const
    -> std::unique_ptr<Solves> {
  using Engine = Impl::JacobiTriangle<Scalar, ExecutionSpace>;
  const auto make = [sweeps = options.jacobi_sweeps](const ExecutionSpace&, const auto& input,
                                                     const MemoryBudget& account, const Impl::TimeoutFlag&) {
    auto plan = std::make_shared<typename Engine::Plan>();
    static_cast<typename Solves::Input&>(*plan) = input;
    plan->sweeps = sweeps;
    return std::make_unique<Engine>(std::move(plan), account);
  };
  return std::make_unique<Solves>(exec, pattern_of(m_factors), m_order.row_order, m_order.col_order,
                                  options.triangular, budget, make, options.symmetric);
}

template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::update_values(const ExecutionSpace& exec) {
  if (m_factors.n == 0) return;
  allocate(exec);
  auto values = m_factors.values;
  if (m_is_symmetric) {
    values = m_hermitian;
    const Impl::RowTeams rows = Impl::teams_for_rows(exec, m_between.extent(0), values.extent(0));
    Kokkos::parallel_for("lutra::ilu::mirror_upper", Impl::by_argument(rows.policy(exec, m_factors.n)),
                         MirrorUpper<Factors>{m_factors, values, m_between, rows});
  }
  for (Solves* solves : {m_exact.get(), m_jacobi.get()}) {
    if (solves != nullptr) solves->set_values(exec, values, m_between);
  }
  if (m_exact && m_jacobi) choose(exec);
}

/// Selects Jacobi sweeps if they are close to exact solves with the present values.
template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::choose(const ExecutionSpace& exec) {
  const auto& [b, x, y] = m_trial;
  const Kokkos::RangePolicy<ExecutionSpace> all(exec, 0, static_cast<std::int64_t>(m_factors.n));
  Kokkos::parallel_for("lutra::ilu::signs", all, FillSigns<Rows>{b});
  m_jacobi->solve(exec, Transposition::none, m_order.row_scale, m_order.col_scale, b, x);
  m_exact->solve(exec, Transposition::none, m_order.row_scale, m_order.col_scale, b, y);
  RealOf<Scalar> largest = 0;
  Kokkos::parallel_reduce("lutra::ilu::largest", all, FindLargest<Rows>{y},
                          Kokkos::Max<RealOf<Scalar>>(largest));
  const SquareSums sums = add_squares(exec, CompareVectors<Rows>{x, y, Impl::exponent_of(largest)});
  m_properties.difference = std::sqrt(sums.difference / sums.size);
  const ApplyChoice choice = choose_apply(m_properties, m_wanted, m_costs);
  m_uses_jacobi = choice.apply == IluApply::jacobi;
  m_reason = choice.reason;
}

template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, Transposition op,
                                                    const Rows& B, const Rows& X) {
  if (m_factors.n > 0) solves().solve(exec, op, m_order.row_scale, m_order.col_scale, B, X);
}

template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::apply_lower(const ExecutionSpace& exec, Transposition op,
                                                          const Rows& B, const Rows& X) {
  if (m_factors.n == 0) return;
  if (op == Transposition::none) return solves().solve_first(exec, op, m_order.row_scale, B, X);
  solves().solve_second(exec, op, m_order.row_scale, B, X);
}

template <class Scalar, class ExecutionSpace>
void IncompleteSolve<Scalar, ExecutionSpace>::apply_upper(const ExecutionSpace& exec, Transposition op,
                                                          const Rows& B, const Rows& X) {
  if (m_factors.n == 0) return;
  if (op == Transposition::none) return solves().solve_second(exec, op, m_order.col_scale, B, X);
  solves().solve_first(exec, op, m_order.col_scale, B, X);
}

template <class Scalar, class ExecutionSpace>
std::string IncompleteSolve<Scalar, ExecutionSpace>::method() const {
  if (m_uses_jacobi || !m_exact) return "jacobi";
  return std::string(name_of(m_exact->upper_report().method));
}

template <class Scalar, class ExecutionSpace>
std::int64_t IncompleteSolve<Scalar, ExecutionSpace>::levels() const {
  return m_exact ? m_exact->lower_report().levels : 0;
}

template <class Scalar, class ExecutionSpace>
std::int64_t IncompleteSolve<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  return m_exact ? m_exact->consume_timeout(exec) : -1;
}

#define LUTRA_INCOMPLETE_SOLVE(Scalar, Space) template class IncompleteSolve<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INCOMPLETE_SOLVE)

}  // namespace lutra

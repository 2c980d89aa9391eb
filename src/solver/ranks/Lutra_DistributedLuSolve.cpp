// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "Lutra_AllFinite.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FirstRankSolver.hpp"
#include "Lutra_GridOnRanks.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {

template <class Scalar>
Status DistributedLU<Scalar>::solve_alone(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                          Transposition op) {
  const Kokkos::Timer timer;
  const auto distribution = m_report.times.distribution;
  const std::string why = m_report.choice.why;
  m_alone->solve(B, X, k, op, m_A->all_rows());
  m_report = m_alone->report();
  m_report.choice.why = why;
  m_report.times.distribution = distribution;
  // what messages take counts as part of the solve
  m_report.times.solve = timer.seconds() - m_report.times.refine.value_or(0);
  return m_report.status;
}

/// The factors where solves use them.
template <class Scalar>
Impl::RankSolver<Scalar>& DistributedLU<Scalar>::solver() {
  if (m_grid) return *m_grid;
  return *m_fronts;
}

template <class Scalar>
Status DistributedLU<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                    Transposition op) {
  const Kokkos::Timer timer;
  const std::size_t mine = m_A->rows().rows.size();
  m_comm.agree(
      "right-hand sides of a distributed matrix",
      [&] {
        if (!m_usable && m_report.status == Status::not_solved)
          throw CallOrderError("solve: there is no factorization; call factorize first");
        if (B.size() != mine * k || X.size() != mine * k)
          throw InputError("B and X: " + std::to_string(B.size()) + " and " + std::to_string(X.size()) +
                           " values, not " + std::to_string(mine * k));
        using Real = RealOf<Scalar>;
        constexpr std::size_t parts = sizeof(Scalar) / sizeof(Real);
        if (Impl::all_finite(reinterpret_cast<const Real*>(B.data()), parts * B.size())) return;
        for (std::size_t e = 0; e < B.size(); ++e)
          if (!ScalarTraits<Scalar>::is_finite(B[e]))
            throw InputError("B: row " + std::to_string(m_A->rows().rows[e % mine]) + ", column " +
                             std::to_string(e / mine) + " is not finite");
      },
      false);
  if (!m_usable) return m_report.status;
  if (m_alone) return solve_alone(B, X, k, op);
  if (k == 0) return m_report.status = Status::success;
  if (op == Transposition::adjoint) {  // Aᴴ·x = b is Aᵀ·conj(x) = conj(b)
    std::vector<Scalar> right(B.begin(), B.end());
    for (Scalar& value : right) value = ScalarTraits<Scalar>::conjugate(value);
    const Status status = solve(right, X, k, Transposition::transposed);
    if (!m_usable) return status;  // X is unchanged
    for (Scalar& value : X) value = ScalarTraits<Scalar>::conjugate(value);
    return status;
  }
  const double success = m_options.error_tolerance > 0             ? m_options.error_tolerance
                         : sizeof(RealOf<Scalar>) == sizeof(float) ? 1e-5
                                                                   : 1e-12;
  Impl::RankSolveOptions options{{m_options.max_refinement_steps, m_options.error_tolerance}, success};
  if (m_fronts) options.most_amplification = Impl::largest_condition_on_ranks<Scalar>;
  const Impl::RankSolveOutcome outcome = solver().solve(B, X, k, op, options);
  if (outcome.may_be_singular) {
    factorize_for_judgement();
    return m_usable ? solve_alone(B, X, k, op) : m_report.status;
  }
  m_report.escalations.clear();
  if (outcome.gmres_iterations > 0)
    m_report.escalations.push_back("refinement stalled: " + std::to_string(outcome.gmres_iterations) +
                                   " GMRES iterations with the factors as preconditioner");
  const double error = std::ranges::max(outcome.errors.componentwise);
  m_report.refinement_steps = outcome.steps;
  m_report.times.refine = outcome.refine_seconds;
  m_report.times.solve = timer.seconds() - outcome.refine_seconds;
  m_report.errors.backward_componentwise = error;
  m_report.errors.backward_normwise = std::ranges::max(outcome.errors.normwise);
  m_report.status = !std::isfinite(error) ? Status::breakdown
                    : error <= success    ? Status::success
                                          : Status::error_above_tolerance;
  return m_report.status;
}

#define LUTRA_DISTRIBUTED_SOLVE(Scalar)                                                                 \
  template Impl::RankSolver<Scalar>& DistributedLU<Scalar>::solver();                                   \
  template Status DistributedLU<Scalar>::solve(std::span<const Scalar>, std::span<Scalar>, std::size_t, \
                                               Transposition);
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_SOLVE)

}  // namespace lutra

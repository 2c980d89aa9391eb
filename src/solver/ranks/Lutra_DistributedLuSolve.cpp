// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FirstRankSolver.hpp"
#include "Lutra_FrontsOnRanks.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

/// The factors of all ranks as refinement applies them: vectors hold the rows of this rank.
template <class Scalar>
class RanksInverse final : public Preconditioner<Scalar, Host> {
 public:
  using typename Preconditioner<Scalar, Host>::Rows;
  using Columns = std::vector<Scalar>;
  using Apply = std::function<Columns(std::span<const Scalar>, std::size_t)>;

  /// @param apply collective; takes and returns [rows × k] by columns, for an operation that is fixed
  explicit RanksInverse(Apply apply) : m_apply(std::move(apply)) {}
  void apply(const Host&, Transposition, const Rows& B, const Rows& X) override {
    const std::size_t n = B.extent(0), k = B.extent(1);
    Columns columns(n * k);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < n; ++i) columns[c * n + i] = B(i, c);
    columns = m_apply(columns, k);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < n; ++i) X(i, c) = columns[c * n + i];
  }

 private:
  Apply m_apply;
};

}  // namespace

template <class Scalar>
void Impl::RankReductions<Scalar>::sum(std::span<Scalar> values) const {
  std::vector<Scalar> all(values.begin(), values.end());
  const auto parts = m_comm.gather(all);
  for (std::size_t r = 1; r < parts.size(); ++r)
    for (std::size_t e = 0; e < all.size(); ++e) all[e] += parts[r][e];
  m_comm.broadcast(all);
  std::ranges::copy(all, values.begin());
}
template <class Scalar>
void Impl::RankReductions<Scalar>::max(std::span<RealOf<Scalar>> values) const {
  std::vector<RealOf<Scalar>> all(values.begin(), values.end());
  m_comm.all_max(all);
  std::ranges::copy(all, values.begin());
}

template <class Scalar>
Status DistributedLU<Scalar>::solve_alone(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                          Transposition op) {
  const Kokkos::Timer timer;
  const auto distribution = m_report.times.distribution;
  const std::string why = m_report.choice.why;
  m_alone->solve(B, X, k, op, m_A.all_rows());
  m_report = m_alone->report();
  m_report.choice.why = why;
  m_report.times.distribution = distribution;
  // what messages take counts as part of the solve
  m_report.times.solve = timer.seconds() - m_report.times.refine.value_or(0);
  return m_report.status;
}

/// Returns op(A)⁻¹·B with the accuracy of the factors.
template <class Scalar>
std::vector<Scalar> DistributedLU<Scalar>::apply_inverse(std::span<const Scalar> B, std::size_t k,
                                                         Transposition op) {
  return m_factors ? m_factors->solve(B, k, op) : m_fronts->solve(B, k, op);
}

template <class Scalar>
Status DistributedLU<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                    Transposition op) {
  const Kokkos::Timer timer;
  const std::size_t mine = m_A.rows().rows.size();
  m_comm.agree(
      "right-hand sides of a distributed matrix",
      [&] {
        if (!m_usable && m_report.status == Status::not_solved)
          throw CallOrderError("solve: there is no factorization; call factorize first");
        if (B.size() != mine * k || X.size() != mine * k)
          throw InputError("B and X: " + std::to_string(B.size()) + " and " + std::to_string(X.size()) +
                           " values, not " + std::to_string(mine * k));
        for (std::size_t e = 0; e < B.size(); ++e)
          if (!ScalarTraits<Scalar>::is_finite(B[e]))
            throw InputError("B: row " + std::to_string(m_A.rows().rows[e % mine]) + ", column " +
                             std::to_string(e / mine) + " is not finite");
      },
      false);
  if (!m_usable) return m_report.status;
  if (m_alone) return solve_alone(B, X, k, op);
  if (k == 0) return m_report.status = Status::success;
  std::vector<Scalar> right(B.begin(), B.end());
  if (op == Transposition::adjoint) {  // Aᴴ·x = b is Aᵀ·conj(x) = conj(b)
    for (Scalar& value : right) value = ScalarTraits<Scalar>::conjugate(value);
    const Status status = solve(right, X, k, Transposition::transposed);
    if (!m_usable) return status;  // X is unchanged
    for (Scalar& value : X) value = ScalarTraits<Scalar>::conjugate(value);
    return status;
  }
  const auto at = [mine](std::size_t i, std::size_t c) { return c * mine + i; };  // of the caller's blocks
  reserve_workspace(mine, k);
  for (std::size_t i = 0; i < mine; ++i)
    for (std::size_t c = 0; c < k; ++c) m_work.B(i, c) = right[at(i, c)];
  m_work.maxima.clear(Host());
  RanksInverse<Scalar> inverse(
      [&](std::span<const Scalar> of, std::size_t columns) { return apply_inverse(of, columns, op); });
  RefinementOutcome outcome = solve_refined<Scalar, Host>(
      Host(), m_A.get(op), inverse, op, {m_options.max_refinement_steps, m_options.error_tolerance}, m_work);
  const double amplification = std::ranges::max(outcome.errors.amplification);
  if (m_fronts && amplification > Impl::largest_condition_on_ranks<Scalar>) {
    factorize_for_judgement();
    return m_usable ? solve_alone(right, X, k, op) : m_report.status;
  }
  const double success = m_options.error_tolerance > 0             ? m_options.error_tolerance
                         : sizeof(RealOf<Scalar>) == sizeof(float) ? 1e-5
                                                                   : 1e-12;
  m_report.escalations.clear();
  if (m_fronts && m_options.max_refinement_steps > 0) improve_by_gmres(op, success, inverse, outcome);
  for (std::size_t i = 0; i < mine; ++i)
    for (std::size_t c = 0; c < k; ++c) X[at(i, c)] = m_work.X(i, c);
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

/// A lower bound of the condition ‖D⁻¹·|A⁻¹|·|A|·D‖∞ for column scales D, by one solve with signs that are
/// random: what krylov's `probe_condition` computes where one process has all rows.
template <class Scalar>
double DistributedLU<Scalar>::probe_condition() {
  const auto& scale = m_fronts->col_scale();
  const auto& rows = m_A.rows().rows;
  std::vector<double> largest{0};
  for (const auto own : scale) largest[0] = std::max(largest[0], static_cast<double>(own));
  m_comm.all_max(largest);
  const bool has_unit = largest[0] > 0 && std::isfinite(largest[0]);
  const double unit = has_unit ? std::ldexp(1.0, -std::ilogb(largest[0])) : 1.0;
  DenseRows<Scalar, Kokkos::HostSpace> X, G;
  m_comm.agree("vectors of a distributed solve", [&] {
    X = decltype(X)("lutra::solver::scales", rows.size(), 1);
    G = decltype(G)("lutra::solver::sums of the rows", rows.size(), 1);
  });
  for (std::size_t i = 0; i < rows.size(); ++i)
    X(i, 0) = Scalar(static_cast<RealOf<Scalar>>(static_cast<double>(scale[i]) * unit));
  m_A.get(Transposition::none).apply_magnitudes(Host(), X, G);
  Host().fence("lutra::solver: the sums of the rows are known");
  std::vector<Scalar> B(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto hash = static_cast<std::uint64_t>(rows[i]) * 0x9e3779b97f4a7c15U;  // Fibonacci hashing
    B[i] = (hash >> 63 != 0 ? -G(i, 0) : G(i, 0)) * Scalar(RealOf<Scalar>(0.75));
  }
  const std::vector<Scalar> solution = apply_inverse(B, 1, Transposition::none);
  std::vector<double> size{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double own = static_cast<double>(ScalarTraits<Scalar>::magnitude(solution[i])) /
                       (static_cast<double>(scale[i]) * unit);
    size[0] = own <= size[0] ? size[0] : std::isfinite(own) ? own : std::numeric_limits<double>::infinity();
  }
  m_comm.all_max(size);
  return size[0];
}

/// Runs GMRES on each column whose error is above the tolerance after refinement, as Numeric does.
template <class Scalar>
void DistributedLU<Scalar>::improve_by_gmres(Transposition op, double tolerance,
                                             Preconditioner<Scalar, Host>& inverse,
                                             RefinementOutcome& outcome) {
  auto& errors = outcome.errors;
  const auto stalled = [&](double error) { return !(error <= tolerance); };
  if (std::ranges::none_of(errors.componentwise, stalled)) return;
  const Kokkos::Timer timer;
  const auto& scales = op == Transposition::none ? m_fronts->row_scale() : m_fronts->col_scale();
  const Kokkos::View<const RealOf<Scalar>*, Kokkos::HostSpace> scale(scales.data(), scales.size());
  reserve_gmres();
  int iterations = 0;
  for (std::size_t c = 0; c < errors.componentwise.size(); ++c) {
    if (!stalled(errors.componentwise[c])) continue;
    Impl::copy_column(Host(), m_work.B, c, m_column.B, 0);
    Impl::copy_column(Host(), m_work.X, c, m_column.X, 0);
    const BackwardErrors before{{errors.componentwise[c]}, {errors.normwise[c]}, {errors.amplification[c]}};
    const auto improved = refine_by_gmres<Scalar, Host>(Host(), m_A.get(op), inverse, op, scale,
                                                        0.1 * tolerance, before, m_column, m_gmres);
    Impl::copy_column(Host(), m_column.X, 0, m_work.X, c);
    errors.componentwise[c] = improved.errors.componentwise[0];
    errors.normwise[c] = improved.errors.normwise[0];
    errors.amplification[c] = improved.errors.amplification[0];
    iterations += improved.iterations;
  }
  m_report.escalations.push_back("refinement stalled: " + std::to_string(iterations) +
                                 " GMRES iterations with the factors as preconditioner");
  outcome.refine_seconds += timer.seconds();
}

/// Allocates GMRES, with as many iterations a cycle as all ranks have memory for.
template <class Scalar>
void DistributedLU<Scalar>::reserve_gmres() {
  const std::size_t rows = m_work.B.extent(0);
  if (m_gmres.restart() > 0) return;
  int restart = gmres_refinement_restart;
  const auto allocate = [&] {
    m_gmres = {};
    m_gmres = Fgmres<Scalar, Host>(Host(), rows, restart, MemoryBudget(m_options.memory_limit));
  };
  m_comm.agree("vectors of GMRES", [&] {
    m_column = SolveWorkspace<Scalar, Host>(Host(), rows, 1, MemoryBudget(m_options.memory_limit));
    allocate();
  });
  std::vector<int> fewest{-m_gmres.restart()};
  m_comm.all_max(fewest);
  restart = -fewest[0];
  m_comm.agree("vectors of GMRES", [&] {
    if (m_gmres.restart() != restart) allocate();
  });
  m_gmres.join_by(m_reductions);
}

/// All ranks decide alike: new rows have emptied the workspace.
template <class Scalar>
void DistributedLU<Scalar>::reserve_workspace(std::size_t rows, std::size_t k) {
  if (m_work.B.extent(1) == k) return;
  m_comm.agree("vectors of a distributed solve", [&] {
    m_work = {};
    m_work = SolveWorkspace<Scalar, Host>(Host(), rows, k, MemoryBudget(m_options.memory_limit));
  });
}

#define LUTRA_DISTRIBUTED_SOLVE(Scalar)                                                                 \
  template class Impl::RankReductions<Scalar>;                                                          \
  template double DistributedLU<Scalar>::probe_condition();                                             \
  template Status DistributedLU<Scalar>::solve(std::span<const Scalar>, std::span<Scalar>, std::size_t, \
                                               Transposition);
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_SOLVE)

}  // namespace lutra

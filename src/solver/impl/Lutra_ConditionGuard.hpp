// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CONDITIONGUARD_HPP
#define LUTRA_CONDITIONGUARD_HPP

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "Lutra_ConditionEstimate.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Timer.hpp"

namespace lutra::Impl {

/// Tracks what is known about the condition of the last matrix factorized.
template <class Scalar, class ExecutionSpace>
class ConditionGuard {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Operator = MatrixOperator<Scalar, ExecutionSpace>;
  using Factors = Factorization<Scalar, ExecutionSpace>;
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;

  static constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  /// 1/√ε, a condition number that costs half of the digits. Also used as a bound for growth.
  static constexpr double near_singular = sizeof(RealOf<Scalar>) == 8 ? 0x1p26 : 0x1.6ap11;
  /// Estimates of one solve below this are not examined further.
  static constexpr double max_probed = near_singular / 128;

  /// Forgets all estimates. Called when another matrix is factorized.
  void forget() {
    m_condition.reset();
    m_is_doubtful = false;
  }
  const std::optional<double>& condition() const { return m_condition; }
  /// Returns whether the factors were too inexact for the last `look` to detect all singular matrices.
  bool is_doubtful() const { return m_is_doubtful; }

  /// Returns whether A may be singular, judged by pivots and growth.
  static bool is_suspicious(const FactorizationOutcome& outcome) {
    const double smallest = std::pow(epsilon, 5.0 / 8.0) * outcome.largest_entry;
    const bool has_zeros = outcome.symmetric && outcome.symmetric->zero > 0;
    return outcome.perturbed > 0 || has_zeros || outcome.smallest_pivot <= smallest ||
           outcome.growth() >= near_singular;
  }

  /// Computes a lower bound of the condition number by one solve.
  /// @param work one column, overwritten
  double probe(const ExecutionSpace& exec, const Operator& A, Factors& F,
               const Scales<Scalar, Memory>& scales, const Workspace& work, Report& report) const {
    const StageTimer timer(exec, true);
    const double condition = probe_condition(exec, A, F, scales, work);
    note(report, 1, timer.seconds());
    return condition;
  }

  /// Estimates the condition number. Writes the rows and columns that make the matrix singular, and the time
  /// of the estimate, to the report.
  /// @param work         one column, overwritten
  /// @param perturbation pivot perturbation of the factorization
  /// @returns whether A is singular to working precision
  bool look(const ExecutionSpace& exec, const Operator& A, const Operator& A_adjoint, Factors& F,
            const Scales<Scalar, Memory>& scales, const Workspace& work, double perturbation,
            Report& report) {
    const StageTimer timer(exec, true);
    const double growth = report.pivots.growth.value_or(1);
    const bool is_perturbed = report.pivots.perturbed.value_or(0) > 0;
    const double inexactness = std::max(epsilon * growth, is_perturbed ? perturbation : 0.0);
    const ConditionEstimate estimate = estimate_condition(exec, A, A_adjoint, F, scales, work, inexactness,
                                                          report.pivots.zero.value_or(0) > 0);
    m_is_doubtful = inexactness >= std::sqrt(epsilon) && estimate.distance <= inexactness;
    m_condition = std::max(m_condition.value_or(0), estimate.condition);
    note(report, estimate.solves, timer.seconds());
    if (!estimate.template is_singular<Scalar>()) return false;
    name_null_vector(exec, F, scales.col, work.X, report);
    return true;
  }

  /// Bounds the relative error of a solution by the condition number of A. The bound is infinity if it is not
  /// finite, and empty if there is no estimate.
  /// @param backward componentwise backward error
  std::optional<double> bound(double backward) const {
    if (!m_condition) return std::nullopt;
    return finite_or_infinity(2 * *m_condition * std::max(backward, epsilon / 2));
  }

  /// Computes a sharper bound from the condition of one solution. If the bound is 1 or more, writes the row
  /// and column of the least accurate entry to the report.
  /// @param A        operator op(A)
  /// @param at_least lower limit of the bound, where the factors do not permit a sharper one
  /// @param work     one column with b in B and x in X; overwritten
  double bound_of_solution(const ExecutionSpace& exec, const Operator& A, Factors& F, Transposition op,
                           const Scales<Scalar, Memory>& scales, double backward, double at_least,
                           const Workspace& work, Report& report) const {
    const StageTimer timer(exec, true);
    const ConditionEstimate estimate = estimate_condition_of_solution(exec, A, F, op, scales, work);
    note(report, estimate.solves, timer.seconds());
    const double bound =
        std::max(at_least, finite_or_infinity(estimate.condition * std::max(backward, epsilon / 2)));
    if (bound >= 1) {
      const auto& scale = op == Transposition::none ? scales.col : scales.row;
      name_null_vector(exec, F, scale, work.X, report);
    }
    return bound;
  }

 private:
  static double finite_or_infinity(double value) {
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
  }
  static void note(Report& report, int solves, double seconds) {
    report.condition_solves += solves;
    report.times.condition = report.times.condition.value_or(0) + seconds;
  }

  bool m_is_doubtful = false;
  std::optional<double> m_condition;  ///< largest estimate since the factorization
};

}  // namespace lutra::Impl

#endif

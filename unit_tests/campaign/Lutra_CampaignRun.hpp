// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNRUN_HPP
#define LUTRA_CAMPAIGNRUN_HPP

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "Lutra_CampaignTransforms.hpp"
#include "Lutra_Reference_Ldlt.hpp"
#include "Lutra_Solver.hpp"

namespace lutra::Campaign {

/// A way to solve a system.
enum class Way { lu, lu_fronts, lu_threshold, ldlt, cholesky, automatic, gmres };

inline constexpr Way all_ways[] = {Way::lu,       Way::lu_fronts, Way::lu_threshold, Way::ldlt,
                                   Way::cholesky, Way::automatic, Way::gmres};

constexpr std::string_view name_of(Way way) {
  constexpr std::string_view names[] = {"lu",       "lu_fronts", "lu_threshold", "ldlt",
                                        "cholesky", "automatic", "gmres"};
  return names[static_cast<int>(way)];
}

constexpr bool needs_symmetry(Way way) {
  return way == Way::ldlt || way == Way::cholesky;
}

/// Options of a way; those not set are the defaults.
inline SolverOptions options_of(Way way) {
  SolverOptions options;
  switch (way) {
    case Way::lu_threshold:
      options.pivoting = Pivoting::threshold;
      [[fallthrough]];
    case Way::lu_fronts:
      options.lu.engine = Engine::multifrontal;
      [[fallthrough]];
    case Way::lu:
      options.method = Method::lu;
      break;
    case Way::ldlt:
      options.method = Method::ldlt;
      break;
    case Way::cholesky:
      options.method = Method::cholesky;
      break;
    case Way::automatic:
      break;
    case Way::gmres:
      options.method = Method::krylov;
      options.krylov.max_iterations = 200;
  }
  return options;
}

/// What became of a matrix. Relations compare it; statuses of one kind may differ.
enum class Kind { solved, singular, indefinite, failed };

constexpr std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {"solved", "singular", "not positive definite", "failed"};
  return names[static_cast<int>(kind)];
}

constexpr Kind kind_of(Status status) {
  switch (status) {
    case Status::success:
      return Kind::solved;
    case Status::structurally_singular:
    case Status::numerically_singular:
      return Kind::singular;
    case Status::not_positive_definite:
      return Kind::indefinite;
    default:
      return Kind::failed;
  }
}

template <class Scalar>
struct Outcome {
  Status status = Status::not_solved;
  std::vector<Scalar> x{};
  double error = 0;     ///< componentwise backward error, recomputed; GMRES: relative residual
  double rounding = 0;  ///< of GMRES's residual (residual_rounding); 0 for direct methods
  std::optional<double> reported_error{}, condition{};
  std::optional<Reference::Inertia> inertia{};
  std::int64_t refinement_steps = 0, iterations = 0;
  double flops = 0;  ///< of the factorization, by the analysis

  Kind kind() const { return kind_of(status); }
};

/// ‖b − A·x‖₂ / ‖b‖₂ in long double.
template <class Scalar>
double relative_residual(const HostMatrix<Scalar>& A, const std::vector<Scalar>& x,
                         const std::vector<Scalar>& b) {
  const auto Ax = Reference::multiply(A, Reference::widen_all(x));
  long double residual = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual += std::norm(Reference::widen(b[i]) - Ax[i]);
    size += std::norm(Reference::widen(b[i]));
  }
  return static_cast<double>(Reference::relative(std::sqrt(residual), std::sqrt(size)));
}

/// Bound on the rounding errors of a residual b − A·x that is computed in the precision of A, relative to
/// ‖b‖₂. A solver that tests its residual cannot know it more accurately.
template <class Scalar>
double residual_rounding(const HostMatrix<Scalar>& A, const std::vector<Scalar>& x,
                         const std::vector<Scalar>& b) {
  using std::abs;
  constexpr auto epsilon = static_cast<long double>(epsilon_of<Scalar>);
  long double rounding = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double sum = abs(Reference::widen(b[i])), terms = 2;
    size += sum * sum;
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      sum += abs(Reference::widen(value)) * abs(Reference::widen(x[j]));
      ++terms;
    });
    rounding += terms * epsilon * sum * terms * epsilon * sum;
  }
  return static_cast<double>(Reference::relative(std::sqrt(rounding), std::sqrt(size)));
}

/// Recomputed error of a solution. Denormal entries of x and b count as the smallest normal number, as
/// docs/solver.md says.
template <class Scalar>
double recomputed_error(Way way, const HostMatrix<Scalar>& A, const std::vector<Scalar>& x,
                        const std::vector<Scalar>& b) {
  if (way == Way::gmres) return relative_residual(A, x, b);
  return static_cast<double>(Reference::backward_errors(A, x, b).componentwise);
}

template <class Scalar>
void measure_error(Way way, const HostMatrix<Scalar>& A, const std::vector<Scalar>& b,
                   Outcome<Scalar>& outcome) {
  outcome.error = recomputed_error(way, A, outcome.x, b);
  if (way == Way::gmres) outcome.rounding = residual_rounding(A, outcome.x, b);
}

inline std::optional<Reference::Inertia> inertia_of(const Report& report) {
  const Inertia& found = report.inertia;
  if (!found.positive || !found.negative || !found.zero) return std::nullopt;
  return Reference::Inertia{*found.positive, *found.negative, *found.zero};
}

/// Solves op(A)·x = b by a solver of its own. `max_flops`: a factorization that needs more is left out, with
/// the status not_solved.
template <class Scalar>
Outcome<Scalar> run(Way way, const HostMatrix<Scalar>& A, const std::vector<Scalar>& b, double max_flops,
                    Transposition op = Transposition::none) {
  lutra::Solver<Scalar> solver(options_of(way));
  Outcome<Scalar> outcome;
  outcome.x.resize(b.size());
  Status status = solver.analyze(A);
  outcome.flops = solver.report().factors.flops.value_or(0);
  if (status == Status::success && outcome.flops > max_flops) return outcome;
  if (status == Status::success) status = solver.factorize(A);
  const Report& report = solver.report();
  outcome.inertia = inertia_of(report);
  if (status == Status::success) status = solver.solve_host(b, outcome.x, op);
  outcome.status = status;
  outcome.reported_error = report.errors.backward_componentwise;
  outcome.condition = report.errors.condition;
  outcome.refinement_steps = report.refinement_steps;
  outcome.iterations = report.iterations.value_or(0);
  const bool plain = op == Transposition::none;
  if (status == Status::success)
    measure_error(way, plain ? A : Reference::transpose(A, op == Transposition::adjoint), b, outcome);
  return outcome;
}

}  // namespace lutra::Campaign

#endif

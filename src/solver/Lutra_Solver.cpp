// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Solver.hpp"

#include <new>
#include <utility>

#include "Lutra_ChooseMethod.hpp"
#include "Lutra_FixedCosts.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {
template <class Scalar, class ExecutionSpace>
Solver<Scalar, ExecutionSpace>::Solver(SolverOptions options, const ExecutionSpace& exec,
                                       const MemoryBudget& budget)
    : Calls(exec, budget), m_options(std::move(options)), m_method(m_options.method) {
  check_options(m_options);
}

/// Returns the method given in the options, or the one with the least predicted time.
template <class Scalar, class ExecutionSpace>
auto Solver<Scalar, ExecutionSpace>::choose(const matrix_type& A) const -> Choice {
  if (m_options.method != Method::automatic) return {m_options.method, m_options.ldlt.symmetry, {}};
  const DeviceModel model = Impl::with_fixed_costs<ExecutionSpace>(m_options).device_model.value_or(
      default_device_model<ExecutionSpace>());
  MethodProperties properties =
      method_properties(Impl::copy_to_host(m_exec, A), model.numeric.min_flops_per_entry > 0);
  properties.lu_asked = m_options.asks_for_lu() || m_budget.limit_bytes() > 0;
  const MethodChoice choice = choose_method(properties, model);
  return {method_of(choice.method), choice.symmetry, choice.reason};
}

template <class Scalar, class ExecutionSpace>
auto Solver<Scalar, ExecutionSpace>::make(const Choice& choice) const -> AnySolver {
  if (choice.method == Method::krylov) return Krylov(m_options.krylov_options(), m_exec, m_budget);
  if (choice.method == Method::lu) return Lu(m_options.lu_options(), m_exec, m_budget);
  LdltOptions options = m_options.ldlt_options(choice.method == Method::cholesky);
  options.symmetry = choice.symmetry;
  if (m_options.method == Method::automatic) options.validate_input = true;
  return Ldlt(options, m_exec, m_budget);
}

/// Analyzes with the current solver if it has the chosen method. Otherwise creates a new solver, which
/// replaces the current one when the analysis is complete.
template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::analyze_with(const Choice& choice, const matrix_type& A) {
  const auto analyze = [&](AnySolver& any) {
    std::visit(
        [&](auto& solver) {
          if constexpr (is_solver<decltype(solver)>) static_cast<void>(solver.analyze_checked(A));
        },
        any);
  };
  const auto* const ldlt = std::get_if<Ldlt>(&m_solver);
  const bool same = has_analysis() && choice.method == m_method &&
                    (ldlt == nullptr || ldlt->options().symmetry == choice.symmetry);
  if (same) {
    analyze(m_solver);
  } else {
    AnySolver next = make(choice);
    analyze(next);
    m_solver = std::move(next);
  }
  m_method = choice.method;
  m_reason = choice.reason;
  m_rows = static_cast<std::size_t>(A.n_rows);
}

template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::analyze_matrix(const matrix_type& A) {
  const Choice choice = choose(A);
  analyze_with(choice, A);
  m_escalations.clear();
  m_has_lost_factors = false;
  take_report();
}

template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::factorize_with_method(const matrix_type& A) {
  std::visit(
      [&](auto& solver) {
        if constexpr (is_solver<decltype(solver)>) static_cast<void>(solver.factorize(A));
      },
      m_solver);
}

/// Continues with another method. If memory does not suffice for it, there are no factors.
template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::give_way(const Choice& choice, const matrix_type& A,
                                              const std::string& why) {
  try {
    analyze_with(choice, A);
  } catch (const std::bad_alloc&) {
    m_has_lost_factors = true;
    throw;
  }
  m_escalations.push_back(why);
  factorize_with_method(A);
}

/// Replaces the chosen method after it has rejected the values. Must be called while that exception is
/// handled.
/// @throws the same exception again if the method is the right one
template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::replace_method(const matrix_type& A) {
  check_same_pattern(m_exec, A, *analyzed_pattern().pattern, this->m_check);
  const Choice choice = choose(A);
  if (choice.method == Method::lu) return give_way(choice, A, "the matrix is no longer symmetric: lu");
  if (choice.symmetry == std::get<Ldlt>(m_solver).options().symmetry) throw;
  give_way(choice, A,
           choice.symmetry == Symmetry::hermitian ? "the matrix is Hermitian, no longer symmetric"
                                                  : "the matrix is symmetric, no longer Hermitian");
}

template <class Scalar, class ExecutionSpace>
Status Solver<Scalar, ExecutionSpace>::factorize(const matrix_type& A) {
  this->require_analysis("factorize");
  const bool is_chosen = m_options.method == Method::automatic;
  std::vector<std::string> former = std::exchange(m_escalations, {});
  const bool had_lost_factors = std::exchange(m_has_lost_factors, false);
  try {
    reported([&] {
      try {
        factorize_with_method(A);
      } catch (const InputError&) {
        if (!is_chosen || m_method == Method::lu) throw;
        return replace_method(A);
      }
      const auto* const ldlt = std::get_if<Ldlt>(&m_solver);
      if (is_chosen && m_method == Method::cholesky && ldlt->report().status == Status::not_positive_definite)
        give_way({Method::ldlt, ldlt->options().symmetry, "ldlt: the matrix is not positive definite"}, A,
                 "the matrix is not positive definite: ldlt");
    });
  } catch (const InputError&) {  // the solver is unchanged
    m_escalations = std::move(former);
    m_has_lost_factors = had_lost_factors;
    take_report();
    throw;
  }
  return Calls::outcome();
}

template <class Scalar, class ExecutionSpace>
auto Solver<Scalar, ExecutionSpace>::analyzed_pattern() const -> Impl::AnalyzedPattern<memory_space> {
  return std::visit(
      [](const auto& solver) -> Impl::AnalyzedPattern<memory_space> {
        if constexpr (is_solver<decltype(solver)>) return solver.analyzed_pattern();
        return {nullptr};
      },
      m_solver);
}

template <class Scalar, class ExecutionSpace>
FactorStructure Solver<Scalar, ExecutionSpace>::structure() const {
  this->require_analysis("structure");
  return std::visit(
      [](const auto& solver) -> FactorStructure {
        if constexpr (requires { solver.structure(); }) return solver.structure();
        return {};
      },
      m_solver);
}

/// Copies the report of the method's solver and adds what only this class knows.
template <class Scalar, class ExecutionSpace>
void Solver<Scalar, ExecutionSpace>::take_report() {
  std::visit(
      [&](const auto& solver) {
        if constexpr (is_solver<decltype(solver)>) m_report = solver.report();
      },
      m_solver);
  std::string& why = m_report.choice.why;
  if (!m_reason.empty()) why = m_reason + (why.empty() ? "" : "; ") + why;
  m_report.escalations.insert(m_report.escalations.begin(), m_escalations.begin(), m_escalations.end());
  if (m_has_lost_factors) {
    m_report.status = Status::out_of_memory;
    m_report.errors = {};
  }
}

// Defined here, since they would otherwise be compiled again wherever a Solver is used.
template <class Scalar, class ExecutionSpace>
Solver<Scalar, ExecutionSpace>::Solver(Solver&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
Solver<Scalar, ExecutionSpace>& Solver<Scalar, ExecutionSpace>::operator=(Solver&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
Solver<Scalar, ExecutionSpace>::~Solver() = default;

#define LUTRA_SOLVER(Scalar, Space) template class Solver<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SOLVER)

}  // namespace lutra

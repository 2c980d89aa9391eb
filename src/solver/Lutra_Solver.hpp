// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVER_HPP
#define LUTRA_SOLVER_HPP

#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra {

/// Solver for square sparse systems that uses the method given in its options, or chooses one. It chooses LU
/// for an unsymmetric matrix. For a symmetric matrix it chooses LU, LDLᵀ or Cholesky, whichever has the least
/// predicted time. The report names the method and the reason for the choice.
///
/// Call analyze once per pattern, factorize once per set of values, and solve as often as needed. If later
/// values do not suit a chosen method, the solver replaces it: Cholesky by LDLᵀ for a matrix that is not
/// positive definite, either of them by LU for an unsymmetric matrix, and LDLᵀ for complex symmetric matrices
/// by LDLᵀ for Hermitian ones. The report then records an escalation. A chosen method always checks symmetry,
/// even when `validate_input` is false.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class Solver : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
               public Impl::MatrixCalls<Solver<Scalar, ExecutionSpace>, Scalar, ExecutionSpace> {
  using Calls = Impl::MatrixCalls<Solver, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using options_type = SolverOptions;
  using typename Calls::matrix_type, typename Calls::memory_space;

  /// Creates a solver without an analysis.
  /// @throws InputError if an option is out of range or conflicts with the method
  explicit Solver(SolverOptions options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : Solver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  Solver(SolverOptions options, const ExecutionSpace& exec, const MemoryBudget& budget);
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  using Calls::factorize;
  /// Factorizes a matrix that has the analyzed pattern and any values. The values are read in place.
  /// @returns success, or the status of a matrix that cannot be solved
  /// @throws CallOrderError if there is no analysis. InputError if the pattern differs or a value is NaN or
  ///         infinite; the solver is then unchanged. After OutOfMemoryError or TimeoutError there are no
  ///         factors.
  [[nodiscard]] Status factorize(const matrix_type& A);

  /// Solves op(A)·X = B for all columns and stores the errors in `report()`.
  /// @param B [n × k] or [n] View that the execution space can read
  /// @param X View like B; may be B itself. It is complete when the call returns.
  /// @returns the status of `report()`. The method's own `solve` documents the contents of X for each status.
  /// @throws CallOrderError if there is no factorization. InputError if the extents do not match, or if B
  ///         contains NaN or infinity; nothing has then changed. After OutOfMemoryError or TimeoutError X is
  ///         undefined.
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    require_factors();
    return reported([&] {
      std::visit(
          [&](auto& solver) {
            if constexpr (is_solver<decltype(solver)>) solver.solve(B, X, op);
          },
          m_solver);
    });
  }

  /// Overload for host arrays of n·k values, stored by columns. Copies them to the device and back if the
  /// execution space cannot access host memory. Fences.
  /// @throws whatever `solve` throws. OutOfMemoryError if the copies do not fit in memory; nothing has then
  ///         changed, including X.
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }

  /// Calls call(solver) with the solver of the current method: a SparseLU, SparseLDLT or KrylovSolver. This
  /// gives access to functions that only this class has.
  /// @throws CallOrderError if there is no analysis, and whatever `call` throws
  template <class Call>
  void with_method(const Call& call) {
    this->require_analysis("solver");
    reported([&] {
      std::visit(
          [&](auto& solver) {
            if constexpr (is_solver<decltype(solver)>) call(solver);
          },
          m_solver);
    });
  }

  /// Returns the row and column orders, the pattern of L + U and the level widths of a direct method, on the
  /// host. The result is empty for a Krylov method and for a structurally singular matrix. Fences.
  /// @throws CallOrderError if there is no analysis
  FactorStructure structure() const;
  /// Returns the current method. It is `automatic` before the first analysis unless the options name a
  /// method.
  Method method() const noexcept { return m_method; }
  const SolverOptions& options() const noexcept { return m_options; }
  /// Returns the choices, counts and measurements of the last calls, and the quality of the last solution.
  const Report& report() const noexcept { return m_report; }

 private:
  using Calls::m_exec, Calls::m_budget;
  using Lu = SparseLU<Scalar, ExecutionSpace>;
  using Ldlt = SparseLDLT<Scalar, ExecutionSpace>;
  using Krylov = KrylovSolver<Scalar, ExecutionSpace>;
  using AnySolver = std::variant<std::monostate, Lu, Ldlt, Krylov>;
  template <class Reference>
  static constexpr bool is_solver = !std::is_same_v<std::decay_t<Reference>, std::monostate>;
  /// A method, the symmetry it assumes, and the reason for choosing it.
  struct Choice {
    Method method;
    Symmetry symmetry;
    std::string reason;  ///< empty if the caller asked for the method
  };

  void analyze_matrix(const matrix_type& A);
  bool has_analysis() const { return m_solver.index() != 0; }
  Triangle triangle() const { return m_options.ldlt.triangle; }
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const;
  std::size_t rows() const { return m_rows; }

  Choice choose(const matrix_type& A) const;
  AnySolver make(const Choice& choice) const;
  void analyze_with(Choice choice, const matrix_type& A);
  void give_way(const Choice& choice, const matrix_type& A, const std::string& why);
  void replace_method(const matrix_type& A);
  void factorize_with_method(const matrix_type& A);
  void require_factors() const {
    if (!has_analysis() || m_has_lost_factors)
      throw CallOrderError("solve: there is no factorization; call analyze and factorize first");
  }
  /// Invokes `call`, then takes over the report, even if `call` throws. @returns the status of the report
  template <class Call>
  Status reported(const Call& call) {
    try {
      call();
    } catch (...) {
      take_report();
      throw;
    }
    take_report();
    return m_report.status;
  }
  void take_report() noexcept;
  Report make_report() const;

  SolverOptions m_options;
  AnySolver m_solver;  ///< holds no solver before the first analysis
  Method m_method;
  std::string m_reason;                    ///< why m_method was chosen; empty if the caller asked for it
  std::vector<std::string> m_escalations;  ///< method changes during the last factorization
  bool m_has_lost_factors = false;         ///< memory ran out during a change of method
  Report m_report;
  std::size_t m_rows = 0;
};

}  // namespace lutra

#endif

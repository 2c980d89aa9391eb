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
#include "Lutra_SolverOptions.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra {

/// Solver for square sparse systems by the method of its options, or by one that it chooses: LU for matrices
/// that are not symmetric, and for symmetric ones LU, LDLᵀ or Cholesky, whichever is predicted to take least
/// time. The report says which and why.
///
/// analyze once per pattern, factorize once per set of values, solve as often as wanted. A chosen method
/// gives way to another where later values need it: Cholesky to LDLᵀ for a matrix that is not positive
/// definite, both to LU for one that is not symmetric, LDLᵀ of complex symmetric matrices to that of
/// Hermitian ones. The report has an escalation then. A chosen method checks symmetry whatever
/// `validate_input` says.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class Solver : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
               public Impl::MatrixCalls<Solver<Scalar, ExecutionSpace>, Scalar, ExecutionSpace> {
  using Calls = Impl::MatrixCalls<Solver, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using options_type = SolverOptions;
  using typename Calls::matrix_type, typename Calls::memory_space;

  /// @throws InputError for options out of range, or at odds with the method
  explicit Solver(SolverOptions options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : Solver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  Solver(SolverOptions options, const ExecutionSpace& exec, const MemoryBudget& budget);

  using Calls::factorize;
  /// Factorizes a matrix with the pattern of the analysis and any values, which are read in place.
  /// @returns success, or the status of a matrix that cannot be solved with
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one or a value is
  ///         NaN or infinite: nothing has changed. OutOfMemoryError, TimeoutError: there are no factors
  [[nodiscard]] Status factorize(const matrix_type& A);

  /// Solves op(A)·X = B for all columns, and computes errors in `report()`.
  /// @param B [n × k] or [n] View the execution space can read
  /// @param X like B; may be B itself. Complete when the call returns
  /// @returns the status of `report()`; what X holds then is said at `solve` of the method's solver
  /// @throws CallOrderError without a factorization, InputError where extents do not fit or B holds NaN or
  ///         infinity: nothing has changed. OutOfMemoryError, TimeoutError: X is undefined
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

  /// Overload for host arrays of n·k values by columns; copies to the device and back where the execution
  /// space cannot reach them. Fences.
  /// @throws what solve does; OutOfMemoryError where the copies do not fit: nothing has changed, X included
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }

  /// Calls call(solver) with the solver of the method in use, a SparseLU, SparseLDLT or KrylovSolver, for
  /// what these have of their own.
  /// @throws CallOrderError without an analysis; what `call` throws
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

  /// Orders, pattern of L + U and level widths, on the host, of a direct method; empty for a Krylov method
  /// and for a structurally singular matrix. Fences.
  /// @throws CallOrderError without an analysis
  FactorStructure structure() const;
  /// The method in use; `automatic` before the first analysis, where none was asked for.
  Method method() const noexcept { return m_method; }
  const SolverOptions& options() const noexcept { return m_options; }
  /// What was chosen, counted and measured, and how good the last solution is.
  const Report& report() const noexcept { return m_report; }

 private:
  using Calls::m_exec, Calls::m_budget;
  using Lu = SparseLU<Scalar, ExecutionSpace>;
  using Ldlt = SparseLDLT<Scalar, ExecutionSpace>;
  using Krylov = KrylovSolver<Scalar, ExecutionSpace>;
  using AnySolver = std::variant<std::monostate, Lu, Ldlt, Krylov>;
  template <class Reference>
  static constexpr bool is_solver = !std::is_same_v<std::decay_t<Reference>, std::monostate>;
  /// A method for a matrix, and what goes with it.
  struct Choice {
    Method method;
    Symmetry symmetry;
    std::string reason;  ///< empty: asked for
  };

  void analyze_matrix(const matrix_type& A);
  bool has_analysis() const { return m_solver.index() != 0; }
  Triangle triangle() const { return m_options.ldlt.triangle; }
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const;
  std::size_t rows() const { return m_rows; }

  Choice choose(const matrix_type& A) const;
  AnySolver make(const Choice& choice) const;
  void analyze_with(const Choice& choice, const matrix_type& A);
  void give_way(const Choice& choice, const matrix_type& A, const std::string& why);
  void replace_method(const matrix_type& A);
  void factorize_with_method(const matrix_type& A);
  void require_factors() const {
    if (!has_analysis() || m_has_lost_factors)
      throw CallOrderError("solve: there is no factorization; call analyze and factorize first");
  }
  /// Calls and then takes over the report, whether the call throws or not. @returns its status
  template <class Call>
  Status reported(const Call& call) {
    struct TakeOver {
      Solver& self;
      ~TakeOver() { self.take_report(); }
    };
    {
      const TakeOver at_the_end{*this};
      call();
    }
    return m_report.status;
  }
  void take_report();

  SolverOptions m_options;
  AnySolver m_solver;  ///< none before the first analysis
  Method m_method;
  std::string m_reason;                    ///< for the method; empty: it was asked for
  std::vector<std::string> m_escalations;  ///< of the last factorization
  bool m_has_lost_factors = false;         ///< memory ended while a method gave way
  Report m_report;
  std::size_t m_rows = 0;
};

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVSOLVER_HPP
#define LUTRA_KRYLOVSOLVER_HPP

#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_Analysis.hpp"
#include "Lutra_BuiltTypes.hpp"
#include "Lutra_DiagonalPreconditioner.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_KrylovIteration.hpp"
#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_MatrixOperators.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_RankTwo.hpp"

namespace lutra {

/// Iterative solver for square sparse systems: a Krylov method with a preconditioner, in the shape of
/// `SparseLU`. analyze once per pattern, factorize (the preconditioner) once per set of values, solve as
/// often as wanted. It works on A and B in parts of the powers of two below their largest entries, so that
/// units do not matter: those of A·2^p and B·2^q lead to the same X but for exponents. A success is a
/// relative residual ‖b − A·x‖₂/‖b‖₂ below the tolerance, computed from x at the end.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class KrylovSolver : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                     public Impl::MatrixCalls<KrylovSolver<Scalar, ExecutionSpace>, Scalar, ExecutionSpace> {
  using Calls = Impl::MatrixCalls<KrylovSolver, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using LuPlan = std::shared_ptr<const Analysis<Scalar, ExecutionSpace>>;
  using typename Calls::matrix_type, typename Calls::memory_space;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;

  /// @throws InputError for options out of range
  explicit KrylovSolver(KrylovSolverOptions options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : KrylovSolver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  KrylovSolver(KrylovSolverOptions options, const ExecutionSpace& exec, const MemoryBudget& budget);

  /// Solves from here on are preconditioned by M, in place of a preconditioner of the solver's own (options:
  /// Preconditioning::none). Its op(·)⁻¹ approximates op(A)⁻¹, and is the same in each call. Null: none. Its
  /// size is compared with A's by `solve`.
  void set_preconditioner(std::shared_ptr<Preconditioner<Scalar, ExecutionSpace>> M) {
    m_foreign = std::move(M);
    m_report.choice.precond = m_foreign ? "user" : "none";
  }

  using Calls::analyze;
  /// Analyzes A for a preconditioner by LU with an analysis of A's pattern, as SparseLU::analysis().
  /// @throws as analyze(A), and InputError for an analysis of another pattern or another preconditioner
  [[nodiscard]] Status analyze(const matrix_type& A, const LuPlan& given) {
    if (given == nullptr) return Calls::analyze(A);
    analyze_with(A, given);
    return Calls::outcome();
  }

  using Calls::factorize;
  /// Computes the preconditioner of a matrix with the pattern of the analysis and any values, which are
  /// copied.
  /// @returns success, or the status of a matrix that cannot be solved with
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one or a value is
  ///         NaN or infinite: nothing has changed. OutOfMemoryError, TimeoutError: there is none
  [[nodiscard]] Status factorize(const matrix_type& A);

  /// Solves op(A)·X = B for all columns.
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself. Complete when the call returns; where the status is `not_converged` or
  ///          `breakdown`, the best iterate
  /// @returns the status of `report()`, of the worst column: `success`, `not_converged`, `breakdown`. Where
  ///          there is no preconditioner (`structurally_singular`, or `breakdown` of the factorization), X is
  ///          left alone
  /// Waits as KrylovIteration::solve does, and once more for each block of up to eight columns. Allocates
  /// where the number of columns, up to eight, is larger than before.
  /// @throws CallOrderError without a factorization, InputError where extents do not fit, the preconditioner
  ///         is for a matrix of another order, or B holds NaN or infinity: nothing has changed.
  ///         OutOfMemoryError, TimeoutError: X is undefined
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    return solve_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                       op);
  }

  /// Overload for host arrays of n·k values by columns; copies to the device and back where the execution
  /// space cannot reach them. Fences.
  /// @throws what solve does; OutOfMemoryError where the copies do not fit: nothing has changed, X included
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }

  /// The pattern that matrices must have, and how they are compared with it.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    return {&m_pattern, m_options.validate_input};
  }
  /// What was chosen, counted and measured, and how good the last solution is: `iterations` and
  /// `residual_history` are of the column that took most iterations.
  const Report& report() const noexcept { return m_report; }

 private:
  using Rows = DenseRows<Scalar, memory_space>;
  using Inverse = Preconditioner<Scalar, ExecutionSpace>;
  using Operators = Impl::MatrixOperators<Scalar, ExecutionSpace>;
  /// Largest entries of A or of columns of B, whose powers of two are the units of the iteration.
  using Sizes = Impl::AsyncResult<RealOf<Scalar>, ExecutionSpace>;
  /// What can be done next.
  enum class Stage { empty, analyzed, unusable, factorized };

  using Calls::m_exec, Calls::m_budget, Calls::m_check;

  using Numerics = Numeric<Scalar, ExecutionSpace>;
  void analyze_with(const matrix_type& A, const LuPlan& given);
  std::unique_ptr<Numerics> analyze_preconditioner(const matrix_type& A, const LuPlan& given) const;
  void analyze_matrix(const matrix_type& A) { analyze_with(A, nullptr); }
  bool has_analysis() const { return m_stage != Stage::empty; }
  static constexpr Triangle triangle() { return Triangle::both; }
  std::size_t rows() const { return static_cast<std::size_t>(m_pattern.n_rows); }
  Status solve_views(const const_multivector_type& B, const multivector_type& X, Transposition op);
  Status solve_blocks(const const_multivector_type& B, const multivector_type& X, Transposition op);
  Status solve_block(const const_multivector_type& B, const multivector_type& X, std::size_t first,
                     std::size_t k, Transposition op);
  void reserve(std::size_t columns);
  void start_solution(Status status);
  void record(const std::vector<KrylovOutcome>& outcomes, const BackwardErrors& errors);
  std::string_view name_of_preconditioner() const;
  void compute_preconditioner();
  void set_values(const Kokkos::View<const Scalar*, memory_space>& values, const Sizes& size,
                  bool keeps_units, Operators& operators) const;
  std::vector<KrylovOutcome> iterate(const LinearOperator<Scalar, ExecutionSpace>& A, Transposition op,
                                     const Rows& B, const Rows& X);
  bool has_range(std::size_t c) const;
  Inverse* inverse();
  void throw_if_stopped();

  KrylovSolverOptions m_options;
  Report m_report;
  Stage m_stage = Stage::empty;
  CsrPattern<Ordinal, Offset, memory_space> m_pattern;  ///< of A; a copy, which the analysis has too
  MemoryReservation m_reservation;
  Operators m_operators;  ///< of A in parts of the power of two below its largest entry
  Sizes m_A_size;         ///< [1] that entry
  bool m_keeps_units = false;
  std::unique_ptr<Numerics> m_numeric;  ///< Preconditioning::ilu and lu
  std::unique_ptr<DiagonalPreconditioner<Scalar, ExecutionSpace>> m_diagonal;  ///< Preconditioning::jacobi
  std::shared_ptr<Inverse> m_foreign;  ///< the caller's, in place of these; or null
  std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>> m_iteration;  ///< null before the first solve
  Rows m_B, m_X, m_R;                                                    ///< [n × columns] of a block
  ResidualMaxima<ExecutionSpace> m_maxima;
  Sizes m_B_sizes;  ///< [columns] of a block
  MemoryReservation m_work;
  std::size_t m_factor_escalations = 0;  ///< how many of the report's escalations the factorization made
  bool m_factorized_before = false;
};

}  // namespace lutra

#endif

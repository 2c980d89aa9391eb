// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVSOLVER_HPP
#define LUTRA_KRYLOVSOLVER_HPP

#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_DiagonalPreconditioner.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_MatrixOperators.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_RankTwo.hpp"

namespace lutra {

/// Iterative solver for square sparse systems: a preconditioned Krylov method with the interface of
/// `SparseLU`. Call analyze once per pattern, factorize (which computes the preconditioner) once per set of
/// values, and solve as often as needed.
///
/// The solver divides A and the columns of B by the powers of two just below their largest entries. Their
/// units therefore do not matter: A·2^p and B·2^q give the same X up to its exponents. A solve succeeds if
/// the relative residual ‖b − A·x‖₂/‖b‖₂, computed from the final x, is below the tolerance.
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

  /// Creates a solver without an analysis.
  /// @throws InputError if an option is out of range
  explicit KrylovSolver(KrylovSolverOptions options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : KrylovSolver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  KrylovSolver(KrylovSolverOptions options, const ExecutionSpace& exec, const MemoryBudget& budget);
  KrylovSolver(KrylovSolver&&) noexcept;
  KrylovSolver& operator=(KrylovSolver&&) noexcept;
  ~KrylovSolver();

  /// Preconditions all later solves by M instead of a preconditioner of the solver's own; the options must
  /// then say Preconditioning::none. op(M)⁻¹ must approximate op(A)⁻¹ and must be the same in each
  /// application. Null removes the preconditioner. `solve` compares the order of M with that of A.
  void set_preconditioner(std::shared_ptr<Preconditioner<Scalar, ExecutionSpace>> M) {
    m_foreign = std::move(M);
    m_report.choice.precond = m_foreign ? "user" : "none";
  }

  using Calls::analyze;
  /// Analyzes A for an LU preconditioner and reuses an existing analysis of the same pattern, such as
  /// SparseLU::analysis().
  /// @throws as analyze(A), and InputError if the analysis is for another pattern or another preconditioner
  [[nodiscard]] Status analyze(const matrix_type& A, const LuPlan& given) {
    if (given == nullptr) return Calls::analyze(A);
    return Calls::stoppable_analysis([&] {
      analyze_with(A, given);
      return Calls::outcome();
    });
  }

  using Calls::factorize;
  /// Computes the preconditioner for a matrix that has the analyzed pattern and any values. The values are
  /// copied.
  /// @returns success, or the status of a matrix that cannot be solved
  /// @throws CallOrderError if there is no analysis. InputError if the pattern differs or a value is NaN or
  ///         infinite; the solver is then unchanged. After OutOfMemoryError or TimeoutError there is no
  ///         preconditioner, and after `cancelled` neither, unless the matrix was still being checked.
  [[nodiscard]] Status factorize(const matrix_type& A);

  /// Solves op(A)·X = B for all columns. Waits for the device as KrylovIteration::solve does, and once more
  /// for each block of up to eight columns. Allocates if the number of columns in a block, at most eight, is
  /// larger than in earlier calls.
  /// @param B [n × k] or [n] View of any layout that the execution space can read
  /// @param X View like B; may be B itself. It is complete when the call returns. If the status is
  ///          `not_converged` or `breakdown`, X holds the best iterate.
  /// @returns the status of `report()`, which is that of the worst column: `success`, `not_converged` or
  ///          `breakdown`. If there is no preconditioner (`structurally_singular`, or `breakdown` of the
  ///          factorization), X is left unchanged. After `cancelled` X is undefined.
  /// @throws CallOrderError if there is no factorization. InputError if the extents do not match, if the
  ///         order of the preconditioner differs from that of A, or if B contains NaN or infinity; nothing
  ///         has then changed. After OutOfMemoryError or TimeoutError X is undefined.
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    return solve_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                       op);
  }

  /// Overload for host arrays of n·k values, stored by columns. Copies them to the device and back if the
  /// execution space cannot access host memory. Fences.
  /// @throws whatever `solve` throws. OutOfMemoryError if the copies do not fit in memory; nothing has then
  ///         changed, including X.
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }

  /// Returns the pattern that matrices must have, and how they are compared with it.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    return {&m_pattern, m_options.validate_input};
  }
  /// Returns the choices, counts and measurements of the last calls, and the quality of the last solution.
  /// `iterations` and `residual_history` refer to the column that took the most iterations.
  const Report& report() const noexcept { return m_report; }
  const KrylovSolverOptions& options() const noexcept { return m_options; }

 private:
  using Rows = DenseRows<Scalar, memory_space>;
  using Inverse = Preconditioner<Scalar, ExecutionSpace>;
  using Operators = Impl::MatrixOperators<Scalar, ExecutionSpace>;
  /// Largest entries of A or of the columns of B. Their powers of two are the units of the iteration.
  using Sizes = Impl::AsyncResult<RealOf<Scalar>, ExecutionSpace>;
  /// Progress of the solver, which determines the calls that are allowed next.
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
  CsrPattern<Ordinal, Offset, memory_space> m_pattern;  ///< pattern of A; a copy shared with the analysis
  MemoryReservation m_reservation;
  Operators m_operators;  ///< A divided by the power of two below its largest entry
  Sizes m_A_size;         ///< [1] largest entry of A
  bool m_keeps_units = false;
  std::unique_ptr<Numerics> m_numeric;  ///< factors for Preconditioning::ilu and lu
  /// Diagonal for Preconditioning::jacobi.
  std::unique_ptr<DiagonalPreconditioner<Scalar, ExecutionSpace>> m_diagonal;
  /// Preconditioner set by the caller, used instead of the above; may be null.
  std::shared_ptr<Inverse> m_foreign;
  std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>> m_iteration;  ///< null before the first solve
  Rows m_B, m_X, m_R;  ///< [n × columns] vectors of one block
  ResidualMaxima<ExecutionSpace> m_maxima;
  Sizes m_B_sizes;  ///< [columns] largest entries of the columns of one block
  MemoryReservation m_work;
  std::size_t m_factor_escalations = 0;  ///< number of escalations in the report that the factorization made
  bool m_factorized_before = false;
};

}  // namespace lutra

#endif

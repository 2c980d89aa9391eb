// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIRECTSOLVER_HPP
#define LUTRA_DIRECTSOLVER_HPP

#include <memory>
#include <span>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// What the direct solvers have in common: one analysis, one numeric object over it, and calls for matrices
/// and vectors wherever they are.
/// @tparam Options LuOptions or LdltOptions
template <class Scalar, class ExecutionSpace, class Options>
class DirectSolver
    : public Impl::MatrixCalls<DirectSolver<Scalar, ExecutionSpace, Options>, Scalar, ExecutionSpace> {
  using Calls = Impl::MatrixCalls<DirectSolver, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using numeric_type = Numeric<Scalar, ExecutionSpace>;
  using options_type = Options;
  using analysis_type = Analysis<Scalar, ExecutionSpace>;
  using border_type = Impl::Border<Scalar, ExecutionSpace>;
  using typename Calls::matrix_type, typename Calls::memory_space;

  /// @throws InputError for options out of range
  explicit DirectSolver(options_type options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : DirectSolver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  DirectSolver(options_type options, const ExecutionSpace& exec, const MemoryBudget& budget)
      : Calls(exec, budget), m_options(std::move(options)) {
    check_options(m_options);
  }

  using Calls::analyze;
  /// The same with a border, for SchurComplement.
  void analyze(const matrix_type& A, const std::shared_ptr<border_type>& border);

  /// Solves op(A)·X = B for all columns, refines, and computes the backward errors in `report()`
  /// (`solve` of numeric_type, which says what it waits for).
  /// @param B [n × k] or [n] View the execution space can read
  /// @param X like B; may be B itself. Complete when the call returns
  /// @returns the status of `report()`. Where it is a singular one from before the call, X is left alone;
  ///          where the solve itself finds the matrix numerically singular, X holds the solution its errors
  ///          are of, one of many
  /// @throws CallOrderError without a factorization, InputError where extents do not fit or B holds NaN or
  ///         infinity: nothing has changed. OutOfMemoryError, TimeoutError: X is undefined
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    return numeric("solve: there is no factorization; call analyze and factorize first").solve(B, X, op);
  }

  /// The same for host arrays of n·k values by columns; copies to the device and back where the execution
  /// space cannot reach them. Fences.
  /// @throws what solve does; OutOfMemoryError where the copies do not fit: nothing has changed, X included
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }

  /// The analysis, or null. It never changes and may be shared: factors of other values on the same pattern
  /// are `numeric_type numeric(solver.analysis(), options, instance)`, as many as are wanted.
  std::shared_ptr<const analysis_type> analysis() const {
    return m_numeric ? m_numeric->analysis() : nullptr;
  }

  /// Orders, pattern of L + U and level widths, on the host; empty for a structurally singular matrix. They
  /// are those of the analysis, or of the order that LDLᵀ has taken since, as `factors()`. Fences.
  /// @throws CallOrderError without an analysis
  FactorStructure structure() const {
    return numeric("structure: there is no analysis; call analyze first").structure();
  }

  /// The factors on the host, with orders and scales. Fences.
  /// @throws CallOrderError without a factorization
  FactorValues<Scalar> factors() const {
    return numeric("factors: there is no analysis; call analyze and factorize first").factors();
  }

  const options_type& options() const noexcept { return m_options; }
  /// The pattern that matrices must have, and how they are compared with it.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    if (!m_numeric) return {nullptr};
    return m_numeric->analyzed_pattern();
  }

  /// What was chosen, counted and measured, and how good the last solution is (`report` of numeric_type).
  const Report& report() const noexcept { return m_numeric ? m_numeric->report() : m_no_report; }

 protected:
  /// @param message of the exception where there is no analysis
  numeric_type& numeric(const char* message) const {
    if (!m_numeric) throw CallOrderError(message);
    return *m_numeric;
  }
  numeric_type& analyzed() const { return numeric("factorize: there is no analysis; call analyze first"); }

 private:
  void analyze_matrix(const matrix_type& A);
  void factorize_matrix(const matrix_type& A) { analyzed().factorize(A); }
  bool has_analysis() const { return m_numeric != nullptr; }
  Triangle triangle() const {
    if constexpr (std::is_same_v<Options, LdltOptions>) return m_options.triangle;
    return Triangle::both;
  }
  std::size_t rows() const { return m_numeric ? static_cast<std::size_t>(m_numeric->analysis()->n) : 0; }

  using Calls::m_exec, Calls::m_budget;

  options_type m_options;
  Report m_no_report;                       ///< before the first analysis
  std::unique_ptr<numeric_type> m_numeric;  ///< null before the first analysis
};

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIRECTSOLVER_HPP
#define LUTRA_DIRECTSOLVER_HPP

#include <memory>
#include <span>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_FactorStructure.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_MatrixInput.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// What the direct solvers have in common: one analysis, one numeric object over it, and calls for matrices
/// and vectors wherever they are.
/// @tparam Numeric LuNumeric or LdltNumeric
template <class Numeric>
class DirectSolver {
  using Scalar = typename Numeric::scalar_type;
  using Ordinal = typename Numeric::ordinal_type;
  using Offset = typename Numeric::offset_type;
  using ExecutionSpace = typename Numeric::execution_space;

 public:
  using numeric_type = Numeric;
  using options_type = typename Numeric::options_type;
  using analysis_type = typename Numeric::analysis_type;
  using memory_space = typename Numeric::memory_space;
  using matrix_type = typename Numeric::matrix_type;
  using host_matrix_type = HostMatrix<Scalar, Ordinal, Offset>;

  /// @throws InputError for options out of range
  explicit DirectSolver(options_type options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : DirectSolver(options, exec, MemoryBudget(options.memory_limit)) {}
  /// The same on an account that others write to as well, instead of one with `options.memory_limit`.
  DirectSolver(options_type options, const ExecutionSpace& exec, const MemoryBudget& budget)
      : m_options(std::move(options)), m_exec(exec), m_budget(budget) {
    check_options(m_options);
  }

  /// Matching and scaling, ordering, symbolic factorization and levelization of a square matrix.
  /// Afterwards `report().status` is `not_solved`, or of LU `structurally_singular` where no factorization is
  /// possible. A former analysis and its factors go when the new analysis is complete; both are charged to
  /// one memory limit until then. Fences.
  /// @throws InputError naming row and column for a matrix that is not square, has unsorted or repeated
  ///         columns, indices out of range, or NaN or infinity; OutOfMemoryError. The solver is as it was
  ///         before the call.
  void analyze(const matrix_type& A);
  void analyze(const host_matrix_type& A);
  /// The same with a border, for SchurComplement.
  void analyze(const matrix_type& A, const std::shared_ptr<typename Numeric::border_type>& border);
  /// For a row map of `int` or `std::size_t` and for any memory the execution space can reach, as in
  /// analyze(make_view(a Kokkos Kernels matrix)). Entries and values are shared; a row map of `int` is
  /// converted on the device.
  template <class Value, class Index, class Integer, class Memory>
  void analyze(const CsrView<Value, Index, Integer, Memory>& A) {
    analyze(readable(A));
  }

  /// Factorizes a matrix with the pattern of the analysis and any values (`factorize` of numeric_type).
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one or a value is
  ///         NaN or infinite; OutOfMemoryError where the device copy of a host matrix does not fit: nothing
  ///         has changed. OutOfMemoryError of the factorization, TimeoutError: there are no factors
  void factorize(const matrix_type& A) { analyzed().factorize(A); }
  void factorize(const host_matrix_type& A);
  template <class Value, class Index, class Integer, class Memory>
  void factorize(const CsrView<Value, Index, Integer, Memory>& A) {
    factorize(readable(A));
  }

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
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none);

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

  /// What was chosen, counted and measured, and how good the last solution is (`report` of numeric_type).
  const Report& report() const noexcept { return m_numeric ? m_numeric->report() : m_no_report; }

 protected:
  /// @param message of the exception where there is no analysis
  numeric_type& numeric(const char* message) const {
    if (!m_numeric) throw CallOrderError(message);
    return *m_numeric;
  }
  numeric_type& analyzed() const { return numeric("factorize: there is no analysis; call analyze first"); }
  /// A matrix of another row map or memory as the solver reads it.
  template <class Value, class Index, class Integer, class Memory>
  matrix_type readable(const CsrView<Value, Index, Integer, Memory>& A) {
    return Impl::adapt_matrix<matrix_type>(
        A, [this](const auto& row_map) { return m_row_map.convert(m_exec, row_map, m_budget); });
  }

 private:
  options_type m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Impl::WidenedRowMap<Offset, ExecutionSpace> m_row_map;  ///< empty unless matrices have row maps of `int`
  Report m_no_report;                                     ///< before the first analysis
  std::unique_ptr<numeric_type> m_numeric;                ///< null before the first analysis
};

}  // namespace lutra

#endif

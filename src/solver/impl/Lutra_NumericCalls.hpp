// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NUMERICCALLS_HPP
#define LUTRA_NUMERICCALLS_HPP

#include <memory>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

inline const DirectOptions& numeric_options(const DirectOptions& options) {
  return options;
}
/// What a numeric object reads of the options of incomplete factors.
inline DirectOptions numeric_options(const SparseIluOptions& options) {
  DirectOptions result;
  result.validate_input = options.validate_input;
  result.time_stages = options.time_stages;
  return result;
}

/// What solvers that factorize share: one analysis, one numeric object over it, and calls for matrices
/// wherever they are.
/// @tparam Options LuOptions, LdltOptions or SparseIluOptions
template <class Scalar, class ExecutionSpace, class Options>
class NumericCalls
    : public MatrixCalls<NumericCalls<Scalar, ExecutionSpace, Options>, Scalar, ExecutionSpace> {
  using Calls = MatrixCalls<NumericCalls, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using numeric_type = Numeric<Scalar, ExecutionSpace>;
  using options_type = Options;
  using analysis_type = Analysis<Scalar, ExecutionSpace>;
  using typename Calls::matrix_type, typename Calls::memory_space;

  /// @throws InputError for options out of range
  explicit NumericCalls(options_type options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : NumericCalls(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  NumericCalls(options_type options, const ExecutionSpace& exec, const MemoryBudget& budget)
      : Calls(exec, budget), m_options(std::move(options)) {
    check_options(m_options);
  }

  using Calls::factorize;
  /// Factorizes a matrix with the pattern of the analysis and any values, which are read in place.
  /// @returns success, or the status of a matrix that cannot be solved with
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one or a value is
  ///         NaN or infinite: nothing has changed. OutOfMemoryError, TimeoutError: there are no factors
  [[nodiscard]] Status factorize(const matrix_type& A) { return analyzed().factorize(A); }

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
  AnalyzedPattern<memory_space> analyzed_pattern() const {
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
  /// Takes a first analysis, or one that has a border.
  void set_analysis(std::shared_ptr<const analysis_type> analysis) {
    m_numeric =
        std::make_unique<numeric_type>(std::move(analysis), numeric_options(m_options), m_exec, m_budget);
  }

  using Calls::m_exec, Calls::m_budget;

 private:
  void analyze_matrix(const matrix_type& A) {
    if (m_numeric) return m_numeric->rematch_checked(A);
    set_analysis(analyze_checked<Scalar, ExecutionSpace>(m_exec, A, m_options, m_budget));
  }
  bool has_analysis() const { return m_numeric != nullptr; }
  Triangle triangle() const { return read_triangle(m_options); }
  std::size_t rows() const { return m_numeric ? static_cast<std::size_t>(m_numeric->analysis()->n) : 0; }

  options_type m_options;
  Report m_no_report;                       ///< before the first analysis
  std::unique_ptr<numeric_type> m_numeric;  ///< null before the first analysis
};

}  // namespace lutra::Impl

#endif

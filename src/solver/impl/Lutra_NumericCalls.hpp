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
/// Extracts the options of incomplete factors that a Numeric reads.
inline DirectOptions numeric_options(const SparseIluOptions& options) {
  DirectOptions result;
  result.validate_input = options.validate_input;
  result.time_stages = options.time_stages;
  result.deadline = options.deadline;
  result.stop = options.stop;
  result.observers = options.observers;
  return result;
}

/// Base class of solvers that factorize. Holds one analysis and one Numeric over it, and provides calls for
/// matrices on the host or on the device.
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

  /// Creates a solver without an analysis.
  /// @throws InputError if an option is out of range
  explicit NumericCalls(options_type options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : NumericCalls(options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  NumericCalls(options_type options, const ExecutionSpace& exec, const MemoryBudget& budget)
      : Calls(exec, budget), m_options(std::move(options)) {
    check_options(m_options);
  }

  using Calls::factorize;
  /// Factorizes a matrix that has the analyzed pattern and any values. The values are read in place.
  /// @returns success, or the status of a matrix that cannot be solved
  /// @throws CallOrderError if there is no analysis. InputError if the pattern differs or a value is NaN or
  ///         infinite; the solver is then unchanged. After OutOfMemoryError or TimeoutError there are no
  ///         factors, and after `cancelled` neither, unless the matrix was still being checked.
  [[nodiscard]] Status factorize(const matrix_type& A) { return analyzed().factorize(A); }

  /// Returns the analysis, or null. It never changes and may be shared: to factorize other values on the same
  /// pattern, create any number of `numeric_type numeric(solver.analysis(), options, instance)`.
  std::shared_ptr<const analysis_type> analysis() const {
    return m_numeric ? m_numeric->analysis() : nullptr;
  }

  /// Returns the row and column orders, the pattern of L + U and the level widths on the host. The result is
  /// empty for a structurally singular matrix. Like `factors()`, it refers to the order of the analysis, or
  /// to the order that LDLᵀ has switched to since. Fences.
  /// @throws CallOrderError if there is no analysis
  FactorStructure structure() const {
    return numeric("structure: there is no analysis; call analyze first").structure();
  }

  /// Predicts the bytes of a factorization and of a solve (Analysis::forecast). They include those that the
  /// solver holds now.
  /// @throws CallOrderError if there is no analysis
  std::optional<MemoryForecast> forecast(int n_rhs = 1) const {
    return numeric("forecast: there is no analysis; call analyze first").analysis()->forecast(n_rhs);
  }

  /// Returns the factors on the host, with their orders and scales. Fences.
  /// @throws CallOrderError if there is no factorization
  FactorValues<Scalar> factors() const {
    return numeric("factors: there is no analysis; call analyze and factorize first").factors();
  }

  const options_type& options() const noexcept { return m_options; }
  /// Returns the pattern that matrices must have, and how they are compared with it.
  AnalyzedPattern<memory_space> analyzed_pattern() const {
    if (!m_numeric) return {nullptr};
    return m_numeric->analyzed_pattern();
  }

  /// Returns the choices, counts and measurements of the last calls, and the quality of the last solution
  /// (Numeric::report).
  const Report& report() const noexcept { return m_numeric ? m_numeric->report() : m_no_report; }

 protected:
  /// Returns the numeric object.
  /// @param message message of the CallOrderError thrown if there is no analysis
  numeric_type& numeric(const char* message) const {
    if (!m_numeric) throw CallOrderError(message);
    return *m_numeric;
  }
  numeric_type& analyzed() const { return numeric("factorize: there is no analysis; call analyze first"); }
  /// Replaces the numeric object by one over this analysis. Used for the first analysis and for one with a
  /// border.
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
  Report m_no_report;                       ///< returned before the first analysis
  std::unique_ptr<numeric_type> m_numeric;  ///< null before the first analysis
};

}  // namespace lutra::Impl

#endif

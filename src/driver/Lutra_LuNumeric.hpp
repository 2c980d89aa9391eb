// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUNUMERIC_HPP
#define LUTRA_LUNUMERIC_HPP

#include <memory>
#include <type_traits>

#include "Lutra_FactorValues.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuAnalysis.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
class LuNumeric;

namespace Impl {

/// What a `LuNumeric` does, behind an interface that keeps members and kernels out of this header.
template <class Scalar, class ExecutionSpace>
struct LuNumericSteps {
  using Numeric = LuNumeric<Scalar, ExecutionSpace>;
  using Analysis = std::shared_ptr<const LuAnalysis<Scalar, ExecutionSpace>>;

  static std::unique_ptr<LuNumericSteps> make(const Analysis& analysis, const LuOptions& options,
                                              const ExecutionSpace& exec, const MemoryBudget& budget);
  virtual ~LuNumericSteps() = default;
  virtual void factorize(const typename Numeric::matrix_type& A) = 0;
  virtual Status solve(const typename Numeric::const_multivector_type& B,
                       const typename Numeric::multivector_type& X, Transposition op) = 0;
  virtual void set_analysis(const Analysis& analysis) = 0;
  virtual void rematch(const typename Numeric::matrix_type& A) = 0;
  virtual bool increase_quality() = 0;
  virtual FactorValues<Scalar> factors() const = 0;
  virtual FactorStructure structure() const = 0;
  virtual Factorization<Scalar, ExecutionSpace>* factorization() = 0;

  Analysis m_analysis;
  Report m_report;
  bool m_validate_input = true;  ///< LuOptions::validate_input
};

}  // namespace Impl

/// The factors of one matrix after another on one pattern, and solves with them: one of any number of such
/// objects over a shared analysis, each with its execution space instance, values, factors, workspace, memory
/// account and report. Objects over one analysis may be used at the same time by different threads and on
/// different instances; each alone is used by one thread at a time.
///
///     analysis ──┬── LuNumeric ── factorize(A₁), solve …     instance 1
///                └── LuNumeric ── factorize(A₂), solve …     instance 2
///
/// `SparseLU` is an analysis with one of these; further ones are made from `SparseLU::analysis()`.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class LuNumeric {
 public:
  using scalar_type = Scalar;
  using execution_space = ExecutionSpace;
  using options_type = LuOptions;
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using analysis_type = LuAnalysis<Scalar, ExecutionSpace>;
  using border_type = Impl::Border<Scalar, ExecutionSpace>;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;

  /// @param options  those that concern values count: perturbation, refinement, tolerance, solve_singular,
  ///                 validate_input, time_stages, memory_limit; `rematch` takes all of them
  /// @throws CallOrderError for no analysis; InputError for options out of range; OutOfMemoryError. Fences.
  explicit LuNumeric(std::shared_ptr<const analysis_type> analysis, const LuOptions& options = {},
                     const ExecutionSpace& exec = ExecutionSpace())
      : LuNumeric(analysis, options, exec, MemoryBudget(options.memory_limit)) {}
  /// The same on an account that others write to as well, instead of one with `options.memory_limit`.
  LuNumeric(std::shared_ptr<const analysis_type> analysis, const LuOptions& options,
            const ExecutionSpace& exec, const MemoryBudget& budget)
      : m_steps(Steps::make(analysis, options, exec, budget)) {}

  /// analyze_lu, for DirectSolver.
  static std::shared_ptr<const analysis_type> analyze(const ExecutionSpace& exec, const matrix_type& A,
                                                      const LuOptions& options, const MemoryBudget& budget,
                                                      const std::shared_ptr<border_type>& border = {}) {
    return analyze_lu<Scalar, ExecutionSpace>(exec, A, options, budget, nullptr, border);
  }

  /// LU of a matrix with the pattern of the analysis and any values, which are copied. Does nothing where
  /// that pattern is structurally singular. Waits twice: for the check of the matrix, and for what became of
  /// the pivots; more often where pivots were perturbed. Allocates the first time.
  /// @throws InputError where the pattern is another one or a value is NaN or infinite: nothing has changed.
  ///         OutOfMemoryError, TimeoutError: there are no factors, and `report()` says so
  void factorize(const matrix_type& A) { m_steps->factorize(A); }

  /// Solves op(A)·X = B for all columns, refines, and computes the backward errors in `report()`.
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself. Complete when the call returns
  /// @returns the status of `report()`. Where it is a singular one from before the call, or `breakdown` of
  ///          the factorization, X is left alone, unless LuOptions::solve_singular asks for a solve with
  ///          perturbed factors
  /// Waits once for 16 right-hand sides where the first solution is good; once for each step of refinement or
  /// GMRES, and once for X after those. Allocates where the number of right-hand sides, up to 16, is another
  /// than before, and for the first transposed solve.
  /// @throws CallOrderError without a factorization, InputError where extents do not fit or B holds NaN or
  ///         infinity: nothing has changed. OutOfMemoryError, TimeoutError: X is undefined, and `report()`
  ///         says so
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    return m_steps->solve(Impl::as_rank_two<const_multivector_type>(B),
                          Impl::as_rank_two<multivector_type>(X), op);
  }

  /// Takes another analysis, and drops values and factors. Others over the former analysis keep it.
  /// @throws CallOrderError for no analysis, OutOfMemoryError: nothing has changed. Fences.
  void set_analysis(std::shared_ptr<const analysis_type> analysis) { m_steps->set_analysis(analysis); }
  /// A new analysis of A for this object alone: for values for which the former matching no longer serves.
  /// @throws InputError as SparseLU::analyze; OutOfMemoryError: nothing has changed. Fences.
  void rematch(const matrix_type& A) { m_steps->rematch(A); }

  /// Asks for more accurate factors, from the next factorization on. @returns false where they are as
  /// accurate as they become
  bool increase_quality() { return m_steps->increase_quality(); }

  /// L and U on the host. Fences.
  /// @throws CallOrderError without a factorization
  FactorValues<Scalar> factors() const { return m_steps->factors(); }
  /// Orders, pattern of L + U and level widths on the host: those of the analysis, or of the order by which a
  /// factorization of LDLᵀ has replaced it. Fences.
  FactorStructure structure() const { return m_steps->structure(); }
  /// The factors, of a numerically singular matrix too; null where there are none.
  Factorization<Scalar, ExecutionSpace>* factorization() const { return m_steps->factorization(); }

  const std::shared_ptr<const analysis_type>& analysis() const noexcept { return m_steps->m_analysis; }
  /// The pattern that matrices must have; none where it is structurally singular.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    const analysis_type& analysis = *m_steps->m_analysis;
    return {analysis.plan ? &analysis.F.A : nullptr, m_steps->m_validate_input};
  }
  /// What was chosen, counted and measured, and how good the last solution is. After an OutOfMemoryError of
  /// factorize or solve its status is `out_of_memory`, after a TimeoutError `not_solved`, and it has no
  /// errors; an InputError leaves it alone.
  const Report& report() const noexcept { return m_steps->m_report; }

 private:
  using Steps = Impl::LuNumericSteps<Scalar, ExecutionSpace>;

  std::unique_ptr<Steps> m_steps;
};

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSEILU_HPP
#define LUTRA_SPARSEILU_HPP

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_IluAnalysis.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_RankTwo.hpp"

namespace lutra {

/// Incomplete LU of square sparse matrices, A ≈ L·U on few entries: a preconditioner for our Krylov methods,
/// for refinement, or for a caller's own loop.
///
/// analyze once per pattern, factorize once per set of values, apply as often as wanted. Compiled into the
/// library for the types of `SparseLU`. Numerical events end in `report().status`, mistakes of the caller in
/// exceptions.
///
/// Several of them may share one analysis, each with its execution space instance, factors, workspace, memory
/// account and report; they may be used at the same time by different threads.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseILU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                  public Impl::MatrixCalls<SparseILU<Scalar, ExecutionSpace>, Scalar, ExecutionSpace> {
  using Calls = Impl::MatrixCalls<SparseILU, Scalar, ExecutionSpace>;
  friend Calls;

 public:
  using typename Calls::matrix_type, typename Calls::memory_space;
  using analysis_type = IluAnalysis<Scalar, ExecutionSpace>;
  using factorization_type = IncompleteFactorization<Scalar, ExecutionSpace>;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;

  /// @throws InputError for options out of range
  explicit SparseILU(SparseIluOptions options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : SparseILU(options, exec, MemoryBudget(options.memory_limit)) {}
  /// The same on an account that others write to as well.
  SparseILU(SparseIluOptions options, const ExecutionSpace& exec, const MemoryBudget& budget);
  /// One more on the analysis of another (`analysis()`), with its options and memory limit.
  /// @throws CallOrderError for no analysis; OutOfMemoryError. Fences.
  explicit SparseILU(const std::shared_ptr<const analysis_type>& analysis,
                     const ExecutionSpace& exec = ExecutionSpace())
      : SparseILU(options_of(analysis), exec) {
    set_analysis(analysis);
  }

  /// X ≈ op(A)⁻¹·B for all columns. Does not fence, but allocates and fences where the number of columns
  /// grows or op is transposed for the first time.
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself
  /// @throws CallOrderError without usable factors; InputError where extents do not fit; OutOfMemoryError.
  ///         TimeoutError where the watchdog has given up an earlier one, which left NaN: this one has done
  ///         nothing, and the factors are still there
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    apply_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X), op);
  }

  /// The same for host arrays of n·k values by columns. Fences.
  /// @throws what apply does; TimeoutError where the watchdog has given up this one
  void apply_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none);

  /// The analysis, or null. It never changes and may be shared.
  const std::shared_ptr<const analysis_type>& analysis() const noexcept { return m_analysis; }

  /// The factors as one preconditioner; `parts()` of it as two, for split preconditioning. Valid until the
  /// next analysis; to be applied after a successful `factorize` only.
  /// @throws CallOrderError without an analysis, or where the pattern is structurally singular
  factorization_type& factorization() const;

  /// What was chosen, counted and measured. Diagonal shifts are `escalations`.
  const Report& report() const noexcept { return m_report; }

 private:
  using Rows = typename factorization_type::Rows;
  using Calls::m_exec, Calls::m_budget, Calls::m_check;

  void analyze_matrix(const matrix_type& A);
  void factorize_matrix(const matrix_type& A);
  bool has_analysis() const { return m_analysis != nullptr; }
  static constexpr Triangle triangle() { return Triangle::both; }
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    return {&m_analysis->pattern, m_options.validate_input};
  }
  std::size_t rows() const { return m_analysis ? static_cast<std::size_t>(m_analysis->pattern.n_rows) : 0; }
  void apply_views(const const_multivector_type& B, const multivector_type& X, Transposition op);
  void set_analysis(const std::shared_ptr<const analysis_type>& analysis);
  Status factorize_values(const matrix_type& A);
  static const SparseIluOptions& options_of(const std::shared_ptr<const analysis_type>& analysis);
  static void report_factors(const analysis_type& analysis, const factorization_type& factorization,
                             Report& report);
  void update_memory();

  SparseIluOptions m_options;
  Report m_report;
  std::shared_ptr<const analysis_type> m_analysis;      ///< null before the first
  std::unique_ptr<factorization_type> m_factorization;  ///< null before an analysis
  Rows m_scratch;                                       ///< [n × k] for Views of other layouts
  MemoryReservation m_scratch_reservation;
  bool m_usable = false;             ///< there are factors that can be applied
  bool m_factorized_before = false;  ///< the next factorization is a refactorization
};

}  // namespace lutra

#endif

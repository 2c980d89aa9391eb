// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSEILU_HPP
#define LUTRA_SPARSEILU_HPP

#include <memory>
#include <span>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_IncompletePlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_InspectFactors.hpp"
#include "Lutra_NumericCalls.hpp"

namespace lutra {

/// Records how the values of incomplete factors were computed.
struct IncompleteSteps {
  double shift = 0;     ///< diagonal shift, relative to max |entry of the row|
  int shifts = 0;       ///< number of times the shift was raised
  std::string why;      ///< defect of the factors that caused the last raise
  int sweeps = 0;       ///< sweeps of ParILU, or of the finish of ParILUT
  int steps = 0;        ///< steps of ParILUT; 0 if the pattern was kept
  double residual = 0;  ///< residual after the last sweep or step, relative to that of the first
  std::vector<ParIlutStep> records{};  ///< [steps] in order
};

/// Incomplete factors as a `Factorization`, for one matrix after another on one pattern. Refinement, Krylov
/// methods and iterations written by the caller use it as a preconditioner; `parts()` provides it as two
/// parts.
///
/// Factors are rejected if a pivot is zero, if an entry is NaN or infinite, or if entries grow beyond 10⁻³/ε.
/// Growth is measured relative to 1 for L and to A for U, with each row divided by A's largest entry in it.
/// The values are then recomputed with a diagonal shift. The first shift is 10⁻³ of the largest magnitude in
/// each row; each later shift is four times the previous one (Manteuffel, Math. Comp. 34, 1980). Shifts
/// replace the perturbation of pivots, and `perturbation` is not read.
///
/// ParILUT determines its pattern in the first factorization, from an elimination on the pattern of ILU(k) or
/// from the values of A there (`IluOptions::start`). The values come from an elimination or from sweeps on
/// that pattern (`IluOptions::finish`). Later factorizations keep the pattern.
template <class Scalar, class ExecutionSpace>
class IncompleteFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                      public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Plan = Impl::IncompletePlan<Scalar, ExecutionSpace>;
  using Parts = SplitPreconditioner<Scalar, ExecutionSpace>;

  /// Allocates values and workspaces for a plan, which must outlive this object. Fences.
  /// @throws OutOfMemoryError
  IncompleteFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget);

  /// Computes the factors.
  /// @param A values to factorize; its scales are ignored in favor of those of F
  /// @returns an outcome whose is_finite() is false if no shift produced usable factors; they must not be
  ///          applied then
  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override { return static_cast<std::int64_t>(m_factors.n); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    m_parts->apply(exec, op, B, X);
  }
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override {
    return m_parts ? m_parts->consume_timeout(exec) : -1;
  }
  Parts& preconditioner() override { return *m_parts; }
  /// Writes the current properties of the factors to the report. ParILUT changes their pattern, and the
  /// values determine how they are applied. Diagonal shifts are reported as escalations.
  void describe(Report& report) const override;

  /// Returns the same factors as two parts, or null until ParILUT has determined its pattern.
  Parts* parts() const { return m_parts.get(); }
  const Factors& factors() const { return m_factors; }
  /// Returns the number of entries of L without its diagonal.
  std::int64_t nnz_l() const { return m_nnz_l; }
  /// Returns the reasons for the elimination schedule and for the method of application, unless the caller
  /// chose them. It also says if memory was too small for all candidates of ParILUT at once.
  std::string reason() const;
  const IncompleteSteps& steps() const { return m_steps; }

 private:
  using Solve = IncompleteSolve<Scalar, ExecutionSpace>;
  using Elimination = IluElimination<Scalar, ExecutionSpace>;
  using Sweeps = ParIlu<Scalar, ExecutionSpace>;
  using View = CsrView<Scalar, Ordinal, Offset, Memory>;

  View matrix_of(const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values);
  void set_pattern(const ExecutionSpace& exec, const Factors& factors, std::int64_t nnz_l, bool is_found);
  IncompleteOutcome compute_values(const ExecutionSpace& exec, const View& F, double shift,
                                   ParIluStart start);
  IncompleteOutcome compute(const ExecutionSpace& exec, const View& F, double shift, ParIluStart start);
  void find_pattern(const ExecutionSpace& exec, const View& F, double shift);
  std::string fault_of(const IncompleteOutcome& outcome) const;

  const Plan& m_plan;
  const IluOptions& m_options;
  MemoryBudget m_budget;
  MemoryReservation m_reservation;
  InspectWorkspace<Scalar, ExecutionSpace> m_inspection;
  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz(F)] values of F; empty if F is A
  Factors m_factors;
  std::unique_ptr<Elimination> m_elimination;  ///< null if values come from sweeps
  std::unique_ptr<Solve> m_parts;              ///< null until ParILUT has determined its pattern
  std::unique_ptr<Sweeps> m_sweeps;            ///< null if values come from an elimination
  IncompleteSteps m_steps;
  std::int64_t m_nnz_l = 0;
  int m_chunks = 1;          ///< number of row chunks in which ParILUT processed its candidates
  bool m_is_found = false;   ///< the pattern is the final one of ParILUT
  bool m_has_steps = false;  ///< a factorization has been tried
  /// There are usable values of an earlier factorization, from which sweeps start.
  bool m_has_values = false;
};

/// Incomplete LU factorization A ≈ L·U of square sparse matrices, with few entries in L and U. It serves as a
/// preconditioner for the library's Krylov methods, for refinement, or for an iteration written by the
/// caller.
///
/// Call analyze once per pattern, factorize once per set of values, and apply as often as needed. The library
/// contains instantiations for the types of `SparseLU`. Numerical failures set `report().status`; usage
/// errors throw exceptions.
///
/// Several objects may share one analysis. Each has its own execution space instance, factors, workspace,
/// MemoryBudget and report. Different threads may use them at the same time.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseILU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                  public Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions> {
  using Base = Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions>;

 public:
  using typename Base::analysis_type;
  using factorization_type = IncompleteFactorization<Scalar, ExecutionSpace>;
  using Base::Base;

  /// Creates an object on the analysis of another one (`analysis()`), with the options and memory limit of
  /// that analysis. Fences.
  /// @throws CallOrderError if the analysis is null; OutOfMemoryError
  explicit SparseILU(const std::shared_ptr<const analysis_type>& analysis,
                     const ExecutionSpace& exec = ExecutionSpace())
      : Base(options_of(analysis), exec) {
    this->set_analysis(analysis);
  }

  /// Computes X ≈ op(A)⁻¹·B for all columns. Numeric::apply documents when the call allocates and fences.
  /// @param B [n × k] or [n] View of any layout that the execution space can read
  /// @param X View like B; may be B itself
  /// @throws CallOrderError if there are no usable factors. InputError if the extents do not match.
  ///         OutOfMemoryError. TimeoutError if the watchdog stopped an earlier apply, whose result is NaN;
  ///         this call has then done nothing, and the factors remain valid.
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    using Views = typename Base::numeric_type;
    this->numeric("apply: there are no usable factors; call factorize first")
        .apply_strided(Impl::as_rank_two<typename Views::const_multivector_type>(B),
                       Impl::as_rank_two<typename Views::multivector_type>(X), op);
  }

  /// Overload for host arrays of n·k values, stored by columns. Fences.
  /// @throws whatever `apply` throws; TimeoutError also if the watchdog stopped this call
  void apply_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    this->on_host_arrays(B, X, [&](const auto& from, const auto& to) {
      apply(from, to, op);
      return 0;
    });
    this->analyzed().check_applied();
  }

  /// Returns the factors as one preconditioner. Its `parts()` returns the same factors as two parts, for
  /// split preconditioning. The reference is valid until the next analysis. Apply it only after a successful
  /// `factorize`.
  /// @throws CallOrderError if there is no analysis, or if the pattern is structurally singular
  factorization_type& factorization() const {
    constexpr auto message =
        "factorization: there is none; call analyze with a matrix that is not structurally singular first";
    auto* const engine = this->numeric(message).engine();
    if (engine == nullptr) throw CallOrderError(message);
    return static_cast<factorization_type&>(*engine);
  }

 private:
  static const SparseIluOptions& options_of(const std::shared_ptr<const analysis_type>& analysis) {
    if (!analysis || !analysis->is_incomplete())
      throw CallOrderError("SparseILU: there is no analysis; call analyze of the solver it comes from first");
    return std::get<SparseIluOptions>(analysis->options);
  }
};

}  // namespace lutra

#endif

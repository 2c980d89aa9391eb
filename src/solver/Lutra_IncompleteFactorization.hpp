// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETEFACTORIZATION_HPP
#define LUTRA_INCOMPLETEFACTORIZATION_HPP

#include <memory>
#include <string>

#include "Lutra_FactorValues.hpp"
#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_IluElimination.hpp"
#include "Lutra_IncompleteSolve.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_InspectFactors.hpp"
#include "Lutra_OrderedMatrix.hpp"
#include "Lutra_ParIlu.hpp"
#include "Lutra_SparseIluOptions.hpp"

namespace lutra {

/// Records how the values of incomplete factors were computed.
struct IncompleteSteps {
  double shift = 0;     ///< diagonal shift, relative to max |entry of the row|
  int shifts = 0;       ///< number of times the shift was raised
  std::string why;      ///< defect of the factors that caused the last raise
  int sweeps = 0;       ///< sweeps of ParILU
  int steps = 0;        ///< steps of ParILUT; 0 if the pattern was kept
  double residual = 0;  ///< residual after the last sweep or step, relative to that of the first
};

/// Data that incomplete factorizations of one pattern share: the reordered matrix, the pattern of the factors
/// (for ParILUT the initial pattern), and the analyses of elimination and solves. The plan never changes.
template <class Scalar, class ExecutionSpace>
struct IncompletePlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;

  Impl::OrderedMatrix<Scalar, ExecutionSpace> F;
  SparseIluOptions options;
  IncompleteFactors<Scalar, Memory> pattern;  ///< pattern of the factors, without values
  std::int64_t nnz_l = 0;                     ///< number of entries of L without its diagonal
  std::unique_ptr<const IluElimination<Scalar, ExecutionSpace>> elimination;  ///< null for ParILU
  std::unique_ptr<const IncompleteSolve<Scalar, ExecutionSpace>> solves;      ///< null for ParILUT

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
};

/// Computes the pattern of incomplete factors of F, and analyzes their elimination and solves. Fences.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const IncompletePlan<Scalar, ExecutionSpace>> plan_incomplete(
    const ExecutionSpace& exec, const Impl::OrderedMatrix<Scalar, ExecutionSpace>& F,
    const SparseIluOptions& options, const MemoryBudget& budget);

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
/// ParILUT determines its pattern in the first factorization; the values come from an elimination on that
/// pattern. Later factorizations keep the pattern.
template <class Scalar, class ExecutionSpace>
class IncompleteFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                      public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Plan = IncompletePlan<Scalar, ExecutionSpace>;
  using Parts = IncompleteSolve<Scalar, ExecutionSpace>;

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
  using Elimination = IluElimination<Scalar, ExecutionSpace>;
  using Sweeps = ParIlu<Scalar, ExecutionSpace>;
  using View = CsrView<Scalar, Ordinal, Offset, Memory>;

  View matrix_of(const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values);
  void set_pattern(const ExecutionSpace& exec, const Factors& factors, std::int64_t nnz_l);
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
  std::unique_ptr<Elimination> m_elimination;  ///< null for ParILU
  std::unique_ptr<Parts> m_parts;              ///< null until ParILUT has determined its pattern
  std::unique_ptr<Sweeps> m_sweeps;            ///< sweeps of ParILU
  IncompleteSteps m_steps;
  std::int64_t m_nnz_l = 0;
  int m_chunks = 1;          ///< number of row chunks in which ParILUT processed its candidates
  bool m_has_steps = false;  ///< a factorization has been tried
  /// There are usable values of an earlier factorization, from which ParILU starts.
  bool m_has_values = false;
};

}  // namespace lutra

#endif

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

/// How the values of incomplete factors came about.
struct IncompleteSteps {
  double shift = 0;     ///< of the diagonal, in parts of max |entry of the row|
  int shifts = 0;       ///< how often it was raised
  std::string why;      ///< what was wrong with the factors before the last raise
  int sweeps = 0;       ///< ParILU
  int steps = 0;        ///< ParILUT; 0 where the pattern was kept
  double residual = 0;  ///< of the last sweep over that of the first, or of the last step over the first
};

/// What incomplete factorizations of one pattern share: the matrix in its order, the pattern of
/// the factors (of ParILUT: that it begins with), and the analyses of elimination and solves. Never changed,
/// and shared.
template <class Scalar, class ExecutionSpace>
struct IncompletePlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;

  Impl::OrderedMatrix<Scalar, ExecutionSpace> F;
  SparseIluOptions options;
  IncompleteFactors<Scalar, Memory> pattern;  ///< without values
  std::int64_t nnz_l = 0;                     ///< entries of L without its diagonal
  std::unique_ptr<const IluElimination<Scalar, ExecutionSpace>> elimination;  ///< null: ParILU
  std::unique_ptr<const IncompleteSolve<Scalar, ExecutionSpace>> solves;      ///< null: ParILUT

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
};

/// Pattern of incomplete factors of F, and analyses of elimination and solves. Fences.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const IncompletePlan<Scalar, ExecutionSpace>> plan_incomplete(
    const ExecutionSpace& exec, const Impl::OrderedMatrix<Scalar, ExecutionSpace>& F,
    const SparseIluOptions& options, const MemoryBudget& budget);

/// Incomplete factors of one matrix after another on one pattern, as a `Factorization`: refinement, Krylov
/// methods and a caller's own loop take it as preconditioner; `parts()` also as one of two parts.
///
/// Where a pivot is zero, an entry is NaN or infinite, or entries grow beyond 10⁻³/ε (of L beyond 1, of U
/// beyond A's, rows in parts of A's largest entry there), the values are computed anew with a diagonal shift,
/// 10⁻³ of the largest magnitude of each row at first and four times as much each time after (Manteuffel,
/// Math. Comp. 34, 1980). Instead of perturbing pivots: `perturbation` is not read.
///
/// ParILUT finds its pattern in the first factorization; the values are those of an elimination on it. Later
/// factorizations keep the pattern.
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

  /// Values and workspaces on a plan that must outlive this. Fences.
  /// @throws OutOfMemoryError
  IncompleteFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget);

  /// @param A its scales are not read: those of F count
  /// @returns is_finite() is false where no shift gave usable factors; they must not be applied then
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
  /// What the factors are like now: ParILUT changes their pattern, values how they are applied. Diagonal
  /// shifts are escalations.
  void describe(Report& report) const override;

  /// The same factors as two parts; null until ParILUT has found its pattern.
  Parts* parts() const { return m_parts.get(); }
  const Factors& factors() const { return m_factors; }
  /// Entries of L without its diagonal.
  std::int64_t nnz_l() const { return m_nnz_l; }
  /// Why the schedule of elimination and the way to apply the factors were chosen, as far as they were not
  /// asked for; and that memory did not suffice for all candidates of ParILUT at once.
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
  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz(F)] empty where F is A
  Factors m_factors;
  std::unique_ptr<Elimination> m_elimination;  ///< null with ParILU
  std::unique_ptr<Parts> m_parts;              ///< null until ParILUT has found its pattern
  std::unique_ptr<Sweeps> m_sweeps;            ///< of ParILU
  IncompleteSteps m_steps;
  std::int64_t m_nnz_l = 0;
  int m_chunks = 1;           ///< of rows, in which ParILUT took its candidates
  bool m_has_steps = false;   ///< a factorization has been tried
  bool m_has_values = false;  ///< usable ones of an earlier factorization, from which ParILU begins
};

}  // namespace lutra

#endif

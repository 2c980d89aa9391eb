// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTENGINE_HPP
#define LUTRA_LDLTENGINE_HPP

#include <memory>
#include <optional>

#include "Lutra_Border.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_SymmetricFactors.hpp"

namespace lutra::Impl {

/// Plan of fronts of L·D·Lᵀ with delayed pivots, and the prototype of their solver.
template <class Scalar, class ExecutionSpace>
struct PivotedFronts {
  LdltPlan<typename ExecutionSpace::memory_space> plan;
  LdltSolver<Scalar, ExecutionSpace> solver;  ///< copied by each factorization
};

/// Input of a plan of `PivotedFronts`, on the host.
struct PivotedInput {
  AssemblyTree tree;
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A;
  std::vector<Ordinal> order;  ///< [n] user row at each permuted index
};

/// Plan of multifrontal LDLᵀ on one pattern. Where factorizations first try pivots in place, most matrices
/// need no fronts with delayed pivots, so that these are planned by the first factorization that does.
template <class Scalar, class ExecutionSpace>
struct LdltEnginePlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;
  using Pivoted = PivotedFronts<Scalar, ExecutionSpace>;

  PermutedPattern<Memory> F;
  std::shared_ptr<const Pivoted> pivoted;   ///< null: planned when needed
  std::optional<PivotedInput> input;        ///< set if `pivoted` is null
  Offset predicted_entries = 0;             ///< entries of L and D without delayed pivots
  LdltAttempt first = LdltAttempt::delays;  ///< first attempt of a factorization
  /// Plan of L·U on the same tree for pivots in place; may be null.
  std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> in_place;
  LdltOptions options;
  std::shared_ptr<const Border<Scalar, ExecutionSpace>> border;  ///< border of F; may be null
  /// n minus the structural rank of the nonzero entries of the analyzed matrix; 0 if unknown.
  std::int64_t min_zero = 0;

  /// Whether factorizations try pivots in place.
  bool tries_in_place() const { return first != LdltAttempt::delays && min_zero == 0; }
  /// Plans the fronts with delayed pivots. @throws OutOfMemoryError
  std::shared_ptr<const Pivoted> plan_pivoted(const ExecutionSpace& exec, const MemoryBudget& budget) const;
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
  /// Of the first attempt if it keeps its pivots; of fronts without more room than planned otherwise.
  std::optional<MemoryForecast> forecast(int n_columns) const override;
};

/// Multifrontal L·D·Lᵀ of one matrix after another.
///
/// If the plan says so, the factorization first tries pivots in place, without delays: the diagonal in order,
/// then with pairs, then symmetric interchanges. It uses L·U, whose CUDA kernels are faster, and keeps these
/// pivots if none is small and they pass the test of `passes` (Lutra_LdltAttempts.hpp). An attempt that has
/// failed is not made again by this object, unless it lacked memory. `solve_parts` and `determinant` need the
/// factors L, D and Lᵀ; if L·U was kept, they compute these first. Each of these plans the fronts of L·D·Lᵀ
/// if the analysis has not, and may therefore run out of memory.
///
/// If delayed pivots do not fit into the fronts, the fronts are enlarged and the factorization is repeated.
/// This happens up to `max_repetitions` times, while the panels stay within `max_growth` times their original
/// size. Pivots are considered to cascade up the tree beyond that, and also if more than `max_delayed` of the
/// columns of completed fronts were delayed or the factors have more than `max_entries` times the predicted
/// entries. The outcome reports a cascade, and the caller must then use an analysis whose order keeps matched
/// rows adjacent
/// (`Impl::with_paired_order`). With such an order, fronts get as much memory as they need.
///
/// If a structurally singular matrix has fewer zero pivots than its structural rank implies, rounding errors
/// were accepted as pivots. The factorization is then repeated with a larger tolerance, up to
/// `max_tolerances` times. If the number of zero pivots still differs, there is no inertia.
template <class Scalar, class ExecutionSpace>
class LdltFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                public WritableFactors<Scalar, ExecutionSpace>,
                                public SymmetricFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = LdltEnginePlan<Scalar, ExecutionSpace>;

  LdltFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget);
  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override {
    return m_plan.border ? Base::size() : static_cast<std::int64_t>(m_plan.F.A.n_rows);
  }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    if (m_state != State::fronts) return m_in_place->apply(exec, op, B, X);
    const auto solve = [&](const Rows& from, const Rows& to) {
      m_solver->solve(exec, m_pivoted->plan, m_fronts, front_system(m_plan.F, m_A, op, from, to), {});
    };
    m_plan.border ? m_bordered.solve(exec, B, X, solve) : solve(B, X);
  }
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  /// Raises u to min(u^0.75, 1/2).
  bool increase_quality() override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;
  std::optional<FactorizationOutcome> factorize_with_more_zeros(const ExecutionSpace& exec) override;
  void describe_memory(MemoryUse& memory) const override {
    if (m_state != State::fronts && m_in_place) m_in_place->describe_memory(memory);
  }

  using typename SymmetricFactors<Scalar, ExecutionSpace>::ConstColumns;
  using typename SymmetricFactors<Scalar, ExecutionSpace>::Columns;
  void solve_parts(const ExecutionSpace& exec, Transposition op, const ConstColumns& B, const Columns& X,
                   const LdltParts& parts) override;
  Determinant<Scalar> determinant(const ExecutionSpace& exec) override;

 private:
  using InPlace = MultifrontalFactorization<Scalar, ExecutionSpace>;
  /// Kinds of factors that exist for the last matrix factorized.
  enum class State { fronts, in_place, both };
  const LdltPlan<Memory>& need_plan(const ExecutionSpace& exec);
  /// Records a step beyond the plain factorization, and tells the observer of the running call.
  void escalate(std::string step) {
    m_budget.run().tell_escalation(step);
    m_events.push_back(std::move(step));
  }
  void return_to(LdltAttempt attempt);
  void need_in_place(const ExecutionSpace& exec);
  std::optional<FactorizationOutcome> keep_in_place(const ExecutionSpace& exec, FactorizationOutcome outcome);
  void need_fronts(const ExecutionSpace& exec);
  LdltOutcome factorize_with_room(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                  const LdltPivotRule& rule, bool may_cascade);
  bool is_cascading(const ExecutionSpace& exec) const;
  LdltOutcome raise_tolerance(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                              LdltOutcome outcome);
  FactorizationOutcome outcome_of(const ExecutionSpace& exec, const LdltOutcome& outcome);
  bool may_reorder() const;
  std::string cascade(const LdltOutcome& outcome) const;
  FactorizationOutcome give_up(const std::string& cascade);

  const Plan& m_plan;
  MemoryBudget m_budget;
  LdltPivotRule m_rule;
  std::optional<InPlace> m_in_place;
  double m_interchange_threshold = 0;  ///< of m_in_place; 0: the diagonal in order
  State m_state = State::fronts;
  LdltAttempt m_attempt;
  std::shared_ptr<const typename Plan::Pivoted> m_pivoted;  ///< null until needed
  LdltFactors<Scalar, ExecutionSpace> m_fronts;
  std::optional<LdltSolver<Scalar, ExecutionSpace>> m_solver;  ///< set together with m_pivoted
  ScaledValues<Scalar, Memory> m_A;   ///< values of the last factorization; `apply` reads their scales
  std::vector<std::string> m_events;  ///< events of the last factorization
  double m_relative_smallest = 0;     ///< smallest nonzero pivot, relative to the largest scaled entry
  bool m_doubtful = false;  ///< rounding errors may have been accepted as pivots of a singular matrix
  BorderWorkspace<Scalar, ExecutionSpace> m_bordered;
};

/// Returns the options of plans of fronts with delayed pivots.
LdltPlanOptions plan_options_of(const LdltOptions& options);

/// Whether the factors of LDLᵀ or Cholesky are streamed from host memory: as asked, or on devices where L and
/// D do not fit. Streamed factors are those of pivots in place, L and U.
template <class Scalar, class ExecutionSpace>
bool streams_ldlt(const ExecutionSpace& exec, const LdltOptions& options, const AssemblyTree& tree,
                  const MemoryBudget& budget);

/// Plans multifrontal LDLᵀ and its solves. Fronts with delayed pivots are planned only if factorizations do
/// not try pivots in place first.
/// @param tree    assembly tree of F; the orders of F follow it
/// @param on_host pattern and orders of F on the host
/// @param options options in which no choice of pivots is `automatic`
/// @param first   pivots that factorizations try first
/// @param structural_rank structural rank, if known
/// @param border  border at the end of F and of the tree, or null; with a border the order does not change
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_ldlt_engine(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    AssemblyTree tree, const FrontEntries& on_host, const LdltOptions& options, LdltAttempt first,
    const std::optional<std::int64_t>& structural_rank, const MemoryBudget& budget,
    const std::shared_ptr<const Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace lutra::Impl

#endif

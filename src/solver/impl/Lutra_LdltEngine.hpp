// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTENGINE_HPP
#define LUTRA_LDLTENGINE_HPP

#include <memory>
#include <optional>

#include "Lutra_Border.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltDeterminant.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LdltSolver.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_SymmetricFactors.hpp"

namespace lutra::Impl {

/// Multifrontal LDLᵀ on one pattern, and the prototype of solves with it.
template <class Scalar, class ExecutionSpace>
struct LdltEnginePlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;

  PermutedPattern<Memory> F;
  LdltPlan<Memory> fronts;
  std::optional<LdltSolver<Scalar, ExecutionSpace>> solver;  ///< prototype
  /// LU without interchanges on the same tree, which factorizations try first; or none
  std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> diagonal;
  LdltOptions options;
  std::shared_ptr<const Border<Scalar, ExecutionSpace>> border;  ///< of F; or none
  /// n − structural rank of the nonzero entries of the matrix analyzed; 0 where that is unknown
  std::int64_t min_zero = 0;

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
};

/// L·D·Lᵀ in fronts, one matrix after the other.
///
/// Where the plan says so, the pivots of the diagonal in their order are tried first, by LU without
/// interchanges, whose kernels on CUDA are the faster ones: they are kept if they pass the threshold test,
/// all |entries of L| ≤ 1/u, and none is small (Lutra_DiagonalPivots.hpp). Once they do not, this object does
/// not try them again. `solve_parts` and `determinant` are for factors L, D and Lᵀ, and factorize for these
/// where LU was kept.
///
/// Where delayed pivots do not fit the fronts, these get more room and the factorization is repeated, up to
/// `max_repetitions` times and while the panels keep within `max_growth` times their first size. Beyond that,
/// and where more than `max_delayed` of all columns were delayed or the factors have more than `max_entries`
/// times the entries predicted, pivots cascade up the tree: the outcome says so, and the caller has to take
/// an analysis with matched rows side by side in the order (`Impl::with_paired_order`). There, fronts get as
/// much memory as they need.
///
/// Where a structurally singular matrix has fewer zero pivots than its rank says, rounding errors have passed
/// for pivots: the factorization is repeated with a larger tolerance, up to `max_tolerances` times. Where
/// that does not lead to just as many there is no inertia.
template <class Scalar, class ExecutionSpace>
class LdltFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                public WritableFactors<Scalar, ExecutionSpace>,
                                public SymmetricFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = LdltEnginePlan<Scalar, ExecutionSpace>;

  LdltFactorization(const Plan& plan, const MemoryBudget& budget);
  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override {
    return m_plan.border ? Base::size() : static_cast<std::int64_t>(m_plan.F.A.n_rows);
  }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    if (m_state == State::diagonal || m_state == State::both) return m_diagonal->apply(exec, op, B, X);
    const auto solve = [&](const Rows& from, const Rows& to) {
      m_solver.solve(exec, m_plan.fronts, m_fronts, front_system(m_plan.F, m_A, op, from, to), {});
    };
    m_plan.border ? m_bordered.solve(exec, B, X, solve) : solve(B, X);
  }
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  /// Raises u to u^0.75, up to 1/2.
  bool increase_quality() override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;
  std::optional<FactorizationOutcome> factorize_with_more_zeros(const ExecutionSpace& exec) override;

  using typename SymmetricFactors<Scalar, ExecutionSpace>::ConstColumns;
  using typename SymmetricFactors<Scalar, ExecutionSpace>::Columns;
  void solve_parts(const ExecutionSpace& exec, Transposition op, const ConstColumns& B, const Columns& X,
                   const LdltParts& parts) override;
  Determinant<Scalar> determinant(const ExecutionSpace& exec) override;

 private:
  using Diagonal = MultifrontalFactorization<Scalar, ExecutionSpace>;
  /// Which factors there are of the matrix last factorized.
  enum class State { fronts, diagonal, both };
  bool passes(const FactorizationOutcome& lu, const DiagonalPivots& pivots) const;
  std::optional<FactorizationOutcome> keep_diagonal(const ExecutionSpace& exec, FactorizationOutcome outcome);
  void need_fronts(const ExecutionSpace& exec);
  LdltOutcome factorize_with_room(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                  const LdltPivotRule& rule);
  LdltOutcome raise_tolerance(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                              LdltOutcome outcome);
  bool has_inertia() const {
    return !ScalarTraits<Scalar>::is_complex || m_rule.symmetry == Symmetry::hermitian;
  }
  FactorizationOutcome outcome_of(const ExecutionSpace& exec, const LdltOutcome& outcome);
  bool may_reorder() const;
  std::string cascade(const LdltOutcome& outcome) const;
  FactorizationOutcome give_up(const std::string& cascade);

  const Plan& m_plan;
  MemoryBudget m_budget;
  LdltPivotRule m_rule;
  std::optional<Diagonal> m_diagonal;
  State m_state = State::fronts;
  bool m_tries_diagonal;
  LdltFactors<Scalar, ExecutionSpace> m_fronts;
  LdltSolver<Scalar, ExecutionSpace> m_solver;
  ScaledValues<Scalar, Memory> m_A;   ///< of the last factorization; `apply` reads its scales
  std::vector<std::string> m_events;  ///< of the last factorization
  double m_relative_smallest = 0;     ///< smallest pivot that is not zero, over the largest scaled entry
  bool m_doubtful = false;            ///< rounding errors may have passed for pivots of a singular matrix
  BorderWorkspace<Scalar, ExecutionSpace> m_bordered;
};

/// Plans fronts, and solves with them.
/// @param tree    of F, whose orders follow it
/// @param on_host F's pattern and orders on the host
/// @param options without `automatic` choices of pivots
/// @param tries_diagonal whether factorizations try the pivots of the diagonal first
/// @param structural_rank where it is known
/// @param border  with which F ends, and the tree; or none. The order then stays as it is
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_ldlt_engine(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LdltOptions& options, bool tries_diagonal,
    const std::optional<std::int64_t>& structural_rank, const MemoryBudget& budget,
    const std::shared_ptr<const Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace lutra::Impl

#endif

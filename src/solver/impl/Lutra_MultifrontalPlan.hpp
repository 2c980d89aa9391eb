// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MULTIFRONTALPLAN_HPP
#define LUTRA_MULTIFRONTALPLAN_HPP

#include <optional>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Border.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_StreamedFronts.hpp"

namespace lutra {

/// Plan of the multifrontal engine on one pattern (Duff and Reid's method, Lutra_FrontLu.hpp). Solves use
/// either the panels of the fronts, or L and U by rows, gathered from the panels. Both solvers are prototypes
/// that each factorization copies. Where factors are streamed from host memory, a division of the tree takes
/// the place of `fronts`, `schedule` and solvers.
template <class Scalar, class ExecutionSpace>
struct MultifrontalPlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;
  using Solver = FrontSolver<Scalar, ExecutionSpace>;
  using Solves = Impl::LuTriangles<Scalar, ExecutionSpace>;

  PermutedPattern<Memory> F;
  LuPlan<Memory> fronts;
  std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> schedule;
  std::shared_ptr<const Impl::StreamedPlan<Scalar, ExecutionSpace>> streamed;  ///< null: resident factors
  std::shared_ptr<const Impl::Border<Scalar, ExecutionSpace>> border;          ///< border of F; may be null
  double pivot_threshold = 0;       ///< threshold of pivoting; 0: static pivoting
  std::optional<Solver> on_fronts;  ///< solves on the panels, or empty
  std::optional<Solves> by_rows;    ///< solves with L and U by rows, if on_fronts is empty
  /// [nnz(L + U)] position in the panels of each entry by rows.
  Kokkos::View<const Offset*, Memory> panel_source;

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
  std::optional<MemoryForecast> forecast(int n_columns) const override;
  /// Forecast for interchanges other than those of the plan.
  std::optional<MemoryForecast> forecast_with(const std::optional<Impl::Interchanges>& interchanges,
                                              int n_columns) const;
};

/// Factors stored in fronts: the panels, and the workspaces of factorizations and solves.
template <class Scalar, class ExecutionSpace>
class MultifrontalFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                        public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = MultifrontalPlan<Scalar, ExecutionSpace>;
  using Fronts = FrontFactors<Scalar, ExecutionSpace>;

  /// Symmetric interchanges instead of those of the plan.
  struct Pivoted {
    double threshold = 0;  ///< 0: the pivots of the plan
    Impl::Interchanges kind = Impl::Interchanges::symmetric;
  };
  MultifrontalFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
                            const Pivoted& symmetric = {});
  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override {
    return m_plan.border ? -1 : static_cast<std::int64_t>(m_plan.F.A.n_rows);
  }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;
  /// Prepares the factors for `apply`, and writes their largest magnitude to `fronts().outcome`. Does not
  /// fence on devices.
  void update_solves(const ExecutionSpace& exec);

  /// Pivots of the last factorization of a symmetric matrix. Fences.
  DiagonalPivots diagonal_pivots(const ExecutionSpace& exec) const {
    return m_streamed ? m_streamed->diagonal_pivots()
                      : inspect_diagonal_pivots(exec, m_plan.fronts, m_fronts);
  }
  void describe_memory(MemoryUse& memory) const override {
    if (m_streamed) m_streamed->describe(memory);
  }

  const Plan& plan() const { return m_plan; }
  const Fronts& fronts() const { return m_fronts; }
  const Kokkos::View<unsigned char*, Memory>& perturbed() const { return m_perturbed; }

 private:
  void allocate(const ExecutionSpace& exec);

  const Plan& m_plan;
  MemoryBudget m_budget;
  Fronts m_fronts;
  std::unique_ptr<Impl::StreamedFactors<Scalar, ExecutionSpace>> m_streamed;  ///< in place of the two below
  std::optional<typename Plan::Solver> m_on_fronts;  ///< solver on the panels; empty if m_by_rows is set
  std::optional<typename Plan::Solves> m_by_rows;    ///< solver by rows; empty if m_on_fronts is set
  ScaledValues<Scalar, Memory> m_A;  ///< values of the last factorization; `apply` reads their scales
  Kokkos::View<Scalar*, Memory> m_row_values;        ///< [nnz(L + U)] values for solves by rows
  Kokkos::View<unsigned char*, Memory> m_perturbed;  ///< [n] 1 where the pivot was perturbed
  /// Copy of `fronts().outcome` that the device can write to.
  Kokkos::View<FrontLuOutcome, typename Impl::AsyncResult<FrontLuOutcome, ExecutionSpace>::HostMemory>
      m_outcome;
  MemoryReservation m_reservation;
  Impl::BorderWorkspace<Scalar, ExecutionSpace> m_bordered;
};

/// Returns whether solves use the panels of the fronts rather than L and U by rows.
bool solves_on_fronts(const LuOptions& options);

/// Plans multifrontal LU and its solves.
/// @param tree     assembly tree of F; the orders of F follow it
/// @param on_host  F with its pattern and orders on the host
/// @param symmetry as for make_front_schedule
/// @param border   border at the end of F and of the tree, or null
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_multifrontal(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LuOptions& options,
    const MemoryBudget& budget, const std::optional<Symmetry>& symmetry = {},
    const std::shared_ptr<const Impl::Border<Scalar, ExecutionSpace>>& border = {});

/// Whether plan, factors and solves for one right-hand side fit into the memory limit and into the free
/// memory of the device. On devices under a limit this takes the cost of the task order.
/// @param nnz entries of the matrix
template <class Scalar, class ExecutionSpace>
bool fronts_fit(const ExecutionSpace& exec, const LuOptions& options, const AssemblyTree& tree,
                std::int64_t nnz, const MemoryBudget& budget);

/// Plans multifrontal LU whose factors are streamed from host memory. Solves are on the fronts.
/// @param reason why, for the report
/// @throws OutOfMemoryError stating the need
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_streamed_fronts(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LuOptions& options,
    const MemoryBudget& budget, const std::string& reason, const std::optional<Symmetry>& symmetry = {});

}  // namespace lutra

#endif

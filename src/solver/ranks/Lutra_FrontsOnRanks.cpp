// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontsOnRanks.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "Lutra_DistributedFrontSolver.hpp"
#include "Lutra_DistributedFronts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

/// The factors of all ranks as refinement applies them: vectors hold the rows of this rank.
template <class Scalar, class ExecutionSpace>
class FrontsInverse final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;
  using Solver = DistributedFrontSolver<Scalar, ExecutionSpace>;

  explicit FrontsInverse(Solver& solver) : m_solver(solver) {}
  void apply(const ExecutionSpace&, Transposition op, const Rows& B, const Rows& X) override {
    m_solver.solve(op, B, X);
  }

 private:
  Solver& m_solver;
};

template <class Scalar, class ExecutionSpace>
class FrontsInSpace final : public FrontsOnRanks<Scalar> {
 public:
  using Reals = std::vector<RealOf<Scalar>>;
  FrontsInSpace(Communicator& comm, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A,
                const FrontAnalysis<Scalar>& analysis, const RankRows<Scalar>& rows,
                const MemoryBudget& budget, const std::optional<Symmetry>& symmetry)
      : m_comm(comm),
        m_budget(budget),
        m_fronts(comm, analysis.tree, FrontEntries{A, analysis.row_order, analysis.col_order},
                 rows.all_rows(), budget, analysis.division ? &*analysis.division : nullptr, symmetry) {
    try {
      m_refinement.emplace(m_fronts.channel(), rows, budget);
    } catch (const OutOfMemoryError&) {
      if (comm.size() == 1 || comm.has_agreed()) m_fronts.close();  // on all ranks
      throw;
    }
    m_row_scale = deal(analysis.row_scale, rows.all_rows());
    m_col_scale = deal(analysis.col_scale, rows.all_rows());
    m_fronts.set_scales(m_row_scale, m_col_scale);
    m_refinement->set_scales(m_row_scale, m_col_scale);
    if (!symmetry) return;
    const auto& of_errors = analysis.error_scale.empty() ? analysis.row_scale : analysis.error_scale;
    m_error_scale = deal(of_errors, rows.all_rows());
    m_refinement->set_scales(m_error_scale, m_error_scale);
  }

  bool takes_device_memory() const override { return on_device; }
  void update_values() override { m_refinement->update_values(); }
  void update_values(const RankValues<Scalar>& values) override {
    if constexpr (on_device) m_refinement->update_values(values);
  }
  std::vector<Scalar> host_values() override { return m_refinement->host_values(); }
  FrontLuOutcome factorize(double perturbation) override {
    return m_fronts.factorize(m_refinement->values(), perturbation);
  }
  void set_interchanges(double threshold, Interchanges kind) override {
    m_fronts.set_interchanges(threshold, kind);
    if (threshold == m_threshold) return;
    m_threshold = threshold;
    if (m_solver) plan_solves();  // solves with interchanges need other vectors
  }
  DiagonalPivots inspect_pivots() override { return m_fronts.inspect_pivots(); }
  void plan_solves() override { m_solver.emplace(m_comm, m_fronts, m_budget); }
  void plan_collection() override { m_fronts.note_entries(); }
  RankSolveOutcome solve(const RankColumns<const Scalar>& B, const RankColumns<Scalar>& X, Transposition op,
                         const RankSolveOptions& options) override {
    FrontsInverse<Scalar, ExecutionSpace> inverse(*m_solver);
    return m_refinement->solve(B, X, op, inverse, options);
  }
  double condition() override {
    FrontsInverse<Scalar, ExecutionSpace> inverse(*m_solver);
    return m_refinement->condition(inverse);
  }
  void close() override { m_fronts.close(); }
  const Reals& row_scale() const override { return m_row_scale; }
  const Reals& col_scale() const override { return m_col_scale; }
  RankStatistics statistics() const override { return m_solver ? m_solver->statistics() : RankStatistics{}; }
  void collect(FactorValues<Scalar>& factors) override {
    m_fronts.collect_factors();
    factors.rows = m_fronts.rows();
    factors.columns = m_fronts.columns();
    factors.values = m_fronts.values();
  }

 private:
  static constexpr bool on_device =
      !is_host_space<ExecutionSpace> && std::is_same_v<ExecutionSpace, Kokkos::DefaultExecutionSpace>;

  /// Elements of a vector on rank 0 that belong to the rows of each rank.
  Reals deal(const Reals& whole, const std::vector<std::vector<std::int64_t>>& rows_of_ranks) {
    constexpr int tag = 31006;
    for (std::size_t r = 0; r < rows_of_ranks.size(); ++r) {
      Reals part;
      part.reserve(rows_of_ranks[r].size());
      for (const std::int64_t row : rows_of_ranks[r]) part.push_back(whole[static_cast<std::size_t>(row)]);
      m_comm.send(static_cast<int>(r), tag, part);
    }
    return m_comm.template receive<RealOf<Scalar>>(0, tag);
  }

  using Solver = DistributedFrontSolver<Scalar, ExecutionSpace>;
  Communicator& m_comm;
  MemoryBudget m_budget;
  DistributedFronts<Scalar, ExecutionSpace> m_fronts;
  std::optional<RankRefinement<Scalar, ExecutionSpace>> m_refinement;
  Reals m_row_scale, m_col_scale, m_error_scale;  ///< m_refinement may refer to them
  std::optional<Solver> m_solver;                 ///< if solves use the fronts
  double m_threshold = 0;                         ///< of interchanges
};

}  // namespace

template <class Scalar, class ExecutionSpace>
std::unique_ptr<FrontsOnRanks<Scalar>> make_fronts_on_ranks(
    Communicator& comm, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A,
    const FrontAnalysis<Scalar>& analysis, const RankRows<Scalar>& rows, const MemoryBudget& budget,
    const std::optional<Symmetry>& symmetry) {
  return std::make_unique<FrontsInSpace<Scalar, ExecutionSpace>>(comm, A, analysis, rows, budget, symmetry);
}

#define LUTRA_FRONTS_ON_RANKS(Scalar, Space)                                                                \
  template std::unique_ptr<FrontsOnRanks<Scalar>> make_fronts_on_ranks<Scalar, Space>(                      \
      Communicator&, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>&, const FrontAnalysis<Scalar>&, \
      const RankRows<Scalar>&, const MemoryBudget&, const std::optional<Symmetry>&);
#define LUTRA_FRONTS_ON_HOSTS(Scalar) LUTRA_FRONTS_ON_RANKS(Scalar, Kokkos::DefaultHostExecutionSpace)
LUTRA_FOR_EACH_SCALAR(LUTRA_FRONTS_ON_HOSTS)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_FRONTS_ON_DEVICES(Scalar) LUTRA_FRONTS_ON_RANKS(Scalar, Kokkos::Cuda)
LUTRA_FOR_EACH_SCALAR(LUTRA_FRONTS_ON_DEVICES)
#endif

}  // namespace lutra::Impl

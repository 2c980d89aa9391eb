// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontsOnRanks.hpp"

#include <algorithm>
#include <optional>

#include "Lutra_DistributedFrontSolver.hpp"
#include "Lutra_DistributedFronts.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

template <class Scalar, class ExecutionSpace>
class FrontsInSpace final : public FrontsOnRanks<Scalar> {
 public:
  using Reals = std::vector<RealOf<Scalar>>;
  FrontsInSpace(Communicator& comm, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A,
                const FrontAnalysis<Scalar>& analysis,
                const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const MemoryBudget& budget)
      : m_comm(comm),
        m_budget(budget),
        m_fronts(comm, analysis.tree, FrontEntries{A, analysis.row_order, analysis.col_order}, rows_of_ranks,
                 budget) {
    m_row_scale = deal(analysis.row_scale, rows_of_ranks);
    m_col_scale = deal(analysis.col_scale, rows_of_ranks);
    m_fronts.set_scales(m_row_scale, m_col_scale);
  }

  FrontLuOutcome factorize(std::span<const Scalar> values, double perturbation) override {
    return m_fronts.factorize(values, perturbation);
  }
  void plan_solves() override { m_solver.emplace(m_comm, m_fronts, m_budget); }
  void plan_collection() override { m_fronts.note_entries(); }
  std::vector<Scalar> solve(std::span<const Scalar> B, std::size_t k, Transposition op) override {
    using Columns = typename Solver::template Columns<Scalar>;
    using Host = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
    std::vector<Scalar> X(B.begin(), B.end());
    const Host host(X.data(), k == 0 ? 0 : B.size() / k, k);
    const Columns vectors = Kokkos::create_mirror_view_and_copy(typename Solver::Memory(), host);
    m_solver->solve(op, vectors, vectors);
    Kokkos::deep_copy(host, vectors);
    return X;
  }
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
  Reals m_row_scale, m_col_scale;
  std::optional<Solver> m_solver;
};

}  // namespace

template <class Scalar, class ExecutionSpace>
std::unique_ptr<FrontsOnRanks<Scalar>> make_fronts_on_ranks(
    Communicator& comm, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A,
    const FrontAnalysis<Scalar>& analysis, const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
    const MemoryBudget& budget) {
  return std::make_unique<FrontsInSpace<Scalar, ExecutionSpace>>(comm, A, analysis, rows_of_ranks, budget);
}

#define LUTRA_FRONTS_ON_RANKS(Scalar, Space)                                                                \
  template std::unique_ptr<FrontsOnRanks<Scalar>> make_fronts_on_ranks<Scalar, Space>(                      \
      Communicator&, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>&, const FrontAnalysis<Scalar>&, \
      const std::vector<std::vector<std::int64_t>>&, const MemoryBudget&);
#define LUTRA_FRONTS_ON_HOSTS(Scalar) LUTRA_FRONTS_ON_RANKS(Scalar, Kokkos::DefaultHostExecutionSpace)
LUTRA_FOR_EACH_SCALAR(LUTRA_FRONTS_ON_HOSTS)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_FRONTS_ON_DEVICES(Scalar) LUTRA_FRONTS_ON_RANKS(Scalar, Kokkos::Cuda)
LUTRA_FOR_EACH_SCALAR(LUTRA_FRONTS_ON_DEVICES)
#endif

}  // namespace lutra::Impl

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RankRefinement.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_Allocate.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_RenewTogether.hpp"

namespace lutra::Impl {

namespace {

/// The factors on ranks that agree before each application whether one of them has to stop.
template <class Scalar, class ExecutionSpace>
class StoppableInverse final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using Inverse = Preconditioner<Scalar, ExecutionSpace>;
  using typename Inverse::Rows;

  StoppableInverse(Communicator& comm, Inverse& inverse, const RankSolveOptions& options)
      : m_comm(comm), m_inverse(inverse), m_options(options) {}
  std::int64_t size() const override { return m_inverse.size(); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    if (m_options.may_stop)
      m_comm.agree(
          "a solve", [&] { m_options.run.poll(); }, false);
    m_inverse.apply(exec, op, B, X);
  }

 private:
  Communicator& m_comm;
  Inverse& m_inverse;
  const RankSolveOptions& m_options;
};

}  // namespace

template <class Scalar>
void RankReductions<Scalar>::sum(std::span<Scalar> values) const {
  std::vector<Scalar> all(values.begin(), values.end());
  const auto parts = m_comm.gather(all);
  for (std::size_t r = 1; r < parts.size(); ++r)
    for (std::size_t e = 0; e < all.size(); ++e) all[e] += parts[r][e];
  m_comm.broadcast(all);
  std::ranges::copy(all, values.begin());
}
template <class Scalar>
void RankReductions<Scalar>::max(std::span<RealOf<Scalar>> values) const {
  std::vector<RealOf<Scalar>> all(values.begin(), values.end());
  m_comm.all_max(all);
  std::ranges::copy(all, values.begin());
}

template <class Scalar, class ExecutionSpace>
RankRefinement<Scalar, ExecutionSpace>::RankRefinement(Channel& channel, const RankRows<Scalar>& A,
                                                       const MemoryBudget& budget)
    : m_channel(channel),
      m_budget(budget),
      m_rows(A.rows().rows.size()),
      m_A(channel, A, budget),
      m_reductions(channel.comm()) {}

template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::set_scales(const Reals& row, const Reals& col) {
  const auto in_space = [](const Reals& scale) {
    return mirror_in<Memory>(
        Kokkos::View<const RealOf<Scalar>*, Kokkos::HostSpace>(scale.data(), scale.size()));
  };
  m_scales = {in_space(row), in_space(col)};
  m_has_scales = true;
}

template <class Scalar, class ExecutionSpace>
RankSolveOutcome RankRefinement<Scalar, ExecutionSpace>::solve(const RankColumns<const Scalar>& B,
                                                               const RankColumns<Scalar>& X, Transposition op,
                                                               Inverse& factors,
                                                               const RankSolveOptions& options) {
  StoppableInverse<Scalar, ExecutionSpace> inverse(m_channel.comm(), factors, options);
  reserve(B.count);
  take_right_hand_sides(B);
  m_work.maxima.clear(exec());
  RankSolveOutcome outcome{
      solve_refined<Scalar, ExecutionSpace>(exec(), m_A.get(op), inverse, op, options.refinement, m_work)};
  if (std::ranges::max(outcome.errors.amplification) > options.most_amplification) {
    outcome.may_be_singular = true;
    return outcome;
  }
  if (m_has_scales && options.refinement.max_steps > 0)
    outcome.gmres_iterations = improve_by_gmres(op, options.success, inverse, outcome);
  give_solutions(X);
  return outcome;
}

template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::take_right_hand_sides(const RankColumns<const Scalar>& B) {
  if (is_host_space<ExecutionSpace> || B.on_device)
    return copy_block(exec(), B.template view<Memory>(), m_work.B);
  reserve_columns(B.count);
  const Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> on_host(B.data, m_rows, B.count);
  Kokkos::deep_copy(exec(), m_columns.values, on_host);
  copy_block(exec(), m_columns.values, m_work.B);
}

/// Waits.
template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::give_solutions(const RankColumns<Scalar>& X) {
  if (is_host_space<ExecutionSpace> || X.on_device) {
    copy_block(exec(), m_work.X, X.template view<Memory>());
  } else {
    reserve_columns(X.count);
    const Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> on_host(X.data, m_rows, X.count);
    copy_block(exec(), m_work.X, m_columns.values);
    Kokkos::deep_copy(exec(), on_host, m_columns.values);
  }
  exec().fence("lutra::solver: X is there");
}

template <class Scalar, class ExecutionSpace>
double RankRefinement<Scalar, ExecutionSpace>::condition(Inverse& inverse) {
  reserve_column();
  return probe_condition(exec(), m_A.get(Transposition::none), inverse, m_scales, m_column);
}

/// Runs GMRES on each column whose error is above the tolerance after refinement, as Numeric does.
template <class Scalar, class ExecutionSpace>
int RankRefinement<Scalar, ExecutionSpace>::improve_by_gmres(Transposition op, double tolerance,
                                                             Inverse& inverse, RefinementOutcome& outcome) {
  auto& errors = outcome.errors;
  const auto stalled = [&](double error) { return !(error <= tolerance); };
  if (std::ranges::none_of(errors.componentwise, stalled)) return 0;
  const Kokkos::Timer timer;
  const auto& scale = op == Transposition::none ? m_scales.row : m_scales.col;
  reserve_gmres();
  int iterations = 0;
  for (std::size_t c = 0; c < errors.componentwise.size(); ++c) {
    if (!stalled(errors.componentwise[c])) continue;
    copy_column(exec(), m_work.B, c, m_column.B, 0);
    copy_column(exec(), m_work.X, c, m_column.X, 0);
    const BackwardErrors before{{errors.componentwise[c]}, {errors.normwise[c]}, {errors.amplification[c]}};
    const auto improved = refine_by_gmres<Scalar, ExecutionSpace>(exec(), m_A.get(op), inverse, op, scale,
                                                                  0.1 * tolerance, before, m_column, m_gmres);
    copy_column(exec(), m_column.X, 0, m_work.X, c);
    errors.componentwise[c] = improved.errors.componentwise[0];
    errors.normwise[c] = improved.errors.normwise[0];
    errors.amplification[c] = improved.errors.amplification[0];
    iterations += improved.iterations;
  }
  outcome.refine_seconds += timer.seconds();
  return iterations;
}

/// All ranks have the same k, and decide alike.
template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::reserve(std::size_t k) {
  if (m_work.B.extent(1) == k) return;
  renew_together(m_channel.comm(), "vectors of a distributed solve", m_work,
                 [&] { return Workspace(exec(), m_rows, k, m_budget); });
}

/// For B and X of hosts: all ranks have the same kind.
template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::reserve_columns(std::size_t k) {
  if (m_columns.values.extent(1) == k) return;
  renew_together(m_channel.comm(), "vectors of a distributed solve", m_columns, [&] {
    HostColumns made{MemoryReservation(m_budget), {}};
    made.values = made.memory.template allocate<Columns>(exec(), "lutra::solver::B and X", m_rows, k);
    return made;
  });
}

template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::reserve_column() {
  if (m_column.B.extent(1) == 1) return;
  renew_together(m_channel.comm(), "vectors of a distributed solve", m_column,
                 [&] { return Workspace(exec(), m_rows, 1, m_budget); });
}

/// Allocates GMRES, with as many iterations a cycle as all ranks have memory for.
template <class Scalar, class ExecutionSpace>
void RankRefinement<Scalar, ExecutionSpace>::reserve_gmres() {
  reserve_column();
  if (m_gmres.restart() > 0) return;
  int restart = gmres_refinement_restart;
  Fgmres<Scalar, ExecutionSpace> made;  // no rank has m_gmres before all have it
  const auto allocate = [&] {
    made = {};
    made = Fgmres<Scalar, ExecutionSpace>(exec(), m_rows, restart, m_budget);
  };
  Communicator& comm = m_channel.comm();
  comm.agree("vectors of GMRES", allocate);
  std::vector<int> fewest{-made.restart()};
  comm.all_max(fewest);
  restart = -fewest[0];
  comm.agree("vectors of GMRES", [&] {
    if (made.restart() != restart) allocate();
  });
  made.join_by(m_reductions);
  m_gmres = std::move(made);
}

#define LUTRA_RANK_REFINEMENT(Scalar)    \
  template class RankReductions<Scalar>; \
  template class RankRefinement<Scalar, Kokkos::DefaultHostExecutionSpace>;
LUTRA_FOR_EACH_SCALAR(LUTRA_RANK_REFINEMENT)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_RANK_REFINEMENT_CUDA(Scalar) template class RankRefinement<Scalar, Kokkos::Cuda>;
LUTRA_FOR_EACH_SCALAR(LUTRA_RANK_REFINEMENT_CUDA)
#endif

}  // namespace lutra::Impl

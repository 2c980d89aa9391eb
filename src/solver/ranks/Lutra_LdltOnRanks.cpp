// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltOnRanks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ConditionGuard.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RankAnalysis.hpp"
#include "Lutra_RankDivision.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_SymmetricOrder.hpp"
#include "Lutra_Timer.hpp"

namespace lutra::Impl {
namespace {

/// Trees count the flops of LU, twice those of symmetric fronts. These are not divided.
DivisionCosts symmetric_costs(DivisionCosts costs) {
  for (double* const cost : {&costs.flops_per_entry, &costs.flops_per_part, &costs.flops_per_second})
    *cost *= 2;
  costs.divides_fronts = false;
  return costs;
}

/// Time of SparseLDLT relative to that of fronts with pivots in place: 0.64 and 0.70 on one host thread for
/// poisson3d 30 and 40.
template <class ExecutionSpace>
constexpr double time_alone = is_host_space<ExecutionSpace> ? 0.7 : 1;

}  // namespace

template <class Scalar>
LdltOnRanks<Scalar>::LdltOnRanks(const LdltOptions& options)
    : m_options(options), m_completed(completed(options)), m_rule(rule_of(m_completed)) {
  check_options(options);
  if (options.triangle != Triangle::both)
    throw InputError("ldlt.triangle: several ranks need both triangles of the matrix");
}

template <class Scalar>
template <class ExecutionSpace>
bool LdltOnRanks<Scalar>::analyze(Communicator& comm, const HostMatrix<Scalar>& A,
                                  FrontAnalysis<Scalar>& analysis, Report& report, std::string& why,
                                  const RunControl& run) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  std::vector<LdltAttempt> first{LdltAttempt::delays};
  m_has_pairs = std::exchange(m_pairs_rows, false);
  LdltOptions options = m_completed;
  options.pair_ordering = options.pair_ordering || m_has_pairs;
  const DivisionCosts costs = symmetric_costs(division_costs<ExecutionSpace>(comm));
  comm.agree(
      "analysis on rank 0",
      [&] {
        if (comm.rank() != 0) return;
        const Communicator::Work work(comm);
        const StageTimes before = report.times;
        const MemoryBudget budget = MemoryBudget::unlimited(run);
        const auto view = make_view(A);
        const Kokkos::Timer timer;
        if (!m_has_pairs) check_square_matrix(Host(), view, MatrixCheckWorkspace<Host>(Host(), budget));
        const double checking = timer.seconds();
        const std::string paired = why.empty() ? why : "matched rows side by side: " + why;
        why = "the pivoting asked for delays or perturbs pivots";
        if (options.pivoting == Pivoting::static_perturbed || !options.in_place_first.value_or(true)) return;
        auto order = order_symmetric_matrix<Scalar>(ExecutionSpace(), view, options, budget, report);
        report.times.distribution = before.distribution.value_or(0) + checking;
        if (m_has_pairs) {
          add_reason(report, paired);
          *report.times.ordering += before.ordering.value_or(0);
          *report.times.symbolic += before.symbolic.value_or(0);
          order.first = LdltAttempt::interchanges;
        }
        why = "the matrix is structurally singular";
        if (report.structural_rank.value_or(A.n_rows) < A.n_rows) return;
        why = "zeros on the diagonal cannot be pivots in this order";
        if (order.first == LdltAttempt::delays) return;
        why.clear();
        if (comm.size() > 1 && !options.pair_ordering) split_ordered_fronts(order.tree, order.pivots);
        if (comm.size() > 1 && options.memory_limit == 0) {
          auto division = divide_among_ranks(order.tree, comm.size(), costs, static_cast<double>(A.nnz()),
                                             options.expected_factorizations, time_alone<ExecutionSpace>);
          analysis.division = std::move(division.ranks);
          if (!options.in_place_first) why = division.why_one_rank;
          if (!why.empty()) {
            if (!options.pair_ordering)
              analysis.order_alone.assign(order.pivots.columns.begin(), order.pivots.columns.end());
            return;
          }
        }
        first[0] = order.first;
        describe(order.tree, comm.size(), A.nnz(), report);
        analysis.tree = std::move(order.tree);
        analysis.row_order = std::move(order.pivots.rows);
        analysis.col_order = std::move(order.pivots.columns);
        const auto& scales = order.pivots.matching;
        analysis.row_scale.assign(scales.row_scale.begin(), scales.row_scale.end());
        analysis.col_scale.assign(scales.col_scale.begin(), scales.col_scale.end());
        if (m_rule.definite)
          analysis.error_scale.assign(order.diagonal_scale.begin(), order.diagonal_scale.end());
      },
      false);
  comm.broadcast(first);
  m_attempt = first[0];
  return m_attempt != LdltAttempt::delays;
}

/// Adds the counts of the fronts to the report.
template <class Scalar>
void LdltOnRanks<Scalar>::describe(const AssemblyTree& tree, int ranks, std::int64_t nnz, Report& report) {
  m_nnz = nnz;
  m_entries = static_cast<std::int64_t>(predicted_ldlt_entries(lay_out_fronts(tree).fronts));
  if (ranks > 1)
    add_reason(report, "multifrontal engine: parts of the assembly tree on " + std::to_string(ranks) +
                           " ranks, the root on rank 0");
  report.factors.nnz_l = m_entries;
  report.factors.nnz_u = 0;
  report.factors.flops = tree.flops / 2;
  report.factors.supernodes = tree.count();
  report.factors.fill_ratio = nnz > 0 ? static_cast<double>(m_entries) / static_cast<double>(nnz) : 0.0;
}

template <class Scalar>
bool LdltOnRanks<Scalar>::factorize(FrontsOnRanks<Scalar>& fronts, std::int64_t n, Report& report,
                                    std::string& why) {
  using Guard = ConditionGuard<Scalar, Kokkos::DefaultHostExecutionSpace>;
  report.pivots = {};
  report.inertia = {};
  for (; m_attempt != LdltAttempt::delays; m_attempt = next_attempt(m_attempt, m_rule)) {
    const auto [threshold, kind] = pivoting_of(m_attempt, m_rule);
    fronts.set_interchanges(threshold, kind);
    const FrontLuOutcome lu = fronts.factorize(smallest_in_place<Scalar>(m_completed, m_rule));
    const DiagonalPivots pivots = fronts.inspect_pivots();
    // no entry of U = D·Lᵀ is greater
    const double largest = pivots.largest_d * std::max(1.0, pivots.largest_l);
    FactorizationOutcome outcome{lu.perturbed, std::nullopt, lu.largest_entry, largest};
    if (!passes(outcome, pivots, m_rule, n)) {
      why = reason(outcome, pivots);
      continue;
    }
    take_pivots<Scalar>(pivots, m_attempt, m_rule, m_entries, outcome);
    outcome.symmetric->write(static_cast<std::size_t>(m_nnz), report);
    report.pivots.perturbed = 0;
    report.pivots.growth = outcome.growth();
    // without scales, as for Cholesky, pivots are small in badly scaled matrices, too
    const double most = m_rule.definite ? largest_condition_on_ranks<Scalar> : Guard::max_probed;
    if (!Guard::is_suspicious(outcome) || fronts.condition() <= most) return true;
    why = "a pivot is small, and the matrix may be singular";
    return false;
  }
  return false;
}

template <class Scalar>
bool LdltOnRanks<Scalar>::pair_rows() {
  m_pairs_rows = m_rule.pivoting == Pivoting::threshold && m_attempt == LdltAttempt::delays && !m_has_pairs &&
                 !m_completed.pair_ordering && m_completed.ordering != Ordering::user &&
                 m_completed.matching != Matching::none;
  return m_pairs_rows;
}

/// Why pivots in place were rejected.
template <class Scalar>
std::string LdltOnRanks<Scalar>::reason(const FactorizationOutcome& outcome,
                                        const DiagonalPivots& pivots) const {
  if (m_rule.definite) return "a pivot is not positive";
  if (outcome.perturbed > 0)
    return "columns without a pivot in their front have to be delayed: " + std::to_string(outcome.perturbed);
  if (!outcome.is_finite() || !(pivots.largest_d < HUGE_VAL)) return "entries of the fronts overflowed";
  return "pivots within fronts are too small: columns have to be delayed";
}

#define LUTRA_LDLT_ON_RANKS(Scalar)                                                            \
  template class LdltOnRanks<Scalar>;                                                          \
  template bool LdltOnRanks<Scalar>::analyze<Kokkos::DefaultHostExecutionSpace>(               \
      Communicator&, const HostMatrix<Scalar>&, FrontAnalysis<Scalar>&, Report&, std::string&, \
      const RunControl&);
LUTRA_FOR_EACH_SCALAR(LUTRA_LDLT_ON_RANKS)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_LDLT_ON_DEVICES(Scalar)                                                                     \
  template bool LdltOnRanks<Scalar>::analyze<Kokkos::Cuda>(Communicator&, const HostMatrix<Scalar>&,      \
                                                           FrontAnalysis<Scalar>&, Report&, std::string&, \
                                                           const RunControl&);
LUTRA_FOR_EACH_SCALAR(LUTRA_LDLT_ON_DEVICES)
#endif

}  // namespace lutra::Impl

namespace lutra {

template <class Scalar>
DistributedLDLT<Scalar>::DistributedLDLT(Communicator& comm, const LdltOptions& options,
                                         const DistributedOptions& distribution)
    : Base(comm, options, distribution) {}

#define LUTRA_DISTRIBUTED_LDLT(Scalar) template class DistributedLDLT<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_LDLT)

}  // namespace lutra

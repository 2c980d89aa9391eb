// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Distributed.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ChooseEngine.hpp"
#include "Lutra_ConditionGuard.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FirstRankSolver.hpp"
#include "Lutra_FrontsOnRanks.hpp"
#include "Lutra_GridOnRanks.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltOnRanks.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_RankAnalysis.hpp"
#include "Lutra_RankDivision.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_RunStage.hpp"

namespace lutra {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
#ifdef KOKKOS_ENABLE_CUDA
using Device = Kokkos::Cuda;
#else
using Device = Host;
#endif

}  // namespace

template <class Scalar>
DistributedLU<Scalar>::DistributedLU(Communicator& comm, const LuOptions& options,
                                     const DistributedOptions& distribution)
    : m_comm(comm),
      m_options(options),
      m_distribution(distribution),
      m_asked(distribution.grid),
      m_A(std::make_unique<Impl::RankRows<Scalar>>(comm)) {
  check_options(options);
}

template <class Scalar>
DistributedLU<Scalar>::DistributedLU(Communicator& comm, const LdltOptions& options,
                                     const DistributedOptions& distribution)
    : m_comm(comm),
      m_symmetric(std::make_unique<Impl::LdltOnRanks<Scalar>>(options)),
      m_distribution(distribution),
      m_asked(distribution.grid),
      m_A(std::make_unique<Impl::RankRows<Scalar>>(comm)) {
  static_cast<DirectOptions&>(m_options) = options;
  if (m_asked.size() > 0) throw InputError("grid: LDLᵀ and Cholesky solve on fronts, not on a grid");
}

template <class Scalar>
DistributedLU<Scalar>::~DistributedLU() = default;

template <class Scalar>
Status DistributedLU<Scalar>::factorize(const DistributedRows<Scalar>& A) {
  return m_comm.collectively("factorization of a distributed matrix", [&] {
    const RunningCall call(m_run, m_options, "factorize");
    return factorize_rows(A);
  });
}

template <class Scalar>
Status DistributedLU<Scalar>::refactorize(std::span<const Scalar> values) {
  return m_comm.collectively("factorization of new values", [&] {
    const RunningCall call(m_run, m_options, "factorize");
    return refactorize_on_hosts(values);
  });
}

template <class Scalar>
Status DistributedLU<Scalar>::factorize_rows(const DistributedRows<Scalar>& A) {
  const Kokkos::Timer timer;
  m_comm.agree(
      "factorization of a distributed matrix",
      [&] {
        Impl::check_rows(A);
        Impl::check_values<Scalar>(A, A.values);
      },
      false);
  const bool again = has_pattern(A);
  m_usable = false;
  m_report.status = Status::not_solved;
  m_has_newer_values = false;
  if (again) {
    m_A->set_values(A.values);
    if (m_fronts) m_fronts->update_values();
  } else {
    close();  // the operators refer to the rows
    m_A->set_rows(A);
  }
  m_report.times.distribution = timer.seconds();
  return factorize_values(again);
}

template <class Scalar>
Status DistributedLU<Scalar>::refactorize_on_hosts(std::span<const Scalar> values) {
  const Kokkos::Timer timer;
  const DistributedRows<Scalar>& A = m_A->rows();
  m_comm.agree(
      "new values of a distributed matrix",
      [&] {
        check_for_refactorization(values.size());
        Impl::check_values<Scalar>(A, values);
      },
      false);
  m_usable = false;
  m_report.status = Status::not_solved;
  m_has_newer_values = false;
  m_A->set_values(values);
  if (m_fronts) m_fronts->update_values();
  m_report.times.distribution = timer.seconds();
  return factorize_values(m_fronts || (m_alone && m_stays_alone));
}

/// Adds this rank's memory of fronts and solves to the report.
template <class Scalar>
void DistributedLU<Scalar>::note_memory() {
  if (m_alone) return;  // its report has rank 0's
  m_report.memory.device_peak_bytes = m_budget.peak_bytes();
  if (m_options.memory_limit > 0) m_report.memory.limit_bytes = m_options.memory_limit;
}

/// @param again whether the analysis holds for the present values, too
template <class Scalar>
Status DistributedLU<Scalar>::factorize_values(bool again) {
  bool keeps_analysis = again && !m_symmetric;
  try {
    if (!again || !run_known_pattern()) {
      keeps_analysis = false;
      factorize_again();
    }
  } catch (const CancelledError&) {  // thrown on all ranks
    if (!keeps_analysis) close();
    m_report.status = Status::cancelled;
    return Status::cancelled;
  } catch (...) {  // an analysis that ended halfway is none: the next call makes one
    if (!keeps_analysis && m_comm.has_agreed()) close();
    throw;
  }
  m_usable = m_report.status == Status::not_solved;
  m_has_matrix = true;
  note_memory();
  return Impl::outcome_of(m_report.status);
}

/// Returns whether a matrix with this pattern has been factorized, so that its analysis can be reused.
template <class Scalar>
bool DistributedLU<Scalar>::has_pattern(const DistributedRows<Scalar>& A) {
  const DistributedRows<Scalar>& old = m_A->rows();
  const bool same = (m_fronts || (m_alone && m_stays_alone)) && A.n == old.n && A.rows == old.rows &&
                    A.row_map == old.row_map && A.columns == old.columns;
  std::vector<int> differs{same ? 0 : 1};
  m_comm.all_max(differs);
  return differs[0] == 0;
}

/// Copies the values of the fronts to the rows if they are newer.
template <class Scalar>
void DistributedLU<Scalar>::fetch_values() {
  if (m_has_newer_values) m_A->set_values(m_fronts->host_values());
  m_has_newer_values = false;
}

template <class Scalar>
void DistributedLU<Scalar>::check_for_refactorization(std::size_t values) {
  if (!m_has_matrix) throw CallOrderError("refactorize: no matrix has been factorized; call factorize first");
  const std::size_t entries = m_A->rows().columns.size();
  if (values != entries)
    throw InputError("A: " + std::to_string(values) + " values for " + std::to_string(entries) + " entries");
}

/// Gathers the whole matrix on rank 0.
template <class Scalar>
HostMatrix<Scalar> DistributedLU<Scalar>::assemble_rows() {
  fetch_values();
  const DistributedRows<Scalar>& A = m_A->rows();
  const auto row_maps = m_comm.gather(A.row_map);
  const auto columns = m_comm.gather(std::vector<int>(A.columns.begin(), A.columns.end()));
  const auto values = m_comm.gather(A.values);
  HostMatrix<Scalar> whole;
  m_comm.agree(
      "factorization on rank 0",
      [&] {
        if (m_comm.rank() == 0) whole = Impl::assemble_rows(A.n, m_A->all_rows(), row_maps, columns, values);
      },
      false);
  return whole;
}

/// @returns false on all ranks if the matrix has to be analyzed again
template <class Scalar>
bool DistributedLU<Scalar>::run_known_pattern() {
  if (m_alone) return refactorize_alone();
  const Impl::RunStage stage(m_budget, "numeric");
  const Kokkos::Timer timer;
  if (!run_fronts()) return false;
  if (m_grid) {
    FactorValues<Scalar> factors;
    m_fronts->collect(factors);
    m_grid->set_values(factors.values);
  }
  m_report.times.refactor = timer.seconds();
  m_report.status = Status::not_solved;
  m_report.errors = {};
  return true;
}

template <class Scalar>
bool DistributedLU<Scalar>::refactorize_alone() {
  const Kokkos::Timer timer;
  const HostMatrix<Scalar> whole = assemble_rows();
  const double distribution = *m_report.times.distribution + timer.seconds();
  const std::string why = m_report.choice.why;
  m_alone->factorize(whole);
  m_report = m_alone->report();
  m_report.choice.why = why;
  m_report.times.distribution = distribution;
  return true;
}

/// Analyzes and factorizes.
template <class Scalar>
void DistributedLU<Scalar>::factorize_again() {
  const Kokkos::Timer timer;
  const double before = m_report.times.distribution.value_or(0);
  fetch_values();
  close();
  m_report = {};
  m_predictions.clear();
  m_search = {};
  m_budget = MemoryBudget(m_options.memory_limit);
  m_distribution.grid = m_asked;
  const HostMatrix<Scalar> whole = assemble_rows();
  m_report.times.distribution = before + timer.seconds();
  if (m_distribution.on_device)
    factorize_in<Device>(whole);
  else
    factorize_in<Host>(whole);
  if (m_report.status == Status::not_solved) describe_place();
}

/// Sends factors to the given grid.
template <class Scalar>
void DistributedLU<Scalar>::solve_on_grid(FactorValues<Scalar>&& factors) {
  const Impl::RunStage stage(m_budget, "levelization");
  const Kokkos::Timer timer;
  m_grid =
      std::make_unique<Impl::GridOnRanks<Scalar>>(m_comm, std::move(factors), *m_A, m_distribution, m_budget);
  if (m_fronts) m_grid->set_scales(m_fronts->row_scale(), m_fronts->col_scale());
  m_distribution.grid = m_grid->triangles().grid();
  m_predictions = m_grid->triangles().predictions();
  m_report.times.levelization = m_report.times.levelization.value_or(0) + timer.seconds();
}

/// Writes where the matrix is factorized and solved to the report.
template <class Scalar>
void DistributedLU<Scalar>::describe_place() {
  if (m_alone) return;
  m_report.choice.trisolve = m_grid ? "distributed" : "distributed fronts";
  if (!m_grid)
    Impl::add_reason(m_report, std::string("solves on the fronts of the ranks") +
                                   (m_distribution.on_device ? "' devices" : "") +
                                   ", with one message per sweep between two parts");
  if (!m_distribution.on_device || !m_grid) return;
  Impl::add_reason(m_report, std::string(m_fronts ? "fronts and triangles on the ranks' devices"
                                                  : "factors computed on the device of rank 0, triangles "
                                                    "on the ranks' devices") +
                                 ", messages of solves by " + std::string(to_string(m_distribution.backend)));
}

template <class Scalar>
template <class ExecutionSpace>
void DistributedLU<Scalar>::factorize_in(const HostMatrix<Scalar>& A) {
  m_why_alone.clear();
  m_order_alone.clear();
  if (!factorize_on_ranks<ExecutionSpace>(A)) factorize_on_first_rank<ExecutionSpace>(A);
}

/// Orders the matrix and builds its tree on rank 0.
/// @returns on all ranks: whether SparseLU would factorize it by fronts with static pivoting
template <class Scalar>
template <class ExecutionSpace>
bool DistributedLU<Scalar>::analyze(const HostMatrix<Scalar>& A, Analysis& analysis) {
  if (m_symmetric)
    return m_symmetric->template analyze<ExecutionSpace>(m_comm, A, analysis, m_report, m_why_alone, m_run);
  std::vector<char> takes_fronts{0};
  const DivisionCosts costs = Impl::division_costs<ExecutionSpace>(m_comm);
  m_comm.agree(
      "analysis on rank 0",
      [&] {
        if (m_comm.rank() != 0) return;
        const Communicator::Work work(m_comm);
        m_why_alone = "the engine, the ordering or the symbolic method asked for is not that of fronts";
        if (!Impl::may_take_fronts(m_options)) return;
        m_why_alone.clear();
        const Host exec;
        const MemoryBudget budget = MemoryBudget::unlimited(m_run);
        const auto view = make_view(A);
        const Kokkos::Timer checking;
        check_square_matrix(exec, view, MatrixCheckWorkspace<Host>(exec, budget));
        *m_report.times.distribution += checking.seconds();
        auto pivots = choose_pivots(exec, view, view, m_options, budget, m_report);
        if (!pivots) return;  // structurally singular: SparseLU reports it
        const Impl::RunStage stage(m_budget, "symbolic");
        const Kokkos::Timer timer;
        AssemblyTree& tree = analysis.tree;
        tree = Impl::build_tree_for<ExecutionSpace>(view.pattern(), *pivots, budget);
        const double entries = Impl::stored_entries(tree);
        const auto choice = Impl::choose_engine(m_options, {entries > 0 ? tree.flops / entries : 0.0},
                                                default_device_model<ExecutionSpace>().numeric);
        if (choice.engine != Engine::multifrontal) {
          m_why_alone = choice.reason.empty() ? "the engine asked for has no fronts" : choice.reason;
          return;
        }
        m_why_alone.clear();
        Impl::collect_rows(*pivots, tree);
        if (m_comm.size() > 1) split_fronts(tree);
        if (m_comm.size() > 1 && m_options.memory_limit == 0) {
          auto division = Impl::divide_among_ranks(tree, m_comm.size(), costs, static_cast<double>(A.nnz()),
                                                   m_options.expected_factorizations);
          analysis.division = std::move(division.ranks);
          if (m_options.engine == Engine::automatic && m_asked.size() == 0)
            m_why_alone = division.why_one_rank;
          if (!m_why_alone.empty()) {
            if (!choice.reason.empty()) Impl::add_reason(m_report, choice.reason);
            if (!pivots->block_triangular)
              analysis.order_alone.assign(pivots->columns.begin(), pivots->columns.end());
            return;
          }
        }
        takes_fronts[0] = 1;
        pivots->reorder(tree.order);
        const auto& scales = pivots->matching;
        analysis.row_order = std::move(pivots->rows);
        analysis.col_order = std::move(pivots->columns);
        analysis.row_scale.assign(scales.row_scale.begin(), scales.row_scale.end());
        analysis.col_scale.assign(scales.col_scale.begin(), scales.col_scale.end());
        Impl::describe_fronts(tree, m_comm.size(), static_cast<double>(A.nnz()), m_report);
        if (analysis.division) Impl::describe_divided_fronts(*analysis.division, m_report);
        if (const std::string why = Impl::reason_for_etree(m_options); !why.empty())
          Impl::add_reason(m_report, why);
        m_report.times.symbolic = timer.seconds();
      },
      false);
  m_comm.broadcast(takes_fronts);
  return takes_fronts[0] != 0;
}

/// Factorizes by fronts on all ranks if SparseLU would use fronts and static pivoting suffices.
/// @returns false on all ranks if SparseLU must factorize the matrix instead
template <class Scalar>
template <class ExecutionSpace>
bool DistributedLU<Scalar>::factorize_on_ranks(const HostMatrix<Scalar>& A) {
  m_stays_alone = true;
  if (!m_symmetric && m_options.pivoting == Pivoting::threshold) {
    m_why_alone = "threshold pivoting interchanges rows";
    return false;
  }
  Analysis analysis;
  if (!analyze<ExecutionSpace>(A, analysis)) {
    m_order_alone = std::move(analysis.order_alone);
    return false;
  }
  try {
    std::optional<Impl::RunStage> stage(std::in_place, m_budget, "levelization");
    const Kokkos::Timer planning;
    const auto symmetry = m_symmetric ? std::optional(m_symmetric->symmetry()) : std::nullopt;
    m_fronts = Impl::make_fronts_on_ranks<Scalar, ExecutionSpace>(
        m_comm, make_view(A).pattern(), analysis, *m_A, m_budget.with_control(m_run), symmetry);
    const bool on_grid = m_asked.size() > 0;
    on_grid ? m_fronts->plan_collection() : m_fronts->plan_solves();
    m_report.times.levelization = planning.seconds();
    stage.reset();
    stage.emplace(m_budget, "numeric");
    const Kokkos::Timer timer;
    const bool usable = run_fronts();
    m_report.times.numeric = timer.seconds();
    if (!usable) {
      m_fronts->close();
      m_fronts.reset();
      m_stays_alone = false;
      return m_symmetric && m_symmetric->pair_rows() && factorize_on_ranks<ExecutionSpace>(A);
    }
    if (!on_grid) return seems_well_conditioned();
    FactorValues<Scalar> factors;
    m_fronts->collect(factors);
    factors.row_order.assign(analysis.row_order.begin(), analysis.row_order.end());
    factors.col_order.assign(analysis.col_order.begin(), analysis.col_order.end());
    factors.row_scale = std::move(analysis.row_scale);
    factors.col_scale = std::move(analysis.col_scale);
    solve_on_grid(std::move(factors));
    return seems_well_conditioned();
  } catch (const OutOfMemoryError& error) {
    if (m_comm.size() > 1 && !m_comm.has_agreed()) throw;  // not on all ranks
    close();
    m_why_alone = error.what();
    if (m_options.engine == Engine::multifrontal) throw;
    return false;  // the simplicial engine needs less memory
  }
}

/// Whether the factors of all ranks may be used: only rank 0 can tell an ill-conditioned matrix from a
/// singular one. Discards them if not.
template <class Scalar>
bool DistributedLU<Scalar>::seems_well_conditioned() {
  if (solver().condition() <= Impl::largest_condition_on_ranks<Scalar>) return true;
  close();
  m_why_alone = "the matrix seems ill-conditioned";
  m_stays_alone = false;
  return false;
}

/// Factorizes on rank 0, which judges whether the matrix is singular. Its solutions are rank 0's, too.
template <class Scalar>
void DistributedLU<Scalar>::factorize_for_judgement() {
  const HostMatrix<Scalar> whole = assemble_rows();
  close();
  m_report.status = Status::not_solved;
  m_why_alone = "solutions are large, and the matrix may be singular";
  m_stays_alone = false;
  const ProcessGrid asked = std::exchange(m_asked, ProcessGrid{0, 0});
  try {
    if (m_distribution.on_device)
      factorize_on_first_rank<Device>(whole);
    else
      factorize_on_first_rank<Host>(whole);
  } catch (...) {
    m_asked = asked;
    throw;
  }
  m_asked = asked;
  m_usable = m_report.status == Status::not_solved;
}

/// Factorizes the current values by fronts.
/// @returns false on all ranks if pivots had to be perturbed, or entries grew or overflowed
template <class Scalar>
bool DistributedLU<Scalar>::run_fronts() {
  if (m_symmetric) return m_symmetric->factorize(*m_fronts, m_A->rows().n, m_report, m_why_alone);
  const double perturbation =
      m_options.perturbation > 0 ? m_options.perturbation : Impl::default_perturbation<Scalar>();
  const auto outcome = m_fronts->factorize(perturbation);
  if (outcome.perturbed > 0 || !std::isfinite(outcome.largest_factor)) {
    m_why_alone = outcome.perturbed > 0
                      ? "pivots of the fronts had to be perturbed: " + std::to_string(outcome.perturbed)
                      : "entries of the fronts overflowed";
    return false;
  }
  m_report.pivots.perturbed = 0;
  if (outcome.largest_entry > 0) m_report.pivots.growth = outcome.largest_factor / outcome.largest_entry;
  if (m_report.pivots.growth.value_or(0) >= Impl::ConditionGuard<Scalar, Host>::near_singular) {
    m_why_alone = "entries of the fronts grew";
    return false;
  }
  return true;
}

template <class Scalar>
template <class ExecutionSpace>
void DistributedLU<Scalar>::factorize_on_first_rank(const HostMatrix<Scalar>& A) {
  const auto distribution = m_report.times.distribution;
  const Impl::FoundOrder found{std::exchange(m_order_alone, {}), m_report};
  const auto make = [&](const auto& options) {
    return Impl::make_first_rank_solver<Scalar, ExecutionSpace>(m_comm, options, found, m_run);
  };
  m_alone = m_symmetric ? make(m_symmetric->options()) : make(m_options);
  m_alone->factorize(A);
  m_report = m_alone->report();
  m_search = m_alone->statistics();
  m_report.times.distribution = distribution;
  if (!m_why_alone.empty() && m_comm.size() > 1)
    Impl::add_reason(m_report, "rank 0 factorized alone: " + m_why_alone);
  if (m_asked.size() == 0) return;
  std::vector<int> looked{m_comm.rank() == 0 && m_report.condition_solves > 1 ? 1 : 0};
  m_comm.all_max(looked);
  if (looked[0] != 0) return;  // only SparseLU judges solutions of an ill-conditioned matrix
  const auto alone = std::move(m_alone);
  if (m_report.status == Status::not_solved) solve_on_grid(alone->factors());
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedLU<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra

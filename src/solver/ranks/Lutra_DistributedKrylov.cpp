// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Distributed.hpp"

#include <numeric>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_PatternOnRanks.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra {
namespace {

/// Request of rank 0 to the other ranks: a solve with this many columns, or the end if there are none.
struct Request {
  std::int64_t columns = 0;
  Transposition op = Transposition::none;
};

/// Copies the choices of a preconditioner to the report of the solver, which treats it as a caller's
/// preconditioner and does not know them.
void take_choices(const Report& from, std::string_view name, Report& to) {
  const std::string method = to.choice.method;
  to.choice = from.choice;
  to.choice.method = method;
  to.choice.precond = name;
  to.choice.trisolve = "distributed";
  to.factors = from.factors;
  to.pivots = from.pivots;
  to.escalations = from.escalations;
  const StageTimes mine = to.times;
  to.times = from.times;
  to.times.solve = mine.solve;
  to.times.refine = std::nullopt;
}

}  // namespace

/// Preconditioner on rank 0. It solves on the grid, while the other ranks wait in `serve`.
template <class Scalar>
class DistributedKrylov<Scalar>::Inverse final : public Preconditioner<Scalar, Exec> {
 public:
  using typename Preconditioner<Scalar, Exec>::Rows;

  explicit Inverse(DistributedKrylov& owner) : m_owner(owner) {}

  void apply(const Exec& exec, Transposition op, const Rows& B, const Rows& X) override {
    exec.fence("lutra::solver: B is complete");
    m_owner.m_comm.collectively("a solve on the grid", [&] { solve(op, B, X); });
  }
  std::int64_t size() const override { return m_owner.m_n; }

 private:
  void solve(Transposition op, const Rows& B, const Rows& X) {
    const std::size_t n = B.extent(0), k = B.extent(1);
    std::vector<Request> request{{static_cast<std::int64_t>(k), op}};
    std::vector<Scalar> columns(n * k);
    m_owner.m_comm.broadcast(request);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < n; ++i) columns[c * n + i] = B(i, c);
    const std::vector<Scalar> result = m_owner.m_factors->solve(columns, k, op);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < n; ++i) X(i, c) = result[c * n + i];
  }

  DistributedKrylov& m_owner;
};

template <class Scalar>
DistributedKrylov<Scalar>::DistributedKrylov(Communicator& comm, const KrylovSolverOptions& options,
                                             const DistributedOptions& distribution)
    : m_comm(comm),
      m_options(options),
      m_distribution(distribution),
      m_pattern(std::make_shared<Impl::PatternOnRanks<Exec>>(comm, options.memory_limit, options.lu.fill2)) {
  check_options(options);
  if (comm.size() > 1 && options.lu.symbolic == SymbolicMethod::fill2)
    m_options.lu.pattern_source = m_pattern;
  if (options.preconditioning != Preconditioning::ilu && options.preconditioning != Preconditioning::lu)
    throw InputError("options: ranks share the work with factors, incomplete or complete ones");
  if (options.side == PreconditionSide::split)
    throw InputError("options: split preconditioning is not available on several ranks");
}

template <class Scalar>
DistributedKrylov<Scalar>::~DistributedKrylov() = default;

template <class Scalar>
void DistributedKrylov<Scalar>::close() {
  if (m_factors) m_factors->close();
  m_factors.reset();
  m_solver.reset();
  m_usable = false;
}

/// Runs on rank 0 without a grid: the whole method.
template <class Scalar>
void DistributedKrylov<Scalar>::prepare_alone(const HostMatrix<Scalar>& A) {
  m_solver =
      std::make_unique<KrylovSolver<Scalar, Exec>>(m_options, Exec(), MemoryBudget(m_options.memory_limit));
  Status status = m_solver->analyze(A);
  if (status == Status::success) status = m_solver->factorize(A);
  m_report = m_solver->report();
  if (status == Status::cancelled) m_report.status = status;  // an analysis that is stopped leaves no report
  if (m_comm.size() > 1)
    Impl::add_reason(m_report,
                     "rank 0 iterates alone: products and vectors are its own; a grid uses all ranks");
}

/// Runs on rank 0 and computes the factors. m_report then describes their solver and its choices.
template <class Scalar>
FactorValues<Scalar> DistributedKrylov<Scalar>::compute_factors(const HostMatrix<Scalar>& A) {
  const Exec exec;
  const MemoryBudget budget(m_options.memory_limit);  // for the iteration and for computing factors
  KrylovSolverOptions iteration = m_options;
  iteration.preconditioning = Preconditioning::none;
  m_solver = std::make_unique<KrylovSolver<Scalar, Exec>>(iteration, exec, budget);
  // Without a preconditioner both calls either succeed or throw, unless they are stopped.
  Status begun = m_solver->analyze(A);
  if (begun == Status::success) begun = m_solver->factorize(A);
  if (begun != Status::success) {
    m_report = m_solver->report();
    m_report.status = begun;
    return {};
  }
  const auto compute = [&](auto solver, std::string_view name) {
    Status status = solver.analyze(A);
    if (status == Status::success) status = solver.factorize(A);
    m_report = solver.report();
    if (status == Status::cancelled) m_report.status = status;
    m_report.choice.precond = name;
    return status == Status::success ? solver.factors() : FactorValues<Scalar>();
  };
  FactorValues<Scalar> factors;
  if (m_options.preconditioning == Preconditioning::ilu) {
    const SparseIluOptions options = m_options.ilu_options();
    factors = compute(SparseILU<Scalar, Exec>(options, exec, budget), name_of(options));
  } else {
    factors = compute(SparseLU<Scalar, Exec>(m_options.lu_options(), exec, budget), "lu");
  }
  m_report.choice.method = m_solver->report().choice.method;
  return factors;
}

template <class Scalar>
Status DistributedKrylov<Scalar>::factorize(const HostMatrix<Scalar>& A) {
  return m_comm.collectively("preconditioner of several ranks", [&] { return factorize_on_ranks(A); });
}

template <class Scalar>
Status DistributedKrylov<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                        Transposition op) {
  return m_comm.collectively("a Krylov method on several ranks", [&] { return solve_on_ranks(B, X, k, op); });
}

template <class Scalar>
Status DistributedKrylov<Scalar>::factorize_on_ranks(const HostMatrix<Scalar>& A) {
  close();
  m_report = {};
  FactorValues<Scalar> factors;
  m_comm.agree(
      "preconditioner on rank 0",
      [&] {
        m_pattern->serve_during([&] {
          const Communicator::Work work(m_comm);
          if (on_grid())
            factors = compute_factors(A);
          else if (m_comm.rank() == 0)
            prepare_alone(A);
        });
      },
      false);
  agree_on_status();
  std::vector<std::int64_t> n{static_cast<std::int64_t>(A.n_rows)};  // sent even if there are no factors
  m_comm.broadcast(n);
  m_n = n[0];
  if (m_report.status != Status::not_solved) return Impl::outcome_of(m_report.status);
  m_usable = !on_grid();
  if (m_usable) return Impl::outcome_of(m_report.status);
  std::vector<std::int64_t> rows(m_comm.rank() == 0 ? static_cast<std::size_t>(m_n) : 0);
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  m_factors = std::make_unique<DistributedFactors<Scalar>>(m_comm, std::move(factors), rows, m_distribution);
  if (predictions().size() > 1) Impl::add_reason(m_report, describe_choice(predictions()));
  if (m_comm.rank() == 0) m_solver->set_preconditioner(std::make_shared<Inverse>(*this));
  m_usable = true;
  return Impl::outcome_of(m_report.status);
}

template <class Scalar>
Status DistributedKrylov<Scalar>::solve_on_ranks(std::span<const Scalar> B, std::span<Scalar> X,
                                                 std::size_t k, Transposition op) {
  m_comm.agree(
      "right-hand sides",
      [&] {
        if (!m_usable && m_report.status == Status::not_solved)
          throw CallOrderError("solve: there is no factorization; call factorize first");
        const std::size_t elements = m_comm.rank() == 0 ? static_cast<std::size_t>(m_n) * k : B.size();
        if (B.size() != elements || (m_comm.rank() == 0 && X.size() != elements))
          throw InputError("B and X: " + std::to_string(B.size()) + " and " + std::to_string(X.size()) +
                           " values, not " + std::to_string(elements));
      },
      false);
  if (!m_usable) return m_report.status;
  m_comm.agree(
      "iterations on rank 0",
      [&] {
        if (m_comm.rank() != 0) {
          if (on_grid()) serve();
          return;
        }
        const Communicator::Work work(m_comm);
        if (!on_grid()) return solve_alone(B, X, op);
        std::vector<Request> end(1);
        try {
          m_solver->solve_host(B, X, op);
        } catch (const RemoteError&) {
          throw;
        } catch (...) {
          m_comm.broadcast(end);
          throw;
        }
        m_comm.broadcast(end);
        const Report chosen = std::exchange(m_report, m_solver->report());
        take_choices(chosen, chosen.choice.precond, m_report);
      },
      false);
  agree_on_status();
  return m_report.status;
}

/// Runs on rank 0 without a grid.
template <class Scalar>
void DistributedKrylov<Scalar>::solve_alone(std::span<const Scalar> B, std::span<Scalar> X,
                                            Transposition op) {
  const std::string why = m_report.choice.why;  // with the reason added
  m_solver->solve_host(B, X, op);
  m_report = m_solver->report();
  m_report.choice.why = why;
}

/// Runs on the other ranks: takes part in solves on the grid until rank 0 sends the end.
template <class Scalar>
void DistributedKrylov<Scalar>::serve() {
  const auto serve_one = [&] {
    std::vector<Request> request;
    m_comm.broadcast(request);
    if (request[0].columns == 0) return false;
    m_factors->solve({}, static_cast<std::size_t>(request[0].columns), request[0].op);
    return true;
  };
  for (bool more = true; more;) {
    try {
      more = m_comm.collectively("a solve on the grid", serve_one);
    } catch (const std::exception&) {  // where it is of all ranks, rank 0 tells the end
      if (!m_comm.has_agreed()) throw;
    }
  }
}

template <class Scalar>
const ProcessGrid& DistributedKrylov<Scalar>::grid() const noexcept {
  return m_factors ? m_factors->triangles().grid() : m_distribution.grid;
}

template <class Scalar>
const std::vector<GridPrediction>& DistributedKrylov<Scalar>::predictions() const noexcept {
  static const std::vector<GridPrediction> none;
  return m_factors ? m_factors->triangles().predictions() : none;
}

template <class Scalar>
void DistributedKrylov<Scalar>::agree_on_status() {
  std::vector<Status> status{m_report.status};
  m_comm.broadcast(status);
  m_report.status = status[0];
}

template <class Scalar>
std::vector<RankStatistics> DistributedKrylov<Scalar>::statistics() {
  return m_comm.collectively("statistics", [&] {
    std::vector<RankStatistics> all;
    std::vector<RankStatistics> mine{m_factors ? m_factors->statistics() : RankStatistics{}};
    m_pattern->statistics().copy_search_to(mine[0]);
    for (const auto& one : m_comm.gather(mine)) all.push_back(one.front());
    return all;
  });
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedKrylov<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra

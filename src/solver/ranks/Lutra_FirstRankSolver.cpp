// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FirstRankSolver.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "Lutra_Instantiate.hpp"
#include "Lutra_PatternOnRanks.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Impl {
namespace {

Fill2Options fill2_of(const LuOptions& options) {
  return options.fill2;
}
Fill2Options fill2_of(const LdltOptions&) {
  return {};
}

/// Writes to the report of a solver that was given an order where it came from.
/// @param found report of the analysis that found the order
void take_order(const Report& found, Report& report) {
  const auto add = [](const std::optional<double>& more, std::optional<double>& seconds) {
    if (more) seconds = seconds.value_or(0) + *more;
  };
  add(found.times.matching, report.times.matching);
  add(found.times.ordering, report.times.ordering);
  add(found.times.symbolic, report.times.symbolic);
  report.choice.ordering = found.choice.ordering;
  report.predicted = found.predicted;
  report.factors.tree_height = found.factors.tree_height;
  std::string why = found.choice.why;
  for (std::size_t begin = 0; begin < report.choice.why.size();) {  // a matching gives its reason twice
    const std::size_t end = std::min(report.choice.why.find("; ", begin), report.choice.why.size());
    const std::string reason = report.choice.why.substr(begin, end - begin);
    if (why.find(reason) == std::string::npos) why += (why.empty() ? "" : "; ") + reason;
    begin = end + 2;
  }
  report.choice.why = why;
}

template <class Scalar, class ExecutionSpace, class Solver, class Options>
class FirstRankDirect final : public FirstRankSolver<Scalar> {
 public:
  FirstRankDirect(Communicator& comm, const Options& options, const FoundOrder& found, const RunControl& run)
      : m_comm(comm),
        m_found(found),
        m_pattern(std::make_shared<PatternOnRanks<ExecutionSpace>>(comm, options.memory_limit,
                                                                   fill2_of(options), run)) {
    Options checked = options;
    checked.check = SolutionCheck::always;
    if (!found.columns.empty()) {
      checked.ordering = Ordering::user;
      checked.user_permutation = found.columns;
      if constexpr (requires { checked.engine; }) checked.engine = Engine::multifrontal;
    }
    m_options = checked;
    if constexpr (requires { checked.pattern_source; })
      if (comm.size() > 1 && options.symbolic == SymbolicMethod::fill2) checked.pattern_source = m_pattern;
    comm.agree(
        "factorization on rank 0",
        [&] {
          if (comm.rank() == 0) m_solver = std::make_unique<Solver>(checked);
        },
        false);
  }

  Status factorize(const HostMatrix<Scalar>& A) override {
    run_on_first_rank("factorization on rank 0", [&] {
      const RunningCall call(m_solver->run_control(), m_options,
                             "factorize");  // so that a stop is an exception
      Status status = m_is_analyzed ? Status::success : m_solver->analyze(A);
      m_is_analyzed = status == Status::success;
      if (status == Status::success) status = m_solver->factorize(A);
      take_report();
    });
    return share_status();
  }

  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k, Transposition op,
               const std::vector<std::vector<std::int64_t>>& rows_of_ranks) override {
    constexpr int tag = 31004;
    auto parts = m_comm.gather(std::vector<Scalar>(B.begin(), B.end()));
    run_on_first_rank("solve on rank 0", [&] {
      const RunningCall call(m_solver->run_control(), m_options, "solve");
      std::vector<Scalar> whole_B = assemble(parts, rows_of_ranks, k), whole_X(whole_B.size());
      m_solver->solve_host(whole_B, whole_X, op);
      take_report();
      divide(whole_X, rows_of_ranks, k, parts);
    });
    for (std::size_t r = 0; r < parts.size(); ++r) m_comm.send(static_cast<int>(r), tag, parts[r]);
    const auto mine = m_comm.template receive<Scalar>(0, tag);
    std::copy(mine.begin(), mine.end(), X.begin());
    return share_status();
  }

  const Report& report() const override { return m_report; }
  const RankStatistics& statistics() const override { return m_pattern->statistics(); }
  FactorValues<Scalar> factors() const override {
    return m_solver ? m_solver->factors() : FactorValues<Scalar>{};
  }

 private:
  void take_report() {
    m_report = m_solver->report();
    if (!m_found.columns.empty()) take_order(m_found.report, m_report);
  }

  /// Runs `task` on rank 0, while the others wait for analyses that need them.
  template <class Task>
  void run_on_first_rank(const char* where, const Task& task) {
    m_comm.agree(
        where,
        [&] {
          m_pattern->serve_during([&] {
            const Communicator::Work work(m_comm);
            task();
          });
        },
        false);
  }

  using Rows = std::vector<std::vector<std::int64_t>>;
  using Parts = std::vector<std::vector<Scalar>>;

  /// Calls visit(position in whole columns, element of a part) for all elements.
  template <class AnyParts, class Visit>
  static void for_each_element(AnyParts& parts, const Rows& rows, std::size_t k, const Visit& visit) {
    std::size_t n = 0;
    for (const auto& of_rank : rows) n += of_rank.size();
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < rows[r].size(); ++i)
          visit(c * n + static_cast<std::size_t>(rows[r][i]), parts[r][c * rows[r].size() + i]);
  }
  static std::vector<Scalar> assemble(const Parts& parts, const Rows& rows, std::size_t k) {
    std::size_t size = 0;
    for (const auto& part : parts) size += part.size();
    std::vector<Scalar> whole(size);
    for_each_element(parts, rows, k, [&](std::size_t at, const Scalar& value) { whole[at] = value; });
    return whole;
  }
  static void divide(const std::vector<Scalar>& whole, const Rows& rows, std::size_t k, Parts& parts) {
    for_each_element(parts, rows, k, [&](std::size_t at, Scalar& value) { value = whole[at]; });
  }

  /// Gives all ranks the status, the inertia and the backward errors of rank 0.
  Status share_status() {
    struct Shared {
      Status status;
      std::optional<double> componentwise, normwise;
      Inertia inertia;
    };
    std::vector<Shared> shared{{m_report.status, m_report.errors.backward_componentwise,
                                m_report.errors.backward_normwise, m_report.inertia}};
    m_comm.broadcast(shared);
    m_report.status = shared[0].status;
    m_report.inertia = shared[0].inertia;
    m_report.errors.backward_componentwise = shared[0].componentwise;
    m_report.errors.backward_normwise = shared[0].normwise;
    return m_report.status;
  }

  Communicator& m_comm;
  FoundOrder m_found;
  Options m_options;
  std::shared_ptr<PatternOnRanks<ExecutionSpace>> m_pattern;  ///< finds it for m_solver, if asked for fill2
  std::unique_ptr<Solver> m_solver;                           ///< on rank 0
  bool m_is_analyzed = false;
  Report m_report;
};

}  // namespace

template <class Scalar, class ExecutionSpace>
std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver(Communicator& comm, const LuOptions& options,
                                                                const FoundOrder& found,
                                                                const RunControl& run) {
  using Solver = SparseLU<Scalar, ExecutionSpace>;
  return std::make_unique<FirstRankDirect<Scalar, ExecutionSpace, Solver, LuOptions>>(comm, options, found,
                                                                                      run);
}
template <class Scalar, class ExecutionSpace>
std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver(Communicator& comm,
                                                                const LdltOptions& options,
                                                                const FoundOrder& found,
                                                                const RunControl& run) {
  using Solver = SparseLDLT<Scalar, ExecutionSpace>;
  return std::make_unique<FirstRankDirect<Scalar, ExecutionSpace, Solver, LdltOptions>>(comm, options, found,
                                                                                        run);
}

#define LUTRA_FIRST_RANK_SOLVER(Scalar, Space)                                             \
  template std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver<Scalar, Space>( \
      Communicator&, const LuOptions&, const FoundOrder&, const RunControl&);              \
  template std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver<Scalar, Space>( \
      Communicator&, const LdltOptions&, const FoundOrder&, const RunControl&);
#define LUTRA_FIRST_RANK_ON_HOST(Scalar) LUTRA_FIRST_RANK_SOLVER(Scalar, Kokkos::DefaultHostExecutionSpace)
LUTRA_FOR_EACH_SCALAR(LUTRA_FIRST_RANK_ON_HOST)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_FIRST_RANK_ON_DEVICE(Scalar) LUTRA_FIRST_RANK_SOLVER(Scalar, Kokkos::Cuda)
LUTRA_FOR_EACH_SCALAR(LUTRA_FIRST_RANK_ON_DEVICE)
#endif

}  // namespace lutra::Impl

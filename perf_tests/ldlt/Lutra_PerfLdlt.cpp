// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refactorization and refined solve of symmetric matrices by SparseLDLT and peers: `ldlt`, and `cholesky` if
// the diagonal is positive. Solvers take turns, sample by sample, so that other load on the machine affects
// all of them. `cpu_s` is the time of all threads of the process. Counters `over_lutra` and `cpu_over_lutra`:
// times of a solver divided by those of Lutra.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfPeers.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_SparseLDLT.hpp"

namespace lutra::Perf {
namespace {

/// SparseLDLT with its defaults.
class LdltSolver final : public Solver<double> {
 public:
  LdltSolver(const HostMatrix<double>& matrix, const std::vector<double>& b, bool definite)
      : m_matrix(to_device(matrix)), m_b(to_device(b)), m_x("lutra::perf::x", b.size()) {
    m_options.positive_definite = definite;
    m_options.expected_factorizations = repeated_factorizations;
  }
  void analyze() override { refuse_singular(m_solver.emplace(m_options).analyze(m_matrix)); }
  void prepare_factorization() override { analyze(); }
  void factorize() override { refuse_singular(m_solver->factorize(m_matrix)); }
  void refactorize() override { factorize(); }
  void solve() override { m_solver->solve(m_b, m_x); }
  std::vector<double> solution() const override { return to_host(m_x); }
  SolverProperties properties() const override;

 private:
  void refuse_singular(Status status) const {
    if (status != Status::success) throw std::runtime_error(describe(m_solver->report()));
  }

  LdltOptions m_options;
  DeviceMatrix<double> m_matrix;
  Kokkos::View<double*, MemorySpace> m_b, m_x;
  std::optional<SparseLDLT<double>> m_solver;
};

SolverProperties LdltSolver::properties() const {
  const Report& report = m_solver->report();
  SolverProperties properties;
  const auto keep = [&](const char* name, const auto& value) {
    if (value) properties.counters[name] = static_cast<double>(*value);
  };
  keep("nnz_lu", report.factors.nnz_l);
  keep("flops", report.factors.flops);
  keep("delayed_pivots", report.pivots.delayed);
  keep("two_by_two", report.pivots.two_by_two);
  keep("zero_pivots", report.pivots.zero);
  keep("inertia_positive", report.inertia.positive);
  keep("inertia_negative", report.inertia.negative);
  add_report(properties, report);
  return properties;
}

enum Stage { refactor, solve, both };
constexpr const char* stage_names[] = {"refactor", "solve", "refactor-solve"};

/// One solver of the comparison.
struct Contestant {
  std::string name;
  std::unique_ptr<Solver<double>> solver;
  Times times[3]{};
  std::string failure{};

  void sample(bool keep) {
    if (!failure.empty()) return;
    try {
      Times of_solve;
      Times of_refactor;
      of_refactor.take([&] { solver->refactorize(); });
      of_solve.take([&] { solver->solve(); });
      if (!keep) return;
      for (const auto part : {&Times::wall, &Times::cpu}) {
        const double first = (of_refactor.*part).seconds[0], second = (of_solve.*part).seconds[0];
        (times[refactor].*part).seconds.push_back(first);
        (times[solve].*part).seconds.push_back(second);
        (times[both].*part).seconds.push_back(first + second);
      }
    } catch (const std::exception& problem) {
      failure = problem.what();
    }
  }
};

/// All solvers on one matrix, measured at the first request for a result.
class Contest {
 public:
  Contest(const HostMatrix<double>& matrix, bool definite) : m_matrix(matrix), m_definite(definite) {}

  Measurement result(const PerfRun& run, std::size_t number, Stage stage) {
    if (m_contestants.empty()) hold(run);
    Contestant& one = m_contestants[number];
    if (!one.failure.empty()) throw std::runtime_error(one.failure);
    SolverProperties properties = one.solver->properties();
    Measurement result{one.times[stage].wall, std::move(properties.counters), std::move(properties.label)};
    result.counters["n"] = m_matrix.n_rows;
    result.counters["nnz"] = static_cast<double>(m_matrix.nnz());
    result.counters["cpu_s"] = one.times[stage].cpu.median();
    const Contestant& lutra = m_contestants.front();
    if (lutra.failure.empty()) {
      const auto over = [&](const Samples& other, const Samples& own) {
        return other.median() / own.median();
      };
      result.counters["over_lutra"] = over(one.times[stage].wall, lutra.times[stage].wall);
      result.counters["cpu_over_lutra"] = over(one.times[stage].cpu, lutra.times[stage].cpu);
    }
    result.check_errors(backward_errors(m_matrix, m_b, one.solver->solution()));
    return result;
  }

 private:
  void hold(const PerfRun& run) {
    m_b = make_right_hand_side(m_matrix);
    m_contestants.push_back({"lutra", std::make_unique<LdltSolver>(m_matrix, m_b, m_definite)});
    for (const PeerKind& kind : symmetric_peer_kinds(m_definite)) {
      m_contestants.push_back({kind.name, nullptr});
      try {
        m_contestants.back().solver = kind.make(m_matrix, m_b);
      } catch (
          const std::exception& problem) {  // it keeps its place, because results are requested by number
        m_contestants.back().failure = problem.what();
      }
    }
    for (Contestant& one : m_contestants) {
      if (!one.failure.empty()) continue;
      try {
        one.solver->prepare_factorization();
        one.solver->factorize();
      } catch (const std::exception& problem) {
        one.failure = problem.what();
      }
      one.sample(false);
    }
    const Kokkos::Timer timer;
    for (Contestant& one : m_contestants) one.sample(false);
    const int samples = timer.seconds() > 3 ? std::min(run.samples, 3) : run.samples;
    for (int k = 0; k < samples; ++k) {
      for (Contestant& one : m_contestants) one.sample(true);
    }
    for (Contestant& one : m_contestants) {
      for (Times& times : one.times) times.sort();
    }
  }

  const HostMatrix<double>& m_matrix;
  bool m_definite;
  std::vector<double> m_b;
  std::vector<Contestant> m_contestants;
};

bool is_symmetric(const HostMatrix<double>& matrix) {
  if (matrix.n_rows != matrix.n_cols) return false;
  const ColumnMatrix columns = to_columns(matrix);
  return columns.rows == matrix.entries && columns.values == matrix.values &&
         std::ranges::equal(columns.column_map, matrix.row_map);
}

bool has_positive_diagonal(const HostMatrix<double>& matrix) {
  int found = 0;
  for (int i = 0; i < matrix.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (auto p = static_cast<std::size_t>(matrix.row_map[row]);
         p < static_cast<std::size_t>(matrix.row_map[row + 1]); ++p)
      found += matrix.entries[p] == i && matrix.values[p] > 0 ? 1 : 0;
  }
  return found == matrix.n_rows;
}

void register_contest(const PerfRun& run, const std::string& name, const HostMatrix<double>& matrix,
                      bool definite) {
  const auto contest = std::make_shared<Contest>(matrix, definite);
  std::vector<std::string> solvers{"lutra"};
  for (const PeerKind& kind : symmetric_peer_kinds(definite)) solvers.push_back(kind.name);
  for (const Stage stage : {refactor, solve, both}) {
    for (std::size_t k = 0; k < solvers.size(); ++k) {
      add_benchmark(name, std::string(definite ? "cholesky-" : "ldlt-") + stage_names[stage], solvers[k],
                    [&run, contest, k, stage] { return contest->result(run, k, stage); });
    }
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    const auto* const real = std::get_if<HostMatrix<double>>(&matrix.values);
    if (real == nullptr || !is_symmetric(*real)) continue;  // no solver here accepts it
    register_contest(run, matrix.name, *real, false);
    if (has_positive_diagonal(*real)) register_contest(run, matrix.name, *real, true);
  }
}

}  // namespace lutra::Perf

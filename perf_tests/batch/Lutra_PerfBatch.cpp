// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches: refactorization and refined solve of K systems with one pattern, by Lutra's batch, by Lutra one by
// one, and by each peer in a loop, with factors of its own for each system. LUTRA_PERF_SYSTEMS lists K, by
// default 1,16,128; LUTRA_PERF_ENGINES lists engines of Lutra's batch, by default auto: simplicial means
// lanes, multifrontal fronts. LUTRA_PERF_METHOD=ldlt takes LDLᵀ for Lutra and symmetric systems.
// LUTRA_PERF_KRYLOV lists Krylov methods, by default none, such as cg:ilu,gmres:none, which then run instead,
// over the batch and in turn.
#include "Lutra_PerfBatch.hpp"

#include <cstdlib>
#include <random>
#include <sstream>
#include <type_traits>

#include "Lutra_Batch.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfPeers.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSolver.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Perf {

HostMatrix<double> BatchProblem::matrix(std::size_t k) const {
  HostMatrix<double> result = pattern;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(k * pattern.values.size());
  result.values.assign(begin, begin + static_cast<std::ptrdiff_t>(pattern.values.size()));
  return result;
}

std::vector<double> BatchProblem::right_side(std::size_t k) const {
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  const auto begin = right_sides.begin() + static_cast<std::ptrdiff_t>(k * n);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

Interleaved interleaved(std::size_t rows, std::size_t K, const std::vector<double>& systems) {
  std::vector<double> mixed(systems.size());
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t p = 0; p < rows; ++p) mixed[p * K + k] = systems[k * rows + p];
  const auto copy = to_device(mixed);
  const Kokkos::View<double**, Kokkos::LayoutRight, MemorySpace> all("lutra::perf::batch", rows, K);
  Kokkos::deep_copy(Kokkos::View<double*, MemorySpace>(all.data(), rows * K), copy);
  return all;
}

std::vector<double> one_after_another(const InterleavedBlock& X, std::size_t n, std::size_t K) {
  const auto mixed = to_host(Kokkos::View<const double*, MemorySpace>(X.data(), n * K));
  std::vector<double> result(mixed.size());
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t i = 0; i < n; ++i) result[k * n + i] = mixed[i * K + k];
  return result;
}

namespace {

/// Lutra's batch, with interleaved values.
/// @tparam Options LuOptions or LdltOptions
template <class Options>
class LutraBatch final : public BatchSolver {
 public:
  LutraBatch(const BatchProblem& problem, const Options& options)
      : m_n(static_cast<std::size_t>(problem.pattern.n_rows)),
        m_K(problem.systems),
        m_values(interleaved(problem.pattern.values.size(), m_K, problem.values)),
        m_B(interleaved(m_n, m_K, problem.right_sides)),
        m_X("lutra::perf::X", m_n, 1, m_K),
        m_A(to_device(problem.pattern)),
        m_batch(options) {
    if (m_batch.analyze(m_A) != Status::success) throw std::runtime_error("analysis failed");
  }
  void factorize() override {
    if (m_batch.factorize(m_values) != Status::success) throw std::runtime_error("a system is singular");
  }
  void solve() override {
    const typename Batch::const_block_type B(m_B.data(), Kokkos::LayoutStride(m_n, m_K, 1, 1, m_K, 1));
    if (m_batch.solve(B, m_X) != Status::success) throw std::runtime_error("a system is not solved");
  }
  std::vector<double> solutions() const override { return one_after_another(m_X, m_n, m_K); }
  std::string label() const override {
    const BatchReport& report = m_batch.report();
    return std::string(name_of(report.engine)) + ", " + std::to_string(report.alone.size()) + " alone, " +
           std::to_string(report.chunks) + " chunks, " + std::to_string(report.bytes >> 20) + " MiB";
  }

 private:
  using Batch = Batched<double, ExecutionSpace, Options>;

  std::size_t m_n, m_K;
  Interleaved m_values, m_B;
  InterleavedBlock m_X;
  DeviceMatrix<double> m_A;
  Batch m_batch;
};

/// Lutra, a Numeric for each system over one analysis.
/// @tparam Solver SparseLU or SparseLDLT
template <class Solver>
class OneByOne final : public BatchSolver {
 public:
  explicit OneByOne(const BatchProblem& problem) : m_n(static_cast<std::size_t>(problem.pattern.n_rows)) {
    Solver solver;
    if (solver.analyze(to_device(problem.pattern)) != Status::success)
      throw std::runtime_error("analysis failed");
    for (std::size_t k = 0; k < problem.systems; ++k) {
      m_A.push_back(to_device(problem.matrix(k)));
      m_B.push_back(to_device(problem.right_side(k)));
      m_X.emplace_back("lutra::perf::X", m_n);
      m_numerics.push_back(std::make_unique<Numeric<double, ExecutionSpace>>(solver.analysis()));
    }
  }
  void factorize() override {
    for (std::size_t k = 0; k < m_numerics.size(); ++k)
      if (m_numerics[k]->factorize(m_A[k]) != Status::success)
        throw std::runtime_error("a system is singular");
  }
  void solve() override {
    for (std::size_t k = 0; k < m_numerics.size(); ++k)
      if (m_numerics[k]->solve(m_B[k], m_X[k]) != Status::success)
        throw std::runtime_error("a system is not solved");
  }
  std::vector<double> solutions() const override {
    std::vector<double> result;
    for (const auto& x : m_X) {
      const auto own = to_host(x);
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }

 private:
  std::size_t m_n;
  std::vector<DeviceMatrix<double>> m_A;
  std::vector<Kokkos::View<double*, MemorySpace>> m_B, m_X;
  std::vector<std::unique_ptr<Numeric<double, ExecutionSpace>>> m_numerics;
};

/// A peer in a loop.
class PeerLoop final : public BatchSolver {
 public:
  PeerLoop(const BatchProblem& problem, const PeerKind& kind) {
    for (std::size_t k = 0; k < problem.systems; ++k) {
      m_peers.push_back(kind.make(problem.matrix(k), problem.right_side(k)));
      m_peers.back()->prepare_factorization();
      m_peers.back()->factorize();
    }
  }
  void factorize() override {
    for (auto& peer : m_peers) peer->refactorize();
  }
  void solve() override {
    for (auto& peer : m_peers) peer->solve();
  }
  std::vector<double> solutions() const override {
    std::vector<double> result;
    for (const auto& peer : m_peers) {
      const auto own = peer->solution();
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }

 private:
  std::vector<std::unique_ptr<Peer>> m_peers;
};

/// Errors of the worst system of some.
Errors worst_errors(const BatchProblem& problem, const std::vector<double>& X) {
  constexpr std::size_t checked = 16;
  const auto n = static_cast<std::ptrdiff_t>(problem.pattern.n_rows);
  const std::size_t step = (problem.systems + checked - 1) / checked;
  Errors worst;
  for (std::size_t k = 0; k < problem.systems; k += step) {
    const auto begin = X.begin() + static_cast<std::ptrdiff_t>(k) * n;
    const Errors errors =
        backward_errors(problem.matrix(k), problem.right_side(k), std::vector<double>(begin, begin + n));
    worst.componentwise = std::max(worst.componentwise, errors.componentwise);
    worst.normwise = std::max(worst.normwise, errors.normwise);
  }
  return worst;
}

Measurement measure_batch(const PerfRun& run, const BatchProblem& problem, const MakeBatch& make, bool solves,
                          double max_error = tolerance) {
  const auto solver = make(problem);
  solver->factorize();
  auto samples = measure(run.samples, [&] { solves ? solver->solve() : solver->factorize(); });
  solver->solve();
  Measurement result{std::move(samples)};
  result.label = solver->label();
  result.counters["systems"] = static_cast<double>(problem.systems);
  result.counters["us_per_system"] = 1e6 * result.samples.median() / static_cast<double>(problem.systems);
  result.check_errors(worst_errors(problem, solver->solutions()), max_error);
  return result;
}

/// @param symmetric whether the systems are to be as symmetric as the matrix
BatchProblem make_problem(const HostMatrix<double>& matrix, std::size_t K, bool symmetric) {
  BatchProblem problem;
  problem.pattern = matrix;
  problem.systems = K;
  const auto b = make_right_hand_side(matrix);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  std::vector<double> scale(static_cast<std::size_t>(matrix.n_rows), 1.0);
  for (std::size_t k = 0; k < K; ++k) {
    if (symmetric)
      for (double& of_row : scale) of_row = factor(random);
    for (std::size_t i = 0; i < scale.size(); ++i)
      for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
           p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
        const double change =
            symmetric ? scale[i] * scale[static_cast<std::size_t>(matrix.entries[p])] : factor(random);
        problem.values.push_back(matrix.values[p] * change);
      }
    problem.right_sides.insert(problem.right_sides.end(), b.begin(), b.end());
  }
  return problem;
}

/// The words of a list in the environment.
std::vector<std::string> words_of(const char* variable, const char* otherwise) {
  const char* const given = std::getenv(variable);
  std::istringstream list(given != nullptr ? given : otherwise);
  std::vector<std::string> words;
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

template <class Options>
Options options_with(const std::string& engine) {
  Options options;
  for (const Engine one : {Engine::automatic, Engine::simplicial, Engine::multifrontal})
    if (engine == name_of(one)) options.engine = one;
  if (options.engine == Engine::automatic && engine != name_of(Engine::automatic))
    throw std::invalid_argument("LUTRA_PERF_ENGINES: there is no engine " + engine);
  return options;
}

void register_krylov(const PerfRun& run, const std::string& name, const HostMatrix<double>& matrix) {
  constexpr double max_error = 1e-6;  // of a row; the methods end by a norm
  for (const std::string& number : words_of("LUTRA_PERF_SYSTEMS", "1,16,128")) {
    const auto problem = std::make_shared<const BatchProblem>(krylov_problem(matrix, std::stoul(number)));
    for (const KrylovKind& kind : krylov_kinds(words_of("LUTRA_PERF_KRYLOV", "")))
      for (const bool solves : {false, true})
        add_benchmark(name, (solves ? "krylov-" : "krylov-factorize-") + number, kind.name,
                      [&run, problem, kind, solves] {
                        return measure_batch(run, *problem, kind.make, solves, max_error);
                      });
  }
}

template <class Options, class Solver>
void register_batches(const PerfRun& run, const std::string& name, const HostMatrix<double>& matrix) {
  constexpr bool symmetric = std::is_same_v<Options, LdltOptions>;
  for (const std::string& number : words_of("LUTRA_PERF_SYSTEMS", "1,16,128")) {
    const std::size_t K = std::stoul(number);
    const auto problem = std::make_shared<const BatchProblem>(make_problem(matrix, K, symmetric));
    const auto add = [&](const std::string& solver, const MakeBatch& make) {
      for (const bool solves : {false, true})
        add_benchmark(name, (solves ? "solve-" : "refactor-") + std::to_string(K), solver,
                      [&run, problem, make, solves] { return measure_batch(run, *problem, make, solves); });
    };
    for (const std::string& engine : words_of("LUTRA_PERF_ENGINES", "auto")) {
      const auto options = options_with<Options>(engine);
      add(options.engine == Engine::automatic ? "lutra" : "lutra-" + engine,
          [options](const BatchProblem& of) { return std::make_unique<LutraBatch<Options>>(of, options); });
    }
    add("lutra-one-by-one", [](const BatchProblem& of) { return std::make_unique<OneByOne<Solver>>(of); });
#ifdef LUTRA_PERF_BATCH_CUDSS
    if (!symmetric) add("cudss-batch", make_cudss_batch);
#endif
    for (const PeerKind& kind : peer_kinds()) {
      if (kind.takes_pivots || kind.name == "cudss") continue;
      add(kind.name, [kind](const BatchProblem& of) { return std::make_unique<PeerLoop>(of, kind); });
    }
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  const std::string method = words_of("LUTRA_PERF_METHOD", "lu").front();
  if (method != "lu" && method != "ldlt")
    throw std::invalid_argument("LUTRA_PERF_METHOD: there is no method " + method);
  for (const PerfMatrix& matrix : run.matrices)
    if (const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values)) {
      if (!words_of("LUTRA_PERF_KRYLOV", "").empty()) {
        register_krylov(run, matrix.name, *values);
      } else if (method == "ldlt") {
        register_batches<LdltOptions, SparseLDLT<double, ExecutionSpace>>(run, matrix.name, *values);
      } else {
        register_batches<LuOptions, SparseLU<double, ExecutionSpace>>(run, matrix.name, *values);
      }
    }
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Krylov methods over batches, and one by one. The names of the solvers say method and preconditioner.
#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <utility>

#include "Lutra_BatchedKrylov.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_PerfBatch.hpp"

namespace lutra::Perf {
namespace {

/// All systems iterate at once.
class KrylovBatch final : public BatchSolver {
 public:
  KrylovBatch(const BatchProblem& problem, const KrylovSolverOptions& options)
      : m_n(static_cast<std::size_t>(problem.pattern.n_rows)),
        m_K(problem.systems),
        m_values(interleaved(problem.pattern.values.size(), m_K, problem.values)),
        m_B(interleaved(m_n, m_K, problem.right_sides)),
        m_X("lutra::perf::X", m_n, 1, m_K),
        m_batch(options) {
    if (m_batch.analyze(to_device(problem.pattern)) != Status::success)
      throw std::runtime_error("analysis failed");
  }
  void factorize() override {
    if (m_batch.factorize(m_values) != Status::success) throw std::runtime_error("a preconditioner failed");
  }
  void solve() override {
    factorize();
    const Batch::const_block_type B(m_B.data(), Kokkos::LayoutStride(m_n, m_K, 1, 1, m_K, 1));
    if (m_batch.solve(B, m_X) != Status::success) throw std::runtime_error("a system has not converged");
  }
  std::vector<double> solutions() const override { return one_after_another(m_X, m_n, m_K); }
  std::string label() const override {
    double sum = 0;
    for (const int count : m_batch.report().iterations) sum += count;
    return std::to_string(sum / static_cast<double>(m_K)) + " iterations, " +
           std::to_string(m_batch.report().bytes >> 20) + " MiB";
  }

 private:
  using Batch = BatchedKrylov<double, ExecutionSpace>;
  std::size_t m_n, m_K;
  Interleaved m_values, m_B;
  InterleavedBlock m_X;
  Batch m_batch;
};

/// One solver takes the systems in turn.
class KrylovInTurn final : public BatchSolver {
 public:
  KrylovInTurn(const BatchProblem& problem, const KrylovSolverOptions& options) : m_solver(options) {
    if (m_solver.analyze(to_device(problem.pattern)) != Status::success)
      throw std::runtime_error("analysis failed");
    for (std::size_t k = 0; k < problem.systems; ++k) {
      m_A.push_back(to_device(problem.pattern));
      m_A.back().values = to_device(problem.matrix(k).values);
      m_B.push_back(to_device(problem.right_side(k)));
      m_X.emplace_back("lutra::perf::X", problem.pattern.n_rows);
    }
  }
  void factorize() override {
    for (const auto& A : m_A) factorize(A);
  }
  void solve() override {
    m_iterations = 0;
    for (std::size_t k = 0; k < m_A.size(); ++k) {
      factorize(m_A[k]);
      if (m_solver.solve(m_B[k], m_X[k]) != Status::success)
        throw std::runtime_error("a system has not converged");
      m_iterations += static_cast<double>(m_solver.report().iterations.value_or(0));
    }
  }
  std::vector<double> solutions() const override {
    std::vector<double> result;
    for (const auto& x : m_X) {
      const auto own = to_host(x);
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }
  std::string label() const override {
    return std::to_string(m_iterations / static_cast<double>(m_A.size())) + " iterations";
  }

 private:
  void factorize(const DeviceMatrix<double>& A) {
    if (m_solver.factorize(A) != Status::success) throw std::runtime_error("a preconditioner failed");
  }
  KrylovSolver<double, ExecutionSpace> m_solver;
  std::vector<DeviceMatrix<double>> m_A;
  std::vector<Kokkos::View<double*, MemorySpace>> m_B, m_X;
  double m_iterations = 0;
};

template <class Value, std::size_t count>
using Names = std::array<std::pair<const char*, Value>, count>;

template <class Value, std::size_t count>
Value find(const Names<Value, count>& names, const std::string& name) {
  for (const auto& [known, value] : names)
    if (name == known) return value;
  throw std::invalid_argument("LUTRA_PERF_KRYLOV: there is no '" + name + "'");
}

/// @param text "method:preconditioning", such as "cg:ilu"
KrylovSolverOptions krylov_options(const std::string& text) {
  static constexpr Names<KrylovMethod, 3> methods = {
      {{"cg", KrylovMethod::cg}, {"bicgstab", KrylovMethod::bicgstab}, {"gmres", KrylovMethod::gmres}}};
  static constexpr Names<Preconditioning, 4> preconditioners = {{{"none", Preconditioning::none},
                                                                 {"jacobi", Preconditioning::jacobi},
                                                                 {"ilu", Preconditioning::ilu},
                                                                 {"lu", Preconditioning::lu}}};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw std::invalid_argument("LUTRA_PERF_KRYLOV: " + text + " is not method:preconditioning");
  KrylovSolverOptions options;
  options.method = find(methods, text.substr(0, colon));
  options.preconditioning = find(preconditioners, text.substr(colon + 1));
  return options;
}

}  // namespace

std::vector<KrylovKind> krylov_kinds(const std::vector<std::string>& words) {
  std::vector<KrylovKind> kinds;
  for (const std::string& word : words) {
    const KrylovSolverOptions options = krylov_options(word);
    std::string name = "lutra-" + word;
    std::replace(name.begin(), name.end(), ':', '-');
    kinds.push_back({name, [options](const BatchProblem& problem) {
                       return std::make_unique<KrylovBatch>(problem, options);
                     }});
    kinds.push_back({name + "-in-turn", [options](const BatchProblem& problem) {
                       return std::make_unique<KrylovInTurn>(problem, options);
                     }});
  }
  return kinds;
}

BatchProblem krylov_problem(const HostMatrix<double>& matrix, std::size_t K) {
  BatchProblem problem;
  problem.pattern = matrix;
  problem.systems = K;
  const auto b = make_right_hand_side(matrix);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> factor(1.0, 1.1);
  for (std::size_t k = 0; k < K; ++k) {
    const double of_diagonal = factor(random);
    for (std::int64_t i = 0; i < matrix.n_rows; ++i)
      for (std::int64_t p = matrix.row_map[static_cast<std::size_t>(i)];
           p < matrix.row_map[static_cast<std::size_t>(i) + 1]; ++p) {
        const auto at = static_cast<std::size_t>(p);
        problem.values.push_back(matrix.values[at] * (matrix.entries[at] == i ? of_diagonal : 1.0));
      }
    problem.right_sides.insert(problem.right_sides.end(), b.begin(), b.end());
  }
  return problem;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fill-reducing orderings of real matrices. Only the ordering is timed, not the computation of the graph of A
// + Aᵀ. METIS runs with five seeds, and the seed with median flops counts. Orderings take turns, sample by
// sample, so that other load on the machine affects all of them. Counters: `nnz_l`, `flops` and `height` of
// the elimination tree, and `factor_s`, the time of a factorization with that order: LDLT for a symmetric
// matrix, otherwise LU with the engine that suits the order of METIS; in builds for CUDA with cuDSS also
// `cudss_factor_s`. `…_over_metis` are ratios within this run.
#include <algorithm>
#include <stdexcept>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfOrderings.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Perf {
namespace {

constexpr int n_seeds = 5;

/// An order and its properties.
struct Order {
  std::vector<int> permutation;
  FillForecast forecast;
};

/// One ordering method on one matrix.
struct Contestant {
  OrderBySeed order;
  Times times{};
  std::vector<Order> orders{};  ///< one; of METIS one of each seed, in the end by flops
  std::map<std::string, double> counters{};
  Errors errors{};
  std::string failure{};

  const Order& median() const { return orders[orders.size() / 2]; }
};

/// All orderings of a matrix, measured at the first request for a result.
class Contest {
 public:
  explicit Contest(const HostMatrix<double>& matrix) : m_problem(matrix) {
    for (const OrderingKind& kind : ordering_kinds()) m_contestants.push_back({kind.prepare(m_problem)});
  }

  Measurement result(const PerfRun& run, std::size_t number) {
    if (!m_is_held) hold(run);
    const Contestant& one = m_contestants[number];
    if (!one.failure.empty()) throw std::runtime_error(one.failure);
    Measurement result{one.times.wall, one.counters, m_label};
    result.counters["n"] = m_problem.graph.size();
    result.counters["nnz"] = static_cast<double>(m_problem.matrix.nnz());
    const Contestant& metis = m_contestants.front();
    if (metis.failure.empty()) {
      result.counters["over_metis"] = one.times.wall.median() / metis.times.wall.median();
      for (const auto& [name, value] : one.counters)
        result.counters[name + "_over_metis"] = value / metis.counters.at(name);
    }
    result.check_errors(one.errors);
    return result;
  }

 private:
  void hold(const PerfRun& run) {
    m_is_held = true;
    const Kokkos::Timer timer;
    hold_round(1, false);
    const int rounds = timer.seconds() > 3 ? n_seeds : std::max(run.samples, n_seeds);
    for (int round = 0; round < rounds; ++round) hold_round(1 + round % n_seeds, true);
    for (Contestant& one : m_contestants) {
      if (!one.failure.empty()) continue;
      try {
        describe(run, one);
      } catch (const std::exception& problem) {
        one.failure = problem.what();
      }
    }
  }

  void hold_round(int seed, bool keep) {
    for (Contestant& one : m_contestants) {
      if (!one.failure.empty()) continue;
      try {
        std::vector<int> permutation;
        Times warm_up;
        (keep ? one.times : warm_up).take([&] { permutation = one.order(seed); });
        const std::size_t wanted = &one == &m_contestants.front() ? n_seeds : 1;
        if (!keep || one.orders.size() == wanted) continue;
        const FillForecast forecast = forecast_fill(m_problem.graph, permutation);
        one.orders.push_back({std::move(permutation), forecast});
      } catch (const std::exception& problem) {
        one.failure = problem.what();
      }
    }
  }

  void describe(const PerfRun& run, Contestant& one) {
    one.times.sort();
    std::ranges::sort(one.orders, {}, [](const Order& order) { return order.forecast.flops; });
    const auto& [permutation, forecast] = one.median();
    if (&one == &m_contestants.front()) choose_engine(forecast);
    one.counters["nnz_l"] = static_cast<double>(forecast.nnz_l);
    one.counters["flops"] = forecast.flops;
    one.counters["height"] = static_cast<double>(forecast.height);
    one.counters["cpu_s"] = one.times.cpu.median();
    if (m_problem.is_symmetric) {
      factorize<SparseLDLT<double>>(run, LdltOptions(), one);
    } else {
      LuOptions options;
      options.engine = m_engine;
      factorize<SparseLU<double>>(run, options, one);
    }
#ifdef LUTRA_PERF_ORDERING_CUDSS
    one.counters["cudss_factor_s"] =
        measure(run.samples, cudss_factorization(m_problem, permutation)).median();
#endif
  }

  /// The engine of LU that the solver would choose, the same for all orders.
  void choose_engine(const FillForecast& metis) {
    const double entries = 2 * static_cast<double>(metis.nnz_l) + m_problem.graph.size();
    const auto& model = default_device_model<ExecutionSpace>().numeric;
    m_engine = metis.flops < model.min_flops_per_entry * entries ? Engine::simplicial : Engine::multifrontal;
    m_label = m_problem.is_symmetric ? "LDLT" : "LU, engine " + std::string(name_of(m_engine));
  }

  template <class Solver, class Options>
  void factorize(const PerfRun& run, Options options, Contestant& one) {
    options.ordering = Ordering::user;
    options.user_permutation.assign(one.median().permutation.begin(), one.median().permutation.end());
    const auto A = to_device(m_problem.matrix);
    const std::vector<double> b = make_right_hand_side(m_problem.matrix);
    const Kokkos::View<double*, MemorySpace> x("lutra::perf::x", b.size());
    Solver solver(options);
    if (solver.analyze(A) != Status::success || solver.factorize(A) != Status::success)
      throw std::runtime_error(lutra::describe(solver.report()));
    Times times;
    for (int sample = 0; sample < run.samples; ++sample)
      times.take([&] { static_cast<void>(solver.factorize(A)); });
    times.sort();
    one.counters["factor_s"] = times.wall.median();
    one.counters["factor_cpu_s"] = times.cpu.median();
    solver.solve(to_device(b), x);
    one.errors = backward_errors(m_problem.matrix, b, to_host(x));
  }

  OrderingProblem m_problem;
  std::vector<Contestant> m_contestants;
  Engine m_engine = Engine::automatic;
  std::string m_label;
  bool m_is_held = false;
};

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    const auto* const real = std::get_if<HostMatrix<double>>(&matrix.values);
    if (real == nullptr) continue;
    const auto contest = std::make_shared<std::unique_ptr<Contest>>();
    const auto kinds = ordering_kinds();
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      add_benchmark(matrix.name, "ordering", kinds[k].name, [&run, real, contest, k] {
        if (!*contest) *contest = std::make_unique<Contest>(*real);
        return (*contest)->result(run, k);
      });
    }
  }
}

}  // namespace lutra::Perf

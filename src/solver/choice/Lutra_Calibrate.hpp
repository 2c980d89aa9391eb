// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CALIBRATE_HPP
#define LUTRA_CALIBRATE_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_DeviceSpeeds.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TriangularSolver.hpp"
#include "Lutra_TwoOrders.hpp"

namespace lutra {
namespace Impl {

/// Measures the library's own stages on small generated matrices and derives the numbers of a device model.
template <class Scalar, class ExecutionSpace>
class Calibration {
  using Memory = typename ExecutionSpace::memory_space;

 public:
  explicit Calibration(const ExecutionSpace& exec)
      : m_exec(exec), m_model(default_device_model<ExecutionSpace>()) {}

  DeviceModel run() {
    const std::vector<double> built_in = numbers_of(m_model);
    measure_bandwidth();
    measure_launch();
    measure_chains();
    measure_orderings();
    measure_engine(Engine::multifrontal, m_model.ordering.multifrontal, {"poisson2d", 100},
                   {"poisson3d", 20});
    measure_engine(Engine::simplicial, m_model.ordering.simplicial, {"circuit", 5000}, {"poisson2d", 60});
    std::size_t k = 0;
    visit_numbers(m_model, [&](const std::string&, auto& number) {
      if (static_cast<double>(number) != built_in[k++]) number = rounded(number);
    });
    return m_model;
  }

 private:
  struct Kind {
    const char* name;
    std::int64_t size;
  };
  /// Sizes on which the predicted time of a stage depends, and its measured seconds.
  struct Sample {
    OrderingProperties properties;
    FillForecast forecast;
    double seconds = 0;
  };

  static std::vector<double> numbers_of(DeviceModel model) {
    std::vector<double> numbers;
    visit_numbers(model, [&](const std::string&, auto& number) { numbers.push_back(number); });
    return numbers;
  }

  /// Rounds to four digits, more than measurements reproduce.
  template <class Number>
  static Number rounded(Number number) {
    if constexpr (std::is_integral_v<Number>) return number;
    const std::string text = formatted("%.4g", static_cast<double>(number));
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return static_cast<Number>(result);
  }

  /// Returns the least time of five runs after one warm-up run.
  template <class Work>
  double seconds_of(const Work& work) const {
    return least_seconds(m_exec, 5, work);
  }

  /// Replaces a number unless it is 0 in the built-in model, which means that the execution space does not
  /// use it.
  static void replace(double& number, double measured) {
    if (number > 0 && measured > 0 && std::isfinite(measured)) number = measured;
  }

  void measure_bandwidth() {
    TrisolveDeviceModel& trisolve = m_model.trisolve;
    const double measured = measured_bandwidth(m_exec);
    if (!(measured > 0)) return;  // too little memory
    const double share = measured / trisolve.methods.bandwidth;
    for (double* const bandwidth : {&trisolve.methods.bandwidth, &trisolve.level_sets.bandwidth,
                                    &trisolve.portable_level_sets.bandwidth})
      if (*bandwidth > 1) *bandwidth *= share;  // 1 means that the space does not use it
  }

  void measure_launch() {
    replace(is_host_space<ExecutionSpace> ? m_model.trisolve.methods.level_launch_seconds
                                          : m_model.trisolve.portable_level_sets.launch_seconds,
            measured_launch(m_exec));
  }

  /// Returns the seconds of a solve with a bidiagonal matrix of ones.
  double chain_seconds(int n, TrisolveMethod method) const {
    HostMatrix<Scalar> L;
    L.n_rows = L.n_cols = n;
    L.row_map = {0};
    for (int i = 0; i < n; ++i) {
      if (i > 0) L.entries.push_back(i - 1);
      L.entries.push_back(i);
      L.row_map.push_back(static_cast<std::int64_t>(L.entries.size()));
    }
    L.values.assign(L.entries.size(), Scalar(1));
    const auto host = make_view(L);
    const CsrView<Scalar, int, std::int64_t, Memory> T{n, n, mirror_in<Memory>(host.row_map),
                                                       mirror_in<Memory>(host.entries),
                                                       mirror_in<Memory>(host.values)};
    TriangularOptions options;
    options.method = method;
    TriangularSolver<Scalar, ExecutionSpace> solver(options, m_exec);
    solver.analyze(T, TriangleSide::lower, DiagonalKind::stored);
    using Array = Kokkos::View<Scalar*, Memory>;
    const auto b = make_uncounted<Array>("lutra::calibrate::b", n),
               x = make_uncounted<Array>("lutra::calibrate::x", n);
    return seconds_of([&] {
      solver.solve(b, x);
      solver.wait();
    });
  }

  /// Measures how long a row waits for the previous one, within a block and between blocks.
  void measure_chains() {
    constexpr int n = 1 << 14;
    const auto row_seconds = [&](TrisolveMethod method) {
      return (chain_seconds(2 * n, method) - chain_seconds(n, method)) / n;
    };
    const double barrier = row_seconds(TrisolveMethod::levels),
                 dependency = row_seconds(TrisolveMethod::syncfree);
    replace(m_model.trisolve.methods.barrier_seconds, barrier);
    replace(m_model.trisolve.level_sets.barrier_seconds, barrier);
    replace(m_model.trisolve.methods.dependency_seconds, dependency);
    replace(m_model.ilu.dependency_seconds, dependency);
  }

  static void scale(StageCosts& costs, double factor) {
    for (double* const cost :
         {&costs.start_seconds, &costs.row_seconds, &costs.edge_seconds, &costs.entry_seconds,
          &costs.flop_seconds, &costs.step_seconds, &costs.supernode_seconds})
      *cost *= factor;
  }

  /// Scales all costs by one factor, so that predicted and measured times have the same geometric mean over
  /// two samples.
  static void fit(StageCosts& costs, const Sample& a, const Sample& b) {
    const double predicted = predicted_seconds(costs, a.properties, a.forecast) *
                             predicted_seconds(costs, b.properties, b.forecast);
    if (predicted > 0 && a.seconds > 0 && b.seconds > 0)
      scale(costs, std::sqrt(a.seconds * b.seconds / predicted));
  }

  /// Fits the cost of flops separately from the other costs, since `many_flops` has a larger share of flops
  /// than `few_flops`. Fits them together if the samples contradict the model.
  static void fit_flops(StageCosts& costs, const Sample& few_flops, const Sample& many_flops) {
    StageCosts others = costs;
    others.flop_seconds = 0;
    const auto part = [](const StageCosts& of, const Sample& sample) {
      return predicted_seconds(of, sample.properties, sample.forecast);
    };
    const double a0 = part(others, few_flops), a1 = part(costs, few_flops) - a0,
                 b0 = part(others, many_flops), b1 = part(costs, many_flops) - b0;
    const double determinant = a0 * b1 - a1 * b0;
    const double x = (few_flops.seconds * b1 - many_flops.seconds * a1) / determinant,
                 y = (many_flops.seconds * a0 - few_flops.seconds * b0) / determinant;
    if (!(x > 0 && y > 0 && std::isfinite(x) && std::isfinite(y))) return fit(costs, few_flops, many_flops);
    const double flop_seconds = y * costs.flop_seconds;
    scale(costs, x);
    costs.flop_seconds = flop_seconds;
  }

  static OrderingProperties properties_of(const SymmetricGraph<int>& graph) {
    OrderingProperties properties;
    properties.rows = graph.size();
    properties.edges = static_cast<std::int64_t>(graph.neighbours.size());
    return properties;
  }

  void measure_orderings() {
    std::array<Sample, 2> amd, dissection;
    const std::array<Kind, 2> kinds = {{{"poisson2d", 100}, {"circuit", 5000}}};
    for (std::size_t k = 0; k < 2; ++k) {
      const HostMatrix<double> A = generate(kinds[k].name, kinds[k].size);
      const auto graph = symmetric_graph<int>(make_view(A).pattern());
      const auto sample = [&](Ordering kind) {
        Sample result{properties_of(graph), {}, 0};
        result.seconds = seconds_of([&] {
          TwoOrders<int> orders(graph);
          if (kind == Ordering::nd) orders.dissect();
          if (kind == Ordering::amd) orders.advance_degree();
          result.forecast =
              forecast_fill(graph, kind == Ordering::nd ? orders.dissection_order() : orders.degree_order());
          result.properties.amd_visits = orders.visits();
        });
        return result;
      };
      amd[k] = sample(Ordering::amd);
      dissection[k] = sample(Ordering::nd);
      dissection[k].seconds /= std::log2(static_cast<double>(graph.size())) *
                               thread_share(m_model.ordering.dissection_serial_share,
                                            Kokkos::DefaultHostExecutionSpace().concurrency());
      dissection[k].forecast = {};
    }
    fit_amd(amd[0], amd[1]);
    fit(m_model.ordering.dissection, dissection[0], dissection[1]);
  }

  void fit_amd(Sample& a, Sample& b) {
    OrderingCosts& costs = m_model.ordering;
    double predicted = 1;
    for (Sample* const sample : {&a, &b}) {
      sample->properties.amd = sample->forecast;
      predicted *= predicted_amd_seconds(sample->properties, costs);
    }
    if (!(predicted > 0 && a.seconds > 0 && b.seconds > 0)) return;
    const double factor = std::sqrt(a.seconds * b.seconds / predicted);
    scale(costs.amd, factor);
    costs.amd_visit_seconds *= factor;
  }

  /// Runs analysis, factorization and solve of a matrix with an engine.
  std::array<Sample, 3> run_engine(Engine engine, const Kind& kind) const {
    const HostMatrix<double> generated = generate(kind.name, kind.size);
    HostMatrix<Scalar> A{generated.n_rows, generated.n_cols, generated.row_map, generated.entries, {}};
    A.values.assign(generated.values.begin(), generated.values.end());
    const auto graph = symmetric_graph<int>(make_view(A).pattern());
    Sample sample{properties_of(graph), forecast_fill(graph, order(graph, Ordering::amd)), 0};
    std::array<Sample, 3> samples = {sample, sample, sample};
    for (Sample& each : samples) each.seconds = HUGE_VAL;
    LuOptions options;
    options.ordering = Ordering::amd;
    options.engine = engine;
    options.time_stages = true;
    std::vector<Scalar> b(static_cast<std::size_t>(A.n_rows), Scalar(1)), x(b.size());
    for (int analyses = 0; analyses < 2; ++analyses) {  // the first one warms up
      SparseLU<Scalar, ExecutionSpace> solver(options, m_exec);
      Status status = solver.analyze(A);
      for (int run = 0; run < 6; ++run) {
        if (status == Status::success) status = solver.factorize(A);
        if (status == Status::success) status = solver.solve_host(b, x);
        if (status != Status::success) throw std::runtime_error(describe(solver.report()));
        const StageTimes& times = solver.report().times;
        if (run > 0) samples[1].seconds = std::min(samples[1].seconds, *times.refactor);
        samples[2].seconds = std::min(samples[2].seconds, *times.solve);
      }
      const StageTimes& times = solver.report().times;
      const double first = std::max(*times.numeric - samples[1].seconds, 0.0);
      samples[0].seconds = std::min(samples[0].seconds, *times.symbolic + *times.levelization + first);
    }
    return samples;
  }

  /// Fits the costs of an engine.
  /// @param few, many matrices with few and with many flops per entry
  void measure_engine(Engine engine, EngineCosts& costs, const Kind& few, const Kind& many) {
    if (costs.factorization == StageCosts()) return;
    auto a = run_engine(engine, few), b = run_engine(engine, many);
    if constexpr (is_host_space<ExecutionSpace>)  // the model's costs are those of one thread
      for (Sample* const sample : {&a[1], &b[1]})
        sample->seconds /= thread_share(m_model.ordering.factorization_serial_share, m_exec.concurrency());
    fit(costs.analysis, a[0], b[0]);
    fit_flops(costs.factorization, a[1], b[1]);
    fit(costs.solve, a[2], b[2]);
  }

  ExecutionSpace m_exec;
  DeviceModel m_model;
};

}  // namespace Impl

/// Returns the built-in model of an execution space, updated by short runs on this machine. The runs measure
/// bandwidth, launch, barrier and dependency times, and the rates of both engines, of AMD and of nested
/// dissection. They take a few seconds and 300 MB. Numbers that no run measures keep their built-in values to
/// the last bit, so a caller can recognize them. The caller sets the name of the model.
/// @tparam Scalar scalar type of the measured engines and triangular solves
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
DeviceModel measure_device_model(const ExecutionSpace& exec = ExecutionSpace()) {
  return Impl::Calibration<Scalar, ExecutionSpace>(exec).run();
}

}  // namespace lutra

#endif

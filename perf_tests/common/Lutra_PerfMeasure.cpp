// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfMeasure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace lutra::Perf {
namespace {

constexpr double long_run = 1.0;    // seconds
constexpr int samples_of_long = 3;  // maximum number of samples of a long run

double seconds_of(const std::function<void()>& timed) {
  Kokkos::fence("lutra::perf: timed from here");
  const Kokkos::Timer timer;
  timed();
  Kokkos::fence("lutra::perf: timed to here");
  return timer.seconds();
}

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void report(benchmark::State& state, const Measurement& result) {
  state.SetIterationTime(result.samples.median());
  for (const auto& [name, value] : result.counters) state.counters[name] = value;
  state.counters["samples"] = static_cast<double>(result.samples.seconds.size());
  state.counters["min_s"] = result.samples.seconds.front();
  state.counters["max_s"] = result.samples.seconds.back();
  state.SetLabel(result.label);
}

/// Google Benchmark sees one iteration, whose time is the median, because its own loops have neither warm-ups
/// nor medians of an adaptive number of samples.
void run_case(benchmark::State& state, const std::function<Measurement()>& body) {
  for (auto _ : state) {
    try {
      report(state, body());
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
      break;
    }
  }
}

}  // namespace

double Samples::median() const {
  const std::size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

void Times::take(const std::function<void()>& timed) {
  const double cpu_begin = cpu_seconds();
  wall.seconds.push_back(seconds_of(timed));
  cpu.seconds.push_back(cpu_seconds() - cpu_begin);
}

void Times::sort() {
  std::ranges::sort(wall.seconds);
  std::ranges::sort(cpu.seconds);
}

Samples measure(int wanted, const std::function<void()>& prepare, const std::function<void()>& timed) {
  Samples samples;
  const Kokkos::Timer whole;
  prepare();
  seconds_of(timed);
  if (whole.seconds() > long_run) {
    wanted = std::min(wanted, samples_of_long);
  } else {
    prepare();
    seconds_of(timed);
  }
  for (int sample = 0; sample < wanted; ++sample) {
    prepare();
    samples.seconds.push_back(seconds_of(timed));
  }
  std::ranges::sort(samples.seconds);
  return samples;
}

Samples measure(int wanted, const std::function<void()>& timed) {
  return measure(
      wanted, [] {}, timed);
}

void Measurement::add_errors(const Errors& errors) {
  counters["backward_componentwise"] = errors.componentwise;
  counters["backward_normwise"] = errors.normwise;
}

void Measurement::check_errors(const Errors& errors, double max_error) {
  add_errors(errors);
  const bool failed = !(errors.componentwise <= max_error);
  counters["failed"] = failed ? 1 : 0;
  if (!failed) return;
  char text[80];
  std::snprintf(text, sizeof text, "FAILED: backward error %.1e above %.0e; ", errors.componentwise,
                max_error);
  label = text + label;
}

void Measurement::add_limits(const Limits& limits, double bytes, double flops, double launches) {
  if (bytes > 0) counters["limit_copy_s"] = bytes / limits.copy_bytes_per_second;
  if (flops > 0 && limits.flops_per_second > 0) counters["limit_flops_s"] = flops / limits.flops_per_second;
  if (launches > 0) counters["limit_launch_s"] = launches * limits.launch_seconds;
}

void add_benchmark(const std::string& matrix, const std::string& stage, const std::string& solver,
                   std::function<Measurement()> body) {
  benchmark::RegisterBenchmark((matrix + "/" + stage + "/" + solver).c_str(),
                               [body = std::move(body)](benchmark::State& state) { run_case(state, body); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

double csr_bytes(double n, double nnz, bool with_values, std::size_t scalar_bytes) {
  const double entry = sizeof(int) + (with_values ? static_cast<double>(scalar_bytes) : 0.0);
  return (n + 1) * sizeof(std::int64_t) + nnz * entry;
}

}  // namespace lutra::Perf

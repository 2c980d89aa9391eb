// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Selection of the k = n / 4 largest of n values, exact and approximate, compared with quickselect, a sort on
// the device and std::nth_element, and on CUDA with the variants of counting. Also compares one counting pass
// with the time of a copy. Each threshold is checked by counting.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSelectPeers.hpp"
#include "Lutra_PerfSelectValues.hpp"

namespace lutra::Perf {
namespace {

constexpr bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
constexpr double value_bytes = sizeof(double);

Measurement describe(const PerfRun& run, Samples samples, std::int64_t n, double bytes) {
  Measurement result{std::move(samples)};
  const double seconds = result.samples.median();
  result.counters["n"] = static_cast<double>(n);
  result.counters["values_per_s"] = static_cast<double>(n) / seconds;
  if (bytes > 0) result.counters["of_copy"] = bytes / seconds / run.limits.copy_bytes_per_second;
  result.add_limits(run.limits, bytes);
  return result;
}

Measurement measure_select(const PerfRun& run, Distribution distribution, std::int64_t n,
                           const SelectOptions& options) {
  const auto values = make_values(distribution, n);
  const ExecutionSpace exec;
  const std::int64_t k = n / 4;
  const Selection<double, ExecutionSpace> selection(exec, n, options);
  const Selection<double, ExecutionSpace>::Result found("lutra::perf::threshold");
  auto samples = measure(run.samples, [&] { selection.find(exec, values, k, found); });
  const auto ties = check_threshold(values, k, options, found);
  const double size = static_cast<double>(n);
  auto result = describe(run, std::move(samples), n, size * (value_bytes + (options.approximate ? 0 : 2)));
  result.counters["bucket"] = static_cast<double>(ties);
  return result;
}

Measurement measure_nth_element(const PerfRun& run, Distribution distribution, std::int64_t n) {
  const auto values = make_values(distribution, n);
  std::vector<double> host(values.extent(0)), work;
  Kokkos::deep_copy(Kokkos::View<double*, Kokkos::HostSpace>(host.data(), host.size()), values);
  auto samples = measure(
      run.samples, [&] { work = host; },
      [&] { std::nth_element(work.begin(), work.begin() + (n - n / 4), work.end()); });
  if (work[static_cast<std::size_t>(n - n / 4)] != select(ExecutionSpace(), values, n / 4).lower)
    throw std::runtime_error("std::nth_element found another value");
  return describe(run, std::move(samples), n, 0);
}

Measurement measure_peer_sort(const PerfRun& run, Distribution distribution, std::int64_t n) {
  const auto values = make_values(distribution, n);
  const auto threshold = select(ExecutionSpace(), values, n / 4);
  return describe(run, measure_device_sort(run.samples, values, n / 4, threshold.lower), n, 0);
}

Measurement measure_count(const PerfRun& run, Distribution distribution, std::int64_t n,
                          const SelectOptions& options) {
  const auto values = make_values(distribution, n);
  return describe(run, measure_counting_pass(run.samples, values, n / 4, options), n,
                  static_cast<double>(n) * (value_bytes + 1));
}

/// The paper's variants of counting, by the ends of their names.
std::vector<std::pair<std::string, SelectOptions>> variants() {
  using enum SelectCounters;
  constexpr auto sample = SelectMethod::sampleselect, quick = SelectMethod::quickselect;
  return {{"shared", {sample, false, false, shared}},
          {"global", {sample, false, false, global}},
          {"shared-aggregated", {sample, false, false, shared, true}},
          {"global-aggregated", {sample, false, false, global, true}},
          {"even", {sample, false, false, automatic, false, SelectSplitters::even}},
          {"quickselect-shared", {quick, false, false, shared}},
          {"quickselect-global", {quick, false, false, global}}};
}

void add_size(const PerfRun& run, const std::string& name, Distribution distribution, std::int64_t n) {
  const auto add = [&](const char* stage, const std::string& solver, auto body) {
    add_benchmark(name + ":" + std::to_string(n), stage, solver,
                  [=, &run] { return body(run, distribution, n); });
  };
  const auto by = [](const SelectOptions& options) {
    return [options](const PerfRun& r, Distribution d, std::int64_t size) {
      return measure_select(r, d, size, options);
    };
  };
  using enum SelectMethod;
  add("select", "lutra", by({sampleselect, false, false}));
  add("select", "lutra-quickselect", by({quickselect, false, false}));
  add("select", "nth_element", measure_nth_element);
  if (on_host) return;
  add("select", "lutra-portable", by({sampleselect, false, true}));
  add("select-approximate", "lutra", by({sampleselect, true, false}));
  add("select-approximate", "lutra-portable", by({sampleselect, true, true}));
  if (*device_sort_name == '\0') return;
  add("select", device_sort_name, measure_peer_sort);
  const auto count_by = [](const SelectOptions& options) {
    return [options](const PerfRun& r, Distribution d, std::int64_t size) {
      return measure_count(r, d, size, options);
    };
  };
  if (n > 100000) add("select-count", "lutra", count_by({}));
  for (const auto& [variant, options] : variants()) {
    add("select", "lutra-" + variant, by(options));
    if (n > 100000 && variant != "even") add("select-count", "lutra-" + variant, count_by(options));
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  const std::vector<std::pair<std::string, Distribution>> distributions = {
      {"uniform", Distribution::uniform},
      {"scales", Distribution::scales},
      {"64-values", Distribution::repeated},
      {"equal", Distribution::equal}};
  for (const auto& [name, distribution] : distributions) {
    const bool all = distribution == Distribution::uniform;
    const std::int64_t most = on_host ? 10000000 : 100000000;
    for (std::int64_t n = 1000; n <= most; n *= 10) {
      if (all || n == 1000000 || n == most) add_size(run, name, distribution, n);
    }
  }
}

}  // namespace lutra::Perf

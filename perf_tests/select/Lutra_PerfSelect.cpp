// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Selection of the k = n / 4 largest of n values, exact and approximate, compared with quickselect, a sort on
// the device and std::nth_element. Also compares one counting pass with the time of a copy. Each threshold is
// checked by counting.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSelectPeers.hpp"
#include "Lutra_Select.hpp"

namespace lutra::Perf {
namespace {

constexpr bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
constexpr double value_bytes = sizeof(double);

enum class Distribution { uniform, scales, repeated, equal };

/// Values that depend only on the index.
struct MakeValues {
  Kokkos::View<double*, MemorySpace> values;
  Distribution distribution;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto hash = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u + 1;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
    const double uniform = static_cast<double>(hash >> 11) * 0x1p-53;
    values(i) = distribution == Distribution::uniform    ? uniform
                : distribution == Distribution::scales   ? Kokkos::exp(40 * uniform - 20)
                : distribution == Distribution::repeated ? static_cast<double>(hash % 64)
                                                         : 0.5;
  }
};

SelectValues make_values(Distribution distribution, std::int64_t n) {
  const Kokkos::View<double*, MemorySpace> values("lutra::perf::values", static_cast<std::size_t>(n));
  Kokkos::parallel_for("lutra::perf::values", Kokkos::RangePolicy<ExecutionSpace>(0, n),
                       MakeValues{values, distribution});
  Kokkos::fence("lutra::perf: values are there");
  return values;
}

using Threshold = SelectionThreshold<double>;

struct CountAbove {
  SelectValues values;
  Threshold threshold;
  bool ties;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    sum += (ties ? threshold.is_tie(values(i)) : threshold.is_above(values(i))) ? 1 : 0;
  }
};

std::int64_t count(const SelectValues& values, const Threshold& threshold, bool ties) {
  std::int64_t result = 0;
  Kokkos::parallel_reduce("lutra::perf::check",
                          Kokkos::RangePolicy<ExecutionSpace>(0, static_cast<std::int64_t>(values.extent(0))),
                          CountAbove{values, threshold, ties}, result);
  return result;
}

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
  Threshold threshold;
  Kokkos::deep_copy(Kokkos::View<Threshold, Kokkos::HostSpace>(&threshold), found);
  const auto ties = count(values, threshold, true);
  if (count(values, threshold, false) != threshold.n_above || threshold.n_above + threshold.n_ties != k ||
      threshold.n_ties > ties || threshold.n_ties < 1 ||
      (!options.approximate && threshold.lower != threshold.upper))
    throw std::runtime_error("wrong threshold");
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

Measurement measure_count(const PerfRun& run, Distribution distribution, std::int64_t n) {
  const auto values = make_values(distribution, n);
  return describe(run, measure_counting_pass(run.samples, values, n / 4), n,
                  static_cast<double>(n) * (value_bytes + 1));
}

void add_size(const PerfRun& run, const std::string& name, Distribution distribution, std::int64_t n) {
  const auto add = [&](const char* stage, const char* solver, auto body) {
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
  if (n > 100000) add("select-count", "lutra", measure_count);
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

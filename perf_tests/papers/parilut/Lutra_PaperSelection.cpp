// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figures 8 and 9: selection by itself.
#include <algorithm>
#include <cmath>
#include <functional>

#include "Lutra_PaperParilut.hpp"
#include "Lutra_PerfRegions.hpp"
#include "Lutra_PerfSelectValues.hpp"

namespace lutra::Perf {
namespace {

constexpr bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
#ifdef KOKKOS_ENABLE_CUDA
constexpr bool has_variants = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
constexpr bool has_variants = false;
#endif

struct Selector {
  std::string name;
  SelectOptions options;
};

constexpr auto sample = SelectMethod::sampleselect, quick = SelectMethod::quickselect;
constexpr auto in_shared = SelectCounters::shared, in_global = SelectCounters::global;
constexpr auto even = SelectSplitters::even;

/// The paper's algorithms: evenly spaced splitters, counters in shared memory (-s) or device memory (-g),
/// aggregated within warps (-w).
std::vector<Selector> paper_selectors() {
  constexpr bool portable = !has_variants;
  std::vector<Selector> result = {{"qselect-s", {quick, false, portable, in_shared}},
                                  {"qselect-g", {quick, false, portable, in_global}},
                                  {"sselect-s", {sample, false, portable, in_shared, false, even}},
                                  {"sselect-g", {sample, false, portable, in_global, false, even}},
                                  {"approximate-s", {sample, true, portable, in_shared, false, even}}};
  if (!has_variants) return result;
  result.push_back({"sselect-s-w", {sample, false, false, in_shared, true, even}});
  result.push_back({"sselect-g-w", {sample, false, false, in_global, true, even}});
  return result;
}

/// Lutra's defaults, with and without each departure, and the portable kernels.
std::vector<Selector> own_selectors() {
  std::vector<Selector> result = {{"Lutra", {}}};
  if (has_variants) {
    result.push_back(
        {"Lutra, even splitters", {sample, false, false, SelectCounters::automatic, false, even}});
    result.push_back({"Lutra, one counter", {sample, false, false, in_shared}});
  }
  if (!on_host) result.push_back({"Lutra, approximate", {sample, true, false}});
  result.push_back({"portable", {sample, false, true}});
  result.push_back({"portable, approximate", {sample, true, true}});
  return result;
}

std::vector<Selector> all_selectors() {
  auto result = paper_selectors();
  const auto own = own_selectors();
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

double select_seconds(const PaperRun& run, const SelectValues& values, const SelectOptions& options) {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  const ExecutionSpace exec;
  const Selection<double, ExecutionSpace> selection(exec, n, options);
  const Selection<double, ExecutionSpace>::Result found("lutra::perf::threshold");
  const double seconds = measure(run.samples, [&] { selection.find(exec, values, n / 4, found); }).median();
  check_threshold(values, n / 4, options, found);
  return seconds;
}

double nth_element_seconds(const PaperRun& run, const SelectValues& values) {
  const auto host = to_host(values);
  std::vector<double> work;
  const auto nth = static_cast<std::ptrdiff_t>(host.size() - host.size() / 4);
  return measure(
             std::min(run.samples, 3), [&] { work = host; },
             [&] { std::nth_element(work.begin(), work.begin() + nth, work.end()); })
      .median();
}

double sort_seconds(const PaperRun& run, const SelectValues& values) {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  return measure_device_sort(run.samples, values, n / 4, select(ExecutionSpace(), values, n / 4).lower)
      .median();
}

std::string throughput(std::size_t n, double seconds) {
  return format_number(static_cast<double>(n) / seconds * 1e-9);
}

/// Largest power of two of values, up to which figures go by powers of 4 or 16.
int largest_power(const PaperRun& run) {
  return run.small ? 16 : on_host ? 22 : 26;
}

/// Medians of the first runs of portable kernels in selections with one workspace.
std::vector<double> kernel_seconds(const PaperRun& run, const SelectValues& values,
                                   const SelectOptions& options, const std::vector<std::string>& kernels) {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  const ExecutionSpace exec;
  const Selection<double, ExecutionSpace> selection(exec, n, options);
  const Selection<double, ExecutionSpace>::Result found("lutra::perf::threshold");
  std::vector<std::vector<double>> samples(kernels.size());
  for (int s = 0; s < run.samples + 1; ++s) {
    const RegionTimes times;
    selection.find(exec, values, n / 4, found);
    for (std::size_t k = 0; s > 0 && k < kernels.size(); ++k)
      samples[k].push_back(times.first_seconds("lutra::ilu::select " + kernels[k]));
  }
  std::vector<double> result;
  for (auto& of_kernel : samples) {
    std::sort(of_kernel.begin(), of_kernel.end());
    result.push_back(of_kernel[of_kernel.size() / 2]);
  }
  return result;
}

/// The counting pass of a selector: alone on CUDA, else the portable kernel in its first level.
double count_seconds(const PaperRun& run, const SelectValues& values, const SelectOptions& options) {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  if (has_variants && !options.portable)
    return measure_counting_pass(run.samples, values, n / 4, options).median();
  return kernel_seconds(run, values, options, {"count"}).front();
}

}  // namespace

PaperTable selection_throughput(const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 8, left and centre";
  table.claim =
      "Sampleselect is faster than quickselect at all sizes; on newer devices atomics in shared "
      "memory are the faster ones for large data";
  table.columns = {"10⁹ values/s, n ="};
  std::vector<SelectValues> values;
  for (int power = 14; power <= largest_power(run); power += 4) {
    table.columns.push_back("2^" + std::to_string(power));
    values.push_back(make_values(Distribution::uniform, std::int64_t(1) << power));
  }
  std::vector<double> quickest, samples;
  const auto add = [&](const std::string& name, const auto& seconds_of) {
    std::vector<std::string> row{name};
    for (std::size_t v = 0; v < values.size(); ++v) {
      const double seconds = seconds_of(values[v]);
      row.push_back(throughput(values[v].extent(0), seconds));
      if (name == "qselect-s") quickest.push_back(seconds);
      if (name == "sselect-s") samples.push_back(seconds);
    }
    table.add_row(row);
  };
  for (const Selector& selector : all_selectors())
    add(selector.name, [&](const SelectValues& v) { return select_seconds(run, v, selector.options); });
  if (*device_sort_name != '\0')
    add(device_sort_name, [&](const SelectValues& v) { return sort_seconds(run, v); });
  add("std::nth_element, one core", [&](const SelectValues& v) { return nth_element_seconds(run, v); });
  std::vector<double> ratios;
  for (std::size_t v = 0; v < values.size(); ++v) ratios.push_back(quickest[v] / samples[v]);
  table.result = "time of quickselect over sampleselect, both in shared memory: " + format_ratios(ratios);
  table.note = has_variants ? "Up to 2^14 values one block selects alone, with any counters."
                            : "Without CUDA the paper's algorithms run as portable kernels; shared memory is "
                              "the scratch of a team.";
  return table;
}

PaperTable counting_passes(const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 8, right";
  table.claim =
      "Equal values make atomics collide. Aggregation within warps helps on Kepler, and is obsolete "
      "on Volta";
  const std::int64_t n = std::int64_t(1) << (run.small ? 16 : on_host ? 22 : 24);
  table.columns = {"10⁹ values/s, different values ="};
  std::vector<SelectValues> values;
  for (const std::int64_t different : {std::int64_t(1), std::int64_t(16), std::int64_t(256), n}) {
    table.columns.push_back(format_number(static_cast<double>(different)));
    values.push_back(make_values(Distribution::repeated, n, static_cast<std::uint64_t>(different)));
  }
  std::vector<double> plain, aggregated;
  for (const Selector& selector : all_selectors()) {
    if (on_host && !selector.options.portable) continue;  // has no such pass
    std::vector<std::string> row{selector.name};
    for (const SelectValues& of : values) {
      const double seconds = count_seconds(run, of, selector.options);
      row.push_back(throughput(of.extent(0), seconds));
      if (selector.name == "sselect-s") plain.push_back(seconds);
      if (selector.name == "sselect-s-w") aggregated.push_back(seconds);
    }
    table.add_row(row);
  }
  std::vector<double> ratios;
  for (std::size_t v = 0; v < aggregated.size(); ++v) ratios.push_back(plain[v] / aggregated[v]);
  table.result = has_variants ? "gain by aggregation in shared memory: " + format_ratios(ratios)
                              : "no warps here; portable counting passes alone";
  table.note =
      "The counting pass of the first level. On CUDA it includes the sample and the choice of the "
      "bucket.";
  return table;
}

PaperTable selection_levels(const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 9";
  table.claim =
      "A level of quickselect costs less than one of sampleselect, which needs far fewer levels; an "
      "approximate level takes half the time of one of quickselect";
  table.columns = {"n = 2^" + std::to_string(run.small ? 16
                                             : on_host ? 22
                                                       : 24),
                   "splitters",
                   "count",
                   "choose",
                   "extract",
                   "first level"};
  const std::int64_t n = std::int64_t(1) << (run.small ? 16 : on_host ? 22 : 24);
  const auto values = make_values(Distribution::uniform, n);
  const std::vector<Selector> levels = {{"quickselect", {quick, false, true}},
                                        {"sampleselect", {sample, false, true, in_shared, false, even}},
                                        {"approximate", {sample, true, true, in_shared, false, even}}};
  std::vector<double> totals;
  for (const Selector& selector : levels) {
    std::vector<std::string> row{selector.name};
    double total = 0;
    for (const double seconds :
         kernel_seconds(run, values, selector.options, {"splitters", "count", "choose", "filter"})) {
      row.push_back(seconds == 0 ? "" : format_seconds(seconds));
      total += seconds;
    }
    row.push_back(format_seconds(total));
    totals.push_back(total);
    table.add_row(row);
  }
  table.result = "a level of sampleselect over one of quickselect: " + format_number(totals[1] / totals[0]) +
                 "; approximate: " + format_number(totals[2] / totals[0]);
  table.note =
      "Portable kernels, since those of CUDA take the sample and choose the bucket within the counting "
      "pass (Figure 8, right).";
  return table;
}

}  // namespace lutra::Perf

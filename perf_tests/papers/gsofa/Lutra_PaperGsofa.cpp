// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables and figures of "GSoFa: Scalable Sparse Symbolic LU Factorization on GPUs".
#include "Lutra_PaperGsofa.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "Lutra_PaperRanks.hpp"

namespace lutra::Perf {

Fill2Options fine_grained() {
  return {.kernel = has_frontiers ? Fill2Kernel::frontiers : Fill2Kernel::portable};
}

GsofaTime measure_fill2(const GsofaCase& c, const Fill2Options& options, std::size_t limit) {
  const Ordered& ordered = *c.ordered;
  const MemoryBudget budget(limit, std::make_shared<MemoryPool>());
  DeviceFilled filled;
  GsofaTime time;
  Samples searches;
  const auto samples = measure(
      c.run.samples, [&] { filled = {}; },
      [&] {
        filled = Impl::fill2(ExecutionSpace(), ordered.device, budget, options, &time.statistics);
        searches.seconds.push_back(time.statistics.search_seconds);
      });
  std::sort(searches.seconds.begin(), searches.seconds.end());
  time.search = searches.median();
  if (print_of(filled) != ordered.expected)
    throw std::runtime_error(c.name + ": not the pattern fill1 finds");
  time.seconds = samples.median();
  return time;
}

PaperTable compare(const std::vector<GsofaCase>& cases, PaperTable table, const std::string& with,
                   const std::string& without, const std::function<void(Fill2Options&, bool)>& set) {
  table.columns = {"matrix", with, without, "speed-up"};
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    Fill2Options on = fine_grained(), off = fine_grained();
    set(on, true);
    set(off, false);
    const double seconds_on = measure_fill2(c, on).seconds, seconds_off = measure_fill2(c, off).seconds;
    ratios.push_back(seconds_off / seconds_on);
    table.add_row(
        {c.name, format_seconds(seconds_on), format_seconds(seconds_off), format_number(ratios.back())});
  }
  table.result = format_ratios(ratios);
  return table;
}

PaperReport run_paper(const PaperRun& run) {
  PaperReport report{"GSoFa: Scalable Sparse Symbolic LU Factorization on GPUs", {}, {}};
  const std::vector<std::string> tiny = {"circuit:400", "poisson3d:6", "random:150"};
  const std::vector<std::string> on_host = {"circuit:10000", "poisson2d:100", "aniso2d:80",
                                            "convdiff3d:16", "poisson3d:18",  "random:1000"};
  const std::vector<std::string> on_device = {"circuit:50000", "poisson2d:200", "aniso2d:150",
                                              "convdiff3d:24", "poisson3d:28",  "random:2000"};
  std::vector<GsofaCase> cases;
  for (const PerfMatrix& matrix : run.matrices_or(has_frontiers ? on_device : on_host, tiny)) {
    PerfRun perf;
    perf.samples = run.samples;
    perf.limits = run.limits;
    cases.push_back({matrix.name, std::make_shared<const Ordered>(matrix), perf});
  }
  if (paper_ranks().size() == 1) {
    add_memory(cases, run, report.tables);
    add_speed(cases, run, report.tables);
    add_supernodes(cases, report.tables);
  }
  add_ranks(cases, report.tables);
  return report;
}

}  // namespace lutra::Perf

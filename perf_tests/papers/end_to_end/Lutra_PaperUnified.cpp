// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figures 5 to 7 and Table 3: memory of the symbolic phase, explicit and unified, and its division in two
// parts.
#include <algorithm>
#include <type_traits>

#include "Lutra_PaperEndToEnd.hpp"

namespace lutra::Perf {
namespace {

#ifdef KOKKOS_ENABLE_CUDA
constexpr bool on_cuda = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
constexpr bool on_cuda = false;
#endif

double time_fill2(const PaperCase& c, const PaperRun& run, const Fill2Options& fill2) {
  SymbolicOptions options;
  options.method = SymbolicMethod::fill2;
  options.fill2 = fill2;
  return time_symbolic(c, run, options);
}

Fill2Options frontiers(Fill2Unified unified) {
  Fill2Options options;
  options.kernel = Fill2Kernel::frontiers;
  options.unified = unified;
  return options;
}

PaperTable started(const char* place, const char* claim) {
  PaperTable table;
  table.place = place;
  table.claim = claim;
  if (!on_cuda) table.skipped = "unified memory needs a CUDA device";
  return table;
}

}  // namespace

PaperTable figure_5(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table =
      started("Figure 5", "The chain is 1.06 to 2.22 times as fast as with unified memory and prefetching.");
  if (!table.skipped.empty()) return table;
  table.columns = {"matrix",  "nnz/n",           "symbolic, explicit", "unified, prefetched",
                   "numeric", "unified/explicit"};
  std::vector<double> ratios;
  for (const PaperCase& c : cases) {
    const double explicit_memory = time_fill2(c, run, frontiers(Fill2Unified::off));
    const double unified = time_fill2(c, run, frontiers(Fill2Unified::prefetched));
    const ColumnOptions chain = mode_options(ColumnMode::levels);
    const double rest = time_plan(c, run, chain) + time_columns(c, run, chain).seconds;
    ratios.push_back((unified + rest) / (explicit_memory + rest));
    table.add_row({c.name, format_number(static_cast<double>(c.F.values.size()) / c.F.n_rows),
                   format_seconds(explicit_memory), format_seconds(unified), format_seconds(rest),
                   format_number(ratios.back())});
  }
  table.result = "unified over explicit memory, end to end: " + format_ratios(ratios);
  return table;
}

PaperTable figure_6(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table =
      started("Figure 6, Table 3", "Without prefetching, page faults take 33 to 86 % of the symbolic phase.");
  if (!table.skipped.empty()) return table;
  table.columns = {"matrix",     "explicit",           "unified, on demand",  "advised",
                   "prefetched", "on demand/explicit", "prefetched/explicit", "share of pages on demand"};
  std::vector<double> ratios;
  for (const PaperCase& c : cases) {
    double seconds[4] = {};
    const Fill2Unified kinds[] = {Fill2Unified::off, Fill2Unified::plain, Fill2Unified::advised,
                                  Fill2Unified::prefetched};
    for (std::size_t k = 0; k < 4; ++k) seconds[k] = time_fill2(c, run, frontiers(kinds[k]));
    ratios.push_back(seconds[1] / seconds[0]);
    table.add_row({c.name, format_seconds(seconds[0]), format_seconds(seconds[1]), format_seconds(seconds[2]),
                   format_seconds(seconds[3]), ratio_text(seconds[1], seconds[0]),
                   ratio_text(seconds[3], seconds[0]),
                   format_number(std::max(0.0, 1 - seconds[0] / seconds[1]))});
  }
  table.result = "unified memory on demand over explicit memory: " + format_ratios(ratios);
  table.note =
      "Fault groups are counted by a profiler only. The last column, the time beyond that of explicit "
      "memory, stands "
      "for the share of time in faults.";
  return table;
}

PaperTable figure_7(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 7, Algorithm 4";
  table.claim = "Two parts with chunk sizes of their own are up to 10 % faster than one.";
  table.columns = {"matrix", "one part", "two parts", "one/two", "`fill2` default"};
  std::vector<double> ratios;
  for (const PaperCase& c : cases) {
    Fill2Options one;
    one.kernel = on_cuda ? Fill2Kernel::frontiers : Fill2Kernel::portable;
    if (on_cuda)  // an eighth of the rows at a time
      one.chunk_bytes =
          static_cast<std::size_t>(c.F.n_rows) * static_cast<std::size_t>(c.F.n_rows) * 6 * 4 / 8;
    Fill2Options two = one;
    two.two_parts = true;
    const double in_one = time_fill2(c, run, one), in_two = time_fill2(c, run, two);
    ratios.push_back(in_one / in_two);
    table.add_row({c.name, format_seconds(in_one), format_seconds(in_two), format_number(ratios.back()),
                   format_seconds(time_fill2(c, run, {}))});
  }
  table.result = "one part over two: " + format_ratios(ratios);
  return table;
}

}  // namespace lutra::Perf

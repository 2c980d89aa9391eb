// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figures 10 to 13: the search beside others, and its throughput.
#include <exception>
#include <stdexcept>

#include "Lutra_PaperGsofa.hpp"
#include "Lutra_PaperThreadFill2.hpp"
#include "Lutra_PerfGilbertPeierls.hpp"

namespace lutra::Perf {
namespace {

constexpr double device_bytes = 32e9, host_bytes = 2e9;  // for the arrays of the baseline

/// Seconds of the baseline in a space.
template <class Space>
double measure_threads(const GsofaCase& c) {
  const Ordered& ordered = *c.ordered;
  using Memory = typename Space::memory_space;
  const CsrPattern<int, std::int64_t, Memory> pattern{
      ordered.device.n_rows, ordered.device.n_cols,
      Kokkos::create_mirror_view_and_copy(Memory(), ordered.device.row_map),
      Kokkos::create_mirror_view_and_copy(Memory(), ordered.device.entries)};
  constexpr bool on_host = std::is_same_v<Memory, Kokkos::HostSpace>;
  const ThreadFill2<Space> baseline(
      pattern, ThreadFill2<Space>::threads_for(ordered.host.n_rows, on_host ? host_bytes : device_bytes));
  std::int64_t nnz = 0;
  const auto samples = measure(c.run.samples, [&] { nnz = baseline.run(); });
  if (static_cast<double>(nnz) != ordered.nnz_lu)
    throw std::runtime_error(c.name + ": the baseline finds other counts than fill1");
  return samples.median();
}

PaperTable figure_10(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 10",
                   "The fine-grained search is 13.0 (least 3.70) times as fast as a thread a source on the "
                   "GPU, and 33.1 (least 11.3) times as fast as on all threads of the host.",
                   {"matrix", "n", "nnz(L + U)", "thread a source", "host threads", "fine-grained", "default",
                    "portable", "over thread a source", "over host threads", "edges", "edges of default"},
                   {},
                   {},
                   {},
                   {}};
  std::vector<double> over_threads, over_host, over_default;
  for (const GsofaCase& c : cases) {
    const double threads = measure_threads<ExecutionSpace>(c);
    const double host = has_frontiers ? measure_threads<Kokkos::DefaultHostExecutionSpace>(c) : threads;
    const GsofaTime fine = measure_fill2(c, fine_grained()), standard = measure_fill2(c, {});
    const double portable = measure_fill2(c, {.kernel = Fill2Kernel::portable}).seconds;
    over_threads.push_back(threads / fine.seconds);
    over_host.push_back(host / fine.seconds);
    over_default.push_back(fine.seconds / standard.seconds);
    table.add_row({c.name, format_number(c.ordered->host.n_rows), format_number(c.ordered->nnz_lu),
                   format_seconds(threads), format_seconds(host), format_seconds(fine.seconds),
                   standard.statistics.kernel + " " + format_seconds(standard.seconds),
                   format_seconds(portable), format_number(over_threads.back()),
                   format_number(over_host.back()), format_number(double(fine.statistics.edges)),
                   format_number(double(standard.statistics.edges))});
  }
  table.result = format_ratios(over_threads) + " over a thread a source, bar 3.7; " +
                 format_ratios(over_host) + " over host threads; the default is " +
                 format_ratios(over_default) + " times as fast as fine-grained";
  table.note = "The baseline finds the counts of the rows only, in one pass; the others find sorted rows. ";
  table.note += has_frontiers ? "Fine-grained is the kernel frontiers, the default is warps or groups."
                              : "Without a device fine-grained and default are the portable kernel.";
  return table;
}

PaperTable figure_11(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 11",
                   "On one GPU 50.1 (least 1.01) times as fast as the sequential Gilbert–Peierls search of "
                   "GLU 3.0.",
                   {"matrix", "Gilbert–Peierls", "fine-grained", "default", "speed-up", "of default"},
                   {},
                   {},
                   {},
                   {}};
  std::vector<double> ratios, of_default;
  for (const GsofaCase& c : cases) {
    GilbertPeierls search(c.ordered->host.row_map, c.ordered->host.entries);  // of the transposed matrix
    std::int64_t nnz = 0;
    const double sequential = measure(c.run.samples, [&] { nnz = search.factorize(); }).median();
    if (static_cast<double>(nnz) != c.ordered->nnz_lu)
      throw std::runtime_error(c.name + ": Gilbert and Peierls find other counts than fill1");
    const double fine = measure_fill2(c, fine_grained()).seconds, standard = measure_fill2(c, {}).seconds;
    ratios.push_back(sequential / fine);
    of_default.push_back(sequential / standard);
    table.add_row({c.name, format_seconds(sequential), format_seconds(fine), format_seconds(standard),
                   format_number(ratios.back()), format_number(of_default.back())});
  }
  table.result = format_ratios(ratios) + "; the default " + format_ratios(of_default);
  table.note = "Without pruning, as in GLU 3.0; one host thread.";
  return table;
}

PaperTable figure_12([[maybe_unused]] const std::vector<GsofaCase>& cases) {
  PaperTable table{
      "Figure 12",
      "On one node slower than the parallel symbolic factorization of SuperLU_DIST on most "
      "matrices (1.03 to 19.3 times), on 44 nodes 5 times as fast.",
      {"matrix", "SuperLU_DIST, one thread", "fine-grained", "default", "speed-up", "of default"},
      {},
      {},
      {},
      {}};
#ifdef LUTRA_PERF_SYMBOLIC_SUPERLUDIST
  std::vector<double> ratios, of_default;
  for (const GsofaCase& c : cases) {
    const double superlu = measure_superlu_symbolic(c.run, *c.ordered).samples.median();
    const double fine = measure_fill2(c, fine_grained()).seconds, standard = measure_fill2(c, {}).seconds;
    ratios.push_back(superlu / fine);
    of_default.push_back(superlu / standard);
    table.add_row({c.name, format_seconds(superlu), format_seconds(fine), format_seconds(standard),
                   format_number(ratios.back()), format_number(of_default.back())});
  }
  table.result = format_ratios(ratios) + "; the default " + format_ratios(of_default);
  table.note =
      "symbfact on one thread, in the same order; the paper's symbfact_dist needs several processes.";
#else
  table.skipped = "SuperLU_DIST was not found";
#endif
  return table;
}

/// Bytes that the search has to move at least: an index and a label for each edge, a frontier written and
/// read, and the rows.
double least_bytes(const GsofaCase& c, const Fill2Statistics& statistics) {
  return 8.0 * static_cast<double>(statistics.edges) + 16.0 * static_cast<double>(statistics.frontiers) +
         4.0 * c.ordered->nnz_lu;
}

PaperTable figure_13(const std::vector<GsofaCase>& cases, const PaperRun& run) {
  PaperTable table{
      "Figure 13",
      "43 % (most 47 %) of the peak memory throughput of a V100.",
      {"matrix", "edges", "edges/s", "revisits", "bytes/s", "share of copy", "edges/s of default"},
      {},
      {},
      {},
      {}};
  std::vector<double> shares;
  for (const GsofaCase& c : cases) {
    const GsofaTime fine = measure_fill2(c, fine_grained()), standard = measure_fill2(c, {});
    const double edges = static_cast<double>(fine.statistics.edges);
    const double rate = least_bytes(c, fine.statistics) / fine.seconds;
    shares.push_back(rate / run.limits.copy_bytes_per_second);
    table.add_row({c.name, format_number(edges), format_number(edges / fine.seconds),
                   format_number(double(fine.statistics.revisits)), format_number(rate),
                   format_number(100 * shares.back()) + " %",
                   format_number(static_cast<double>(standard.statistics.edges) / standard.seconds)});
  }
  table.result = format_ratios(shares) + " of the copy bandwidth";
  table.note =
      "The paper's figures are from hardware counters. These are lower bounds: 8 bytes for an edge, 16 for a "
      "frontier, 4 for an entry of L + U; a random label moves 32 bytes.";
  return table;
}

}  // namespace

void add_speed(const std::vector<GsofaCase>& cases, const PaperRun& run, GsofaTables& tables) {
  tables.push_back(figure_10(cases));
  tables.push_back(figure_11(cases));
  tables.push_back(figure_12(cases));
  tables.push_back(figure_13(cases, run));
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figures 5, 14 to 16, 18 and 20, Table 3, and Algorithm 4 of "End-to-End LU …": memory, and options of the
// search.
#include <algorithm>
#include <exception>

#include "Lutra_PaperGsofa.hpp"

namespace lutra::Perf {
namespace {

constexpr const char* needs_device = "needs a device";

std::string mib(double bytes) {
  return format_number(std::max(bytes / (1 << 20), 1e-3)) + " MiB";
}

/// Bytes of a run's auxiliary arrays on the device.
double auxiliary_bytes(const Fill2Statistics& s) {
  if (s.max_id_bytes == 0) return static_cast<double>(s.slots) * static_cast<double>(s.slot_bytes);
  return static_cast<double>(s.max_id_bytes + s.fill_bytes + s.queue_bytes + s.tracker_bytes);
}

/// The options that save memory in section 6.
Fill2Options saving() {
  Fill2Options options = fine_grained();
  if (!has_frontiers) return options;
  options.queue_share = 0.05;
  options.external = Fill2External::host;
  return options;
}

PaperTable figure_5(const std::vector<GsofaCase>& cases) {
  PaperTable table{
      "Figure 5",
      "Auxiliary arrays take 36 to 3,121 times the memory of the matrix; the optimizations reduce "
      "them by a factor of 4 on average.",
      {"matrix", "A", "sources in flight", "six arrays (Table 2)", "here", "external", "over A",
       "over A here", "reduction"},
      {},
      {},
      {},
      {}};
  std::vector<double> reductions;
  for (const GsofaCase& c : cases) {
    const Fill2Statistics s = measure_fill2(c, saving()).statistics;
    const double n = c.ordered->host.n_rows;
    const double of_matrix = csr_bytes(n, static_cast<double>(c.ordered->host.nnz()), false);
    const double before = 24 * n * static_cast<double>(s.slots), after = auxiliary_bytes(s);
    reductions.push_back(before / after);
    table.add_row({c.name, mib(of_matrix), format_number(double(s.slots)), mib(before), mib(after),
                   mib(static_cast<double>(s.external_bytes)), format_number(before / of_matrix),
                   format_number(after / of_matrix), format_number(reductions.back())});
  }
  table.result = format_ratios(reductions);
  table.note = has_frontiers ? "Bubble removal, fill as bits, and a twentieth of the queues on the device."
                             : "Without a device: the portable kernel, whose frontiers are bit sets.";
  return table;
}

PaperTable table_3(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Table 3",
                   "On average 0.01 to 0.12 % of the queues of n frontiers per source are used, at most 1 to "
                   "25 %.",
                   {"matrix", "levels", "frontiers", "average", "peak"},
                   {},
                   {},
                   {},
                   {}};
  if (!has_frontiers) {
    table.skipped = needs_device;
    return table;
  }
  double greatest = 0;
  for (const GsofaCase& c : cases) {
    const Fill2Statistics s = measure_fill2(c, fine_grained()).statistics;
    const double full = static_cast<double>(c.ordered->host.n_rows) * static_cast<double>(s.slots);
    const double average = static_cast<double>(s.frontiers) / static_cast<double>(s.levels) / full;
    const double peak = static_cast<double>(s.largest_frontier) / full;
    greatest = std::max(greatest, peak);
    table.add_row({c.name, format_number(double(s.levels)), format_number(double(s.frontiers)),
                   format_number(100 * average) + " %", format_number(100 * peak) + " %"});
  }
  table.result = "a peak of " + format_number(100 * greatest) + " % at most";
  return table;
}

/// Times under chunks of memory, given as parts of what all sources in flight need.
PaperTable figure_16(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 16",
                   "With 1 GB in place of 16 GB for all arrays the search takes 1.9 to 3.3 times as long.",
                   {"matrix", "full memory", "time", "5/16", "1/16", "external frontiers",
                    "least sources in flight", "slow-down"},
                   {},
                   {},
                   {},
                   {}};
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    const GsofaTime full = measure_fill2(c, saving());
    const double bytes =
        static_cast<double>(full.statistics.slots) * static_cast<double>(full.statistics.slot_bytes);
    const double least = 4 * static_cast<double>(full.statistics.slot_bytes) + (1 << 14);
    const auto with = [&](double part) {
      Fill2Options options = saving();
      options.chunk_bytes = static_cast<std::size_t>(std::max(bytes * part, least));
      return measure_fill2(c, options);
    };
    const GsofaTime medium = with(5.0 / 16), small = with(1.0 / 16);
    ratios.push_back(small.search / full.search);
    table.add_row({c.name, mib(bytes), format_seconds(full.search), format_seconds(medium.search),
                   format_seconds(small.search), format_number(double(small.statistics.external_frontiers)),
                   format_number(double(small.statistics.slots)), format_number(ratios.back())});
  }
  table.result = format_ratios(ratios);
  table.note =
      "All optimizations of section 6. Full memory is what fills the device; the paper has 16 GB. "
      "Searches, without allocation.";
  return table;
}

PaperTable figure_15(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 15",
                   "With 1 GB, dynamic allocation makes the search 1.1 to 1.7 times as fast.",
                   {"matrix", "chunk", "dynamic", "fixed", "external frontiers", "when fixed", "speed-up"},
                   {},
                   {},
                   {},
                   {}};
  if (!has_frontiers) {
    table.skipped = needs_device;
    return table;
  }
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    Fill2Options options = saving();
    const Fill2Statistics full = measure_fill2(c, options).statistics;
    options.chunk_bytes = std::max(full.slots * full.slot_bytes / 16, 4 * full.slot_bytes + (1 << 14));
    const GsofaTime dynamic = measure_fill2(c, options);
    options.dynamic = false;
    const GsofaTime fixed = measure_fill2(c, options);
    ratios.push_back(fixed.search / dynamic.search);
    table.add_row({c.name, mib(static_cast<double>(options.chunk_bytes)), format_seconds(dynamic.search),
                   format_seconds(fixed.search), format_number(double(dynamic.statistics.external_frontiers)),
                   format_number(double(fixed.statistics.external_frontiers)), format_number(ratios.back())});
  }
  table.result = format_ratios(ratios);
  return table;
}

PaperTable external_frontiers(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 9",
                   "Frontiers that outgrow their queues are kept in memory of the host.",
                   {"matrix", "all on the device", "0.05 % of the queues there", "allocation besides",
                    "external frontiers", "of all", "sources left", "slow-down"},
                   {},
                   {},
                   {},
                   {}};
  if (!has_frontiers) {
    table.skipped = needs_device;
    return table;
  }
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    Fill2Options options = fine_grained();
    options.dynamic = false;
    const GsofaTime ample = measure_fill2(c, options);
    options.queue_share = 5e-4;
    options.external = Fill2External::host;
    const GsofaTime small = measure_fill2(c, options);
    ratios.push_back(small.search / ample.search);
    table.add_row({c.name, format_seconds(ample.search), format_seconds(small.search),
                   format_seconds(std::max(small.seconds - small.search, 1e-9)),
                   format_number(double(small.statistics.external_frontiers)),
                   format_number(100.0 * double(small.statistics.external_frontiers) /
                                 double(small.statistics.frontiers)) +
                       " %",
                   format_number(double(small.statistics.sources_left)), format_number(ratios.back())});
  }
  table.result = format_ratios(ratios);
  table.note =
      "The paper gives no time for this alone. Searches; pinning the memory comes once a call. Without "
      "dynamic allocation, whose queues are longer.";
  return table;
}

PaperTable figure_18(const std::vector<GsofaCase>& cases) {
  PaperTable table{"Figure 18",
                   "Advice reduces page faults of unified memory by a factor of 2.2.",
                   {"matrix", "device memory", "plain", "advised", "prefetched", "advised over plain"},
                   {},
                   {},
                   {},
                   {}};
  if (!has_frontiers) {
    table.skipped = needs_device;
    return table;
  }
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    Fill2Options options = fine_grained();
    options.dynamic = false;
    std::vector<std::string> cells{c.name};
    double seconds[4];
    for (const Fill2Unified unified :
         {Fill2Unified::off, Fill2Unified::plain, Fill2Unified::advised, Fill2Unified::prefetched}) {
      options.unified = unified;
      double& time = seconds[static_cast<int>(unified)];
      time = measure_fill2(c, options).seconds;
      cells.push_back(format_seconds(time));
    }
    ratios.push_back(seconds[1] / seconds[2]);
    cells.push_back(format_number(ratios.back()));
    table.add_row(cells);
  }
  table.result = format_ratios(ratios);
  table.note =
      "Times, with allocation, in place of page faults, which need a profiler. maxId and fill are managed, "
      "and "
      "never more than is free on the device; the paper manages rows of several GPUs.";
  return table;
}

PaperTable algorithm_4(const std::vector<GsofaCase>& cases) {
  PaperTable table{"End-to-End LU, Figure 7",
                   "Two parts with their own numbers of concurrent rows (Algorithm 4) are up to 10 % faster.",
                   {"matrix", "one part", "two parts", "rows", "concurrent", "speed-up"},
                   {},
                   {},
                   {},
                   {}};
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    Fill2Options options = saving();
    const Fill2Statistics full = measure_fill2(c, options).statistics;
    options.chunk_bytes = std::max(full.slots * full.slot_bytes / 8, 4 * full.slot_bytes + (1 << 14));
    options.remove_bubbles = false;
    const double one = measure_fill2(c, options).seconds;
    options.two_parts = true;
    const GsofaTime two = measure_fill2(c, options);
    std::string rows, concurrent;
    for (const auto& part : two.statistics.parts) {
      rows += (rows.empty() ? "" : " + ") + format_number(double(part.sources));
      concurrent += (concurrent.empty() ? "" : ", ") + format_number(double(part.concurrent));
    }
    ratios.push_back(one / two.seconds);
    table.add_row({c.name, format_seconds(one), format_seconds(two.seconds), rows, concurrent,
                   format_number(ratios.back())});
  }
  table.result = format_ratios(ratios);
  table.note =
      "With an eighth of the memory that fills the device, and without bubble removal (Algorithm 3).";
  return table;
}

PaperTable sources_in_flight(const std::vector<GsofaCase>& cases) {
  PaperTable table{
      "Section 4",
      "Tens to thousands of sources in flight saturate a GPU (6,144 on the six of a node for PR).",
      {"matrix", "256", "1,024", "4,096", "16,384", "levels with 256", "with 16,384"},
      {},
      {},
      {},
      {}};
  if (!has_frontiers) {
    table.skipped = needs_device;
    return table;
  }
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    std::vector<GsofaTime> times;
    for (const int concurrent : {256, 1024, 4096, 16384}) {
      Fill2Options options = fine_grained();
      options.concurrent = concurrent;
      times.push_back(measure_fill2(c, options));
    }
    ratios.push_back(times[0].search / times[2].search);
    std::vector<std::string> cells{c.name};
    for (const GsofaTime& time : times) cells.push_back(format_seconds(time.search));
    cells.push_back(format_number(double(times[0].statistics.levels)));
    cells.push_back(format_number(double(times[3].statistics.levels)));
    table.add_row(cells);
  }
  table.result = "4,096 are " + format_ratios(ratios) + " times as fast as 256";
  return table;
}

}  // namespace

void add_memory(const std::vector<GsofaCase>& cases, const PaperRun&, GsofaTables& tables) {
  tables.push_back(figure_5(cases));
  tables.push_back(table_3(cases));
  tables.push_back(external_frontiers(cases));
  tables.push_back(compare(cases,
                           {"Figure 14",
                            "Windows of labels make the search 1.14 (least 1.02, most 1.50) times as fast.",
                            {},
                            {},
                            {},
                            {},
                            {}},
                           "windows", "reset for each source",
                           [](auto& o, bool on) { o.window_labels = on; }));
  tables.push_back(figure_15(cases));
  tables.push_back(figure_16(cases));
  tables.push_back(figure_18(cases));
  PaperTable line_9_5{"Figure 20",
                      "Testing fill before maxId (line 9.5) makes the search between 4.6 % slower and 5.5 % "
                      "faster.",
                      {},
                      {},
                      {},
                      {},
                      {}};
  if (has_frontiers) {
    line_9_5 =
        compare(cases, line_9_5, "fill first", "maxId first", [](auto& o, bool on) { o.fill_first = on; });
  } else {
    line_9_5.skipped = std::string(needs_device) + "; the portable kernel always tests fill first";
  }
  tables.push_back(line_9_5);
  tables.push_back(algorithm_4(cases));
  tables.push_back(sources_in_flight(cases));
}

}  // namespace lutra::Perf

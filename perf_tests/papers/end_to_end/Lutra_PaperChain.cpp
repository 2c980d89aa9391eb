// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 4, the chain with each mechanism off in turn, and levelization.
#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_PaperEndToEnd.hpp"
#include "Lutra_PerfGilbertPeierls.hpp"
#include "Lutra_PerfSolver.hpp"
#include "Lutra_Transpose.hpp"
#ifdef LUTRA_HAS_DEVICE_LAUNCHES
#include "Lutra_DeviceLaunches.hpp"
#endif

namespace lutra::Perf {
namespace {

/// F by columns, which are searched as in KLU and GLU 3.0.
struct Columns {
  std::vector<std::int64_t> map;
  std::vector<int> rows;

  explicit Columns(const HostMatrix<double>& F) : map(static_cast<std::size_t>(F.n_cols) + 1, 0) {
    for (const int column : F.entries) ++map[static_cast<std::size_t>(column) + 1];
    for (std::size_t j = 0; j + 1 < map.size(); ++j) map[j + 1] += map[j];
    std::vector<std::int64_t> next(map.begin(), map.end() - 1);
    rows.resize(F.entries.size());
    for (int i = 0; i < F.n_rows; ++i) {
      const auto r = static_cast<std::size_t>(i);
      for (auto p = F.row_map[r]; p < F.row_map[r + 1]; ++p) {
        auto& at = next[static_cast<std::size_t>(F.entries[static_cast<std::size_t>(p)])];
        rows[static_cast<std::size_t>(at++)] = i;
      }
    }
  }
};

double time_gilbert_peierls(const PaperCase& c, const PaperRun& run) {
  const Columns columns(c.F);
  GilbertPeierls search(columns.map, columns.rows);
  return measure(run.samples, [&] { search.factorize(); }).median();
}

/// Levels of columns by a sequential pass on the host, as in GLU 3.0.
double time_host_levels(const PaperCase& c, const PaperRun& run, std::size_t& levels) {
  const auto plan = plan_right_looking_lu(ExecutionSpace(), c.filled, MemoryBudget());
  const auto row_map = to_host(plan.rows.row_map), row_diagonal = to_host(plan.rows.diagonal);
  const auto columns = to_host(plan.rows.entries);
  const auto column_map = to_host(plan.columns.pattern.row_map),
             column_diagonal = to_host(plan.column_diagonal);
  const auto rows = to_host(plan.columns.pattern.entries);
  std::vector<int> level(row_diagonal.size());
  return measure(run.samples,
                 [&] {
                   std::fill(level.begin(), level.end(), 0);
                   int most = -1;
                   for (std::size_t v = 0; v < level.size(); ++v) {
                     most = std::max(most, level[v]);
                     const auto raise = [&](int w) {
                       auto& own = level[static_cast<std::size_t>(w)];
                       own = std::max(own, level[v] + 1);
                     };
                     for (auto p = row_diagonal[v] + 1; p < row_map[v + 1]; ++p)
                       raise(columns[static_cast<std::size_t>(p)]);
                     for (auto p = column_diagonal[v] + 1; p < column_map[v + 1]; ++p)
                       raise(rows[static_cast<std::size_t>(p)]);
                   }
                   levels = static_cast<std::size_t>(most + 1);
                 })
      .median();
}

/// Median time of levelization alone. @param levels out
double time_levels(const PaperCase& c, const PaperRun& run, const LevelizationOptions& options,
                   std::size_t& levels) {
  const ExecutionSpace exec;
  const MemoryBudget budget;
  const auto plan = plan_right_looking_lu(exec, c.filled, budget);
  const auto behind_first = Kokkos::make_pair(std::size_t(1), static_cast<std::size_t>(plan.n()) + 1);
  const auto& columns = plan.columns.pattern;
  const DependencyGraph<MemorySpace> graph{
      plan.n(),
      {plan.rows.diagonal, Kokkos::subview(plan.rows.row_map, behind_first), plan.rows.entries, 1},
      {plan.column_diagonal, Kokkos::subview(columns.row_map, behind_first), columns.entries, 1}};
  return measure(run.samples, [&] { levels = levelize(exec, graph, budget, options).size(); }).median();
}

bool is_compared(const PeerKind& kind) {
  return kind.name.starts_with("klu") || kind.name.starts_with("cudss");
}

/// Analysis and first factorization of a solver that is not one of the chain.
double time_solver(Solver<double>& solver, const PaperRun& run) {
  return measure(run.samples,
                 [&] {
                   solver.analyze();
                   solver.prepare_factorization();
                   solver.factorize();
                 })
      .median();
}

}  // namespace

double time_symbolic(const PaperCase& c, const PaperRun& run, const SymbolicOptions& options) {
  const ExecutionSpace exec;
  const MemoryBudget budget;
  return measure(run.samples, [&] { factorize_symbolic(exec, c.device, budget, options); }).median();
}

double time_plan(const PaperCase& c, const PaperRun& run, const ColumnOptions& options) {
  const ExecutionSpace exec;
  const MemoryBudget budget;
  return measure(run.samples, [&] { plan_right_looking_lu(exec, c.filled, budget, options); }).median();
}

PaperTable figure_4(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 4";
  table.claim =
      "End to end the chain on the device is 1.13 to 32.65 times as fast as GLU 3.0 with its symbolic phase "
      "on the "
      "host; the gain grows with nnz/n.";
  table.columns = {"matrix",
                   "n",
                   "nnz/n",
                   "nnz(L + U)",
                   "baseline: symbolic",
                   "plan",
                   "numeric (modes)",
                   "chain: fill2",
                   "plan",
                   "numeric",
                   "baseline/chain",
                   "error",
                   "`lutra` default"};
  for (const PeerKind& kind : peer_kinds())
    if (is_compared(kind)) table.columns.push_back(kind.name);
  std::vector<double> speedups;
  for (const PaperCase& c : cases) {
    ColumnOptions glu = mode_options(ColumnMode::levels);
    glu.levels = LevelizationMethod::portable;  // levels one by one from the host
    const ColumnOptions chain = mode_options(ColumnMode::levels);
    const double host = time_gilbert_peierls(c, run), host_plan = time_plan(c, run, glu);
    const double fill2 = time_symbolic(c, run, {SymbolicMethod::fill2}), plan = time_plan(c, run, chain);
    const auto columns = time_columns(c, run, chain);
    const double baseline = host + host_plan + columns.seconds, ours = fill2 + plan + columns.seconds;
    speedups.push_back(baseline / ours);
    const auto b = make_right_hand_side(c.original);
    const double n = c.F.n_rows;
    std::vector<std::string> cells{c.name,
                                   format_number(n),
                                   format_number(static_cast<double>(c.F.values.size()) / n),
                                   format_number(c.nnz_lu()),
                                   format_seconds(host),
                                   format_seconds(host_plan),
                                   format_seconds(columns.seconds),
                                   format_seconds(fill2),
                                   format_seconds(plan),
                                   format_seconds(columns.seconds),
                                   ratio_text(baseline, ours),
                                   format_number(columns.error),
                                   format_seconds(time_solver(*make_lutra(c.original, b), run))};
    for (const PeerKind& kind : peer_kinds())
      if (is_compared(kind)) cells.push_back(format_seconds(time_solver(*kind.make(c.original, b), run)));
    table.add_row(std::move(cells));
  }
  table.result = "baseline over chain: " + format_ratios(speedups);
  table.note =
      "Baseline: Gilbert and Peierls on one host core, and levels launched from the host; the paper's is "
      "parallel on "
      "14 cores. Both have the same numeric kernels: modes A, B and C by level, format by memory. Plan: "
      "transpose, "
      "levels and positions. Matrices are ordered before; `lutra` and the peers also order them, so their "
      "times "
      "cover more. Blocks of the same levels run on one device.";
  return table;
}

PaperTable ablations(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table;
  table.place = "Section 3, each mechanism in turn";
  table.claim = "Modes by level, formats by memory and levels on the device each contribute.";
  table.columns = {"matrix",
                   "levels of A, B, C",
                   "modes by level",
                   "A",
                   "B",
                   "C",
                   "portable, by level",
                   "flow (default)",
                   "flow, search",
                   "portable (default of other devices)"};
  std::vector<double> over_default;
  for (const PaperCase& c : cases) {
    const auto time = [&](const ColumnOptions& options) { return time_columns(c, run, options); };
    ColumnOptions portable = mode_options(ColumnMode::levels), plain, search;
    portable.portable = plain.portable = true;
    search.format = ColumnFormat::search;
    const auto levels = time(mode_options(ColumnMode::levels));
    const auto flow = time({});
    over_default.push_back(levels.seconds / flow.seconds);
    std::vector<std::string> cells{c.name, std::to_string(levels.report->levels_a) + ", " +
                                               std::to_string(levels.report->levels_b) + ", " +
                                               std::to_string(levels.report->levels_c)};
    cells.push_back(format_seconds(levels.seconds));
    for (const ColumnMode mode : {ColumnMode::A, ColumnMode::B, ColumnMode::C})
      cells.push_back(format_seconds(time(mode_options(mode)).seconds));
    for (const auto& options : {portable, ColumnOptions(), search, plain})
      cells.push_back(format_seconds(time(options).seconds));
    table.add_row(std::move(cells));
  }
  table.result = "modes by level over data flow: " + format_ratios(over_default);
  table.note = "Times of one factorization on a known pattern. On hosts all kernels are the portable ones.";
  return table;
}

PaperTable levelizations(const std::vector<PaperCase>& cases, const PaperRun& run) {
  PaperTable table;
  table.place = "Section 3.3, Algorithm 5";
  table.claim = "Kahn's algorithm launched from the device saves launches by the host and transfers.";
  table.columns = {"matrix",          "levels",   "cooperative (default)",
                   "device launches", "portable", "host, sequential"};
  std::vector<double> ratios;
  for (const PaperCase& c : cases) {
    std::size_t levels = 0, found = 0;
    const double cooperative = time_levels(c, run, {}, levels);
    std::string launched = "not built";
#ifdef LUTRA_HAS_DEVICE_LAUNCHES
    const double device =
        time_levels(c, run, {LevelizationMethod::device_launches, &device_launches()}, found);
    launched = format_seconds(device) + (found == levels ? "" : " (wrong)");
    ratios.push_back(device / cooperative);
#endif
    const double portable = time_levels(c, run, {LevelizationMethod::portable}, found);
    const double host = time_host_levels(c, run, found);
    table.add_row({c.name, std::to_string(levels), format_seconds(cooperative), launched,
                   format_seconds(portable), format_seconds(host) + (found == levels ? "" : " (wrong)")});
  }
  table.result = "device launches over cooperative: " + format_ratios(ratios);
  table.note =
      "Patterns are on the device; the host's pass is without transfers. On hosts cooperative is the "
      "portable "
      "method. Device launches need Lutra_ENABLE_DEVICE_LAUNCHES.";
  return table;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables and figures of the paper.
#include <algorithm>
#include <optional>

#include "Lutra_CalibrateRanks.hpp"
#include "Lutra_PaperRanks.hpp"
#include "Lutra_PaperSptrsv.hpp"
#include "Lutra_PerfRanks.hpp"

namespace lutra::Perf {
namespace {

constexpr const char* one_rank = "1x1";

/// The fastest grid of some ranks, or of any if 0.
std::pair<std::string, double> fastest(const GridSeconds& seconds, int ranks = 0) {
  std::pair<std::string, double> best{"", 0};
  for (const int number : numbers_of_ranks()) {
    if (ranks != 0 && number != ranks) continue;
    for (const ProcessGrid& grid : grids_of_interest(number)) {
      const double of_grid = seconds.at(name_of(grid));
      if (best.first.empty() || of_grid < best.second) best = {name_of(grid), of_grid};
    }
  }
  return best;
}

std::string times(double ratio) {
  return format_number(ratio) + "×";
}

const TriangleKind* kind_named(const std::vector<TriangleKind>& kinds, const std::string& name) {
  for (const TriangleKind& kind : kinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

/// Median seconds of a solver on rank 0, whose solution is checked, the same on all ranks.
double kind_seconds(const PaperRun& run, const TriangleSystem& system, const TriangleKind& kind) {
  Communicator& comm = paper_ranks();
  std::unique_ptr<TimedTriangle> solver;
  comm.agree(kind.name.c_str(), [&] {
    if (comm.rank() != 0) return;
    const Communicator::Work work(comm);
    solver = kind.make(system);
    solver->prepare(1);
    solver->analyze();
  });
  const Samples samples = measure_on_first_rank(comm, run.samples, [&] { solver->solve(); });
  comm.agree(kind.name.c_str(), [&] {
    if (solver && !(triangle_errors(system, solver->solution(), 1, kind.order).componentwise <= tolerance))
      throw std::runtime_error("FAILED: " + kind.name + " has a large backward error");
  });
  std::vector<double> seconds{samples.median()};
  comm.broadcast(seconds);
  return seconds[0];
}

/// Grids of a figure: P × 1, 1 × P, or both dimensions above 1.
bool belongs(const ProcessGrid& grid, const std::string& place) {
  if (place == "Figure 5a") return grid.columns == 1;
  if (place == "Figure 5b") return grid.rows == 1;
  return grid.rows > 1 && grid.columns > 1;
}

}  // namespace

PaperTable test_matrices(const std::vector<MeasuredTriangle>& measured) {
  PaperTable table;
  table.place = "Table 2";
  table.claim =
      "Triangles of 362 to 9,827 supernodes and 5.2e8 to 1.9e9 entries reach 1.5 to 2.6 times the "
      "speed of one device on two to six";
  table.columns = {"matrix", "supernodes", "entries of L", "levels"};
  for (const int ranks : numbers_of_ranks())
    if (ranks > 1) table.columns.push_back(std::to_string(ranks) + " ranks");
  std::vector<double> ratios;
  for (const auto& [triangle, seconds] : measured) {
    std::vector<std::string> row{triangle.name, format_number(static_cast<double>(triangle.supernodes)),
                                 format_number(static_cast<double>(triangle.system.matrix.nnz())),
                                 format_number(static_cast<double>(triangle.levels))};
    for (const int ranks : numbers_of_ranks()) {
      if (ranks == 1) continue;
      const double ratio = seconds.at(one_rank) / fastest(seconds, ranks).second;
      row.push_back(times(ratio));
      if (ranks == paper_ranks().size()) ratios.push_back(ratio);
    }
    table.add_row(row);
  }
  table.result = "speedup of all ranks: " + format_ratios(ratios);
  table.note =
      "Complete factors in Lutra's order. The best decomposition of each number of ranks. Supernodes "
      "are runs of columns with one structure.";
  return table;
}

PaperTable one_device(const PaperRun& run, const std::vector<MeasuredTriangle>& measured) {
  PaperTable table;
  table.place = "Figure 4";
  table.claim = "One device is up to 1.9 times as fast as csrsv2 of cuSPARSE; several are up to 6.1 times";
  auto kinds = lutra_triangle_kinds();
  const auto add = [&](const std::vector<TriangleKind>& more) {
    kinds.insert(kinds.end(), more.begin(), more.end());
  };
  std::string peer = "kokkos-kernels";
  add(kokkos_kernels_triangle_kinds());
#ifdef LUTRA_PERF_CUSPARSE
  add(cusparse_triangle_kinds());
  peer = "spsv";
#endif
  const TriangleKind* const own = kind_named(kinds, "lutra");
  const TriangleKind* const other = kind_named(kinds, peer);
  if (own == nullptr || other == nullptr) {
    table.skipped = "needs " + peer;
    return table;
  }
  table.columns = {"matrix",    other->name,   "Lutra, one solver",  "over it", "one rank of a grid",
                   "best grid", "its seconds", "over " + other->name};
  std::vector<double> of_one, of_all;
  for (const auto& [triangle, seconds] : measured) {
    const double others = kind_seconds(run, triangle.system, *other),
                 alone = kind_seconds(run, triangle.system, *own);
    const auto [grid, best] = fastest(seconds);
    of_one.push_back(others / alone);
    of_all.push_back(others / best);
    table.add_row({triangle.name, format_seconds(others), format_seconds(alone), times(of_one.back()),
                   format_seconds(seconds.at(one_rank)), grid, format_seconds(best), times(of_all.back())});
  }
  table.result =
      "one solver over " + other->name + ": " + format_ratios(of_one) + "; grids: " + format_ratios(of_all);
  table.note =
      "`Lutra, one solver` is the triangular solver of one process, with B and X in the memory of its "
      "device. Grids take B and X on hosts, which is most of a short solve on devices.";
  return table;
}

PaperTable decomposition(const std::vector<MeasuredTriangle>& measured, const std::string& place) {
  PaperTable table;
  table.place = place;
  table.claim = place == "Figure 5a" ? "P×1, broadcasts only: up to 3.7 times one device"
                : place == "Figure 5b"
                    ? "1×P, reductions only: slower than one device"
                    : "2D, both: slower than P×1, since reductions cost more than broadcasts";
  std::vector<ProcessGrid> grids;
  for (const int ranks : numbers_of_ranks())
    for (const ProcessGrid& grid : grids_of_interest(ranks))
      if (ranks > 1 && belongs(grid, place)) grids.push_back(grid);
  if (grids.empty()) {
    table.skipped = place == "Figure 5c" ? "needs at least four ranks (mpirun -n 4)"
                                         : "needs at least two ranks (mpirun -n 2)";
    return table;
  }
  table.columns = {"matrix", "one rank"};
  for (const ProcessGrid& grid : grids) table.columns.push_back(name_of(grid));
  std::vector<double> ratios;
  for (const auto& [triangle, seconds] : measured) {
    std::vector<std::string> row{triangle.name, format_seconds(seconds.at(one_rank))};
    for (const ProcessGrid& grid : grids) {
      const double ratio = seconds.at(one_rank) / seconds.at(name_of(grid));
      row.push_back(times(ratio));
      if (grid.size() == paper_ranks().size()) ratios.push_back(ratio);
    }
    table.add_row(row);
  }
  table.result = "speedup of all ranks: " + format_ratios(ratios);
  return table;
}

PaperTable send_bandwidth(const PaperRun& run) {
  PaperTable table;
  table.place = "Figure 6";
  table.claim = "Messages of solves, 256 to 1,024 bytes, reach a small part of the bandwidth of the links";
  if (paper_ranks().size() == 1) {
    table.skipped = "needs at least two ranks (mpirun -n 2)";
    return table;
  }
  const bool by_devices = on_device && can_use(paper_ranks(), CommBackend::peer);
  table.columns = {"bytes", "MPI, seconds", "10⁶ bytes/s"};
  if (by_devices) table.columns.insert(table.columns.end(), {"peer memory, seconds", "10⁶ bytes/s"});
  double small = 0, large = 0;
  for (std::size_t bytes = 64; bytes <= (run.small ? 1024 : 65536); bytes *= 4) {
    std::vector<std::string> row{format_number(static_cast<double>(bytes))};
    for (int device = 0; device <= (by_devices ? 1 : 0); ++device) {
      std::vector<double> seconds{measure_put_seconds(paper_ranks(), bytes, device == 1)};
      paper_ranks().broadcast(seconds);
      large = static_cast<double>(bytes) / seconds[0] * 1e-6;
      row.push_back(format_seconds(seconds[0]));
      row.push_back(format_number(large));
      if (bytes == 1024) small = large;
    }
    table.add_row(row);
  }
  table.result = "10⁶ bytes/s at 1,024 bytes: " + format_number(small) +
                 ", at the largest size: " + format_number(large) +
                 (by_devices ? ", by peer memory" : ", by MPI");
  table.note =
      "One put with its signal between rank 0 and the last rank, half a ping-pong, the least of "
      "several hundred. Devices put by a thread block; the paper's warps and threads are not "
      "measured.";
  return table;
}

PaperTable predictions(const PaperRun& run, const std::vector<MeasuredTriangle>& measured) {
  PaperTable table;
  table.place = "Figure 7";
  table.claim = "The model tells the number of devices with the shortest time";
  DistributedCosts costs = on_device
                               ? default_device_model<Kokkos::DefaultExecutionSpace>().trisolve.distributed
                               : host_device_model().trisolve.distributed;
  if (!run.small) costs = measure_distributed_costs<double>(paper_ranks(), on_device);
  table.columns = {"matrix", "grid", "predicted", "measured", "predicted over measured"};
  std::vector<double> ratios, lost;
  for (const auto& [triangle, seconds] : measured) {
    std::string best;
    double least = 0;
    for (const int ranks : numbers_of_ranks()) {
      for (const ProcessGrid& grid : grids_of_interest(ranks)) {
        const double predicted = predicted_seconds(triangle, grid, costs), found = seconds.at(name_of(grid));
        ratios.push_back(predicted / found);
        table.add_row({triangle.name, name_of(grid), format_seconds(predicted), format_seconds(found),
                       format_number(predicted / found)});
        if (best.empty() || predicted < least) {
          best = name_of(grid);
          least = predicted;
        }
      }
    }
    lost.push_back(fastest(seconds).second / seconds.at(best));
  }
  table.result = "predicted over measured: " + format_ratios(ratios) +
                 "; fastest grid over the one predicted to be: " + format_ratios(lost);
  table.note = run.small ? "Costs are those built in."
                         : "Costs are measured by `measure_distributed_costs` at the start, as by "
                           "`lutra calibrate`. Lutra simulates a solve; the paper sums levels.";
  return table;
}

PaperTable modes(const PaperRun& run, const std::vector<MeasuredTriangle>& measured) {
  PaperTable table;
  table.place = "Section 4, Algorithm 1";
  table.claim = "Two kernels on two streams, WAIT and SOLVE, overcome the limit of NVSHMEM on thread blocks";
  const std::vector<GridMode> all = grid_modes();
  const int ranks = paper_ranks().size();
  table.columns = {"matrix, grid"};
  for (const GridMode& mode : all) table.columns.push_back(mode.name);
  std::vector<double> ratios;
  for (const auto& [triangle, seconds] : measured) {
    for (const ProcessGrid& grid : grids_of_interest(ranks)) {
      std::vector<std::string> row{triangle.name + ", " + name_of(grid)};
      double first = 0;
      for (std::size_t m = 0; m < all.size(); ++m) {
        const double found = grid_seconds(run, triangle, grid, all[m]);
        row.push_back(format_seconds(found));
        if (m == 0) first = found;
        if (m == 1) ratios.push_back(found / first);
      }
      table.add_row(row);
    }
  }
  table.result = all.size() < 2 ? "one mode only here"
                                : all[1].name + " over " + all[0].name + ": " + format_ratios(ratios);
  table.note = on_device
                   ? "One persistent kernel sums in a fixed order and is the default; WAIT and SOLVE sum "
                     "in the order of arrival."
                   : "On hosts a rank takes arrivals from one queue; only the order of sums differs.";
  return table;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Triangles of the tables, and solves on a grid of ranks.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "Lutra_PaperRanks.hpp"
#include "Lutra_PaperSptrsv.hpp"
#include "Lutra_PerfRanks.hpp"
#include "Lutra_PerfTriangleCases.hpp"

namespace lutra::Perf {
namespace {

/// Supernode of each column: column j + 1 continues that of j if L(j + 1, j) is an entry and the counts say
/// that nothing else differs.
std::vector<std::size_t> supernodes_of(const HostMatrix<double>& L) {
  const auto n = static_cast<std::size_t>(L.n_rows);
  std::vector<std::int64_t> count(n, 0);
  for (const int j : L.entries) ++count[static_cast<std::size_t>(j)];
  std::vector<std::size_t> result(n, 0);
  for (std::size_t i = 1; i < n; ++i) {
    const auto begin = L.entries.begin() + L.row_map[i], end = L.entries.begin() + L.row_map[i + 1];
    const bool touches = std::find(begin, end, static_cast<int>(i) - 1) != end;
    result[i] = result[i - 1] + (touches && count[i - 1] == count[i] + 1 ? 0 : 1);
  }
  return result;
}

/// Longest path of the supernodes' dependencies.
std::int64_t count_levels(const HostMatrix<double>& L, const std::vector<std::size_t>& supernode) {
  std::vector<std::int64_t> level(supernode.empty() ? 0 : supernode.back() + 1, 1);
  for (std::size_t i = 0; i < supernode.size(); ++i) {
    for (auto p = static_cast<std::size_t>(L.row_map[i]); p < static_cast<std::size_t>(L.row_map[i + 1]);
         ++p) {
      const std::size_t other = supernode[static_cast<std::size_t>(L.entries[p])];
      if (other != supernode[i]) level[supernode[i]] = std::max(level[supernode[i]], level[other] + 1);
    }
  }
  return level.empty() ? 0 : *std::ranges::max_element(level);
}

/// A rank's run of rows, with their entries, right-hand side and part of X.
struct OwnRows {
  DistributedEntries<double> entries;
  std::vector<std::int64_t> rows;
  std::int64_t n = 0;

  explicit OwnRows(const HostMatrix<double>& L) : n(L.n_rows) {
    const Communicator& comm = paper_ranks();
    const std::int64_t begin = n * comm.rank() / comm.size(), end = n * (comm.rank() + 1) / comm.size();
    for (std::int64_t i = begin; i < end; ++i) {
      rows.push_back(i);
      const auto row = static_cast<std::size_t>(i);
      for (auto p = static_cast<std::size_t>(L.row_map[row]);
           p < static_cast<std::size_t>(L.row_map[row + 1]); ++p) {
        entries.rows.push_back(i);
        entries.columns.push_back(L.entries[p]);
        entries.values.push_back(L.values[p]);
      }
    }
  }
  DistributedPattern pattern() const {
    return {n, entries.rows, entries.columns, {{TriangleSide::lower, DiagonalKind::stored}}, rows, rows};
  }
};

DistributedOptions options_of(const ProcessGrid& grid, const GridMode& mode) {
  DistributedOptions options;
  options.grid = grid;
  options.on_device = on_device;
  options.backend = mode.backend;
  options.deterministic = mode.deterministic;
  return options;
}

/// Checks X, whose parts follow each other by ranks, on all ranks.
void check_solution(const LowerTriangle& triangle, const std::vector<double>& part) {
  Communicator& comm = paper_ranks();
  std::vector<double> x;
  for (const auto& of_rank : comm.gather(part)) x.insert(x.end(), of_rank.begin(), of_rank.end());
  std::vector<double> error{0};
  if (comm.rank() == 0)
    error[0] = triangle_errors(triangle.system, x, 1, VectorOrder::by_columns).componentwise;
  comm.broadcast(error);
  if (!(error[0] <= tolerance))
    throw std::runtime_error("FAILED: backward error " + std::to_string(error[0]));
}

}  // namespace

LowerTriangle lower_triangle(const std::string& name, const HostMatrix<double>& A) {
  LowerTriangle result{name, complete_factors(A).lower};
  const auto supernode = supernodes_of(result.system.matrix);
  result.supernodes = supernode.empty() ? 0 : static_cast<std::int64_t>(supernode.back()) + 1;
  result.levels = count_levels(result.system.matrix, supernode);
  return result;
}

std::vector<GridMode> grid_modes() {
  if (!on_device)
    return {{"hosts, fixed order", CommBackend::mpi, true},
            {"hosts, order of arrival", CommBackend::mpi, false}};
  std::vector<GridMode> result;
  if (can_use(paper_ranks(), CommBackend::peer)) {
    result.push_back({"one kernel, peer memory", CommBackend::peer, true});
    result.push_back({"WAIT and SOLVE, peer memory", CommBackend::peer, false});
  }
  if (can_use(paper_ranks(), CommBackend::nvshmem)) {
    result.push_back({"one kernel, NVSHMEM", CommBackend::nvshmem, true});
    result.push_back({"WAIT and SOLVE, NVSHMEM", CommBackend::nvshmem, false});
  }
  result.push_back({"launches by hosts, MPI", CommBackend::mpi, true});
  return result;
}

double grid_seconds(const PaperRun& run, const LowerTriangle& triangle, const ProcessGrid& grid,
                    const GridMode& mode) {
  const OwnRows own(triangle.system.matrix);
  DistributedTriangles<double> triangles(paper_ranks(), own.pattern(), options_of(grid, mode));
  triangles.set_values(own.entries.values);
  std::vector<double> B, X(own.rows.size());
  for (const std::int64_t row : own.rows) B.push_back(triangle.system.b[static_cast<std::size_t>(row)]);
  const Samples samples = measure_on_ranks(paper_ranks(), run.samples, [&] { triangles.solve(B, X); });
  triangles.close();
  check_solution(triangle, X);
  std::vector<double> seconds{samples.median()};
  paper_ranks().broadcast(seconds);
  return seconds[0];
}

double predicted_seconds(const LowerTriangle& triangle, const ProcessGrid& grid,
                         const DistributedCosts& costs) {
  const OwnRows own(triangle.system.matrix);
  DistributedOptions options = options_of(grid, grid_modes().front());
  options.costs = costs;
  return predict_grids(paper_ranks(), own.pattern(), options, {grid}).front().seconds;
}

std::vector<int> numbers_of_ranks() {
  std::vector<int> result;
  const int all = paper_ranks().size();
  for (int ranks = 1; ranks < all; ranks *= 2) result.push_back(ranks);
  result.push_back(all);
  return result;
}

std::vector<ProcessGrid> grids_of_interest(int ranks) {
  std::vector<ProcessGrid> result{{ranks, 1}};
  if (ranks > 1) result.push_back({1, ranks});
  for (int columns = static_cast<int>(std::sqrt(ranks)); columns > 1; --columns) {
    if (ranks % columns != 0) continue;
    result.push_back({ranks / columns, columns});
    break;
  }
  return result;
}

GridSeconds all_grid_seconds(const PaperRun& run, const LowerTriangle& triangle) {
  GridSeconds result;
  const GridMode mode = grid_modes().front();
  for (const int ranks : numbers_of_ranks())
    for (const ProcessGrid& grid : grids_of_interest(ranks))
      result[name_of(grid)] = grid_seconds(run, triangle, grid, mode);
  return result;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosSparse_SortCrs.hpp>
#include <algorithm>

#include "Lutra_Fill2.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_SymbolicRoads.hpp"

namespace lutra::Impl {
namespace {

// Rows in one launch: bounds how long a kernel runs, and lets progress be seen from outside.
constexpr std::int64_t rows_per_chunk = 1 << 17;
// Threads of a team on a device: frontiers of sparse factors rarely hold more vertices.
constexpr int device_team_threads = 64;
// Most memory taken for workspaces where no limit was set.
constexpr std::size_t unlimited_workspace_bytes = std::size_t(8) << 30;

/// Workspaces for as many teams as can run at once and as memory allows, at least one.
template <class Ordinal, class ExecutionSpace>
Fill2Workspaces<Ordinal, typename ExecutionSpace::memory_space> make_workspaces(const ExecutionSpace& exec,
                                                                                Ordinal n, Charge& charge,
                                                                                const MemoryBudget& budget) {
  using Workspaces = Fill2Workspaces<Ordinal, typename ExecutionSpace::memory_space>;
  const auto rows = static_cast<std::size_t>(n);
  const std::size_t each = Workspaces::bytes_each(rows);
  const std::size_t threads = is_host_space<ExecutionSpace> ? 1 : device_team_threads;
  const std::size_t running =
      std::max<std::size_t>(1, static_cast<std::size_t>(exec.concurrency()) / threads);
  const std::size_t room = std::min(budget.available_bytes(), std::max(unlimited_workspace_bytes, each));
  // The View's own header and alignment are allowed for in the slack.
  const std::size_t slack = std::min<std::size_t>(room, 3 * 1024);
  const std::size_t count = std::min({running, rows, std::max<std::size_t>(1, (room - slack) / each)});
  Workspaces workspaces;
  workspaces.fill =
      charge.allocate<decltype(workspaces.fill)>(exec, "lutra::symbolic::fill2 marks", count, rows);
  workspaces.queue =
      charge.allocate<decltype(workspaces.queue)>(exec, "lutra::symbolic::fill2 queues", count, rows);
  workspaces.pending = charge.allocate<decltype(workspaces.pending)>(
      exec, "lutra::symbolic::fill2 thresholds", count, Workspaces::words(rows));
  Kokkos::deep_copy(exec, workspaces.fill, Ordinal(-1));
  Kokkos::deep_copy(exec, workspaces.pending, std::uint64_t(0));
  return workspaces;
}

/// Throws where the budget cannot hold one workspace, with the least budget that would do.
template <class Ordinal, class Memory>
void require_one_workspace(Ordinal n, const MemoryBudget& budget) {
  const std::size_t each =
      Fill2Workspaces<Ordinal, Memory>::bytes_each(static_cast<std::size_t>(n)) + 3 * 1024;
  if (each <= budget.available_bytes()) return;
  throw OutOfMemoryError(
      "symbolic factorization needs " + std::to_string(each) + " bytes for one row in flight, but " +
          std::to_string(budget.available_bytes()) + " bytes of the memory limit are left; a limit of " +
          std::to_string(budget.used_bytes() + each) + " bytes is the least that gets past this point",
      each);
}

/// Runs the search over all rows in chunks.
template <class Ordinal, class Offset, class ExecutionSpace>
void run_search(const ExecutionSpace& exec, Fill2Search<Ordinal, Offset, ExecutionSpace>& search, Ordinal n,
                double mean_row_length) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using RowState = typename Fill2Search<Ordinal, Offset, ExecutionSpace>::RowState;
  const int vector_length = vector_length_for<ExecutionSpace>(mean_row_length);
  const int team_size = is_host_space<ExecutionSpace> ? 1 : std::max(1, device_team_threads / vector_length);
  const auto teams = static_cast<std::int64_t>(search.workspaces.fill.extent(0));
  if (search.store) {
    Kokkos::deep_copy(exec, search.workspaces.fill, Ordinal(-1));
  }
  for (std::int64_t begin = 0; begin < n; begin += rows_per_chunk) {
    const std::int64_t end = std::min<std::int64_t>(n, begin + rows_per_chunk);
    Kokkos::deep_copy(exec, search.next_row, static_cast<Ordinal>(begin));
    search.end_row = static_cast<Ordinal>(end);
    Policy policy(exec, static_cast<int>(std::min(teams, end - begin)), team_size, vector_length);
    policy.set_scratch_size(0, Kokkos::PerTeam(2 * sizeof(RowState)));
    Kokkos::parallel_for(search.store ? "lutra::symbolic::fill2_positions" : "lutra::symbolic::fill2_counts",
                         policy, search);
  }
}

/// Position of the diagonal of each row: after its entries of L, rows being sorted.
template <class ExecutionSpace, class RowMapView, class CountView, class DiagonalView>
void locate_diagonals(const ExecutionSpace& exec, const RowMapView& row_map, const CountView& lower_counts,
                      const DiagonalView& diagonal) {
  Kokkos::parallel_for(
      "lutra::symbolic::diagonals",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(diagonal.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { diagonal(i) = row_map(i) + lower_counts(i); });
}

}  // namespace

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  using EntryView = Kokkos::View<Ordinal*, Memory>;
  const Ordinal n = pattern.n_rows;
  const double mean_row_length = n > 0 ? static_cast<double>(pattern.nnz()) / static_cast<double>(n) : 0.0;

  LuPattern<Ordinal, Offset, Memory> result;
  result.n = n;
  result.charge = Charge(budget);
  auto row_map = result.charge.template allocate<OffsetView>(exec, "lutra::symbolic::row_map", n + 1);
  auto diagonal = result.charge.template allocate<OffsetView>(exec, "lutra::symbolic::diagonal", n);
  EntryView entries;
  {
    Charge scratch(budget);
    auto lower_counts = scratch.allocate<OffsetView>(exec, "lutra::symbolic::lower_counts", n);
    auto counts = scratch.allocate<OffsetView>(exec, "lutra::symbolic::counts", n);
    auto next_row = scratch.allocate<Kokkos::View<Ordinal, Memory>>(exec, "lutra::symbolic::next_row");
    require_one_workspace<Ordinal, Memory>(n, budget);
    Fill2Search<Ordinal, Offset, ExecutionSpace> search{pattern, {}, next_row, 0,    lower_counts,
                                                        counts,  {}, {},       false};
    {
      Charge workspace(budget);
      search.workspaces = make_workspaces(exec, n, workspace, budget);
      run_search(exec, search, n, mean_row_length);
      exec.fence("lutra::symbolic: workspaces are freed to make room for the pattern");
      search.workspaces = {};
    }
    const Offset nnz = prefix_sum<Offset>(exec, counts, row_map);
    result.nnz_l = total_of<Offset>(exec, lower_counts);
    result.nnz_u = nnz - result.nnz_l;
    entries = result.charge.template allocate<EntryView>(exec, "lutra::symbolic::entries", nnz);
    require_one_workspace<Ordinal, Memory>(n, budget);
    Charge workspace(budget);
    search.workspaces = make_workspaces(exec, n, workspace, budget);
    search.row_map = row_map;
    search.entries = entries;
    search.store = true;
    run_search(exec, search, n, mean_row_length);
    locate_diagonals(exec, row_map, lower_counts, diagonal);
    exec.fence("lutra::symbolic: workspaces are freed");
  }
  KokkosSparse::sort_crs_graph(exec, row_map, entries, n);
  result.row_map = row_map;
  result.entries = entries;
  result.diagonal = diagonal;
  return result;
}

#define LUTRA_FILL2(Ordinal, Offset, Space)                                \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> fill2( \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_FILL2)

}  // namespace lutra::Impl

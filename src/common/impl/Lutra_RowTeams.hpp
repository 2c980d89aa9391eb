// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWTEAMS_HPP
#define LUTRA_ROWTEAMS_HPP

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Partition of rows among teams: `rows` per team, each processed by the `lanes` of one of its `threads`.
struct RowTeams {
  int lanes = 1, threads = 1, rows = 1;

  /// @param rows_on_host rows per team on hosts, which use one thread and one lane
  template <class ExecutionSpace>
  RowTeams(const ExecutionSpace&, int lanes_a_row, [[maybe_unused]] int rows_on_host = 1)
      : lanes(lanes_a_row), threads(128 / lanes), rows(threads) {}
  template <HostExecution ExecutionSpace>
  RowTeams(const ExecutionSpace&, int, int rows_on_host = 1) : rows(rows_on_host) {}

  template <class ExecutionSpace>
  Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> policy(const ExecutionSpace& exec,
                                                                             Ordinal n) const {
    const std::int64_t teams = (static_cast<std::int64_t>(n) + rows - 1) / rows;
    return {exec, static_cast<int>(teams), threads, lanes};
  }

  /// Calls visit(row) for each row of a team, one thread per row. `n` is the total number of rows.
  template <class Member, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void visit_rows(const Member& team, Ordinal n, const Visit& visit) const {
    const auto first = static_cast<std::int64_t>(team.league_rank()) * rows;
    const auto last = Kokkos::min(first + rows, static_cast<std::int64_t>(n));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last),
                         [&](const std::int64_t row) { visit(static_cast<Ordinal>(row)); });
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWLANES_HPP
#define LUTRA_ROWLANES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Threads that share a row: the lanes of one thread, or a whole team.
template <bool whole_team, class Team>
struct RowLanes {
  const Team& team;

  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto over(Offset begin, Offset end) const {
    if constexpr (whole_team) {
      return Kokkos::TeamVectorRange(team, begin, end);
    } else {
      return Kokkos::ThreadVectorRange(team, begin, end);
    }
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    if constexpr (whole_team) {
      Kokkos::single(Kokkos::PerTeam(team), function);
    } else {
      Kokkos::single(Kokkos::PerThread(team), function);
    }
  }
};

/// Maximum number of entries of a row processed by the lanes of one thread, on devices.
inline constexpr int longest_row_of_a_thread = 512;

/// Rows that a team takes at once: one per thread, or 64 on hosts, where a team is one thread.
template <class ExecutionSpace>
KOKKOS_FORCEINLINE_FUNCTION Ordinal rows_of_team(int team_size) {
  return static_cast<Ordinal>(team_size);
}
template <HostExecution ExecutionSpace>
KOKKOS_FORCEINLINE_FUNCTION Ordinal rows_of_team(int) {
  return 64;
}

/// Calls body(lanes, row) for this team's share of the rows row_at(0) … row_at(count − 1): one thread per
/// row, then the whole team for each long row. Called by all threads of the team; reductions in `body` are
/// over lanes.over(…). The policy must be rows_policy.
template <class ExecutionSpace, class Team, class RowMap, class RowAt, class Body>
KOKKOS_INLINE_FUNCTION void for_rows(const Team& team, const RowMap& row_map, Ordinal count,
                                     const RowAt& row_at, const Body& body) {
  const Ordinal rows = rows_of_team<ExecutionSpace>(team.team_size());
  const Ordinal begin = static_cast<Ordinal>(team.league_rank()) * rows;
  const Ordinal end = begin + rows < count ? begin + rows : count;
  const auto length = [&](const Ordinal row) { return row_map(row + 1) - row_map(row); };
  int long_rows = 0;
  for (Ordinal first = begin; first < end; first += static_cast<Ordinal>(team.team_size())) {
    const Ordinal q = first + static_cast<Ordinal>(team.team_rank());
    if (q >= end) continue;
    const Ordinal row = row_at(q);
    if (length(row) > longest_row_of_a_thread) {
      ++long_rows;
    } else {
      body(RowLanes<false, Team>{team}, row);
    }
  }
  team.team_reduce(Kokkos::Sum<int>(long_rows));
  for (Ordinal q = begin; long_rows > 0 && q < end; ++q) {
    const Ordinal row = row_at(q);
    if (length(row) <= longest_row_of_a_thread) continue;
    body(RowLanes<true, Team>{team}, row);
    --long_rows;
  }
}
/// Hosts have no rows for whole teams.
template <HostExecution ExecutionSpace, class Team, class RowMap, class RowAt, class Body>
KOKKOS_INLINE_FUNCTION void for_rows(const Team& team, const RowMap&, Ordinal count, const RowAt& row_at,
                                     const Body& body) {
  const Ordinal rows = rows_of_team<ExecutionSpace>(1);
  const Ordinal begin = static_cast<Ordinal>(team.league_rank()) * rows;
  const Ordinal end = begin + rows < count ? begin + rows : count;
  for (Ordinal q = begin; q < end; ++q) body(RowLanes<false, Team>{team}, row_at(q));
}

/// Policy whose teams share rows according to the mean row length; for use with for_rows.
template <class ExecutionSpace>
Kokkos::TeamPolicy<ExecutionSpace> rows_policy(const ExecutionSpace& exec, Ordinal rows, double mean_length) {
  // Four warps: smaller teams balance better, larger ones share a long row among more threads.
  constexpr int threads = 128;
  const int lanes = vector_length_for<ExecutionSpace>(mean_length);
  const int team = team_width<ExecutionSpace>(threads / lanes);
  const Ordinal together = rows_of_team<ExecutionSpace>(team);
  return {exec, static_cast<int>((rows + together - 1) / together), team, lanes};
}

}  // namespace lutra::Impl

#endif

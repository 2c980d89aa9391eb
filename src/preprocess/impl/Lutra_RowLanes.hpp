// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWLANES_HPP
#define LUTRA_ROWLANES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// The vector lanes of one thread of a team, which share a row.
template <class Team>
struct LanesOfThread {
  const Team& team;

  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto over(Offset begin, Offset end) const {
    return Kokkos::ThreadVectorRange(team, begin, end);
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    Kokkos::single(Kokkos::PerThread(team), function);
  }
};

/// All lanes of a team, for long rows.
template <class Team>
struct LanesOfTeam {
  const Team& team;

  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto over(Offset begin, Offset end) const {
    return Kokkos::TeamVectorRange(team, begin, end);
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    Kokkos::single(Kokkos::PerTeam(team), function);
  }
};

/// Entries up to which a row is shared by the lanes of one thread, on devices.
inline constexpr int longest_row_of_a_thread = 512;

/// Calls body(lanes, row) for the rows row_at(begin) … row_at(end − 1): a thread per row, then the whole team
/// for each long row. All threads of the team call it; body's reductions are over lanes.over(…).
template <class ExecutionSpace, class Team, class RowMap, class Ordinal, class RowAt, class Body>
KOKKOS_INLINE_FUNCTION void for_rows(const Team& team, const RowMap& row_map, Ordinal begin, Ordinal end,
                                     const RowAt& row_at, const Body& body) {
  const auto length = [&](const Ordinal row) { return row_map(row + 1) - row_map(row); };
  if constexpr (is_host_space<ExecutionSpace>) {
    for (Ordinal q = begin; q < end; ++q) body(LanesOfThread<Team>{team}, row_at(q));
  } else {
    int long_rows = 0;
    for (Ordinal first = begin; first < end; first += static_cast<Ordinal>(team.team_size())) {
      const Ordinal q = first + static_cast<Ordinal>(team.team_rank());
      if (q >= end) continue;
      const Ordinal row = row_at(q);
      if (length(row) > longest_row_of_a_thread) {
        ++long_rows;
      } else {
        body(LanesOfThread<Team>{team}, row);
      }
    }
    team.team_reduce(Kokkos::Sum<int>(long_rows));
    for (Ordinal q = begin; long_rows > 0 && q < end; ++q) {
      const Ordinal row = row_at(q);
      if (length(row) <= longest_row_of_a_thread) continue;
      body(LanesOfTeam<Team>{team}, row);
      --long_rows;
    }
  }
}

/// Rows of a team on hosts, where a team is one thread.
inline constexpr int rows_of_a_host_team = 64;

/// A policy whose teams share rows by their mean length; team t has rows [t, t + 1)·rows_of_a_team(team).
template <class ExecutionSpace, class Ordinal>
Kokkos::TeamPolicy<ExecutionSpace> rows_policy(const ExecutionSpace& exec, Ordinal rows, double mean_length) {
  constexpr int threads = 128;
  const int lanes = vector_length_for<ExecutionSpace>(mean_length);
  const int team = is_host_space<ExecutionSpace> ? 1 : threads / lanes;
  const auto together = static_cast<Ordinal>(is_host_space<ExecutionSpace> ? rows_of_a_host_team : team);
  return {exec, static_cast<int>((rows + together - 1) / together), team, lanes};
}

template <class ExecutionSpace, class Team>
KOKKOS_FORCEINLINE_FUNCTION int rows_of_a_team(const Team& team) {
  return is_host_space<ExecutionSpace> ? rows_of_a_host_team : team.team_size();
}

}  // namespace lutra::Impl

#endif

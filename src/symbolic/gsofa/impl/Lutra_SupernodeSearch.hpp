// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODESEARCH_HPP
#define LUTRA_SUPERNODESEARCH_HPP

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// Phase two of T3 detection: from a row that leads, on through the rows that may follow it. A thread takes a
/// leading row, its vector lanes ask for L(s, r) of as many rows s at once.
template <class Ordinal, class Offset, class ExecutionSpace>
struct SupernodeGrower {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr Ordinal look_ahead = is_host_space<ExecutionSpace> ? 1 : 32;  ///< rows asked about at once

  Ordinal n;
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Ordinal*, Memory> entries;
  Kokkos::View<std::uint64_t*, Memory> follows;  ///< bit set of rows one shorter in U than the row before
  Kokkos::View<Ordinal*, Memory> leads;          ///< [n] out: 1 where a supernode begins, else 0
  Ordinal max_size;
  Ordinal rows_each;  ///< rows of a team

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Ordinal first = static_cast<Ordinal>(team.league_rank()) * rows_each;
    const Ordinal end = first + rows_each < n ? first + rows_each : n;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, end), [&](const Ordinal row) {
      if (!may_follow(row)) grow(team, row);
    });
  }

  KOKKOS_FUNCTION bool may_follow(Ordinal row) const {
    return row < n && ((follows(row / 64) >> (row % 64)) & 1) != 0;
  }

  /// Walks from a leading row to the next row that cannot follow, and writes where supernodes begin.
  KOKKOS_FUNCTION void grow(const Team& team, Ordinal first) const {
    Ordinal leader = first, row = first + 1;
    lead(team, first);
    while (may_follow(row)) {
      const Ordinal most = leader + max_size - row < look_ahead ? leader + max_size - row : look_ahead;
      Ordinal good = most;  // rows from here on that follow
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, most),
          [&](const Ordinal k, Ordinal& least) {
            if (k < least && !belongs(row + k, leader)) least = k;
          },
          Kokkos::Min<Ordinal>(good));
      good = good < most ? good : most;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, good),
                           [&](const Ordinal k) { leads(row + k) = 0; });
      row += good;
      if (!may_follow(row)) return;  // it leads, and another thread knows
      if (good == most && row < leader + max_size) continue;
      lead(team, row);  // there is no entry L(row, leader), or the supernode is full
      leader = row++;
    }
  }

  KOKKOS_FUNCTION bool belongs(Ordinal row, Ordinal leader) const {
    return may_follow(row) && has_entry(row, leader);
  }

  KOKKOS_FUNCTION bool has_entry(Ordinal row, Ordinal column) const {
    Offset begin = row_map(row), end = diagonal(row);
    while (begin < end) {
      const Offset middle = begin + (end - begin) / 2;
      if (entries(middle) == column) return true;
      if (entries(middle) < column) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return false;
  }

  KOKKOS_FUNCTION void lead(const Team& team, Ordinal row) const {
    Kokkos::single(Kokkos::PerThread(team), [&]() { leads(row) = 1; });
  }
};

}  // namespace lutra::Impl

#endif

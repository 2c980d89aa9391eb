// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODESEARCH_HPP
#define LUTRA_SUPERNODESEARCH_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowTeams.hpp"

namespace lutra::Impl {

/// Rows of L + U and where their supernodes begin, as the kernels of the search read and write them.
struct SupernodeRows {
  Ordinal n;
  const Offset* row_map;   ///< [n + 1]
  const Offset* diagonal;  ///< [n]
  const Ordinal* entries;
  Ordinal* leads;  ///< [n] out: 1 if a supernode starts at the row, else 0
  Ordinal max_size;

  /// Entries of a row of U.
  KOKKOS_FUNCTION Offset upper(Ordinal row) const { return row_map[row + 1] - diagonal[row]; }
  /// Requirement (i) of Definition 1: nnz(U(s, :)) = nnz(U(s − 1, :)) − 1.
  KOKKOS_FUNCTION bool follows(Ordinal row) const { return row > 0 && upper(row) == upper(row - 1) - 1; }
  /// Requirement (ii): L(row, column) is an entry.
  KOKKOS_FUNCTION bool has_entry(Ordinal row, Ordinal column) const {
    const Offset end = diagonal[row];
    const Offset p = first_not_before(row_map[row], end, [&](Offset q) { return entries[q] < column; });
    return p < end && entries[p] == column;
  }
};

/// Phase one, portable: the bit set of rows whose row of U is one shorter than the preceding one. A thread
/// takes a word.
template <class Memory>
struct CompareRows {
  SupernodeRows rows;
  Kokkos::View<std::uint64_t*, Memory> follows;

  KOKKOS_FUNCTION void operator()(const std::int64_t w) const {
    std::uint64_t word = 0;
    for (std::int64_t i = w * 64; i < (w + 1) * 64 && i < rows.n; ++i) {
      if (rows.follows(static_cast<Ordinal>(i))) word |= std::uint64_t(1) << (i % 64);
    }
    follows(w) = word;
  }
};

/// Phase two of T3 detection, portable: starts at a leading row and continues through the rows that may
/// follow it. One thread per leading row; its vector lanes look up L(s, r) for as many rows s at once.
template <class ExecutionSpace>
struct SupernodeGrower {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  /// Rows examined at once
  static constexpr Ordinal look_ahead = team_width<ExecutionSpace>(32);

  SupernodeRows rows;
  Kokkos::View<std::uint64_t*, Memory> follows;  ///< bit set of rows one shorter in U than the preceding row
  RowTeams share;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, rows.n, [&](const Ordinal row) {
      if (!may_follow(row)) grow(team, row);
    });
  }

  KOKKOS_FUNCTION bool may_follow(Ordinal row) const {
    return row < rows.n && ((follows(row / 64) >> (row % 64)) & 1) != 0;
  }

  /// Processes rows from a leading row to the next row that cannot follow, and marks the supernodes' first
  /// rows.
  KOKKOS_FUNCTION void grow(const Team& team, Ordinal first) const {
    Ordinal leader = first, row = first + 1;
    lead(team, first);
    while (may_follow(row)) {
      const Ordinal most = Kokkos::min(leader + rows.max_size - row, Ordinal(look_ahead));
      Ordinal good = most;  // number of rows from `row` on that join
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, most),
          [&](const Ordinal k, Ordinal& least) {
            if (k < least && !belongs(row + k, leader)) least = k;
          },
          Kokkos::Min<Ordinal>(good));
      good = good < most ? good : most;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, good),
                           [&](const Ordinal k) { rows.leads[row + k] = 0; });
      row += good;
      if (!may_follow(row)) return;  // it leads, and another thread handles it
      if (good == most && row < leader + rows.max_size) continue;
      lead(team, row);  // L(row, leader) is not an entry, or the supernode is full
      leader = row++;
    }
  }

  KOKKOS_FUNCTION bool belongs(Ordinal row, Ordinal leader) const {
    return may_follow(row) && rows.has_entry(row, leader);
  }

  KOKKOS_FUNCTION void lead(const Team& team, Ordinal row) const {
    Kokkos::single(Kokkos::PerThread(team), [&]() { rows.leads[row] = 1; });
  }
};

/// Both phases by the portable kernels.
template <class ExecutionSpace>
void search_supernodes_portable(const ExecutionSpace& exec, const SupernodeRows& rows,
                                MemoryReservation& scratch) {
  using Memory = typename ExecutionSpace::memory_space;
  using Grower = SupernodeGrower<ExecutionSpace>;
  const auto follows = scratch.allocate<Kokkos::View<std::uint64_t*, Memory>>(
      exec, "lutra::symbolic::follows", (static_cast<std::size_t>(rows.n) + 63) / 64);
  Kokkos::parallel_for(
      "lutra::symbolic::supernodes_phase_one",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(follows.extent(0))),
      CompareRows<Memory>{rows, follows});
  check_launches_on<ExecutionSpace>();  // before the bits are read
  const RowTeams share(exec, vector_length_for<ExecutionSpace>(Grower::look_ahead));
  Kokkos::parallel_for("lutra::symbolic::supernodes_phase_two", share.policy(exec, rows.n),
                       Grower{rows, follows, share});
}

/// The search by the kernels of a space. This overload is for spaces with only portable ones.
template <class ExecutionSpace>
void search_supernodes(const ExecutionSpace& exec, const SupernodeRows& rows, SupernodeSearch search,
                       MemoryReservation& scratch) {
  if (search == SupernodeSearch::threads || search == SupernodeSearch::warps)
    throw InputError("search: the two-phase kernels with a queue in shared memory are for CUDA only");
  search_supernodes_portable(exec, rows, scratch);
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PATTERNSYMMETRY_HPP
#define LUTRA_PATTERNSYMMETRY_HPP

#include <algorithm>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_TeamBits.hpp"

namespace lutra::Impl {

/// Entries of Aᵀ left of the diagonal, by rows, unsorted: row v holds each c < v with A(c, v) in the pattern.
template <class ExecutionSpace>
CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> mirror_upper(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    MemoryReservation& reservation) {
  using Memory = typename ExecutionSpace::memory_space;
  using Flat = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>;
  const Ordinal n = pattern.n_rows;
  auto row_map = reservation.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::trees::mirror_map", n + 1);
  auto ends = reservation.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::trees::mirror_ends", n);
  set_to_zero(exec, ends);
  Kokkos::parallel_for(
      "lutra::trees::mirror_counts", Flat(exec, 0, pattern.nnz()), KOKKOS_LAMBDA(const Offset p) {
        const Ordinal c = pattern.entries(p);
        if (row_of_entry(pattern.row_map, n, p) < c) add_shared<ExecutionSpace>(ends(c), Offset(1));
      });
  const Offset nnz = prefix_sum<Offset>(exec, ends, row_map);
  auto entries = reservation.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::trees::mirror", nnz);
  copy_view(exec, ends, row_map);
  Kokkos::parallel_for(
      "lutra::trees::mirror", Flat(exec, 0, pattern.nnz()), KOKKOS_LAMBDA(const Offset p) {
        const Ordinal r = row_of_entry(pattern.row_map, n, p), c = pattern.entries(p);
        if (r < c) entries(fetch_add_shared<ExecutionSpace>(ends(c), Offset(1))) = r;
      });
  return {n, n, row_map, entries};
}

/// Whether a sample of entries from all over the pattern has mirror images: a cheap test that detects most
/// unsymmetric patterns. Inspects at most 256 entries, in rows with at most as many entries.
template <class ExecutionSpace>
static bool sample_is_symmetric(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern) {
  const Offset nnz = pattern.nnz(), samples = std::min<Offset>(nnz, 256), max_entries = 256;
  Offset missing = 0;
  Kokkos::parallel_reduce(
      "lutra::trees::symmetry_sample",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(exec, 0, samples),
      KOKKOS_LAMBDA(const Offset sample, Offset& sum) {
        const Offset p = sample * (nnz / samples);
        const Ordinal r = row_of_entry(pattern.row_map, pattern.n_rows, p), c = pattern.entries(p);
        const Offset begin = pattern.row_map(c), end = pattern.row_map(c + 1);
        if (r == c || end - begin > max_entries) return;
        for (Offset q = begin; q < end; ++q) {
          if (pattern.entries(q) == r) return;
        }
        ++sum;
      },
      missing);
  return missing == 0;
}

/// Counts the vertices v for which {c < v : A(v, c)} and {c < v : A(c, v)} differ. Rows have no duplicates.
template <class ExecutionSpace>
struct MirrorCheck {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  CsrPattern<Ordinal, Offset, Memory> pattern, mirror;
  Kokkos::View<std::uint64_t**, Kokkos::LayoutRight, Memory> bits;  ///< (team, c / 64); zero between rows
  Ordinal rows_each;                                                ///< rows per team

  KOKKOS_FUNCTION void operator()(const Team& team, Ordinal& differ) const {
    const Ordinal first = static_cast<Ordinal>(team.league_rank()) * rows_each;
    const Ordinal end = first + rows_each < pattern.n_rows ? first + rows_each : pattern.n_rows;
    for (Ordinal v = first; v < end; ++v) {
      const Ordinal difference = compare(team, v);
      Kokkos::single(Kokkos::PerTeam(team), [&]() { differ += difference != 0 ? 1 : 0; });
    }
  }

  /// Number of entries left of the diagonal in only one of A and Aᵀ.
  KOKKOS_FUNCTION Ordinal compare(const Team& team, Ordinal v) const {
    std::uint64_t* const words = &bits(static_cast<std::size_t>(team.league_rank()), 0);
    const auto row = Kokkos::TeamThreadRange(team, pattern.row_map(v), pattern.row_map(v + 1));
    const auto mirrored = Kokkos::TeamThreadRange(team, mirror.row_map(v), mirror.row_map(v + 1));
    Ordinal lower = 0, found = 0;
    Kokkos::parallel_reduce(
        row,
        [&](const Offset p, Ordinal& sum) {
          const auto c = static_cast<std::size_t>(pattern.entries(p));
          if (c >= static_cast<std::size_t>(v)) return;
          TeamAtomics<ExecutionSpace>::set_bits(words[c / 64], std::uint64_t(1) << (c % 64));
          ++sum;
        },
        lower);
    team.team_barrier();
    Kokkos::parallel_reduce(
        mirrored,
        [&](const Offset p, Ordinal& sum) {
          const auto c = static_cast<std::size_t>(mirror.entries(p));
          sum += static_cast<Ordinal>((words[c / 64] >> (c % 64)) & 1);
        },
        found);
    team.team_barrier();
    Kokkos::parallel_for(
        row, [&](const Offset p) { words[static_cast<std::size_t>(pattern.entries(p)) / 64] = 0; });
    team.team_barrier();
    const auto n_mirrored = static_cast<Ordinal>(mirror.row_map(v + 1) - mirror.row_map(v));
    return (lower - found) + (n_mirrored - found);
  }
};

/// Whether A and Aᵀ have the same pattern.
/// @param mirror result of mirror_upper
template <class ExecutionSpace>
bool is_symmetric(const ExecutionSpace& exec,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror,
                  const MemoryBudget& budget) {
  using Check = MirrorCheck<ExecutionSpace>;
  if (pattern.n_rows == 0) return true;
  constexpr std::size_t threads = team_width<ExecutionSpace>(32);  // a warp
  constexpr std::size_t max_teams = 4096;  // each has, and clears, a bit per row; larger: more rows at a time
  MemoryReservation scratch(budget);
  const auto rows = static_cast<std::size_t>(pattern.n_rows);
  const std::size_t words = TeamBits<typename Check::Memory>::words_for(rows);
  const std::size_t room = std::min(budget.available_bytes() / 2, std::size_t(1) << 30) / (words * 8);
  const std::size_t teams = std::max<std::size_t>(
      1, std::min({max_teams, rows, room, static_cast<std::size_t>(exec.concurrency()) / threads}));
  const auto rows_each = static_cast<Ordinal>((rows + teams - 1) / teams);
  auto bits = scratch.allocate<decltype(Check::bits)>(exec, "lutra::trees::mirror_bits", teams, words);
  set_to_zero(exec, bits);
  Ordinal differ = 0;
  Kokkos::parallel_reduce(
      "lutra::trees::symmetry",
      Kokkos::TeamPolicy<ExecutionSpace>(exec, static_cast<int>(teams), static_cast<int>(threads)),
      Check{pattern, mirror, bits, rows_each}, differ);
  exec.fence("lutra::trees: bits are freed");
  return differ == 0;
}

/// A pattern's mirror, empty if the pattern is symmetric.
template <class ExecutionSpace>
struct MirroredPattern {
  using Pattern = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
  MirroredPattern(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : reservation(budget) {
    const bool may_be_symmetric = sample_is_symmetric<ExecutionSpace>(exec, pattern);
    mirror = mirror_upper<ExecutionSpace>(exec, pattern, reservation);
    symmetric = may_be_symmetric && is_symmetric<ExecutionSpace>(exec, pattern, mirror, budget);
    if (!symmetric) return;
    mirror = {};
    reservation = MemoryReservation(budget);
  }
  Pattern mirror;
  MemoryReservation reservation;
  bool symmetric = false;
};

}  // namespace lutra::Impl

#endif

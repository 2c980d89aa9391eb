// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Allocate.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_Gsofa.hpp"

#include <algorithm>
#include <vector>

#include "Lutra_Amalgamate.hpp"
#include "Lutra_BinarySearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_RowTeams.hpp"

namespace lutra {
namespace {

template <class Memory>
using OrdinalView = Kokkos::View<Ordinal*, Memory>;

/// Lengths of the rows of L and of U.
template <class ExecutionSpace, class Pattern, class View>
void count_rows(const ExecutionSpace& exec, const Pattern& filled, const View& lower, const View& upper) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  Kokkos::parallel_for(
      "lutra::symbolic::row_lengths", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, filled.n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        lower(i) = static_cast<Ordinal>(diagonal(i) - row_map(i));
        upper(i) = static_cast<Ordinal>(row_map(i + 1) - diagonal(i));
      });
}

/// Phase one: the bit set of rows whose row of U is one shorter than the preceding one.
template <class ExecutionSpace, class View, class Bits>
void compare_rows(const ExecutionSpace& exec, const View& upper, const Bits& follows) {
  const auto n = static_cast<std::int64_t>(upper.extent(0));
  Kokkos::parallel_for(
      "lutra::symbolic::supernodes_phase_one",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(follows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t w) {
        std::uint64_t word = 0;
        for (std::int64_t i = w * 64; i < (w + 1) * 64 && i < n; ++i) {
          if (i > 0 && upper(i) == upper(i - 1) - 1) word |= std::uint64_t(1) << (i % 64);
        }
        follows(w) = word;
      });
}

/// Phase two of T3 detection: starts at a leading row and continues through the rows that may follow it. One
/// thread per leading row; its vector lanes look up L(s, r) for as many rows s at once.
template <class ExecutionSpace>
struct SupernodeGrower {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  /// Rows examined at once
  static constexpr Ordinal look_ahead = Impl::team_width<ExecutionSpace>(32);

  Ordinal n;
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Ordinal*, Memory> entries;
  Kokkos::View<std::uint64_t*, Memory> follows;  ///< bit set of rows one shorter in U than the preceding row
  Kokkos::View<Ordinal*, Memory> leads;          ///< [n] out: 1 if a supernode starts at the row, else 0
  Ordinal max_size;
  Impl::RowTeams share;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, n, [&](const Ordinal row) {
      if (!may_follow(row)) grow(team, row);
    });
  }

  KOKKOS_FUNCTION bool may_follow(Ordinal row) const {
    return row < n && ((follows(row / 64) >> (row % 64)) & 1) != 0;
  }

  /// Processes rows from a leading row to the next row that cannot follow, and marks the supernodes' first
  /// rows.
  KOKKOS_FUNCTION void grow(const Team& team, Ordinal first) const {
    Ordinal leader = first, row = first + 1;
    lead(team, first);
    while (may_follow(row)) {
      const Ordinal most = leader + max_size - row < look_ahead ? leader + max_size - row : look_ahead;
      Ordinal good = most;  // number of rows from `row` on that join
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
      if (!may_follow(row)) return;  // it leads, and another thread handles it
      if (good == most && row < leader + max_size) continue;
      lead(team, row);  // L(row, leader) is not an entry, or the supernode is full
      leader = row++;
    }
  }

  KOKKOS_FUNCTION bool belongs(Ordinal row, Ordinal leader) const {
    return may_follow(row) && has_entry(row, leader);
  }

  KOKKOS_FUNCTION bool has_entry(Ordinal row, Ordinal column) const {
    const Offset end = diagonal(row);
    const Offset p = Impl::first_not_before(row_map(row), end, [&](Offset q) { return entries(q) < column; });
    return p < end && entries(p) == column;
  }

  KOKKOS_FUNCTION void lead(const Team& team, Ordinal row) const {
    Kokkos::single(Kokkos::PerThread(team), [&]() { leads(row) = 1; });
  }
};

template <class ExecutionSpace, class Bits, class View>
void grow(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
          const Bits& follows, const View& leads, const SupernodeOptions& options) {
  using Grower = SupernodeGrower<ExecutionSpace>;
  const Impl::RowTeams share(exec, Impl::vector_length_for<ExecutionSpace>(Grower::look_ahead));
  Kokkos::parallel_for("lutra::symbolic::supernodes_phase_two", share.policy(exec, filled.n),
                       Grower{filled.n, filled.row_map, filled.diagonal, filled.entries, follows, leads,
                              static_cast<Ordinal>(options.max_size), share});
}

/// Sets 1 where L(s, s - 1) and U(s - 1, s) are entries.
template <class ExecutionSpace, class View>
void find_joints(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
                 const View& joints) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  const auto entries = filled.entries;
  Kokkos::parallel_for(
      "lutra::symbolic::supernode_joints", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, filled.n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const auto s = static_cast<Ordinal>(i);
        const bool below = s > 0 && diagonal(s) > row_map(s) && entries(diagonal(s) - 1) == s - 1;
        const bool right = s > 0 && row_map(s) > diagonal(s - 1) + 1 && entries(diagonal(s - 1) + 1) == s;
        joints(i) = below && right ? 1 : 0;
      });
}

template <class View>
std::vector<typename View::non_const_value_type> to_host(const View& view) {
  const auto host = Impl::mirror_in<Kokkos::HostSpace>(view);
  return {host.data(), host.data() + host.extent(0)};
}

/// Numbers supernodes by their leading rows; returns their count.
template <class ExecutionSpace, class View>
Ordinal number(const ExecutionSpace& exec, const View& leads, const View& of_row) {
  Ordinal count = 0;
  Kokkos::parallel_scan(
      "lutra::symbolic::supernode_numbers",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(leads.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, Ordinal& sum, const bool final) {
        sum += leads(i);
        if (final) of_row(i) = sum - 1;
      },
      count);
  return count;
}

/// Sets first rows, and parents from the last row of each supernode.
template <class ExecutionSpace, class View>
void link(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
          const View& of_row, const View& begin, const View& parent) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  const auto entries = filled.entries;
  const Ordinal n = filled.n;
  Kokkos::parallel_for(
      "lutra::symbolic::supernodal_tree", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const Ordinal own = of_row(i);
        if (i == 0 || of_row(i - 1) != own) begin(own) = static_cast<Ordinal>(i);
        if (i == n - 1) begin(own + 1) = n;
        if (i < n - 1 && of_row(i + 1) == own) return;
        const Offset next = diagonal(i) + 1;
        parent(own) = next < row_map(i + 1) ? of_row(entries(next)) : Ordinal(-1);
      });
}

}  // namespace

template <class ExecutionSpace>
Supernodes<typename ExecutionSpace::memory_space> find_supernodes(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
    const MemoryBudget& budget, const SupernodeOptions& options) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = OrdinalView<Memory>;
  if (options.max_size < 1) throw InputError("max_size: a supernode has one row at least");
  if (!(options.relaxation >= 0)) throw InputError("relaxation: it has to be a number from 0 on");
  const Ordinal n = filled.n;
  Supernodes<Memory> result;
  result.n = n;
  result.reservation = MemoryReservation(budget);
  MemoryReservation scratch(budget);
  auto lower = result.reservation.template allocate<View>(exec, "lutra::symbolic::row_lengths_l", n);
  auto upper = result.reservation.template allocate<View>(exec, "lutra::symbolic::row_lengths_u", n);
  auto of_row = result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_of_row", n);
  auto leads = scratch.allocate<View>(exec, "lutra::symbolic::leads", n);
  auto follows = scratch.allocate<Kokkos::View<std::uint64_t*, Memory>>(
      exec, "lutra::symbolic::follows", (static_cast<std::size_t>(n) + 63) / 64);
  count_rows(exec, filled, lower, upper);
  compare_rows(exec, upper, follows);
  if (n > 0) grow(exec, filled, follows, leads, options);
  if (options.relaxation > 0) {
    auto joints = scratch.allocate<View>(exec, "lutra::symbolic::joints", n);
    find_joints(exec, filled, joints);
    exec.fence("lutra::symbolic: supernodes are known");
    auto host_leads = to_host(leads);
    result.zeros = Impl::amalgamate(to_host(joints), to_host(upper), options, host_leads);
    Kokkos::deep_copy(exec, leads,
                      Kokkos::View<const Ordinal*, Kokkos::HostSpace>(host_leads.data(), host_leads.size()));
    exec.fence("lutra::symbolic: leads are copied");
  }
  result.count = number(exec, leads, of_row);
  auto begin =
      result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_begin", result.count + 1);
  auto parent =
      result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_parent", result.count);
  if (n == 0) Impl::set_to_zero(exec, begin);
  link(exec, filled, of_row, begin, parent);
  exec.fence("lutra::symbolic: scratch is freed");
  result.begin = begin;
  result.parent = parent;
  result.of_row = of_row;
  result.lower = lower;
  result.upper = upper;
  return result;
}

#define LUTRA_SUPERNODES(Space)                                                          \
  template Supernodes<typename Space::memory_space> find_supernodes(                     \
      const Space&, const LuPattern<typename Space::memory_space>&, const MemoryBudget&, \
      const SupernodeOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_SUPERNODES)

}  // namespace lutra

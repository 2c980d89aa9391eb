// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTIONROUNDS_HPP
#define LUTRA_AUCTIONROUNDS_HPP

#include "Lutra_AuctionState.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowLanes.hpp"

namespace lutra::Impl {

// Rounds of the auction algorithm (D. P. Bertsekas, Annals of Operations Research 14 (1988)) in Jacobi form:
//
//     list[now]          bids                          awards
//       row r ── cost + price ──► atomic max of     ──► winner: gets c, whose price rises
//       row s ── of its entries   best_bid(c)           losers, previous owner of c: to list[next]
//
// All bids of a round use the prices of the previous round; bids and awards are separate launches. Ties go to
// the first row and its first entry, so results do not depend on thread scheduling.

/// The two cheapest entries of a row, including prices; ties go to the first in the row.
struct BestEntries {
  double first = Kokkos::Experimental::infinity_v<double>;
  double second = Kokkos::Experimental::infinity_v<double>;
  Offset entry = Kokkos::Experimental::finite_max_v<Offset>;  // position of `first`

  KOKKOS_FUNCTION void take(double paid, Offset k) {
    if (paid < first || (paid == first && k < entry)) {
      second = first < second ? first : second;
      first = paid;
      entry = k;
    } else if (paid < second) {
      second = paid;
    }
  }
  KOKKOS_FUNCTION bool found() const { return first < Kokkos::Experimental::infinity_v<double>; }
};

/// Reduction of BestEntries.
template <class ExecutionSpace>
struct BestOfRow {
  using reducer = BestOfRow;
  using value_type = BestEntries;
  using result_view_type =
      Kokkos::View<value_type, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>;

  KOKKOS_FUNCTION explicit BestOfRow(value_type& result) : m_result(&result) {}
  KOKKOS_FUNCTION void join(value_type& to, const value_type& from) const {
    if (!from.found()) return;
    to.take(from.first, from.entry);
    if (from.second < to.second) to.second = from.second;
  }
  KOKKOS_FUNCTION void init(value_type& value) const { value = value_type(); }
  KOKKOS_FUNCTION value_type& reference() const { return *m_result; }
  KOKKOS_FUNCTION result_view_type view() const { return result_view_type(m_result); }
  KOKKOS_FUNCTION bool references_scalar() const { return true; }

 private:
  value_type* m_result;
};

template <class ExecutionSpace, class Lanes, class State>
KOKKOS_INLINE_FUNCTION auto best_entries(const Lanes& lanes, const State& state, const Ordinal row) {
  BestEntries best;
  Kokkos::parallel_reduce(
      lanes.over(state.A.row_map(row), state.A.row_map(row + 1)),
      [&](const Offset k, BestEntries& own) {
        const double paid = state.cost(k) + state.price(state.A.entries(k));
        if (paid < Kokkos::Experimental::infinity_v<double>) own.take(paid, k);
      },
      BestOfRow<ExecutionSpace>(best));
  return best;
}

/// A row's bid for its cheapest column: raises the price until the second choice costs the same, plus
/// epsilon. Without a second choice, raises it by epsilon.
template <class State, class Best>
KOKKOS_INLINE_FUNCTION void place_bid(const State& state, const Ordinal row, const Best& best) {
  if (!best.found()) {
    state.wanted(row) = -1;
    return;
  }
  const double lead = best.second < Kokkos::Experimental::infinity_v<double> ? best.second - best.first : 0.0;
  state.wanted(row) = best.entry;
  Kokkos::atomic_max(&state.best_bid(state.A.entries(best.entry)),
                     pack_bid(lead + state.epsilon, static_cast<std::uint32_t>(row)));
}

/// Award for one bidder: it either gets the column, whose previous owner bids in the next round, or bids
/// again.
template <class ExecutionSpace, class State>
KOKKOS_INLINE_FUNCTION void award(const State& state, const Ordinal row, const int next_list) {
  const auto bid_again = [&](const Ordinal r) {
    state.list[next_list](
        fetch_add_shared<ExecutionSpace>(state.board().bidders[next_list], std::int64_t(1))) = r;
  };
  const auto entry = state.wanted(row);
  if (entry < 0) return bid_again(row);
  const Ordinal column = state.A.entries(entry);
  const std::uint64_t bid = Kokkos::atomic_load(&state.best_bid(column));
  if (row_of(bid) != static_cast<std::uint32_t>(row)) return bid_again(row);
  const Ordinal owner = state.row_of_column(column);
  state.price(column) += rise_of(bid);
  state.row_of_column(column) = row;
  state.entry_of_row(row) = entry;
  Kokkos::atomic_store(&state.best_bid(column), std::uint64_t(0));
  if (owner < 0) return;
  state.entry_of_row(owner) = -1;
  bid_again(owner);
}

/// Calls body(row, best), on one lane, for this team's share of the rows row_at(0) … row_at(count − 1).
template <class ExecutionSpace, class Team, class State, class RowAt, class Body>
KOKKOS_INLINE_FUNCTION void for_own_rows(const Team& team, const State& state, const Ordinal count,
                                         const RowAt& row_at, const Body& body) {
  for_rows<ExecutionSpace>(team, state.A.row_map, count, row_at, [&](const auto& lanes, const Ordinal row) {
    const auto best = best_entries<ExecutionSpace>(lanes, state, row);
    lanes.once([&]() { body(row, best); });
  });
}

/// Initial prices: minus the least cost of each column, so that every column has a tight entry.
template <class ExecutionSpace, class State>
void start_prices(const ExecutionSpace& exec, const State& state) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace>;
  const State s = state;
  constexpr double infinity = Kokkos::Experimental::infinity_v<double>;
  Kokkos::deep_copy(exec, s.price, infinity);
  Kokkos::parallel_for(
      "lutra::preprocess::min_of_columns", Policy(exec, 0, s.cost.extent(0)),
      KOKKOS_LAMBDA(const std::size_t k) {
        const double cost = s.cost(k);
        double& least = s.price(s.A.entries(k));
        if (cost < Kokkos::atomic_load(&least)) Kokkos::atomic_min(&least, cost);
      });
  Kokkos::parallel_for(
      "lutra::preprocess::start_prices", Policy(exec, 0, s.price.extent(0)),
      KOKKOS_LAMBDA(const std::size_t c) {
        const double least = s.price(c);
        s.price(c) = least < infinity ? -least : 0.0;
        s.best_bid(c) = 0;
        s.row_of_column(c) = -1;
        s.entry_of_row(c) = -1;
      });
}

/// Start of a phase: unmatches rows whose column costs over epsilon more than their cheapest one; adds
/// unmatched rows to the first list.
template <class State, class ExecutionSpace>
struct StartPhase {
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  State state;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    for_own_rows<ExecutionSpace>(
        team, state, state.A.n_rows, [](const Ordinal r) { return r; },
        [&](const Ordinal row, const auto& best) { start_row(row, best); });
  }

  template <class Best>
  KOKKOS_FUNCTION void start_row(const Ordinal row, const Best& best) const {
    const auto entry = state.entry_of_row(row);
    if (entry >= 0) {
      const Ordinal column = state.A.entries(entry);
      if (state.cost(entry) + state.price(column) <= best.first + state.epsilon) return;
      state.row_of_column(column) = -1;
      state.entry_of_row(row) = -1;
    }
    state.list[0](fetch_add_shared<ExecutionSpace>(state.board().bidders[0], std::int64_t(1))) = row;
  }
};

/// Bids of one round, by teams.
template <class State, class ExecutionSpace>
struct BidRound {
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  State state;
  AuctionRule rule;
  int before = 0;  // copy of the progress that is read; the other one is written

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const AuctionProgress now = state.board().progress[before];
    const auto count = static_cast<Ordinal>(state.board().bidders[now.list]);
    const AuctionProgress next = advance(now, count, rule);
    if (team.league_rank() == 0) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        state.board().progress[1 - before] = next;
        if (next.stopped == 0) state.board().bidders[next.list] = 0;
      });
    }
    if (next.stopped != 0) return;
    for_own_rows<ExecutionSpace>(
        team, state, count, [&](const Ordinal q) { return state.list[now.list](q); },
        [&](const Ordinal row, const auto& best) { place_bid(state, row, best); });
  }
};

/// Awards of one round, one thread per bidder.
template <class State, class ExecutionSpace>
struct AwardRound {
  State state;
  int after = 0;  // copy of the progress written by the bids

  KOKKOS_FUNCTION void operator()(const Ordinal q) const {
    const AuctionProgress& next = state.board().progress[after];
    const int list = 1 - next.list;
    if (next.stopped != 0 || q >= static_cast<Ordinal>(state.board().bidders[list])) return;
    award<ExecutionSpace>(state, state.list[list](q), next.list);
  }
};

/// Rounds by one team until the phase ends: with few bidders this is cheaper than two launches per round.
/// Reads and writes copy 0 of the progress.
///
///     all read the board │ one starts the round │ bids │ awards │ …       │ barrier
template <class State, class ExecutionSpace>
struct RoundsOfTeam {
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  State state;
  AuctionRule rule;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    for (;;) {
      if (is_host_space<ExecutionSpace> && team.team_size() == 1 && rule.query.must_stop()) return;
      const AuctionProgress now = state.board().progress[0];
      const auto count = static_cast<Ordinal>(state.board().bidders[now.list]);
      const AuctionProgress next = advance(now, count, rule);
      team.team_barrier();
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        state.board().progress[0] = next;
        if (next.stopped == 0) state.board().bidders[next.list] = 0;
      });
      team.team_barrier();
      if (next.stopped != 0) return;
      const Ordinal rows = rows_of_team<ExecutionSpace>(team.team_size());
      for (Ordinal first = 0; first < count; first += rows) {
        for_own_rows<ExecutionSpace>(
            team, state, count - first, [&](const Ordinal q) { return state.list[now.list](first + q); },
            [&](const Ordinal row, const auto& best) { place_bid(state, row, best); });
      }
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](const Ordinal q) {
        award<ExecutionSpace>(state, state.list[now.list](q), next.list);
      });
      team.team_barrier();
    }
  }
};

/// Computes each row's dual for the given prices, and the reduced cost of its matched entry.
template <class State, class ExecutionSpace>
struct RowDuals {
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  State state;
  Kokkos::View<double*, typename ExecutionSpace::memory_space> dual, slack;  // [n]

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    for_own_rows<ExecutionSpace>(
        team, state, state.A.n_rows, [](const Ordinal r) { return r; },
        [&](const Ordinal row, const auto& best) {
          const auto entry = state.entry_of_row(row);
          dual(row) = best.first;
          slack(row) = entry < 0 ? 0.0 : state.cost(entry) + state.price(state.A.entries(entry)) - best.first;
        });
  }
};

}  // namespace lutra::Impl

#endif

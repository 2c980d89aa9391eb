// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTIONPHASES_HPP
#define LUTRA_AUCTIONPHASES_HPP

#include <algorithm>
#include <string>
#include <type_traits>

#include "Lutra_Auction.hpp"
#include "Lutra_AuctionRounds.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Number of rounds launched before the host reads the board, to reduce waits; even, so that the board's
/// copies return to their parity.
inline constexpr int rounds_at_once = 8;

/// Maximum number of bidders for rounds by a single team. They take one launch to the end of the phase
/// instead of two for each round.
inline constexpr std::int64_t bidders_of_a_team = 1024;

/// Phases of an auction, with their arrays.
template <class ExecutionSpace>
class AuctionPhases {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using State = AuctionState<Memory>;

  /// @param cost   [nnz] as in AuctionState
  /// @param enough as in AuctionRule
  AuctionPhases(const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& A,
                const Kokkos::View<const double*, Memory>& cost, const MemoryBudget& budget,
                const AuctionOptions& options, Ordinal enough = 0)
      : m_exec(exec),
        m_reservation(budget),
        m_run(budget.run()),
        m_rule{options.patience, options.max_rounds, enough, budget.run().query()},
        m_mean_length(static_cast<double>(A.nnz()) / static_cast<double>(std::max(A.n_rows, Ordinal(1)))) {
    m_state.A = A;
    m_state.cost = cost;
    allocate();
    start_prices(exec, m_state);
    check_launches_on<ExecutionSpace>();  // before rows and columns are taken for indices
  }

  /// Runs one phase. @returns the number of rows left unmatched
  std::int64_t run(double epsilon) {
    m_state.epsilon = epsilon;
    Kokkos::deep_copy(m_exec, m_state.board, AuctionBoard());
    launch_teams("lutra::preprocess::start_phase", m_state.A.n_rows,
                 StartPhase<State, ExecutionSpace>{m_state});
    read_board();
    const int before = 0;  // current copy of the progress, restored by an even number of rounds
    while (m_board.progress[before].stopped == 0 && bidders(before) > 0) {
      run_rounds(before);
      read_board();
      m_run.poll();
    }
    m_rounds += m_board.progress[before].rounds;
    return bidders(before);
  }

  int rounds() const { return m_rounds; }
  const State& state() const { return m_state; }

  /// Computes the dual of each row and the reduced cost of its matched entry; [n] each.
  void find_duals(const Kokkos::View<double*, Memory>& dual, const Kokkos::View<double*, Memory>& slack) {
    launch_teams("lutra::preprocess::row_duals", m_state.A.n_rows,
                 RowDuals<State, ExecutionSpace>{m_state, dual, slack});
  }

 private:
  void allocate() {
    const auto n = m_state.A.n_rows;
    const auto allocate_view = [&](auto& view, const char* label) {
      using View = std::remove_reference_t<decltype(view)>;
      view = m_reservation.template allocate<View>(m_exec, std::string("lutra::preprocess::") + label, n);
    };
    allocate_view(m_state.price, "price");
    allocate_view(m_state.best_bid, "best_bid");
    allocate_view(m_state.row_of_column, "row_of_column");
    allocate_view(m_state.entry_of_row, "entry_of_row");
    allocate_view(m_state.wanted, "wanted");
    for (auto& list : m_state.list) allocate_view(list, "bidders");
    m_state.board = m_reservation.template allocate<Kokkos::View<AuctionBoard, Memory>>(
        m_exec, "lutra::preprocess::board");
  }

  void read_board() {
    Kokkos::deep_copy(m_exec, Kokkos::View<AuctionBoard, Kokkos::HostSpace>(&m_board), m_state.board);
    wait_for(m_exec, "lutra::preprocess: the board is on the host");
  }
  std::int64_t bidders(int copy) const { return m_board.bidders[m_board.progress[copy].list]; }

  template <class Functor>
  void launch_teams(const char* label, std::int64_t rows, const Functor& functor) {
    if (rows == 0) return;
    Kokkos::parallel_for(label, rows_policy(m_exec, static_cast<Ordinal>(rows), m_mean_length), functor);
  }

  /// The number of bidders never grows within a phase, so the number last read by the host is an upper bound.
  void run_rounds(int before) {
    const std::int64_t count = bidders(before);
    if (count <= bidders_of_a_team) {
      // The team has the device to itself: many threads for up to 1024 bidders. More would have fewer than
      // 128 registers each.
      constexpr int threads = 512;
      const int lanes = vector_length_for<ExecutionSpace>(m_mean_length);
      const int team = team_width<ExecutionSpace>(threads / lanes);
      Kokkos::parallel_for("lutra::preprocess::rounds_of_team",
                           Kokkos::TeamPolicy<ExecutionSpace>(m_exec, 1, team, lanes),
                           RoundsOfTeam<State, ExecutionSpace>{m_state, m_rule});
      return;
    }
    for (int round = 0; round < rounds_at_once; ++round, before = 1 - before) {
      launch_teams("lutra::preprocess::bid", count, BidRound<State, ExecutionSpace>{m_state, m_rule, before});
      check_launches_on<ExecutionSpace>();  // before bids are read
      Kokkos::parallel_for("lutra::preprocess::award",
                           Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Ordinal>>(
                               m_exec, 0, static_cast<Ordinal>(count)),
                           AwardRound<State, ExecutionSpace>{m_state, 1 - before});
      check_launches_on<ExecutionSpace>();  // before the list of the next round is read
    }
  }

  ExecutionSpace m_exec;
  MemoryReservation m_reservation;
  RunControl m_run;
  State m_state;
  AuctionBoard m_board;
  AuctionRule m_rule;
  double m_mean_length;
  int m_rounds = 0;
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Auction.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "Lutra_AuctionPhases.hpp"
#include "Lutra_EntryCosts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingScales.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

using Impl::to_host;

// Epsilon scaling starts if a phase leaves more than n / stalled_fraction rows unmatched. Of 289 real
// matrices 15 need it.
constexpr std::int64_t stalled_fraction = 64;
// Prices of a coarser phase stay and save rounds of the next. Starting every matrix so took two to three
// times the rounds; hence only after a stall.
constexpr double epsilon_steps[] = {16, 4, 1};

void check(std::int64_t n, const AuctionOptions& options) {
  if (n >= std::numeric_limits<std::uint32_t>::max())
    throw InputError("matrix: an auction counts rows in 32 bits, this one has " + std::to_string(n));
  if (!(options.epsilon > 0) || !std::isfinite(options.epsilon))
    throw InputError("epsilon: has to be a number above 0, is " + std::to_string(options.epsilon));
  if (options.patience < 1 || options.max_rounds < 1)
    throw InputError("patience, max_rounds: have to be above 0, are " + std::to_string(options.patience) +
                     ", " + std::to_string(options.max_rounds));
}

template <class Phases>
AuctionStatistics run_phases(Phases& phases, std::int64_t n, double epsilon) {
  AuctionStatistics statistics;
  statistics.left_to_paths = phases.run(epsilon);
  statistics.phases = 1;
  if (statistics.left_to_paths > n / stalled_fraction) {
    for (const double step : epsilon_steps) statistics.left_to_paths = phases.run(step * epsilon);
    statistics.phases += static_cast<int>(std::size(epsilon_steps));
  }
  statistics.rounds = phases.rounds();
  return statistics;
}

/// Dual of each row for the final prices, and the reduced cost of its matched entry; [n] each.
template <class MemorySpace>
struct RowsOutcome {
  Kokkos::View<double*, MemorySpace> dual, slack;
};

/// Result for a perfect matching found by rounds only; computes scales in the execution space. Overwrites
/// prices and duals.
/// @param origin [n] as in MatchingCosts
template <class ExecutionSpace, class Memory>
AuctionResult result_of_rounds(const ExecutionSpace& exec, const Impl::AuctionState<Memory>& state,
                               const RowsOutcome<Memory>& rows, const Kokkos::View<double*, Memory>& origin,
                               AuctionStatistics statistics) {
  const auto dual = rows.dual, slack = rows.slack, price = state.price;
  Kokkos::parallel_reduce(
      "lutra::preprocess::exponents", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, dual.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i, double& sum) {
        dual(i) -= origin(i);
        price(i) = -price(i);
        sum += slack(i);
      },
      statistics.log_loss_bound);
  Impl::exponents_to_scales(exec, dual, price);
  MatchingResult result;
  result.structural_rank = result.numeric_rank_bound = state.A.n_rows;
  result.row_of_column = to_host(exec, state.row_of_column);
  result.row_scale = to_host(exec, dual);
  result.col_scale = to_host(exec, price);
  return {std::move(result), statistics};
}

/// Matches the remaining rows by augmenting paths. The costs of matched entries are lowered by their slack,
/// at most epsilon, to make them tight, as path searches require. The optimum for these costs is within
/// epsilon per row of the original optimum.
template <class ExecutionSpace, class Memory>
AuctionResult finish_by_paths(const ExecutionSpace& exec,
                              const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                              const Impl::AuctionState<Memory>& state, const RowsOutcome<Memory>& rows,
                              const Impl::MatchingCosts& cost, const RunControl& run,
                              AuctionStatistics statistics) {
  auto slack = to_host(exec, rows.slack);
  Impl::Assignment start{false, to_host(exec, state.row_of_column), to_host(exec, rows.dual),
                         to_host(exec, state.price)};
  for (double& price : start.col_dual) price = -price;
  const auto entry_of_row = to_host(exec, state.entry_of_row);
  auto lowered = cost.of_entry;
  for (std::size_t r = 0; r < entry_of_row.size(); ++r) {
    if (entry_of_row[r] >= 0) lowered[static_cast<std::size_t>(entry_of_row[r])] -= slack[r];
  }
  auto assignment = Impl::assign(pattern, lowered, start, {}, run);
  if (!assignment.perfect) return {Impl::deficient_matching(pattern, cost, run), statistics};
  for (std::size_t c = 0; c < start.row_of_column.size(); ++c) {
    const Ordinal now = assignment.row_of_column[c];
    if (start.row_of_column[c] != now) slack[static_cast<std::size_t>(now)] = 0;
  }
  statistics.log_loss_bound = std::accumulate(slack.begin(), slack.end(), 0.0);
  return {Impl::perfect_matching(std::move(assignment), cost.row_origin), statistics};
}

}  // namespace

template <class Scalar, class ExecutionSpace>
AuctionResult match_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
    const MemoryBudget& budget, const AuctionOptions& options) {
  using Memory = typename ExecutionSpace::memory_space;
  using DoubleView = Kokkos::View<double*, Memory>;
  Impl::require_square(matrix.n_rows, matrix.n_cols);
  check(matrix.n_rows, options);
  if (matrix.n_rows == 0) return {};
  MemoryReservation reservation(budget);
  const auto allocate = [&](const char* label, std::size_t extent) {
    return reservation.allocate<DoubleView>(exec, label, extent);
  };
  const auto cost = allocate("lutra::preprocess::cost", matrix.entries.extent(0));
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto origin = allocate("lutra::preprocess::row_origin", n);
  const RowsOutcome<Memory> rows{allocate("lutra::preprocess::row_dual", n),
                                 allocate("lutra::preprocess::slack", n)};
  Impl::MatchingCosts on_host;
  on_host.has_zeros = Impl::find_costs(exec, matrix, cost, origin) > 0;
  Impl::AuctionPhases<ExecutionSpace> phases(exec, matrix.pattern(), cost, budget, options);
  auto statistics = run_phases(phases, matrix.n_rows, options.epsilon);
  phases.find_duals(rows.dual, rows.slack);
  if (statistics.left_to_paths == 0) return result_of_rounds(exec, phases.state(), rows, origin, statistics);
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> pattern{matrix.n_rows, matrix.n_cols,
                                                               Impl::download(exec, matrix.row_map),
                                                               Impl::download(exec, matrix.entries)};
  on_host.row_origin = to_host(exec, origin);
  on_host.of_entry = to_host(exec, cost);
  return finish_by_paths(exec, pattern, phases.state(), rows, on_host, budget.run(), statistics);
}

#define LUTRA_MATCH_AUCTION(Scalar, Space)                                                 \
  template AuctionResult match_auction(                                                    \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&, \
      const MemoryBudget&, const AuctionOptions&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_MATCH_AUCTION)

}  // namespace lutra

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
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingScales.hpp"

namespace lutra {
namespace {

// Of n rows more than n / so many left unmatched: epsilon is scaled.
constexpr std::int64_t share_that_stalls = 64;
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

template <class ViewType>
std::vector<typename ViewType::non_const_value_type> to_host(const ViewType& view) {
  using T = typename ViewType::non_const_value_type;
  std::vector<T> host(view.extent(0));
  Kokkos::deep_copy(Kokkos::View<T*, Kokkos::HostSpace>(host.data(), host.size()), view);
  return host;
}

template <class Phases>
std::int64_t run_phases(Phases& phases, std::int64_t n, double epsilon, AuctionStatistics& properties) {
  std::int64_t left = phases.run(epsilon);
  properties.phases = 1;
  if (left > n / share_that_stalls) {
    for (const double step : epsilon_steps) left = phases.run(step * epsilon);
    properties.phases += static_cast<int>(std::size(epsilon_steps));
  }
  properties.rounds = phases.rounds();
  return left;
}

/// Duals of the rows, which go with the prices, and what each row's matched entry costs above its duals; [n].
template <class MemorySpace>
struct RowsOutcome {
  Kokkos::View<double*, MemorySpace> dual, slack;
};

/// The result where no row is left: scales are made where the duals are. Overwrites prices and duals.
/// @param origin [n] as in MatchingCosts
/// @param loss   out: the sum of the slacks
template <class Ordinal, class Offset, class ExecutionSpace, class Memory>
MatchingResult<Ordinal> result_of_rounds(const ExecutionSpace& exec,
                                         const Impl::AuctionState<Ordinal, Offset, Memory>& state,
                                         const RowsOutcome<Memory>& rows,
                                         const Kokkos::View<double*, Memory>& origin, double& loss) {
  const auto dual = rows.dual, slack = rows.slack, price = state.price;
  Kokkos::parallel_reduce(
      "lutra::preprocess::exponents", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, dual.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i, double& sum) {
        dual(i) -= origin(i);
        price(i) = -price(i);
        sum += slack(i);
      },
      loss);
  Impl::exponents_to_scales(exec, dual, price);
  exec.fence("lutra::preprocess: scales are copied to the host");
  MatchingResult<Ordinal> result;
  result.structural_rank = result.numeric_rank_bound = state.A.n_rows;
  result.row_of_column = to_host(state.row_of_column);
  result.row_scale = to_host(dual);
  result.col_scale = to_host(price);
  return result;
}

/// An auction's outcome on the host: a dual, and a matching whose entries are within epsilon of it.
template <class Ordinal>
struct Outcome {
  Impl::Assignment<Ordinal> assignment;  // perfect where no row is left
  std::vector<double> slack;             // [n] as in RowsOutcome
};

template <class State, class Rows>
auto bring_to_host(const State& state, const Rows& rows) {
  Outcome<typename decltype(state.A.entries)::non_const_value_type> outcome;
  outcome.slack = to_host(rows.slack);
  outcome.assignment.row_dual = to_host(rows.dual);
  outcome.assignment.col_dual = to_host(state.price);
  for (double& price : outcome.assignment.col_dual) price = -price;
  outcome.assignment.row_of_column = to_host(state.row_of_column);
  return outcome;
}

/// Brings in the rows left over. Matched entries become cheaper by their slack, at most epsilon: then they
/// fit the dual exactly, as path searches need it, and what is best for these costs is within epsilon a row
/// of what is best for the given ones.
template <class Ordinal, class Offset, class State>
MatchingResult<Ordinal> finish_by_paths(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                        const State& state, Outcome<Ordinal>& outcome,
                                        Impl::MatchingCosts& cost) {
  const auto entry_of_row = to_host(state.entry_of_row);
  auto lowered = cost.of_entry;
  for (std::size_t r = 0; r < entry_of_row.size(); ++r) {
    if (entry_of_row[r] >= 0) lowered[static_cast<std::size_t>(entry_of_row[r])] -= outcome.slack[r];
  }
  const auto start = std::move(outcome.assignment);
  outcome.assignment = Impl::assign(pattern, lowered, start);
  if (!outcome.assignment.perfect) return Impl::deficient_matching(pattern, cost);
  for (std::size_t c = 0; c < start.row_of_column.size(); ++c) {
    const Ordinal now = outcome.assignment.row_of_column[c];
    if (start.row_of_column[c] != now) outcome.slack[static_cast<std::size_t>(now)] = 0;
  }
  return {};
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
MatchingResult<Ordinal> match_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
    const MemoryBudget& budget, const AuctionOptions& options, AuctionStatistics* properties,
    const Impl::AuctionTuning& tuning) {
  using Memory = typename ExecutionSpace::memory_space;
  using DoubleView = Kokkos::View<double*, Memory>;
  Impl::require_square(matrix.n_rows, matrix.n_cols);
  check(matrix.n_rows, options);
  AuctionStatistics own;
  AuctionStatistics& done = properties != nullptr ? *properties : own;
  done = {};
  if (matrix.n_rows == 0) return {};
  MemoryReservation reservation(budget);
  const auto take = [&](const char* label, std::size_t extent) {
    return reservation.allocate<DoubleView>(exec, label, extent);
  };
  const auto cost = take("lutra::preprocess::cost", matrix.entries.extent(0));
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto origin = take("lutra::preprocess::row_origin", n);
  const RowsOutcome<Memory> rows{take("lutra::preprocess::row_dual", n), take("lutra::preprocess::slack", n)};
  Impl::MatchingCosts on_host;
  on_host.has_zeros = Impl::find_costs(exec, matrix, cost, origin) > 0;
  Impl::AuctionPhases<Ordinal, Offset, ExecutionSpace> phases(exec, matrix.pattern(), cost, budget, options,
                                                              tuning);
  done.left_to_paths = run_phases(phases, matrix.n_rows, options.epsilon, done);
  phases.find_duals(rows.dual, rows.slack);
  if (done.left_to_paths == 0)
    return result_of_rounds(exec, phases.state(), rows, origin, done.log_loss_bound);
  exec.fence("lutra::preprocess: duals are copied to the host");
  auto outcome = bring_to_host(phases.state(), rows);
  on_host.row_origin = to_host(origin);
  on_host.of_entry = to_host(cost);
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> pattern{
      matrix.n_rows, matrix.n_cols, Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), matrix.row_map),
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), matrix.entries)};
  auto deficient = finish_by_paths(pattern, phases.state(), outcome, on_host);
  if (!outcome.assignment.perfect) return deficient;
  done.log_loss_bound = std::accumulate(outcome.slack.begin(), outcome.slack.end(), 0.0);
  return Impl::perfect_matching(std::move(outcome.assignment), on_host.row_origin);
}

#define LUTRA_MATCH_AUCTION(Scalar, Ordinal, Offset, Space)                                \
  template MatchingResult<Ordinal> match_auction(                                          \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&, \
      const MemoryBudget&, const AuctionOptions&, AuctionStatistics*, const Impl::AuctionTuning&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_MATCH_AUCTION)

}  // namespace lutra

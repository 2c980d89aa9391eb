// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PivotOrder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "Lutra_Auction.hpp"
#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_EntryCosts.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_ScalingChoice.hpp"
#include "Lutra_SymmetricAuction.hpp"
#include "Lutra_UsableMemory.hpp"

namespace lutra {
namespace {

using Impl::add_reason;

/// Writes the rows and columns that a matching leaves unmatched to the report.
void report_structural_singularity(const std::vector<Ordinal>& row_of_column, Report& report) {
  std::vector<char> used(row_of_column.size(), 0);
  for (std::size_t j = 0; j < row_of_column.size(); ++j) {
    if (row_of_column[j] < 0) {
      report.singular_columns.push_back(static_cast<std::int64_t>(j));
    } else {
      used[static_cast<std::size_t>(row_of_column[j])] = 1;
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) report.singular_rows.push_back(static_cast<std::int64_t>(i));
  }
  report.status = Status::structurally_singular;
}

/// Returns whether there are fewer entries than rows, which proves a matrix singular. Used if memory does not
/// suffice to find the rows.
bool is_singular_by_size(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Report& report) {
  constexpr std::uint64_t bytes_a_row = 64;  // memory of a matching per row, on the host
  // Size in bytes below which querying the system takes too long to be worthwhile.
  constexpr std::uint64_t worth_asking = std::uint64_t(1) << 30;
  const auto rows = static_cast<std::uint64_t>(A.n_rows), bytes = bytes_a_row * rows;
  if (static_cast<std::uint64_t>(A.nnz()) >= rows || bytes < worth_asking) return false;
  const std::uint64_t usable = Impl::usable_memory_bytes();
  if (bytes <= usable) return false;
  report.status = Status::structurally_singular;
  add_reason(report, "matching: none, " + std::to_string(A.nnz()) + " entries cannot give " +
                         std::to_string(rows) + " rows pivots; to name the others takes " +
                         std::to_string(bytes) + " bytes, and there are " + std::to_string(usable));
  return true;
}

/// Writes the statistics of an auction to the report.
void report_auction(const AuctionStatistics& statistics, std::int64_t n, Report& report) {
  const double mean =
      std::exp(-statistics.log_loss_bound / static_cast<double>(std::max<std::int64_t>(n, 1)));
  add_reason(
      report,
      Impl::formatted("auction: rounds %d, phases %d, rows left over %lld, geometric mean of the diagonal at "
                      "least %.3f of the greatest",
                      statistics.rounds, statistics.phases, static_cast<long long>(statistics.left_to_paths),
                      mean));
}

/// Returns the exponent of the largest entry. All entries are divided by this power of two before matching,
/// so that multiplying A by a power of two changes the scales by that factor only and keeps the matching.
/// Returns 0 if small entries would underflow.
template <class Scalar>
int exponent_of_unit(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A) {
  using Real = RealOf<Scalar>;
  Real largest = 0, smallest = std::numeric_limits<Real>::max();
  for (std::size_t p = 0; p < A.values.extent(0); ++p) {
    const Real size = Impl::largest_part(A.values(p));
    if (size > 0) smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  const int exponent = Impl::exponent_of(largest);
  return Impl::exponent_of(smallest) - exponent >= Impl::RealBits<Real>::min_exponent ? exponent : 0;
}

/// Computes values·2^e in memory owned by `reservation`. Does not wait on devices.
template <class ExecutionSpace, class Values>
static Values times_power(const ExecutionSpace& exec, const Values& values, int e,
                          MemoryReservation& reservation) {
  using Scalar = typename Values::non_const_value_type;
  using Scaled = Kokkos::View<Scalar*, typename Values::memory_space>;
  const auto scaled =
      reservation.template allocate<Scaled>(exec, "lutra::solver::matched_values", values.extent(0));
  Kokkos::parallel_for(
      "lutra::solver::times_power",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { scaled(p) = Impl::scale_by_power(values(p), e); });
  return scaled;
}

/// Pivots on the diagonal. Scales are powers of two, near those that make the largest entries of all rows and
/// columns 1 (D. Ruiz, RAL-TR-2001-034), from those of a matching on, so that they do not depend on the
/// scales of A.
/// @param unit    exponent of the largest entry
/// @param matched matching of A without that unit, or none
template <class Scalar>
MatchingResult match_diagonal(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, int unit,
                              const MatchingResult& matched) {
  constexpr int rounds = 12;  // each halves the exponents that are left
  constexpr double none = -std::numeric_limits<double>::infinity();
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<double> row(n, 0.0), column(n, 0.0);  // exponents of the scales
  if (matched.numeric_rank_bound == A.n_rows) {
    for (std::size_t i = 0; i < n; ++i) row[i] = std::log2(matched.row_scale[i]);
    for (std::size_t i = 0; i < n; ++i) column[i] = std::log2(matched.col_scale[i]);
  }
  const auto scale_by = [&](double share) {
    std::vector<double> row_most(n, none), column_most(n, none);
    for (std::size_t i = 0; i < n; ++i)
      for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
        const double size = Impl::magnitude_in_double(A.values(static_cast<std::size_t>(p)));
        if (!(size > 0)) continue;
        const auto j = static_cast<std::size_t>(A.entries(static_cast<std::size_t>(p)));
        const double exponent = std::log2(size) - unit + row[i] + column[j];
        row_most[i] = std::max(row_most[i], exponent);
        column_most[j] = std::max(column_most[j], exponent);
      }
    for (std::size_t i = 0; i < n; ++i) {
      if (row_most[i] > none) row[i] -= share * row_most[i];
      if (column_most[i] > none) column[i] -= share * column_most[i];
    }
  };
  for (int round = 0; round < rounds; ++round) scale_by(0.5);
  MatchingResult result = diagonal_matching({});
  result.structural_rank = A.n_rows;
  result.row_of_column.resize(n);
  std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  const auto to_scale = [](double exponent) {
    constexpr int most = Impl::max_scale_exponent<Scalar>;
    return std::ldexp(1.0, std::clamp(static_cast<int>(std::lround(exponent)), -most, most));
  };
  for (std::size_t i = 0; i < n; ++i) {
    result.row_scale.push_back(to_scale(row[i]));
    result.col_scale.push_back(to_scale(column[i]));
  }
  return result;
}

/// Computes the matching and scaling that the options request. Returns an empty optional if the pattern is
/// structurally singular.
/// @param on_host copy of A on the host
template <class Scalar, class ExecutionSpace>
std::optional<MatchingResult> match(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, Matching option, RowOrder rows,
    const MemoryBudget& budget, Report& report) {
  const Ordinal n = A.n_rows;
  if (is_singular_by_size(on_host.pattern(), report)) return std::nullopt;
  MatchingResult result;
  const int unit = exponent_of_unit(on_host);
  const auto match_exactly = [&] {
    MemoryReservation scratch{MemoryBudget()};
    auto scaled = on_host;
    if (unit != 0)
      scaled.values = times_power(Kokkos::DefaultHostExecutionSpace(), on_host.values, -unit, scratch);
    Kokkos::DefaultHostExecutionSpace().fence("lutra::solver: the values to match are complete");
    return match_exact(scaled, budget.run());
  };
  if (rows == RowOrder::diagonal) {
    result = match_diagonal(on_host, unit, match_exactly());
    for (auto& scale : result.row_scale) scale = std::ldexp(scale, -unit);
    report.choice.matching = "none";
    report.structural_rank = result.structural_rank;
    add_reason(report, "pivots from the diagonal, scaled by the matching");
    return result;
  }
  if (option == Matching::auction) {
    MemoryReservation scratch(budget);
    auto scaled = A;
    if (unit != 0) scaled.values = times_power(exec, A.values, -unit, scratch);
    AuctionResult auction = match_auction(exec, scaled, budget);
    report_auction(auction.statistics, n, report);
    result = std::move(auction.matching);
  }
  if (option == Matching::automatic || option == Matching::exact) result = match_exactly();
  report.choice.matching = option == Matching::none      ? "none"
                           : option == Matching::auction ? "auction"
                                                         : "exact";
  if (option == Matching::automatic)
    add_reason(report, "exact matching: large entries on the diagonal spare pivoting");
  if (option == Matching::none || result.numeric_rank_bound < n) {
    // Either no matching is requested, or these values admit none while other values on the pattern may.
    auto transversal = maximum_transversal(on_host.pattern(), {}, {}, budget.run());
    result.structural_rank = transversal.rank;
    result.row_of_column = std::move(transversal.row_of_column);
    result.row_scale.assign(static_cast<std::size_t>(n), 1.0);
    result.col_scale.assign(static_cast<std::size_t>(n), 1.0);
  }
  // Without a matching, too, the unit is removed: growth compares L, which has no unit, with the scaled A.
  for (auto& scale : result.row_scale) scale = std::ldexp(scale, -unit);
  report.structural_rank = result.structural_rank;
  if (result.structural_rank < n) {
    report_structural_singularity(result.row_of_column, report);
    return std::nullopt;
  }
  if (option == Matching::none)
    std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  return result;
}

/// Returns whether the engine will use the exact pattern of L + U by rows if it is block triangular.
template <class ExecutionSpace, class Options>
bool may_order_by_blocks(const Options&) {
  return false;
}
template <Impl::HostExecution ExecutionSpace>
bool may_order_by_blocks(const LuOptions& options) {
  return options.engine != Engine::multifrontal && options.pivoting != Pivoting::threshold;
}

/// Computes the elimination order of the columns that the options request.
/// @param partner pairs that must remain adjacent (pair_candidates); empty: none
/// @param row_order row of A matched to each column; empty: rows keep their order, as for LDLᵀ
template <class ExecutionSpace, class Options>
ChosenOrder order_columns(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, const Options& options,
                          const std::vector<Ordinal>& partner, const std::vector<Ordinal>& row_order,
                          const RunControl& run, Report& report) {
  run.begin_stage("ordering");
  report.choice.ordering = name_of(options.ordering);
  if (options.ordering == Ordering::user)
    return {{options.user_permutation.begin(), options.user_permutation.end()}, {}, {}, {}, false};
  if (options.ordering != Ordering::automatic)
    return order_matched(A, options.ordering, partner, row_order, run);
  const DeviceModel model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  OrderingUse use{static_cast<double>(options.expected_factorizations), row_order.empty(),
                  may_order_by_blocks<ExecutionSpace>(options),
                  options.deterministic ? 1 : host_threads<ExecutionSpace>()};
  if constexpr (std::is_same_v<Options, LdltOptions>) use.definite = options.positive_definite;
  ChosenOrder chosen = order_automatically(A, model, use, partner, row_order, run);
  report.choice.ordering = name_of(chosen.choice.ordering);
  report.predicted = chosen.choice.predicted;
  report.factors.tree_height = chosen.forecast.height;
  add_reason(report, chosen.choice.reason);
  return chosen;
}

/// Returns which parts of a former analysis of the pattern A remain valid with this matching.
Reuse reuse_of(const FormerOrder& former, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
               const std::vector<Ordinal>& row_of_column) {
  if (former.columns.size() != row_of_column.size()) return Reuse::nothing;
  Reuse reuse = Reuse::everything;
  const Ordinal* const columns = A.entries.data();
  for (std::size_t k = 0; k < former.columns.size(); ++k) {
    const Ordinal before = former.rows[k], row = row_of_column[static_cast<std::size_t>(former.columns[k])];
    if (before == row) continue;
    reuse = Reuse::ordering;
    if (!std::equal(columns + A.row_map(before), columns + A.row_map(before + 1), columns + A.row_map(row),
                    columns + A.row_map(row + 1)))
      return Reuse::nothing;
  }
  return reuse;
}

/// Whether an entry of the diagonal is missing or zero.
template <class Scalar>
bool has_zero_on_diagonal(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A) {
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    bool found = false;
    for (Offset e = A.row_map(i); e < A.row_map(i + 1) && !found; ++e)
      found = A.entries(e) == i && A.values(e) != Scalar(0);
    if (!found) return true;
  }
  return false;
}

/// The matching by which to scale, with its reason in the report.
template <class ExecutionSpace, class Scalar>
Matching scaling_of(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, const LdltOptions& options,
                    Report& report) {
  if (options.matching != Matching::automatic) return options.matching;
  const DeviceModel model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  const ScalingProperties properties{A.n_rows, A.nnz(), options.pair_ordering || has_zero_on_diagonal(A),
                                     options.memory_limit != 0};
  ScalingChoice choice = choose_scaling(properties, options.matching, model.auction);
  if (!choice.reason.empty()) add_reason(report, choice.reason);
  return choice.matching;
}

}  // namespace

template <class Scalar>
bool is_singular_by_zeros(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, Report& report) {
  std::vector<Offset> row_map{0};
  std::vector<Ordinal> entries;
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p)
      if (A.values(p) != Scalar(0)) entries.push_back(A.entries(p));
    row_map.push_back(static_cast<Offset>(entries.size()));
  }
  if (entries.size() == A.values.extent(0)) return false;  // the pattern has been matched
  using Kokkos::HostSpace;
  const CsrPattern<Ordinal, Offset, HostSpace> nonzeros{
      A.n_rows, A.n_cols, Kokkos::View<const Offset*, HostSpace>(row_map.data(), row_map.size()),
      Kokkos::View<const Ordinal*, HostSpace>(entries.data(), entries.size())};
  const auto transversal = maximum_transversal(nonzeros);
  if (transversal.rank == A.n_rows) return false;
  const Status status = report.status;
  report_structural_singularity(transversal.row_of_column, report);
  report.status = status;
  return true;
}

bool scales_suffice(const std::vector<double>& scale) {
  constexpr double max_ratio = 0x1p52;
  const auto [smallest, largest] = std::ranges::minmax(scale);
  return largest <= max_ratio * smallest;
}

template <class Scalar, class ExecutionSpace>
SymmetricMatching match_symmetric(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& given,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& given_on_host, const LdltOptions& options,
    const MemoryBudget& budget, Report& report) {
  const Impl::RunStage stage(budget, "matching");
  const Kokkos::Timer timer;
  Matching option = scaling_of<ExecutionSpace>(given_on_host, options, report);
  const bool is_automatic = options.matching == Matching::automatic;
  const int unit = option == Matching::none ? 0 : exponent_of_unit(given_on_host);
  MemoryReservation scratch(budget), host_scratch{MemoryBudget()};
  auto A = given;
  auto on_host = given_on_host;
  if (unit != 0) {
    if (option == Matching::auction) A.values = times_power(exec, given.values, -unit, scratch);
    on_host.values =
        times_power(Kokkos::DefaultHostExecutionSpace(), given_on_host.values, -unit, host_scratch);
    Kokkos::DefaultHostExecutionSpace().fence("lutra::solver: the values to match are complete");
  }
  SymmetricMatching result;
  if (option == Matching::none) {
    result.scale.assign(static_cast<std::size_t>(A.n_rows), 1.0);
    report.choice.matching = "none";
    report.times.matching = timer.seconds();
    return result;
  }
  if (option == Matching::auction) {
    SymmetricAuction auction = match_symmetric_auction(exec, A, on_host, budget);
    report_auction(auction.statistics, A.n_rows - auction.statistics.left_to_paths, report);
    result = std::move(auction.matching);
    if (is_automatic && !suffices(auction.statistics, A.n_rows)) {
      option = Matching::exact;
      add_reason(report, "scaling: by the exact matching, since the auction leaves too many rows");
    }
  }
  if (option == Matching::exact) result = symmetrize(on_host, match_exact(on_host, budget.run()));
  report.choice.matching = option == Matching::auction ? "auction" : "exact";
  report.structural_rank = result.structural_rank;
  if (is_automatic && !scales_suffice(result.scale)) {
    result.scale = equilibrate(on_host);
    add_reason(report, "scaling: by the largest entries of rows, the matching's scales differ too much");
  }
  round_to_powers_of_two(result.scale, Impl::max_scale_exponent<Scalar>);
  const int half =
      unit >= 0 ? unit / 2 : -((1 - unit) / 2);  // an odd exponent leaves a factor of 2 in the matrix
  for (auto& scale : result.scale) scale = std::ldexp(scale, -half);
  report.times.matching = timer.seconds();
  return result;
}

template <class Scalar, class ExecutionSpace>
std::optional<PivotOrder> choose_pivots(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const MemoryBudget& budget, Report& report, const FormerOrder& former, RowOrder rows) {
  Kokkos::Timer timer;
  auto matching = [&] {
    const Impl::RunStage stage(budget, "matching");
    return match(exec, A, on_host, options.matching, rows, budget, report);
  }();
  report.times.matching = timer.seconds();
  if (!matching) return std::nullopt;
  timer.reset();
  const Impl::RunStage stage(budget, "ordering");
  if (const Reuse reuse = reuse_of(former, on_host.pattern(), matching->row_of_column);
      reuse == Reuse::everything || (reuse == Reuse::ordering && !former.ordered.empty())) {
    PivotOrder pivots(std::move(*matching), former.ordered);
    pivots.reuse = reuse;
    return pivots;
  }
  auto chosen = order_columns<ExecutionSpace>(on_host.pattern(), options, std::vector<Ordinal>(),
                                              matching->row_of_column, budget.run(), report);
  report.times.ordering = timer.seconds();
  PivotOrder pivots(std::move(*matching), std::move(chosen.permutation), std::move(chosen.ordered));
  pivots.block_triangular = chosen.block_triangular;
  return pivots;
}

template <class ExecutionSpace, class Scalar>
PivotOrder order_symmetric_pivots(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                  const SymmetricMatching& matching, const LdltOptions& options,
                                  const RunControl& run, Report& report) {
  const Kokkos::Timer timer;
  std::vector<Ordinal> partner;
  if (options.pair_ordering) partner = pair_candidates(A, matching);
  auto chosen =
      order_columns<ExecutionSpace>(A.pattern(), options, partner, std::vector<Ordinal>(), run, report);
  report.times.ordering = timer.seconds();
  PivotOrder pivots(diagonal_matching(matching.scale), std::move(chosen.permutation),
                    std::move(chosen.ordered));
  pivots.partner = std::move(partner);
  return pivots;
}

#define LUTRA_FIND_ZEROS(Scalar) \
  template bool is_singular_by_zeros(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, Report&);
LUTRA_FOR_EACH_SCALAR(LUTRA_FIND_ZEROS)

#define LUTRA_CHOOSE_PIVOTS(Scalar, Space)                                                                 \
  template SymmetricMatching match_symmetric(                                                              \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&,                 \
      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, const LdltOptions&, const MemoryBudget&, \
      Report&);                                                                                            \
  template std::optional<PivotOrder> choose_pivots(                                                        \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&,                 \
      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, const LuOptions&, const MemoryBudget&,   \
      Report&, const FormerOrder&, RowOrder);                                                              \
  template PivotOrder order_symmetric_pivots<Space>(                                                       \
      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, const SymmetricMatching&,                \
      const LdltOptions&, const RunControl&, Report&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_CHOOSE_PIVOTS)

}  // namespace lutra

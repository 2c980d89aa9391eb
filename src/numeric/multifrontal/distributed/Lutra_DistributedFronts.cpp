// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFronts.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PartTransfer.hpp"
#include "Lutra_PlannedPart.hpp"

namespace lutra {
namespace {

using Impl::at;
using Impl::PartRequests;
using Impl::PlannedPart;

}  // namespace

template <class Scalar, class ExecutionSpace>
struct DistributedFronts<Scalar, ExecutionSpace>::State {
  using Values = Kokkos::View<const Scalar*, Memory>;
  using Scale = Kokkos::View<Real*, Memory>;

  Communicator& comm;
  MemoryBudget budget;           ///< without a control: a rank alone must not leave an exchange
  MemoryBudget budget_of_parts;  ///< the same with the control of the running call
  std::optional<Symmetry> symmetry;
  Channel channel;
  MemoryReservation reservation;
  FrontRanks ranks;  ///< on rank 0
  /// All that this rank works on, in order: its parts, and those of other ranks that it helps.
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<PartBoundary> all_boundaries;  ///< of `parts`
  std::vector<Part*> own_parts;              ///< of this rank, like the next
  std::vector<PartBoundary> boundaries;
  Impl::PartArrivals arrivals;  ///< of contributions, and of columns from helpers
  Impl::PartTransfer<Scalar, ExecutionSpace> transfer;
  Exchange pivot_rows, pivot_columns;
  /// As the two above, to the positions of the parts that are pivots of other parts.
  Exchange other_rows, other_columns;
  Exchange entries;                        ///< from the entries of this rank's rows to those of its parts
  Kokkos::View<Scalar*, Memory> of_parts;  ///< values of the entries of each part
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;

  State(Communicator& of, const MemoryBudget& within, const std::optional<Symmetry>& with)
      : comm(of),
        budget(within.with_control({})),
        budget_of_parts(within),
        symmetry(with),
        channel(of, budget),
        reservation(budget),
        transfer(channel) {}

  const ExecutionSpace& exec() const { return channel.exec(); }

  void plan_exchanges(const std::vector<PlannedPart>& planned) {
    PartRequests needed(comm.size());
    for (const PlannedPart& part : planned) needed.add(part, comm.rank());
    const auto rows_plan = std::move(needed.rows).plan(comm);
    const auto columns_plan = std::move(needed.columns).plan(comm);
    const auto other_rows_plan = std::move(needed.other_rows).plan(comm);
    const auto other_columns_plan = std::move(needed.other_columns).plan(comm);
    const auto entries_plan = std::move(needed.entries).plan(comm);
    comm.agree("numeric: exchanges of values and vectors", [&] {
      const auto in_space = [&](const Impl::Exchange& made) { return Exchange(exec(), made, budget); };
      pivot_rows = in_space(rows_plan);
      pivot_columns = in_space(columns_plan);
      other_rows = in_space(other_rows_plan);
      other_columns = in_space(other_columns_plan);
      entries = in_space(entries_plan);
      for (Exchange* const exchange : {&pivot_rows, &pivot_columns, &other_rows, &other_columns})
        exchange->reserve(exec(), sizeof(Real));
      entries.reserve(exec(), sizeof(Scalar));
      of_parts = reservation.template allocate<decltype(of_parts)>(
          exec(), "lutra::numeric::values of the parts", entries.n_targets());
    });
  }

  DivisionCosts costs() const {
    if (Impl::is_host_space<ExecutionSpace>) {
      DivisionCosts costs;
      costs.divides_fronts = !symmetry;
      return costs;
    }
    return DivisionCosts::of_devices(channel.is_direct());
  }

  /// A device may wait for a message as long as another works: all flops at a tenth of a device's speed.
  void set_patience() {
    constexpr double flops_per_second = 2e12;
    std::vector<double> seconds{std::accumulate(ranks.flops.begin(), ranks.flops.end(), 0.0) /
                                flops_per_second};
    comm.broadcast(seconds);
    channel.wait_at_least(seconds[0]);
  }

  /// Makes room for what a factorization passes, and for scales.
  void reserve_room() {
    std::vector<std::size_t> room(static_cast<std::size_t>(comm.size())), scales(room);
    for (std::size_t r = 0; r < room.size(); ++r) {
      room[r] = entries.room_from(r, sizeof(Scalar));
      scales[r] =
          std::max(pivot_rows.room_from(r, sizeof(Real)) + other_rows.room_from(r, sizeof(Real)),
                   pivot_columns.room_from(r, sizeof(Real)) + other_columns.room_from(r, sizeof(Real)));
    }
    for (std::size_t p = 0; p < parts.size(); ++p) transfer.add_room(*parts[p], all_boundaries[p], room);
    for (std::size_t r = 0; r < room.size(); ++r) room[r] = std::max(room[r], scales[r]);
    channel.reserve(room);
  }

  void make_parts(std::vector<PlannedPart>& planned) {
    for (PlannedPart& part : planned) {
      part.plan.in_row = {};
      parts.push_back(std::make_unique<Part>(std::move(part.plan), budget_of_parts,
                                             parts.empty() ? nullptr : parts.front().get(), symmetry));
      if (!part.is_helped(comm.rank())) {
        own_parts.push_back(parts.back().get());
        boundaries.push_back(part.boundary);
      }
      all_boundaries.push_back(std::move(part.boundary));
    }
    arrivals = Impl::PartArrivals(all_boundaries, comm.rank(), comm.size(), true, true);
    transfer.reserve(reservation, all_boundaries);
  }

  template <class Visit>
  void for_each_part(const Visit& visit) {
    for (const auto& part : parts) visit(*part);
  }

  /// Calls visit(part, values) with the values of each part's entries of A.
  template <class Visit>
  void for_each_part_with_values(const Visit& visit) {
    std::size_t first = 0;
    for_each_part([&](Part& part) {
      const std::size_t size = part.made().columns.size();
      visit(part, Values(Kokkos::subview(of_parts, std::pair(first, first + size))));
      first += size;
    });
  }

  /// Sets the scales at all positions of the parts.
  /// @param scale  of this rank's rows
  /// @param target target(part): the part's scales
  template <class Target>
  void set_scales(const Exchange& to_pivots, const Exchange& to_others, std::span<const Real> scale,
                  const Target& target) {
    using Column = Kokkos::View<Real**, Kokkos::LayoutLeft, Memory>;
    const auto own = Impl::mirror_in<Memory>(
        Kokkos::View<const Real**, Kokkos::LayoutLeft, Kokkos::HostSpace>(scale.data(), scale.size(), 1));
    const auto scales_of = [](const char* label, const Exchange& exchange) {
      return Impl::make_uncounted<Column>(label, exchange.n_targets(), 1);
    };
    const Column pivots = scales_of("lutra::numeric::scales of pivots", to_pivots);
    const Column others = scales_of("lutra::numeric::scales of other rows", to_others);
    to_pivots.forward(channel, own, pivots);
    to_others.forward(channel, own, others);
    std::size_t first = 0, first_other = 0;
    for_each_part([&](Part& part) {
      const Scale to = target(part);
      const bool is_own = std::ranges::find(own_parts, &part) != own_parts.end();
      const auto count = is_own ? static_cast<std::size_t>(part.made().n_pivots()) : 0;
      Kokkos::deep_copy(exec(), Kokkos::subview(to, std::pair(std::size_t(0), count)),
                        Kokkos::subview(pivots, std::pair(first, first + count), 0));
      const std::size_t rest = to.extent(0) - count;
      Kokkos::deep_copy(exec(), Kokkos::subview(to, std::pair(count, to.extent(0))),
                        Kokkos::subview(others, std::pair(first_other, first_other + rest), 0));
      first_other += rest;
      first += count;
    });
    channel.end_round("numeric: scales of the fronts");
  }

  /// Sends the values of this rank's entries to the parts.
  /// @returns the largest scaled entry of all ranks
  double distribute_values(const Values& own) {
    using Column = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
    entries.forward(channel,
                    Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Memory>(own.data(), own.extent(0), 1),
                    Column(of_parts.data(), of_parts.extent(0), 1));
    for_each_part_with_values([&](const Part& part, const Values& v) {
      part.queue_largest_entry(v);
      if (symmetry) part.queue_comparison(v);
    });
    channel.wait("numeric: values of the fronts");
    if (symmetry)
      comm.agree(
          "numeric: symmetry of the values",
          [&] { for_each_part([](const Part& part) { part.require_symmetry(); }); }, false);
    std::vector<double> largest{0};
    for_each_part([&](const Part& part) { largest[0] = std::max(largest[0], part.largest_entry()); });
    comm.all_max(largest);
    return largest[0];
  }

  /// Queues the factorization of all parts with the messages between them. A part that fails still passes its
  /// contributions, which other ranks wait for.
  /// @returns the first failure, or null
  std::exception_ptr factorize(double perturbation, double largest) {
    std::exception_ptr failure;
    arrivals.reset();
    std::size_t p = 0;
    for_each_part_with_values([&](Part& part, const Values& v) {
      const PartBoundary& boundary = all_boundaries[p];
      const auto receive = [&](int rank, const Impl::PartArrivals::Arrival& arrival) {
        const PartBoundary& to = all_boundaries[arrival.part];
        if (arrival.are_columns())
          transfer.receive_columns(*parts[arrival.part], to.members, rank);
        else
          transfer.receive_contributions(*parts[arrival.part], to.below[arrival.edge]);
      };
      arrivals.take(p, receive);
      try {
        if (boundary.members.are_several()) {
          factorize_with_others(part, boundary.members, v, perturbation, largest);
        } else {
          const Communicator::Work work(comm);
          part.factorize(v, perturbation, largest);
        }
      } catch (const RemoteError&) {
        throw;
      } catch (...) {
        // in a divided front others wait for blocks that have not passed, unless the call is to end
        if (boundary.members.are_several() && !is_cancelled(std::current_exception())) throw;
        if (!failure) failure = std::current_exception();
      }
      if (boundary.members.are_several()) exchange_columns(p, receive);
      for (const PartEdge& edge : boundary.above)
        if (transfer.send_contributions(part, edge)) copy_contributions(p, edge);
      ++p;
    });
    return failure;
  }
  void factorize_with_others(Part& part, const PartMembers& members, const Values& v, double perturbation,
                             double largest) {
    if constexpr (Impl::is_host_space<ExecutionSpace>) {  // divisions of devices have no members
      Impl::BlockMessages<Scalar> messages(comm, members);
      part.factorize(v, perturbation, largest, members.share_of(comm.rank()), messages);
    }
  }
  static bool is_cancelled(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const CancelledError&) {
      return true;
    } catch (...) {
      return false;
    }
  }
  /// The rank of the part gets the columns of the others.
  template <class Receive>
  void exchange_columns(std::size_t p, const Receive& receive) {
    const PartMembers& members = all_boundaries[p].members;
    if (members.ranks.front() != comm.rank()) return transfer.send_columns(*parts[p], members);
    arrivals.take(p, receive, true);
    parts[p]->find_largest_factor();
  }
  void copy_contributions(std::size_t p, const PartEdge& edge) {
    const std::size_t to = Impl::index_of_part(all_boundaries, edge.part);
    transfer.copy_contributions(*parts[p], edge, *parts[to],
                                Impl::edge_to(all_boundaries[to].below, all_boundaries[p].number));
  }
};

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::DistributedFronts(
    Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
    const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const MemoryBudget& budget,
    const FrontRanks* division, const std::optional<Symmetry>& symmetry)
    : m_state(std::make_unique<State>(comm, budget, symmetry)) {
  State& state = *m_state;
  Impl::AllParts all;
  comm.agree("numeric: division of the assembly tree", [&] {
    if (comm.rank() != 0) return;
    const Communicator::Work work(comm);
    const auto goal = budget.limit_bytes() > 0 ? DivisionGoal::memory : DivisionGoal::time;
    state.ranks = division != nullptr ? *division : distribute_fronts(tree, comm.size(), goal, state.costs());
    if (!Impl::is_host_space<ExecutionSpace> && !state.ranks.helpers.empty())
      throw InputError("fronts are divided by columns on hosts only");
    all = Impl::plan_parts(tree, entries, rows_of_ranks, state.ranks, comm.size());
  });
  if (comm.rank() == 0) Impl::send_parts(comm, state.ranks, all);
  all = {};
  std::vector<PlannedPart> planned = Impl::receive_parts(comm);
  state.plan_exchanges(planned);
  comm.agree("numeric: plan and memory of fronts", [&] {
    const Communicator::Work work(comm);
    state.make_parts(planned);
  });
  state.reserve_room();
  state.set_patience();
}

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::~DistributedFronts() = default;

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::close() {
  m_state->channel.close();
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::set_scales(std::span<const Real> row_scale,
                                                           std::span<const Real> col_scale) {
  State& state = *m_state;
  state.set_scales(state.pivot_rows, state.other_rows, row_scale,
                   [](const Part& part) { return part.row_scale(); });
  state.set_scales(state.pivot_columns, state.other_columns, col_scale,
                   [](const Part& part) { return part.col_scale(); });
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome DistributedFronts<Scalar, ExecutionSpace>::factorize(
    const Kokkos::View<const Scalar*, Memory>& values, double perturbation) {
  State& state = *m_state;
  Communicator& comm = state.comm;
  comm.agree("numeric: memory of fronts", [&] { state.for_each_part([](Part& part) { part.allocate(); }); });
  const double largest = state.distribute_values(values);
  const std::exception_ptr failure = state.factorize(perturbation, largest);
  state.channel.end_round("numeric: factorization of fronts");
  FrontLuOutcome mine;
  const auto add = [&mine](const FrontLuOutcome& other) {
    mine.largest_factor = std::max(mine.largest_factor, other.largest_factor);
    mine.perturbed += other.perturbed;
  };
  comm.agree("numeric: factorization of fronts", [&] {
    if (failure) std::rethrow_exception(failure);
    state.for_each_part([&](const Part& part) { add(part.outcome()); });
  });
  const auto all = comm.all_gather(mine);
  mine = {};
  for (const FrontLuOutcome& outcome : all) add(outcome);
  mine.largest_entry = largest;
  return mine;
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::set_interchanges(double threshold, Impl::Interchanges kind) {
  m_state->for_each_part([&](Part& part) { part.set_interchanges(threshold, kind); });
}

template <class Scalar, class ExecutionSpace>
DiagonalPivots DistributedFronts<Scalar, ExecutionSpace>::inspect_pivots() {
  DiagonalPivots mine, all;
  m_state->comm.agree("numeric: pivots of fronts", [&] {
    m_state->for_each_part([&](const Part& part) { mine.add(part.inspect_pivots()); });
  });
  for (const DiagonalPivots& pivots : m_state->comm.all_gather(mine)) all.add(pivots);
  return all;
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::note_entries() {
  State& state = *m_state;
  state.comm.agree("numeric: pattern of the factors", [&] {
    const Communicator::Work work(state.comm);
    if (!state.rows.empty()) return;
    for (Part* const part : state.own_parts) {
      part->note_positions();
      state.rows.insert(state.rows.end(), part->rows.begin(), part->rows.end());
      state.columns.insert(state.columns.end(), part->columns.begin(), part->columns.end());
      part->rows = part->columns = {};
    }
  });
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::collect_factors() {
  note_entries();
  State& state = *m_state;
  state.comm.agree("numeric: copy of the factors", [&] {
    const Communicator::Work work(state.comm);
    state.values.clear();
    for (const Part* const part : state.own_parts) part->append_factors(state.values);
  });
}

template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::part(std::size_t p) const noexcept -> const Part& {
  return *m_state->own_parts[p];
}
template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::channel() const noexcept -> Channel& {
  return m_state->channel;
}
template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::pivot_rows() const noexcept -> Exchange& {
  return m_state->pivot_rows;
}
template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::pivot_columns() const noexcept -> Exchange& {
  return m_state->pivot_columns;
}
template <class Scalar, class ExecutionSpace>
const std::vector<PartBoundary>& DistributedFronts<Scalar, ExecutionSpace>::boundaries() const noexcept {
  return m_state->boundaries;
}
template <class Scalar, class ExecutionSpace>
const std::vector<std::int64_t>& DistributedFronts<Scalar, ExecutionSpace>::rows() const noexcept {
  return m_state->rows;
}
template <class Scalar, class ExecutionSpace>
const std::vector<std::int64_t>& DistributedFronts<Scalar, ExecutionSpace>::columns() const noexcept {
  return m_state->columns;
}
template <class Scalar, class ExecutionSpace>
const std::vector<Scalar>& DistributedFronts<Scalar, ExecutionSpace>::values() const noexcept {
  return m_state->values;
}
template <class Scalar, class ExecutionSpace>
const FrontRanks& DistributedFronts<Scalar, ExecutionSpace>::ranks() const noexcept {
  return m_state->ranks;
}

#define LUTRA_DISTRIBUTED_FRONTS(Scalar) \
  template class DistributedFronts<Scalar, Kokkos::DefaultHostExecutionSpace>;
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_FRONTS)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_DISTRIBUTED_FRONTS_CUDA(Scalar) template class DistributedFronts<Scalar, Kokkos::Cuda>;
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_FRONTS_CUDA)
#endif

}  // namespace lutra

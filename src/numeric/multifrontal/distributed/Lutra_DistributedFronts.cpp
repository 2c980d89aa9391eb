// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFronts.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

using Impl::at;

constexpr int plan_tag = 230;  // used by no other exchange

/// Calls visit(array) for each array of a plan that ranks need.
template <class Plan, class Visit>
void for_each_array(Plan& plan, const Visit& visit) {
  visit(plan.tree.pivot_begin);
  visit(plan.tree.parent);
  visit(plan.tree.row_begin);
  visit(plan.tree.rows);
  visit(plan.position);
  visit(plan.row_map);
  visit(plan.columns);
  visit(plan.user_row);
  visit(plan.user_column);
  visit(plan.in_row);
}

void send_plan(Communicator& comm, int to, const Impl::FrontPartPlan& plan) {
  for_each_array(plan, [&](const auto& array) { comm.send(to, plan_tag, array); });
}

Impl::FrontPartPlan receive_plan(Communicator& comm) {
  Impl::FrontPartPlan plan;
  for_each_array(plan, [&]<class T>(std::vector<T>& array) { array = comm.receive<T>(0, plan_tag); });
  plan.tree.n = static_cast<int>(plan.position.size());
  return plan;
}

/// Where a row of A is: its rank, its position there, and its first entry among those of the rank.
struct RowPlace {
  std::int64_t rank = -1;
  std::size_t position = 0, first_entry = 0;
};

std::vector<RowPlace> find_rows(const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
                                const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A) {
  std::vector<RowPlace> places(static_cast<std::size_t>(A.n_rows));
  for (std::size_t r = 0; r < rows_of_ranks.size(); ++r) {
    std::size_t entries = 0;
    for (std::size_t k = 0; k < rows_of_ranks[r].size(); ++k) {
      const std::int64_t i = rows_of_ranks[r][k];
      at(places, i) = {static_cast<std::int64_t>(r), k, entries};
      entries += static_cast<std::size_t>(A.row_map(i + 1) - A.row_map(i));
    }
  }
  return places;
}

/// The elements of `places` at some indices.
std::vector<RowPlace> select(const std::vector<RowPlace>& places, std::span<const int> indices) {
  std::vector<RowPlace> result;
  result.reserve(indices.size());
  for (const int i : indices) result.push_back(at(places, i));
  return result;
}

/// Places of what a rank's parts read: rows and columns of their pivots, those of other parts' pivots in
/// their fronts, and entries of A.
struct PartPlaces {
  std::vector<Impl::Place> rows, columns, other_rows, other_columns, entries;

  /// @param of_rows, of_columns places of the rows of A, and of those with the numbers of the columns, at all
  ///                            positions of the part
  void add(const Impl::FrontPartPlan& plan, const std::vector<RowPlace>& of_rows,
           const std::vector<RowPlace>& of_columns) {
    const auto pivots = static_cast<std::size_t>(plan.n_pivots());
    for (std::size_t k = 0; k < of_rows.size(); ++k) {
      (k < pivots ? rows : other_rows).push_back({of_rows[k].rank, of_rows[k].position});
      (k < pivots ? columns : other_columns).push_back({of_columns[k].rank, of_columns[k].position});
    }
    entries.reserve(entries.size() + plan.columns.size());
    for (std::size_t k = 0; k < of_rows.size(); ++k) {
      for (auto e = plan.row_map[k]; e < plan.row_map[k + 1]; ++e)
        entries.push_back(
            {of_rows[k].rank, of_rows[k].first_entry + static_cast<std::size_t>(at(plan.in_row, e))});
    }
  }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
struct DistributedFronts<Scalar, ExecutionSpace>::State {
  using Values = Kokkos::View<const Scalar*, Memory>;
  using Scale = Kokkos::View<Real*, Memory>;

  Communicator& comm;
  MemoryBudget budget;
  Channel channel;
  MemoryReservation reservation;
  FrontRanks ranks;                     ///< on rank 0
  std::vector<int> leaf_rank;           ///< on rank 0: source rank of each of the top's leaves
  std::vector<TopBoundary> boundaries;  ///< on rank 0
  PartPlaces needed_by_top;             ///< on rank 0, until exchanges are planned
  std::optional<Part> subtrees, top;    ///< parts of this rank; empty without fronts
  Exchange pivot_rows, pivot_columns;
  /// As the two above, to the positions of the subtrees that are pivots of other parts.
  Exchange other_rows, other_columns;
  Exchange entries;                        ///< from the entries of this rank's rows to those of its parts
  Kokkos::View<Scalar*, Memory> of_parts;  ///< values of the entries of the subtrees, then of the top
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;

  State(Communicator& of, const MemoryBudget& within)
      : comm(of), budget(within), channel(of, within), reservation(within) {}

  const ExecutionSpace& exec() const { return channel.exec(); }

  /// On rank 0: plans all parts, returns the top's and sends the others.
  Impl::FrontPartPlan plan_parts(const AssemblyTree& tree, const FrontEntries& entries_of_A,
                                 const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
                                 DivisionGoal goal) {
    ranks = distribute_fronts(tree, comm.size(), goal, flops_per_entry());
    const std::vector<RowPlace> places = find_rows(rows_of_ranks, entries_of_A.A);
    Impl::FrontPartMaker maker(tree, entries_of_A, ranks.rank);
    Impl::FrontPartPlan of_top = maker.make(FrontRanks::top);
    std::vector<int> in_top(static_cast<std::size_t>(tree.n), -1);
    for (std::size_t k = 0; k < of_top.position.size(); ++k)
      at(in_top, of_top.position[k]) = static_cast<int>(k);
    boundaries.resize(static_cast<std::size_t>(comm.size()));
    for (int r = 0; r < comm.size(); ++r) {
      Impl::FrontPartPlan plan = maker.make(r);
      for (auto k = static_cast<std::size_t>(plan.n_pivots()); k < plan.position.size(); ++k)
        at(boundaries, r).solutions.push_back(at(in_top, plan.position[k]));
      send_plan(comm, r, plan);
      comm.send(r, plan_tag, select(places, plan.user_row));
      comm.send(r, plan_tag, select(places, plan.user_column));
    }
    needed_by_top.add(of_top, select(places, of_top.user_row), select(places, of_top.user_column));
    for (int f = 0; f < tree.count(); ++f) {
      const bool is_leaf = at(tree.parent, f) >= 0 && at(ranks.rank, f) != FrontRanks::top &&
                           at(ranks.rank, at(tree.parent, f)) == FrontRanks::top;
      if (is_leaf) leaf_rank.push_back(at(ranks.rank, f));
    }
    const auto leaves = of_top.foreign_leaves();
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      auto& given = at(boundaries, leaf_rank[k]).contributions;
      for (auto row = at(of_top.tree.row_begin, leaves[k]); row < at(of_top.tree.row_begin, leaves[k] + 1);
           ++row)
        given.push_back(row);
    }
    return of_top;
  }

  /// @param own the plan of this rank's subtrees
  void plan_exchanges(const Impl::FrontPartPlan& own) {
    const auto of_rows = comm.template receive<RowPlace>(0, plan_tag);
    const auto of_columns = comm.template receive<RowPlace>(0, plan_tag);
    PartPlaces needed;
    needed.add(own, of_rows, of_columns);
    const auto plan = [&](std::vector<Impl::Place>& places, const std::vector<Impl::Place>& by_top) {
      places.insert(places.end(), by_top.begin(), by_top.end());
      return Impl::plan_exchange(comm, places);
    };
    const auto rows_plan = plan(needed.rows, needed_by_top.rows);
    const auto columns_plan = plan(needed.columns, needed_by_top.columns);
    const auto other_rows_plan = plan(needed.other_rows, {});  // the top has all pivots of its fronts
    const auto other_columns_plan = plan(needed.other_columns, {});
    const auto entries_plan = plan(needed.entries, needed_by_top.entries);
    needed_by_top = {};
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

  /// As `distribute_fronts` takes it.
  double flops_per_entry() const {
    if (Impl::is_host_space<ExecutionSpace>) return 100;  // 8 bytes at 2 GB/s, 25 Gflop/s
    return channel.is_direct() ? 1                        // 8 bytes at 200 GB/s, 20 Tflop/s
                               : 100000;                  // through hosts at 2 GB/s
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
    if (top) {
      const auto leaves = top->made().foreign_leaves();
      for (std::size_t k = 0; k < leaves.size(); ++k)
        if (leaf_rank[k] != 0) at(room, leaf_rank[k]) += Channel::room(contribution_bytes(*top, leaves[k]));
    }
    for (std::size_t r = 0; r < room.size(); ++r) room[r] = std::max(room[r], scales[r]);
    channel.reserve(room);
  }
  static std::size_t contribution_bytes(const Part& part, int f) {
    const auto rows =
        static_cast<std::size_t>(at(part.made().tree.row_begin, f + 1) - at(part.made().tree.row_begin, f));
    return rows * rows * sizeof(Scalar);
  }

  static void make_part(Impl::FrontPartPlan plan, const MemoryBudget& budget,
                        const std::optional<Part>& before, std::optional<Part>& part) {
    if (plan.tree.count() == 0) return;
    part.emplace(std::move(plan), budget, before ? &*before : nullptr);
  }

  template <class Visit>
  void for_each_part(const Visit& visit) {
    for (std::optional<Part>* const part : {&subtrees, &top})
      if (*part) visit(**part);
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
    const auto own = Kokkos::create_mirror_view_and_copy(
        Memory(),
        Kokkos::View<const Real**, Kokkos::LayoutLeft, Kokkos::HostSpace>(scale.data(), scale.size(), 1));
    const Column pivots("lutra::numeric::scales of pivots", to_pivots.n_targets(), 1);
    const Column others("lutra::numeric::scales of other rows", to_others.n_targets(), 1);
    to_pivots.forward(channel, own, pivots);
    to_others.forward(channel, own, others);
    std::size_t first = 0;
    for_each_part([&](Part& part) {
      const Scale to = target(part);
      const auto count = static_cast<std::size_t>(part.made().n_pivots());
      Kokkos::deep_copy(exec(), Kokkos::subview(to, std::pair(std::size_t(0), count)),
                        Kokkos::subview(pivots, std::pair(first, first + count), 0));
      if (count < to.extent(0))  // the subtrees: the top has all pivots of its fronts
        Kokkos::deep_copy(exec(), Kokkos::subview(to, std::pair(count, to.extent(0))),
                          Kokkos::subview(others, Kokkos::ALL, 0));
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
    for_each_part_with_values([](const Part& part, const Values& v) { part.queue_largest_entry(v); });
    channel.wait("numeric: values of the fronts");
    std::vector<double> largest{0};
    for_each_part([&](const Part& part) { largest[0] = std::max(largest[0], part.largest_entry()); });
    comm.all_max(largest);
    return largest[0];
  }

  /// Queues the factorization of a part, if this rank has it.
  void factorize(const std::optional<Part>& which, double perturbation, double largest) {
    const Communicator::Work work(comm);
    for_each_part_with_values([&](Part& part, const Values& v) {
      if (which && &part == &*which) part.factorize(v, perturbation, largest);
    });
  }

  /// Sends the contributions of this rank's subtrees to rank 0; its own stay there.
  void send_contributions() {
    if (!subtrees || comm.rank() == 0) return;
    for (const int f : subtrees->made().open_roots())
      channel.template send<Scalar>(0, subtrees->contribution(f));
  }
  /// Puts all contributions into the leaves of the top.
  void receive_contributions() {
    if (!top) return;
    const auto leaves = top->made().foreign_leaves();
    std::vector<int> own;
    if (subtrees) own = subtrees->made().open_roots();
    for (std::size_t k = 0, next = 0; k < leaves.size(); ++k) {
      const auto leaf = top->contribution(leaves[k]);
      if (leaf_rank[k] == 0)
        Kokkos::deep_copy(exec(), leaf, subtrees->contribution(own[next++]));
      else
        channel.template receive<Scalar>(leaf_rank[k], leaf);
    }
  }
};

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::DistributedFronts(
    Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
    const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const MemoryBudget& budget)
    : m_state(std::make_unique<State>(comm, budget)) {
  State& state = *m_state;
  Impl::FrontPartPlan top;
  comm.agree("numeric: division of the assembly tree", [&] {
    if (comm.rank() != 0) return;
    const Communicator::Work work(comm);
    top = state.plan_parts(tree, entries, rows_of_ranks,
                           budget.limit_bytes() > 0 ? DivisionGoal::memory : DivisionGoal::time);
  });
  Impl::FrontPartPlan own = receive_plan(comm);
  state.plan_exchanges(own);
  own.in_row = top.in_row = {};
  comm.agree("numeric: plan and memory of fronts", [&] {
    const Communicator::Work work(comm);
    State::make_part(std::move(own), budget, std::nullopt, state.subtrees);
    State::make_part(std::move(top), budget, state.subtrees, state.top);
  });
  state.reserve_room();
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
  comm.agree("numeric: factorization of subtrees",
             [&] { state.factorize(state.subtrees, perturbation, largest); });
  state.send_contributions();
  state.receive_contributions();
  comm.agree("numeric: factorization of the top", [&] { state.factorize(state.top, perturbation, largest); });
  state.channel.end_round("numeric: factorization of fronts");
  FrontLuOutcome mine;
  const auto add = [&mine](const FrontLuOutcome& other) {
    mine.largest_factor = std::max(mine.largest_factor, other.largest_factor);
    mine.perturbed += other.perturbed;
  };
  comm.agree("numeric: factorization of fronts",
             [&] { state.for_each_part([&](const Part& part) { add(part.outcome()); }); });
  const auto all = comm.all_gather(mine);
  mine = {};
  for (const FrontLuOutcome& outcome : all) add(outcome);
  mine.largest_entry = largest;
  return mine;
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::note_entries() {
  State& state = *m_state;
  state.comm.agree("numeric: pattern of the factors", [&] {
    const Communicator::Work work(state.comm);
    if (!state.rows.empty()) return;
    state.for_each_part([&](Part& part) {
      part.note_positions();
      state.rows.insert(state.rows.end(), part.rows.begin(), part.rows.end());
      state.columns.insert(state.columns.end(), part.columns.begin(), part.columns.end());
      part.rows = part.columns = {};
    });
  });
}

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::collect_factors() {
  note_entries();
  State& state = *m_state;
  state.comm.agree("numeric: copy of the factors", [&] {
    const Communicator::Work work(state.comm);
    state.values.clear();
    state.for_each_part([&](const Part& part) { part.append_factors(state.values); });
  });
}

template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::subtrees() const noexcept -> const Part* {
  return m_state->subtrees ? &*m_state->subtrees : nullptr;
}
template <class Scalar, class ExecutionSpace>
auto DistributedFronts<Scalar, ExecutionSpace>::top() const noexcept -> const Part* {
  return m_state->top ? &*m_state->top : nullptr;
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
const std::vector<TopBoundary>& DistributedFronts<Scalar, ExecutionSpace>::boundaries() const noexcept {
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

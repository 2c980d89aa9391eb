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

constexpr int plan_tag = 230, contribution_tag = 231;  // used by no other exchange

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
  Communicator& comm;
  FrontRanks ranks;                     ///< on rank 0
  std::vector<int> leaf_rank;           ///< on rank 0: source rank of each of the top's leaves
  std::vector<TopBoundary> boundaries;  ///< on rank 0
  PartPlaces needed_by_top;             ///< on rank 0, until exchanges are planned
  std::optional<Part> subtrees, top;    ///< parts of this rank; empty without fronts
  Impl::Exchange pivot_rows, pivot_columns;
  /// As the two above, to the positions of the subtrees that are pivots of other parts.
  Impl::Exchange other_rows, other_columns;
  Impl::Exchange entries;        ///< from the entries of this rank's rows to those of its parts
  std::vector<Scalar> of_parts;  ///< values of the entries of this rank's subtrees, then of the top
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;

  explicit State(Communicator& of) : comm(of) {}

  /// On rank 0: plans all parts, returns the top's and sends the others.
  Impl::FrontPartPlan plan_parts(const AssemblyTree& tree, const FrontEntries& entries_of_A,
                                 const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
                                 DivisionGoal goal) {
    ranks = distribute_fronts(tree, comm.size(), goal);
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
    pivot_rows = plan(needed.rows, needed_by_top.rows);
    pivot_columns = plan(needed.columns, needed_by_top.columns);
    other_rows = plan(needed.other_rows, {});  // the top has all pivots of its fronts
    other_columns = plan(needed.other_columns, {});
    entries = plan(needed.entries, needed_by_top.entries);
    of_parts.resize(needed.entries.size());
    needed_by_top = {};
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
      visit(part, std::span<const Scalar>(of_parts).subspan(first, size));
      first += size;
    });
  }

  /// The scales at all positions of each part.
  /// @param scale of this rank's rows
  std::vector<std::vector<Real>> scales_of_parts(const Impl::Exchange& to_pivots,
                                                 const Impl::Exchange& to_others,
                                                 std::span<const Real> scale) {
    std::vector<std::vector<Real>> result;
    std::vector<Real> pivots;  // of the subtrees, then of the top
    std::size_t size = 0;
    for_each_part([&](const Part& part) {
      result.emplace_back(part.made().position.size());
      size += static_cast<std::size_t>(part.made().n_pivots());
    });
    pivots.resize(size);
    const auto get = [&](std::size_t i, std::size_t) { return scale[i]; };
    to_pivots.template forward<Real>(comm, 1, get,
                                     [&](std::size_t k, std::size_t, Real value) { pivots[k] = value; });
    const auto of_subtrees = static_cast<std::size_t>(subtrees ? subtrees->made().n_pivots() : 0);
    to_others.template forward<Real>(
        comm, 1, get, [&](std::size_t k, std::size_t, Real value) { result[0][of_subtrees + k] = value; });
    std::size_t part_number = 0;
    auto next = pivots.begin();
    for_each_part([&](const Part& part) {
      std::copy_n(next, part.made().n_pivots(), result[part_number++].begin());
      next += part.made().n_pivots();
    });
    return result;
  }

  /// Largest scaled entry of all ranks.
  double largest_entry() {
    double own = 0;
    for_each_part_with_values(
        [&](const Part& part, auto of_part) { own = std::max(own, part.largest_entry(of_part)); });
    const auto all = comm.all_gather(own);
    return *std::max_element(all.begin(), all.end());
  }

  /// Sends the contributions of this rank's subtrees to rank 0; its own stay there.
  void send_contributions() {
    if (!subtrees || comm.rank() == 0) return;
    for (const int f : subtrees->made().open_roots()) {
      const auto block = Impl::mirror_in<Kokkos::HostSpace>(subtrees->contribution(f));
      comm.send(0, contribution_tag, std::span<const Scalar>(block.data(), block.extent(0)));
    }
  }
  /// Puts all contributions into the leaves of the top.
  void receive_contributions() {
    if (!top) return;
    const auto leaves = top->made().foreign_leaves();
    std::vector<int> own;
    if (subtrees) own = subtrees->made().open_roots();
    for (std::size_t k = 0, next = 0; k < leaves.size(); ++k) {
      if (leaf_rank[k] == 0) {
        Kokkos::deep_copy(top->contribution(leaves[k]), subtrees->contribution(own[next++]));
        continue;
      }
      const auto block = comm.template receive<Scalar>(leaf_rank[k], contribution_tag);
      Kokkos::deep_copy(top->contribution(leaves[k]),
                        Kokkos::View<const Scalar*, Kokkos::HostSpace>(block.data(), block.size()));
    }
  }
};

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::DistributedFronts(
    Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
    const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const MemoryBudget& budget)
    : m_state(std::make_unique<State>(comm)) {
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
}

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::~DistributedFronts() = default;

template <class Scalar, class ExecutionSpace>
void DistributedFronts<Scalar, ExecutionSpace>::set_scales(std::span<const Real> row_scale,
                                                           std::span<const Real> col_scale) {
  State& state = *m_state;
  auto rows = state.scales_of_parts(state.pivot_rows, state.other_rows, row_scale);
  auto columns = state.scales_of_parts(state.pivot_columns, state.other_columns, col_scale);
  std::size_t part_number = 0;
  state.for_each_part([&](Part& part) {
    part.set_scales(std::move(rows[part_number]), std::move(columns[part_number]));
    ++part_number;
  });
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome DistributedFronts<Scalar, ExecutionSpace>::factorize(std::span<const Scalar> values,
                                                                    double perturbation) {
  State& state = *m_state;
  Communicator& comm = state.comm;
  comm.agree("numeric: memory of fronts", [&] { state.for_each_part([](Part& part) { part.allocate(); }); });
  state.entries.template forward<Scalar>(
      comm, 1, [&](std::size_t e, std::size_t) { return values[e]; },
      [&](std::size_t e, std::size_t, const Scalar& value) { state.of_parts[e] = value; });
  const double largest = state.largest_entry();
  FrontLuOutcome mine;
  const auto add = [&mine](const FrontLuOutcome& other) {
    mine.largest_factor = std::max(mine.largest_factor, other.largest_factor);
    mine.perturbed += other.perturbed;
  };
  const auto factorize_one = [&](const std::optional<Part>& which) {
    const Communicator::Work work(comm);
    state.for_each_part_with_values([&](Part& part, auto of_part) {
      if (which && &part == &*which) add(part.factorize(of_part, perturbation, largest));
    });
  };
  comm.agree("numeric: factorization of subtrees", [&] { factorize_one(state.subtrees); });
  state.send_contributions();
  state.receive_contributions();
  comm.agree("numeric: factorization of the top", [&] { factorize_one(state.top); });
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
const Impl::Exchange& DistributedFronts<Scalar, ExecutionSpace>::pivot_rows() const noexcept {
  return m_state->pivot_rows;
}
template <class Scalar, class ExecutionSpace>
const Impl::Exchange& DistributedFronts<Scalar, ExecutionSpace>::pivot_columns() const noexcept {
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

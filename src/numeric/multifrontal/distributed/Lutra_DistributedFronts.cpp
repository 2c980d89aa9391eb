// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFronts.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

using Impl::at;

constexpr int plan_tag = 230, value_tag = 231, contribution_tag = 232;  // used by no other exchange

/// Divides a tree among ranks, step by step.
class FrontDistributor {
 public:
  FrontDistributor(const AssemblyTree& tree, int ranks)
      : m_tree(tree),
        m_ranks(static_cast<std::size_t>(ranks)),
        m_panels(tree.parent.size(), 0),
        m_arena(m_panels),
        m_gap(m_panels),
        m_children(tree.parent.size()) {
    for (std::size_t f = 0; f < m_panels.size(); ++f) {
      add_front(f);
      if (tree.parent[f] < 0) m_cut.push({subtree_entries(f), f});
    }
  }

  FrontRanks run() {
    // Bounds the time, since each split deals out all subtrees anew.
    constexpr std::size_t splits_a_rank = 64;
    FrontRanks best = deal();
    for (std::size_t split = 0; m_ranks > 1 && split < splits_a_rank * m_ranks && !m_cut.empty(); ++split) {
      const std::size_t f = m_cut.top().second;
      if (m_children[f].empty()) break;  // the largest subtree is a single front
      m_cut.pop();
      m_top.push_back(f);
      for (const std::size_t c : m_children[f]) m_cut.push({subtree_entries(c), c});
      FrontRanks other = deal();
      if (fullest(other) < fullest(best)) best = std::move(other);
    }
    for (std::size_t f = best.rank.size(); f-- > 0;) {  // descendants of a subtree's root
      if (best.rank[f] == unknown) best.rank[f] = at(best.rank, m_tree.parent[f]);
    }
    return best;
  }

 private:
  static constexpr int unknown = -2;

  double panel_entries(std::size_t f) const {
    const auto pivots = static_cast<double>(m_tree.pivot_begin[f + 1] - m_tree.pivot_begin[f]);
    return pivots * (pivots + 2 * contribution_rows(f));
  }
  double block_entries(std::size_t f) const { return contribution_rows(f) * contribution_rows(f); }
  /// Adds a front to its subtree: its panels, and an arena for the children's contributions and for its own
  /// block, unless that fits into the gaps between theirs.
  void add_front(std::size_t f) {
    m_panels[f] += panel_entries(f);
    if (block_entries(f) > m_gap[f]) m_arena[f] += block_entries(f);
    if (m_tree.parent[f] < 0) return;
    const Ordinal parent = m_tree.parent[f];
    at(m_panels, parent) += m_panels[f];
    at(m_arena, parent) += m_arena[f];
    at(m_gap, parent) = std::max(at(m_gap, parent), m_arena[f] - block_entries(f));
    at(m_children, parent).push_back(f);
  }
  double subtree_entries(std::size_t f) const { return m_panels[f] + m_arena[f]; }
  double contribution_rows(std::size_t f) const {
    return static_cast<double>(m_tree.row_begin[f + 1] - m_tree.row_begin[f]);
  }
  static double fullest(const FrontRanks& ranks) {
    return *std::max_element(ranks.entries.begin(), ranks.entries.end());
  }

  /// Entries of the top, counted as in `add_front`, with the subtrees' blocks in its leaves.
  double top_entries(const std::vector<std::size_t>& roots) const {
    std::vector<double> arena(m_panels.size(), 0), gap(arena);
    for (const std::size_t f : roots) {
      if (m_tree.parent[f] >= 0) at(arena, m_tree.parent[f]) += block_entries(f);
    }
    std::vector<std::size_t> top(m_top);
    std::sort(top.begin(), top.end());
    double entries = 0;
    for (const std::size_t f : top) {
      if (block_entries(f) > gap[f]) arena[f] += block_entries(f);
      entries += panel_entries(f);
      if (m_tree.parent[f] < 0) {
        entries += arena[f];
        continue;
      }
      at(arena, m_tree.parent[f]) += arena[f];
      at(gap, m_tree.parent[f]) = std::max(at(gap, m_tree.parent[f]), arena[f] - block_entries(f));
    }
    return entries;
  }

  FrontRanks deal() const {
    FrontRanks ranks{std::vector<int>(m_panels.size(), unknown), std::vector<double>(m_ranks, 0)};
    for (const std::size_t f : m_top) ranks.rank[f] = FrontRanks::top;
    std::vector<std::size_t> roots;  // the largest subtree first
    for (auto rest = m_cut; !rest.empty(); rest.pop()) roots.push_back(rest.top().second);
    ranks.entries[0] = top_entries(roots);
    for (const std::size_t f : roots) {
      const auto least = std::min_element(ranks.entries.begin(), ranks.entries.end());
      ranks.rank[f] = static_cast<int>(least - ranks.entries.begin());
      *least += subtree_entries(f);
    }
    return ranks;
  }

  const AssemblyTree& m_tree;
  std::size_t m_ranks;
  std::vector<double> m_panels;  ///< [fronts] panel entries of each subtree
  std::vector<double> m_arena;   ///< [fronts] contribution entries of each subtree
  std::vector<double> m_gap;  ///< [fronts] largest part of a child's arena not used by the child's own block
  std::vector<std::vector<std::size_t>> m_children;  ///< [fronts]
  std::vector<std::size_t> m_top;
  std::priority_queue<std::pair<double, std::size_t>> m_cut;  ///< roots of subtrees, the largest first
};

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

}  // namespace

FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks) {
  return FrontDistributor(tree, ranks).run();
}

template <class Scalar, class ExecutionSpace>
struct DistributedFronts<Scalar, ExecutionSpace>::State {
  using Part = Impl::FrontPart<Scalar, ExecutionSpace>;

  Communicator& comm;
  FrontRanks ranks;                                    ///< on rank 0
  std::vector<std::vector<std::int64_t>> source;       ///< on rank 0: positions in A of each rank's entries,
                                                       ///< then the top's
  std::vector<std::int64_t> entry_row;                 ///< on rank 0: [nnz(A)] row of each entry of A
  CsrPattern<int, std::int64_t, Kokkos::HostSpace> A;  ///< on rank 0
  std::vector<int> leaf_rank;                          ///< on rank 0: source rank of each of the top's leaves
  std::optional<Part> subtrees, top;                   ///< parts of this rank; empty without fronts
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;

  explicit State(Communicator& of) : comm(of) {}

  /// On rank 0: plans all parts, returns the top's and sends the others.
  Impl::FrontPartPlan plan_parts(const AssemblyTree& tree, const FrontEntries& entries) {
    ranks = distribute_fronts(tree, comm.size());
    A = entries.A;
    for (int i = 0; i < A.n_rows; ++i)
      entry_row.insert(entry_row.end(), static_cast<std::size_t>(A.row_map(i + 1) - A.row_map(i)), i);
    Impl::FrontPartMaker maker(tree, entries, ranks.rank);
    for (int r = 0; r < comm.size(); ++r) {
      Impl::FrontPartPlan plan = maker.make(r);
      source.push_back(std::move(plan.source));
      send_plan(comm, r, plan);
    }
    Impl::FrontPartPlan plan = maker.make(FrontRanks::top);
    source.push_back(std::move(plan.source));
    for (int f = 0; f < tree.count(); ++f) {
      const bool is_leaf = at(tree.parent, f) >= 0 && at(ranks.rank, f) != FrontRanks::top &&
                           at(ranks.rank, at(tree.parent, f)) == FrontRanks::top;
      if (is_leaf) leaf_rank.push_back(at(ranks.rank, f));
    }
    return plan;
  }

  void make_part(Impl::FrontPartPlan plan, const MemoryBudget& budget, const std::optional<Part>& before,
                 std::optional<Part>& part) {
    if (plan.tree.count() == 0) return;
    part.emplace(std::move(plan), budget, before ? &*before : nullptr);
    rows.insert(rows.end(), part->rows.begin(), part->rows.end());
    columns.insert(columns.end(), part->columns.begin(), part->columns.end());
    part->rows = part->columns = {};
  }

  /// The scaled entries of a part.
  std::vector<Scalar> scaled(std::size_t part, const ScaledValues<Scalar, Kokkos::HostSpace>& of) const {
    std::vector<Scalar> result;
    result.reserve(source[part].size());
    for (const std::int64_t p : source[part])
      result.push_back(of.values(p) * of.row_scale(at(entry_row, p)) * of.col_scale(A.entries(p)));
    return result;
  }

  double largest_of_all(double own) {
    const auto all = comm.all_gather(own);
    return *std::max_element(all.begin(), all.end());
  }
};

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::DistributedFronts(Communicator& comm, const AssemblyTree& tree,
                                                             const FrontEntries& entries,
                                                             const MemoryBudget& budget)
    : m_state(std::make_unique<State>(comm)) {
  State& state = *m_state;
  Impl::FrontPartPlan top;
  comm.agree("numeric: division of the assembly tree", [&] {
    if (comm.rank() != 0) return;
    const Communicator::Work work(comm);
    top = state.plan_parts(tree, entries);
  });
  Impl::FrontPartPlan own = receive_plan(comm);
  comm.agree("numeric: plan and memory of fronts", [&] {
    const Communicator::Work work(comm);
    state.make_part(std::move(own), budget, std::nullopt, state.subtrees);
    state.make_part(std::move(top), budget, state.subtrees, state.top);
  });
}

template <class Scalar, class ExecutionSpace>
DistributedFronts<Scalar, ExecutionSpace>::~DistributedFronts() = default;

template <class Scalar, class ExecutionSpace>
FrontLuOutcome DistributedFronts<Scalar, ExecutionSpace>::factorize(
    const ScaledValues<Scalar, Kokkos::HostSpace>& A, double perturbation) {
  State& state = *m_state;
  Communicator& comm = state.comm;
  std::vector<Scalar> of_top;
  comm.agree("numeric: values of the parts", [&] {
    if (comm.rank() != 0) return;
    const Communicator::Work work(comm);
    for (int r = 0; r < comm.size(); ++r)
      comm.send(r, value_tag, state.scaled(static_cast<std::size_t>(r), A));
    of_top = state.scaled(static_cast<std::size_t>(comm.size()), A);
  });
  const auto own = comm.template receive<Scalar>(0, value_tag);
  using Part = Impl::FrontPart<Scalar, ExecutionSpace>;
  const double largest = state.largest_of_all(std::max(Part::largest_of(own), Part::largest_of(of_top)));
  std::vector<FrontLuOutcome> outcomes;
  state.values.clear();
  const auto factorize_part = [&](std::optional<Part>& part, const std::vector<Scalar>& values) {
    const Communicator::Work work(comm);
    if (part) outcomes.push_back(part->factorize(values, perturbation, largest, state.values));
  };
  comm.agree("numeric: factorization of subtrees", [&] { factorize_part(state.subtrees, own); });
  if (state.subtrees) {
    for (const int f : state.subtrees->made().open_roots()) {
      const auto block = Impl::mirror_in<Kokkos::HostSpace>(state.subtrees->contribution(f));
      comm.send(0, contribution_tag, std::span<const Scalar>(block.data(), block.extent(0)));
    }
  }
  if (state.top) {
    const auto leaves = state.top->made().foreign_leaves();
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      const auto block = comm.template receive<Scalar>(state.leaf_rank[k], contribution_tag);
      Kokkos::deep_copy(state.top->contribution(leaves[k]),
                        Kokkos::View<const Scalar*, Kokkos::HostSpace>(block.data(), block.size()));
    }
  }
  comm.agree("numeric: factorization of the top", [&] { factorize_part(state.top, of_top); });
  FrontLuOutcome mine;
  const auto add = [&mine](const FrontLuOutcome& other) {
    mine.largest_factor = std::max(mine.largest_factor, other.largest_factor);
    mine.perturbed += other.perturbed;
  };
  for (const FrontLuOutcome& outcome : outcomes) add(outcome);
  const auto all = comm.all_gather(mine);
  mine = {};
  for (const FrontLuOutcome& outcome : all) add(outcome);
  mine.largest_entry = largest;
  return mine;
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

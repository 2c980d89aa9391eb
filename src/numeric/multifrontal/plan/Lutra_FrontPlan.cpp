// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontPlan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Forest.hpp"
#include "Lutra_FrontEntries.hpp"
#include "Lutra_FrontPattern.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

using Impl::at;

using Fronts = std::vector<Front>;

/// Assigns offsets to contribution blocks. Each subtree owns a contiguous arena, so that subtrees can be
/// factorized concurrently; a front's block goes first-fit into the space its children's blocks leave free,
/// or to the end.
/// @returns total entries
Offset lay_out_contributions(Fronts& fronts) {
  struct Subtree {
    Offset begin, contribution, contribution_end;
  };
  std::vector<Subtree> open;  // finished subtrees whose parents are not yet visited, in postorder
  std::vector<Ordinal> children(fronts.size(), 0);
  Offset end = 0;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    const std::size_t first = open.size() - static_cast<std::size_t>(children[f]);
    const Offset size = static_cast<Offset>(fronts[f].cb_rows) * fronts[f].cb_rows;
    const Offset begin = children[f] > 0 ? open[first].begin : end;
    Offset offset = begin;
    for (std::size_t c = first; c < open.size() && open[c].contribution - offset < size; ++c)
      offset = open[c].contribution_end;
    fronts[f].contribution = offset;
    end = std::max(end, offset + size);
    open.resize(first);
    open.push_back({begin, offset, offset + size});
    if (fronts[f].parent >= 0) {
      ++at(children, fronts[f].parent);
    } else {
      open.pop_back();
    }
  }
  return end;
}

/// Sizes, offsets and parents.
Fronts lay_out(const AssemblyTree& tree, Offset& contributions) {
  Fronts fronts(static_cast<std::size_t>(tree.count()));
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    Front& front = fronts[f];
    front.first_pivot = tree.pivot_begin[f];
    front.parent = tree.parent[f];
    front.pivots = static_cast<int>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    front.cb_rows = static_cast<int>(tree.row_begin[f + 1] - tree.row_begin[f]);
    front.rows = static_cast<Offset>(tree.row_begin[f]);
  }
  contributions = lay_out_contributions(fronts);
  return fronts;
}

/// Relative indices of a plan on hosts.
template <class ExecutionSpace, class Plan>
requires Impl::is_host_space<ExecutionSpace>
auto relative_indices_of(const ExecutionSpace& exec, const AssemblyTree& tree, Plan& plan)
    -> decltype(plan.relative) {
  return Impl::upload(exec, plan.reservation, "lutra::numeric::relative_indices",
                      relative_indices(plan.layout, tree));
}

/// Overload for a plan on devices: in parallel.
template <class ExecutionSpace, class Plan>
auto relative_indices_of(const ExecutionSpace& exec, const AssemblyTree&, Plan& plan)
    -> decltype(plan.relative) {
  using View = typename decltype(plan.relative)::non_const_type;
  const auto n_rows = static_cast<std::int64_t>(plan.rows.extent(0));
  const auto relative =
      plan.reservation.template allocate<View>(exec, "lutra::numeric::relative_indices", n_rows);
  const auto fronts = plan.fronts;
  const auto rows = plan.rows;
  const auto count = plan.count;
  Kokkos::parallel_for(
      "lutra::numeric::relative_indices",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n_rows),
      KOKKOS_LAMBDA(const std::int64_t r) {
        const auto parent = fronts(Impl::front_of_row(fronts, count, r)).parent;
        relative(r) = parent < 0 ? 0 : Impl::position_in_front(fronts(parent), rows.data(), rows(r));
      });
  return relative;
}

std::vector<Ordinal> list_children(Fronts& fronts) {
  for (const auto& front : fronts) {
    if (front.parent >= 0) ++at(fronts, front.parent).children_end;
  }
  Offset sum = 0;
  for (auto& front : fronts) {
    front.children = sum;
    sum += front.children_end;
    front.children_end = front.children;
  }
  std::vector<Ordinal> children(static_cast<std::size_t>(sum));
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    if (fronts[f].parent >= 0)
      at(children, at(fronts, fronts[f].parent).children_end++) = static_cast<Ordinal>(f);
  }
  return children;
}

/// Builds the assembly map of A's entries on the host.
template <class ExecutionSpace>
void list_entries_on_host(const ExecutionSpace& exec, const FrontEntries& entries,
                          const std::vector<std::int64_t>& first_tile, const std::vector<Ordinal>& rows,
                          bool any_high, FrontPlan<typename ExecutionSpace::memory_space>& plan) {
  auto& fronts = plan.layout.fronts;
  Impl::HostFrontEntries lists(fronts, first_tile, rows, entries, plan.options);
  const auto packed = [&](int shift) {
    std::vector<std::uint32_t> result;
    result.reserve(lists.position.size());
    for (const FrontPosition& position : lists.position)
      result.push_back(Impl::pack_position(position, shift));
    return result;
  };
  const auto upload = [&](auto& view, const char* label, const auto& host) {
    view = Impl::upload(exec, plan.reservation, label, host);
  };
  upload(plan.entry_position.low, "lutra::numeric::entry_position", packed(0));
  if (any_high) upload(plan.entry_position.high, "lutra::numeric::entry_position_high", packed(16));
  if (lists.target.size() <= std::numeric_limits<std::uint32_t>::max()) {
    upload(plan.entry_target, "lutra::numeric::entry_target",
           std::vector<std::uint32_t>(lists.target.begin(), lists.target.end()));
  } else {
    upload(plan.entry_target_wide, "lutra::numeric::entry_target", lists.target);
  }
  plan.layout.tile_entries = std::move(lists.tile_begin);
}

/// Stores the assembly map of A's entries in the plan, and sets the fronts' entry ranges.
template <class ExecutionSpace>
void plan_entries(const ExecutionSpace& exec, const FrontEntries& entries, const std::vector<Ordinal>& rows,
                  const MemoryBudget& budget, FrontPlan<typename ExecutionSpace::memory_space>& plan) {
  auto& fronts = plan.layout.fronts;
  const auto first_tile = Impl::number_tiles(fronts, plan.options);
  const bool any_high = std::ranges::any_of(fronts, [](const auto& front) { return front.size() > 1 << 16; });
  using Maker = Impl::FrontEntryMaker<ExecutionSpace>;
  if (Impl::is_host_space<ExecutionSpace> || !Maker::fits(plan, budget)) {
    list_entries_on_host(exec, entries, first_tile, rows, any_high, plan);
  } else {
    MemoryReservation scratch(budget);
    const auto on_device = Impl::upload(exec, scratch, "lutra::numeric::fronts", fronts);
    plan.layout.tile_entries =
        Maker(exec, plan, budget).make(on_device, first_tile, entries.row_order, entries.col_order, any_high);
  }
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    fronts[f].entries = at(plan.layout.tile_entries, first_tile[f]);
    fronts[f].entries_end = at(plan.layout.tile_entries, first_tile[f + 1]);
  }
  plan.fronts = Impl::upload(exec, plan.reservation, "lutra::numeric::fronts", fronts);
  Impl::mark_rows(exec, plan);
}

/// Copies the user's pattern unless it is already in that memory.
template <class ExecutionSpace>
CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> copy_pattern(
    const ExecutionSpace& exec, MemoryReservation& reservation,
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  const auto copy = [&](const char* label, const auto& from) {
    using Value = typename std::decay_t<decltype(from)>::non_const_value_type;
    return Impl::upload(exec, reservation, label,
                        std::vector<Value>(from.data(), from.data() + from.extent(0)));
  };
  return {A.n_rows, A.n_cols, copy("lutra::numeric::row_map of A", A.row_map),
          copy("lutra::numeric::entries of A", A.entries)};
}

/// Fronts by their levels in the tree, the largest first within one.
template <class Plan>
std::vector<Ordinal> order_by_levels(const AssemblyTree& tree, Plan& plan) {
  const Fronts& fronts = plan.layout.fronts;
  std::vector<Ordinal> by_level(fronts.size()), level_of(fronts.size());
  plan.layout.level_map = Impl::levelize_in_order(tree.parent, by_level, level_of);
  for (std::size_t l = 0; l + 1 < plan.layout.level_map.size(); ++l) {
    const auto begin = by_level.begin() + plan.layout.level_map[l],
               end = by_level.begin() + plan.layout.level_map[l + 1];
    plan.layout.level_pivots.push_back(std::accumulate(begin, end, Ordinal(0), [&](Ordinal sum, Ordinal f) {
      return sum + static_cast<Ordinal>(at(fronts, f).pivots);
    }));
    std::stable_sort(begin, end,
                     [&](Ordinal a, Ordinal b) { return at(fronts, a).size() > at(fronts, b).size(); });
  }
  return by_level;
}

}  // namespace

FrontLayout lay_out_fronts(const AssemblyTree& tree) {
  FrontLayout layout;
  layout.fronts = lay_out(tree, layout.contributions);
  layout.children = list_children(layout.fronts);
  return layout;
}

std::size_t bytes_of_front_lists(const AssemblyTree& tree, std::int64_t nnz) {
  const auto entries = static_cast<std::size_t>(nnz);
  std::size_t children = 0;
  bool any_high = false;
  for (Ordinal f = 0; f < tree.count(); ++f) {
    children += at(tree.parent, f) >= 0 ? 1 : 0;
    any_high = any_high || at(tree.pivot_begin, f + 1) - at(tree.pivot_begin, f) + at(tree.row_begin, f + 1) -
                                   at(tree.row_begin, f) >
                               1 << 16;
  }
  const auto count = static_cast<std::size_t>(tree.count());
  const std::size_t targets =
      entries <= std::numeric_limits<std::uint32_t>::max() ? sizeof(std::uint32_t) : sizeof(Offset);
  const std::size_t marks = (entries + entries_a_mark - 1) / entries_a_mark + 1;
  const auto array = [](std::size_t length, std::size_t bytes) {
    return (length * bytes + 7) / 8 * 8;  // as some versions of Kokkos round them
  };
  return array(count, sizeof(Front)) + array(count, sizeof(Ordinal)) +
         array(tree.rows.size(), sizeof(Ordinal)) + array(tree.rows.size(), sizeof(int)) +
         array(children, sizeof(Ordinal)) + array(marks, sizeof(Ordinal)) +
         (any_high ? 2 : 1) * array(entries, sizeof(std::uint32_t)) + array(entries, targets);
}

std::vector<int> relative_indices(const FrontLayout& layout, const AssemblyTree& tree) {
  std::vector<int> relative(tree.rows.size());
  for (const auto& front : layout.fronts) {
    if (front.parent < 0) continue;
    const auto& parent = at(layout.fronts, front.parent);
    auto at_parent = tree.rows.begin() + static_cast<std::ptrdiff_t>(parent.rows);
    const auto parents_rows = at_parent;
    for (Offset r = front.rows; r < front.rows + front.cb_rows; ++r) {  // both lists ascend
      const Ordinal row = at(tree.rows, r);
      if (row < parent.first_pivot + parent.pivots) {
        at(relative, r) = static_cast<int>(row - parent.first_pivot);
      } else {
        while (*at_parent < row) ++at_parent;
        at(relative, r) = parent.pivots + static_cast<int>(at_parent - parents_rows);
      }
    }
  }
  return relative;
}

template <class ExecutionSpace>
FrontPlan<typename ExecutionSpace::memory_space> plan_fronts(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  FrontPlan<typename ExecutionSpace::memory_space> plan;
  plan.n = tree.n;
  plan.count = tree.count();
  plan.options = options;
  plan.layout = lay_out_fronts(tree);
  plan.contributions = plan.layout.contributions;
  plan.reservation = MemoryReservation(budget);
  plan.rows = Impl::upload(exec, plan.reservation, "lutra::numeric::front_rows", tree.rows);
  plan.children = Impl::upload(exec, plan.reservation, "lutra::numeric::children", plan.layout.children);
  plan.A = A.row_map.extent(0) > 0 ? A : copy_pattern(exec, plan.reservation, entries.A);
  plan_entries(exec, entries, tree.rows, budget, plan);
  plan.relative = relative_indices_of(exec, tree, plan);
  plan.by_level =
      Impl::upload(exec, plan.reservation, "lutra::numeric::fronts_by_level", order_by_levels(tree, plan));
  return plan;
}

template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget) {
  LuPattern<typename ExecutionSpace::memory_space> result;
  result.reservation = MemoryReservation(budget);
  Impl::write_front_pattern(exec, plan, budget, Impl::NoPanelEntries(), result);
  return result;
}

#define LUTRA_PLAN_FRONTS(Space)                                                                            \
  template FrontPlan<typename Space::memory_space> plan_fronts(                                             \
      const Space&, const AssemblyTree&, const FrontEntries&, const MemoryBudget&, const FrontPlanOptions&, \
      const CsrPattern<Ordinal, Offset, typename Space::memory_space>&);                                    \
  template LuPattern<typename Space::memory_space> pattern_of_fronts(                                       \
      const Space&, const FrontPlan<typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_PLAN_FRONTS)

}  // namespace lutra

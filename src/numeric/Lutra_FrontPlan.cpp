// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontPlan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Forest.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

template <class Array, class Index>
decltype(auto) at(Array& array, Index i) {
  return array[static_cast<std::size_t>(i)];
}

template <class Ordinal, class Offset>
using Fronts = std::vector<Front<Ordinal, Offset>>;

/// Where contributions stand. A subtree has a stretch of its own, so that subtrees may be worked at once. In
/// the stretch of a front, whatever its children's contributions leave free is free: what was there has been
/// added by the children. The front's own goes to the first gap it fits into, or to the end.
/// @returns numbers in all
template <class Ordinal, class Offset>
Offset place_corners(Fronts<Ordinal, Offset>& fronts) {
  struct Subtree {
    Offset begin, corner, corner_end;
  };
  std::vector<Subtree> open;  // finished subtrees whose parents are to come, in postorder
  std::vector<Ordinal> children(fronts.size(), 0);
  Offset end = 0;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    const std::size_t first = open.size() - static_cast<std::size_t>(children[f]);
    const Offset size = static_cast<Offset>(fronts[f].below) * fronts[f].below;
    const Offset begin = children[f] > 0 ? open[first].begin : end;
    Offset place = begin;
    for (std::size_t c = first; c < open.size() && open[c].corner - place < size; ++c)
      place = open[c].corner_end;
    fronts[f].corner = place;
    end = std::max(end, place + size);
    open.resize(first);
    open.push_back({begin, place, place + size});
    if (fronts[f].parent >= 0) {
      ++at(children, fronts[f].parent);
    } else {
      open.pop_back();
    }
  }
  return end;
}

/// Sizes, offsets and parents.
template <class Offset, class Ordinal>
Fronts<Ordinal, Offset> lay_out(const FrontTree<Ordinal>& tree, Offset& panels, Offset& corners) {
  Fronts<Ordinal, Offset> fronts(static_cast<std::size_t>(tree.count()));
  panels = 0;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    Front<Ordinal, Offset>& front = fronts[f];
    front.first_pivot = tree.pivot_begin[f];
    front.parent = tree.parent[f];
    front.pivots = static_cast<int>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    front.below = static_cast<int>(tree.row_begin[f + 1] - tree.row_begin[f]);
    front.rows = static_cast<Offset>(tree.row_begin[f]);
    front.lower = panels;
    front.upper = front.lower + static_cast<Offset>(front.size()) * front.pivots;
    panels = front.upper + static_cast<Offset>(front.pivots) * front.below;
  }
  corners = place_corners(fronts);
  return fronts;
}

/// Position in a front of a place of F that it holds.
template <class Ordinal, class Offset>
int position_in(const Front<Ordinal, Offset>& front, const FrontTree<Ordinal>& tree, Ordinal place) {
  if (place < front.first_pivot + front.pivots) return static_cast<int>(place - front.first_pivot);
  const auto begin = tree.rows.begin() + static_cast<std::ptrdiff_t>(front.rows);
  return front.pivots + static_cast<int>(std::lower_bound(begin, begin + front.below, place) - begin);
}

/// Where each further row of a front stands in the parent.
template <class Ordinal, class Offset>
std::vector<int> places_in_parents(const Fronts<Ordinal, Offset>& fronts, const FrontTree<Ordinal>& tree) {
  std::vector<int> places(tree.rows.size());
  for (const auto& front : fronts) {
    if (front.parent < 0) continue;
    const auto& parent = at(fronts, front.parent);
    auto at_parent = tree.rows.begin() + static_cast<std::ptrdiff_t>(parent.rows);
    const auto parents_rows = at_parent;
    for (Offset r = front.rows; r < front.rows + front.below; ++r) {  // both lists ascend
      const Ordinal row = at(tree.rows, r);
      if (row < parent.first_pivot + parent.pivots) {
        at(places, r) = static_cast<int>(row - parent.first_pivot);
      } else {
        while (*at_parent < row) ++at_parent;
        at(places, r) = parent.pivots + static_cast<int>(at_parent - parents_rows);
      }
    }
  }
  return places;
}

template <class Ordinal, class Offset>
std::vector<Ordinal> list_children(Fronts<Ordinal, Offset>& fronts) {
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

template <class Ordinal>
std::vector<Ordinal> inverse(const std::vector<Ordinal>& order) {
  std::vector<Ordinal> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) at(place, order[k]) = static_cast<Ordinal>(k);
  return place;
}

/// Entries of A by fronts.
template <class Offset>
struct EntryLists {
  std::vector<FrontPlace> place;
  std::vector<Offset> source;  ///< in the user's matrix
};

/// Calls visit(front, entry, place in F's rows, in F's columns).
template <class Ordinal, class Offset, class Visit>
void for_each_entry(const FrontTree<Ordinal>& tree, const FrontEntries<Ordinal, Offset>& entries,
                    const Visit& visit) {
  const auto row_place = inverse(entries.row_order), col_place = inverse(entries.col_order);
  std::vector<Ordinal> front_of(static_cast<std::size_t>(tree.n));
  for (Ordinal f = 0; f < tree.count(); ++f) {
    std::fill(front_of.begin() + static_cast<std::ptrdiff_t>(at(tree.pivot_begin, f)),
              front_of.begin() + static_cast<std::ptrdiff_t>(at(tree.pivot_begin, f + 1)), f);
  }
  for (Ordinal i = 0; i < entries.A.n_rows; ++i) {
    for (Offset p = entries.A.row_map(i); p < entries.A.row_map(i + 1); ++p) {
      const Ordinal j = entries.A.entries(p);
      const Ordinal row = at(row_place, i), column = at(col_place, j);
      visit(at(front_of, std::min(row, column)), p, row, column);
    }
  }
}

/// Within fronts that are cut, entries follow the order of tiles.
template <class Ordinal, class Offset>
void sort_by_tiles(const Fronts<Ordinal, Offset>& fronts, const FrontPlanOptions& options,
                   EntryLists<Offset>& lists) {
  std::vector<std::pair<std::int64_t, Offset>> keys;
  for (const auto& front : fronts) {
    if (front.size() <= options.most_whole) continue;
    const Impl::FrontTiles tiles(front.pivots, front.below, options.tile);
    keys.clear();
    for (Offset q = front.entries; q < front.entries_end; ++q) {
      const FrontPlace place = at(lists.place, q);
      keys.push_back(
          {static_cast<std::int64_t>(tiles.of(place.row)) * tiles.count() + tiles.of(place.column), q});
    }
    std::sort(keys.begin(), keys.end());
    EntryLists<Offset> sorted;
    for (const auto& key : keys) {
      sorted.place.push_back(at(lists.place, key.second));
      sorted.source.push_back(at(lists.source, key.second));
    }
    const auto to = static_cast<std::ptrdiff_t>(front.entries);
    std::copy(sorted.place.begin(), sorted.place.end(), lists.place.begin() + to);
    std::copy(sorted.source.begin(), sorted.source.end(), lists.source.begin() + to);
  }
}

template <class Ordinal, class Offset>
EntryLists<Offset> list_entries(const FrontTree<Ordinal>& tree, const FrontEntries<Ordinal, Offset>& entries,
                                const FrontPlanOptions& options, Fronts<Ordinal, Offset>& fronts) {
  for_each_entry(tree, entries, [&](Ordinal f, Offset, Ordinal, Ordinal) { ++at(fronts, f).entries_end; });
  Offset sum = 0;
  for (auto& front : fronts) {
    front.entries = sum;
    sum += front.entries_end;
    front.entries_end = front.entries;
  }
  EntryLists<Offset> lists;
  lists.place.resize(static_cast<std::size_t>(sum));
  lists.source.resize(lists.place.size());
  for_each_entry(tree, entries, [&](Ordinal f, Offset p, Ordinal row, Ordinal column) {
    auto& front = at(fronts, f);
    const Offset q = front.entries_end++;
    at(lists.place, q) = {position_in(front, tree, row), position_in(front, tree, column)};
    at(lists.source, q) = p;
  });
  sort_by_tiles(fronts, options, lists);
  return lists;
}

/// Bits shift, shift + 1, … of rows and columns, 16 of them each.
std::vector<std::uint32_t> pack_places(const std::vector<FrontPlace>& places, int shift) {
  std::vector<std::uint32_t> packed;
  packed.reserve(places.size());
  for (const FrontPlace place : places) {
    const auto row = static_cast<std::uint32_t>(place.row) >> shift & 0xffffu;
    packed.push_back(row << 16 | (static_cast<std::uint32_t>(place.column) >> shift & 0xffffu));
  }
  return packed;
}

/// Where each entry of the user's matrix goes.
template <class Target, class Offset>
std::vector<Target> targets_of(const std::vector<Offset>& source) {
  std::vector<Target> target(source.size());
  for (std::size_t q = 0; q < source.size(); ++q) at(target, source[q]) = static_cast<Target>(q);
  return target;
}

template <class Ordinal, class Offset>
std::vector<Ordinal> mark_rows(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  std::vector<Ordinal> marks;
  const Offset nnz = A.nnz();
  Ordinal row = 0;
  for (Offset p = 0; p < nnz; p += entries_a_mark) {
    while (A.row_map(row + 1) <= p) ++row;
    marks.push_back(row);
  }
  while (nnz > 0 && A.row_map(row + 1) < nnz) ++row;
  marks.push_back(row);
  return marks;
}

/// Puts the way of each entry of A into the plan.
template <class ExecutionSpace, class Ordinal, class Offset>
void upload_entries(const ExecutionSpace& exec, const EntryLists<Offset>& lists,
                    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, bool any_high,
                    FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space>& plan) {
  const auto upload = [&](auto& view, const char* label, const auto& host) {
    view = Impl::upload(exec, plan.charge, label, host);
  };
  upload(plan.entry_place.low, "lutra::numeric::entry_place", pack_places(lists.place, 0));
  if (any_high)
    upload(plan.entry_place.high, "lutra::numeric::entry_place_high", pack_places(lists.place, 16));
  if (lists.source.size() <= std::numeric_limits<std::uint32_t>::max()) {
    upload(plan.entry_target, "lutra::numeric::entry_target", targets_of<std::uint32_t>(lists.source));
  } else {
    upload(plan.entry_target_wide, "lutra::numeric::entry_target", targets_of<Offset>(lists.source));
  }
  upload(plan.entry_marks, "lutra::numeric::entry_marks", mark_rows(A));
}

/// A copy of the user's pattern, for who has none in that memory.
template <class ExecutionSpace, class Ordinal, class Offset>
CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> copy_pattern(
    const ExecutionSpace& exec, Charge& charge, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  const auto copy = [&](const char* label, const auto& from) {
    using Value = typename std::decay_t<decltype(from)>::non_const_value_type;
    return Impl::upload(exec, charge, label, std::vector<Value>(from.data(), from.data() + from.extent(0)));
  };
  return {A.n_rows, A.n_cols, copy("lutra::numeric::row_map of A", A.row_map),
          copy("lutra::numeric::entries of A", A.entries)};
}

/// Fronts by their levels in the tree, the largest first within one.
template <class Plan, class Ordinal, class Offset>
std::vector<Ordinal> order_by_levels(const FrontTree<Ordinal>& tree, const Fronts<Ordinal, Offset>& fronts,
                                     Plan& plan) {
  std::vector<Ordinal> by_level(fronts.size()), level_of(fronts.size());
  plan.level_map = Impl::levelize_in_order<Ordinal>(tree.parent, by_level, level_of);
  for (std::size_t l = 0; l + 1 < plan.level_map.size(); ++l) {
    const auto begin = by_level.begin() + plan.level_map[l], end = by_level.begin() + plan.level_map[l + 1];
    plan.level_pivots.push_back(std::accumulate(begin, end, Ordinal(0), [&](Ordinal sum, Ordinal f) {
      return sum + static_cast<Ordinal>(at(fronts, f).pivots);
    }));
    std::stable_sort(begin, end,
                     [&](Ordinal a, Ordinal b) { return at(fronts, a).size() > at(fronts, b).size(); });
  }
  return by_level;
}

/// Whether any front has more rows than that.
template <class Fronts>
bool has_front_above(const Fronts& fronts, int rows) {
  return std::ranges::any_of(fronts, [&](const auto& front) { return front.size() > rows; });
}

/// Lengths of the rows of L + U as a row map, and where each front's pivots begin in its further rows.
/// @param rows further rows of all fronts
template <class Ordinal, class Offset, class RowView>
std::vector<Offset> start_rows(const Fronts<Ordinal, Offset>& fronts, Ordinal n, const RowView& rows) {
  std::vector<Offset> filled(static_cast<std::size_t>(n) + 1, 0);  // entries of L of each row, at row + 1
  for (const auto& front : fronts) {
    for (Offset r = front.rows; r < front.rows + front.below; ++r) at(filled, rows(r) + 1) += front.pivots;
  }
  for (const auto& front : fronts) {
    for (int c = 0; c < front.pivots; ++c) at(filled, front.first_pivot + c + 1) += front.size();
  }
  std::partial_sum(filled.begin(), filled.end(), filled.begin());
  std::vector<Offset> start(rows.extent(0));
  for (const auto& front : fronts) {
    for (Offset r = front.rows; r < front.rows + front.below; ++r) {
      at(start, r) = at(filled, rows(r));
      at(filled, rows(r)) += front.pivots;
    }
  }
  return start;
}

/// Row map and diagonals of L + U: a pivot's row ends with its front, whose first pivots belong to L.
template <class ExecutionSpace, class Plan, class OffsetView>
void map_rows(const ExecutionSpace& exec, const Plan& plan, const OffsetView& row_map,
              const OffsetView& diagonal) {
  using Offset = typename OffsetView::value_type;
  const auto fronts = plan.fronts;
  const auto rows = plan.rows;
  Kokkos::deep_copy(exec, row_map, Offset(0));
  Kokkos::parallel_for(
      "lutra::numeric::row_lengths", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.count),
      KOKKOS_LAMBDA(const std::int64_t f) {
        const auto front = fronts(f);
        for (int c = 0; c < front.pivots; ++c)
          Impl::add_shared<ExecutionSpace>(row_map(front.first_pivot + c + 1),
                                           static_cast<Offset>(front.size()));
        for (Offset r = front.rows; r < front.rows + front.below; ++r)
          Impl::add_shared<ExecutionSpace>(row_map(rows(r) + 1), static_cast<Offset>(front.pivots));
      });
  Kokkos::parallel_scan(
      "lutra::numeric::row_map",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(plan.n) + 1),
      KOKKOS_LAMBDA(const Offset i, Offset& sum, const bool final) {
        sum += row_map(i);
        if (final) row_map(i) = sum;
      });
  Kokkos::parallel_for(
      "lutra::numeric::diagonals", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.count),
      KOKKOS_LAMBDA(const std::int64_t f) {
        const auto front = fronts(f);
        for (int c = 0; c < front.pivots; ++c)
          diagonal(front.first_pivot + c) = row_map(front.first_pivot + c + 1) - front.size() + c;
      });
}

/// @param row_start position, in L + U by rows, where each further row of a front has its first pivot
template <class ExecutionSpace, class Plan, class OrdinalView, class OffsetView, class StartView>
void fill_rows(const ExecutionSpace& exec, const Plan& plan, const StartView& row_start,
               const OffsetView& diagonal, const OrdinalView& entries, const OffsetView& source) {
  using Ordinal = typename OrdinalView::value_type;
  using Offset = typename OffsetView::value_type;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const auto fronts = plan.fronts;
  const auto rows = plan.rows;
  constexpr bool on_host = Impl::is_host_space<ExecutionSpace>;
  Kokkos::parallel_for(
      "lutra::numeric::fill_rows",
      Policy(exec, static_cast<int>(plan.count), on_host ? 1 : 4, on_host ? 1 : 32),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const auto front = fronts(team.league_rank());
        const Offset size = front.size(), pivots = front.pivots;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, front.size()), [&](const int r) {
          const bool is_pivot = r < front.pivots;
          const Offset to =
              is_pivot ? diagonal(front.first_pivot + r) - r : row_start(front.rows + r - pivots);
          Kokkos::parallel_for(
              Kokkos::ThreadVectorRange(team, is_pivot ? front.size() : front.pivots), [&](const int c) {
                entries(to + c) = c < front.pivots ? front.first_pivot + static_cast<Ordinal>(c)
                                                   : rows(front.rows + c - pivots);
                source(to + c) = c < front.pivots
                                     ? front.lower + r + c * size
                                     : front.upper + r * static_cast<Offset>(front.below) + c - pivots;
              });
        });
      });
}

}  // namespace

template <class ExecutionSpace, class Offset, class Ordinal>
FrontOutline<Ordinal, Offset, typename ExecutionSpace::memory_space> outline_fronts(
    const FrontTree<Ordinal>& tree, const FrontPlanOptions& options) {
  FrontOutline<Ordinal, Offset, typename ExecutionSpace::memory_space> outline;
  auto& plan = outline.plan;
  plan.n = tree.n;
  plan.count = tree.count();
  plan.options = options;
  plan.flops = tree.flops;
  plan.host_fronts = lay_out<Offset>(tree, plan.panels, plan.corners);
  outline.children = list_children(plan.host_fronts);
  outline.places = places_in_parents(plan.host_fronts, tree);
  return outline;
}

template <class Ordinal, class Offset, class ExecutionSpace>
FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space> plan_fronts(
    const ExecutionSpace& exec, const FrontTree<Ordinal>& tree, const FrontEntries<Ordinal, Offset>& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  auto outline = outline_fronts<ExecutionSpace, Offset>(tree, options);
  auto& plan = outline.plan;
  auto& fronts = plan.host_fronts;
  plan.charge = Charge(budget);
  const auto lists = list_entries(tree, entries, options, fronts);
  plan.fronts = Impl::upload(exec, plan.charge, "lutra::numeric::fronts", fronts);
  plan.rows = Impl::upload(exec, plan.charge, "lutra::numeric::front_rows", tree.rows);
  plan.places = Impl::upload(exec, plan.charge, "lutra::numeric::places", outline.places);
  plan.children = Impl::upload(exec, plan.charge, "lutra::numeric::children", outline.children);
  upload_entries(exec, lists, entries.A, has_front_above(fronts, 1 << 16), plan);
  plan.A = A.row_map.extent(0) > 0 ? A : copy_pattern(exec, plan.charge, entries.A);
  plan.by_level =
      Impl::upload(exec, plan.charge, "lutra::numeric::fronts_by_level", order_by_levels(tree, fronts, plan));
  if (has_front_above(fronts, options.most_whole)) plan.host_entry_place = lists.place;
  return std::move(plan);
}

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const FrontPlan<Ordinal, Offset, typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source) {
  using Memory = typename ExecutionSpace::memory_space;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  LuPattern<Ordinal, Offset, Memory> result;
  result.n = plan.n;
  result.charge = Charge(budget);
  const auto nnz = plan.panels;
  auto row_map = result.charge.template allocate<OffsetView>(exec, "lutra::numeric::row_map", plan.n + 1);
  auto diagonal = result.charge.template allocate<OffsetView>(exec, "lutra::numeric::diagonal", plan.n);
  auto entries =
      result.charge.template allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::numeric::entries", nnz);
  auto sources = result.charge.template allocate<OffsetView>(exec, "lutra::numeric::panel_source", nnz);
  map_rows(exec, plan, row_map, diagonal);
  Charge scratch(budget);
  const auto rows = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), plan.rows);
  const auto row_start =
      Impl::upload(exec, scratch, "lutra::numeric::row_start", start_rows(plan.host_fronts, plan.n, rows));
  fill_rows(exec, plan, row_start, diagonal, entries, sources);
  exec.fence("lutra::numeric: where rows start is no longer needed");
  result.row_map = row_map;
  result.diagonal = diagonal;
  result.entries = entries;
  source = sources;
  result.nnz_l = (static_cast<Offset>(nnz) - plan.n) / 2;
  result.nnz_u = static_cast<Offset>(nnz) - result.nnz_l;
  result.road = SymbolicRoad::etree;
  result.exact = false;
  return result;
}

#define LUTRA_PLAN_FRONTS(Ordinal, Offset, Space)                                                         \
  template FrontOutline<Ordinal, Offset, typename Space::memory_space> outline_fronts<Space, Offset>(     \
      const FrontTree<Ordinal>&, const FrontPlanOptions&);                                                \
  template FrontPlan<Ordinal, Offset, typename Space::memory_space> plan_fronts(                          \
      const Space&, const FrontTree<Ordinal>&, const FrontEntries<Ordinal, Offset>&, const MemoryBudget&, \
      const FrontPlanOptions&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&);         \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> pattern_of_fronts(                    \
      const Space&, const FrontPlan<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      Kokkos::View<const Offset*, typename Space::memory_space>&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_PLAN_FRONTS)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTENTRIES_HPP
#define LUTRA_FRONTENTRIES_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontSearch.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PermutePattern.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

// Orders the entries of A by fronts, in tiled fronts by tiles, and within a tile in the user's order. Tiles
// are numbered across all fronts, by tile rows; an untiled front is one tile.

/// [count + 1] index of each front's first tile
template <class Fronts>
std::vector<std::int64_t> number_tiles(const Fronts& fronts, const FrontPlanOptions& options) {
  std::vector<std::int64_t> first;
  first.reserve(fronts.size() + 1);
  first.push_back(0);
  for (const auto& front : fronts) {
    const bool is_cut = front.size() > options.max_whole;
    const std::int64_t edge = is_cut ? FrontTiles(front.pivots, front.cb_rows, options.tile).count() : 1;
    first.push_back(first.back() + edge * edge);
  }
  return first;
}

/// Tile of a position within its front.
inline KOKKOS_FUNCTION std::int64_t tile_in_front(const Front& front, const FrontPlanOptions& options,
                                                  const FrontPosition& position) {
  if (front.size() <= options.max_whole) return 0;
  const FrontTiles tiles(front.pivots, front.cb_rows, options.tile);
  return static_cast<std::int64_t>(tiles.of(position.row)) * tiles.count() + tiles.of(position.column);
}

/// Packs 16 bits of row and column each, starting at bit `shift`.
KOKKOS_INLINE_FUNCTION std::uint32_t pack_position(const FrontPosition& position, int shift) {
  return static_cast<std::uint32_t>(position.row) >> shift << 16 |
         (static_cast<std::uint32_t>(position.column) >> shift & 0xffffu);
}

/// Stores the user row of every entries_a_mark-th entry and of the last.
template <class ExecutionSpace>
void mark_rows(const ExecutionSpace& exec, FrontPlan<typename ExecutionSpace::memory_space>& plan) {
  const auto nnz = static_cast<std::int64_t>(plan.A.nnz()), last = nnz - 1;
  const std::int64_t marks = (nnz + entries_a_mark - 1) / entries_a_mark;
  const auto result =
      plan.reservation.template allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
          exec, "lutra::numeric::entry_marks", marks + 1);
  const auto A_map = plan.A.row_map;
  const Ordinal n = plan.n;
  Kokkos::parallel_for(
      "lutra::numeric::entry_marks",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, marks + 1),
      KOKKOS_LAMBDA(const std::int64_t k) {
        result(k) = last < 0 ? Ordinal(0) : row_of_entry(A_map, n, k < marks ? k * entries_a_mark : last);
      });
  plan.entry_marks = result;
}

/// Builds the assembly map in parallel: sorts one key per entry, made of its tile and its index.
/// @param Plan with `A`, `rows`, `count` and `options`
template <class ExecutionSpace>
struct FrontEntryMaker {
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = FrontPlan<Memory>;
  using Fronts = Kokkos::View<const Front*, Memory>;
  using OrdinalView = Kokkos::View<Ordinal*, Memory>;
  using Words = Kokkos::View<std::uint32_t*, Memory>;
  using Keys = Kokkos::View<std::uint64_t*, Memory>;
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

  ExecutionSpace exec;
  Plan& plan;
  MemoryReservation scratch;
  std::int64_t nnz;
  int entry_bits;  ///< low bits of a key that hold the entry's index

  FrontEntryMaker(const ExecutionSpace& space, Plan& of, const MemoryBudget& budget)
      : exec(space),
        plan(of),
        scratch(budget),
        nnz(static_cast<std::int64_t>(of.A.nnz())),
        entry_bits(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(nnz)))) {}

  /// Whether the keys, twice as much memory to sort them, and the positions fit next to the plan's own
  /// arrays.
  static bool fits(const Plan& plan, const MemoryBudget& budget) {
    constexpr std::size_t bytes_an_entry = 3 * sizeof(std::uint64_t) + 6 * sizeof(std::uint32_t);
    return bytes_an_entry * static_cast<std::size_t>(plan.A.nnz()) +
               8 * sizeof(Ordinal) * static_cast<std::size_t>(plan.n) <
           budget.available_bytes();
  }

  /// @param fronts     of the plan
  /// @param first_tile from `number_tiles`
  /// @param any_high   whether positions need more than 16 bits
  /// @returns [tiles + 1] first entry of each tile
  std::vector<Offset> make(const Fronts& fronts, const std::vector<std::int64_t>& first_tile,
                           const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                           bool any_high) {
    const auto rows = invert(row_order), columns = invert(col_order);
    const auto tile_of_front = upload(exec, scratch, "lutra::numeric::first_tile", first_tile);
    const auto keys = scratch.template allocate<Keys>(exec, "lutra::numeric::entry_keys", nnz);
    const auto low = scratch.template allocate<Words>(exec, "lutra::numeric::positions_by_user", nnz);
    const auto high =
        scratch.template allocate<Words>(exec, "lutra::numeric::positions_by_user", any_high ? nnz : 0);
    locate_entries(fronts, tile_of_front, rows, columns, keys, low, high);
    check_launches_on<ExecutionSpace>();  // CUB would name another error
    Kokkos::sort(exec, keys);
    plan.entry_position.low = in_order(keys, low, "lutra::numeric::entry_position");
    if (any_high) plan.entry_position.high = in_order(keys, high, "lutra::numeric::entry_position_high");
    if (nnz <= static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max())) {
      plan.entry_target = targets<std::uint32_t>(keys);
    } else {
      plan.entry_target_wide = targets<Offset>(keys);
    }
    const auto begin = begin_tiles(keys, first_tile.back());
    std::vector<Offset> result(begin.extent(0));
    Kokkos::deep_copy(exec, Kokkos::View<Offset*, Kokkos::HostSpace>(result.data(), result.size()), begin);
    exec.fence("lutra::numeric: entries are in the order of fronts");
    return result;
  }

  OrdinalView invert(const std::vector<Ordinal>& order) {
    const auto from = upload(exec, scratch, "lutra::numeric::order", order);
    const auto position =
        scratch.template allocate<OrdinalView>(exec, "lutra::numeric::inverse_order", order.size());
    invert_permutation(exec, from, position);
    return position;
  }

  template <class Tiles>
  void locate_entries(const Fronts& fronts, const Tiles& first_tile, const OrdinalView& row_position,
                      const OrdinalView& col_position, const Keys& keys, const Words& low,
                      const Words& high) {
    const auto A_map = plan.A.row_map;
    const auto A_entries = plan.A.entries;
    const Ordinal* const rows = plan.rows.data();
    const Ordinal n = plan.n, count = plan.count;
    const FrontPlanOptions options = plan.options;
    const int bits = entry_bits;
    Kokkos::parallel_for(
        "lutra::numeric::locate_entries", Range(exec, 0, nnz), KOKKOS_LAMBDA(const std::int64_t p) {
          const Ordinal row = row_position(row_of_entry(A_map, n, p)), column = col_position(A_entries(p));
          const Ordinal pivot = row < column ? row : column;
          const Ordinal f = front_of_pivot(fronts, count, pivot);
          const auto front = fronts(f);
          const FrontPosition position{position_in_front(front, rows, row),
                                       position_in_front(front, rows, column)};
          const auto tile =
              static_cast<std::uint64_t>(first_tile(f) + tile_in_front(front, options, position));
          keys(p) = tile << bits | static_cast<std::uint64_t>(p);
          low(p) = pack_position(position, 0);
          if (high.extent(0) > 0) high(p) = pack_position(position, 16);
        });
  }

  Words in_order(const Keys& keys, const Words& by_user, const char* label) {
    const auto result = plan.reservation.template allocate<Words>(exec, label, nnz);
    const std::uint64_t mask = (std::uint64_t(1) << entry_bits) - 1;
    Kokkos::parallel_for(
        "lutra::numeric::order_positions", Range(exec, 0, nnz), KOKKOS_LAMBDA(const std::int64_t q) {
          result(q) = by_user(static_cast<std::int64_t>(keys(q) & mask));
        });
    return result;
  }

  template <class Target>
  Kokkos::View<Target*, Memory> targets(const Keys& keys) {
    const auto target = plan.reservation.template allocate<Kokkos::View<Target*, Memory>>(
        exec, "lutra::numeric::entry_target", nnz);
    const std::uint64_t mask = (std::uint64_t(1) << entry_bits) - 1;
    Kokkos::parallel_for(
        "lutra::numeric::entry_target", Range(exec, 0, nnz), KOKKOS_LAMBDA(const std::int64_t q) {
          target(static_cast<std::int64_t>(keys(q) & mask)) = static_cast<Target>(q);
        });
    return target;
  }

  /// First entry of each tile, by binary searches.
  Kokkos::View<Offset*, Memory> begin_tiles(const Keys& keys, std::int64_t tiles) {
    const auto begin = scratch.template allocate<Kokkos::View<Offset*, Memory>>(
        exec, "lutra::numeric::tile_begin", tiles + 1);
    const std::int64_t n_keys = nnz;
    const int bits = entry_bits;
    Kokkos::parallel_for(
        "lutra::numeric::tile_begin", Range(exec, 0, tiles + 1), KOKKOS_LAMBDA(const std::int64_t t) {
          const std::uint64_t first = static_cast<std::uint64_t>(t) << bits;
          begin(t) = static_cast<Offset>(
              first_not_before(std::int64_t(0), n_keys, [&](std::int64_t k) { return keys(k) < first; }));
        });
    return begin;
  }
};

/// Serial host version: a counting sort by tiles.
struct HostFrontEntries {
  std::vector<FrontPosition> position;  ///< [nnz(A)] ordered by fronts
  std::vector<Offset> target;           ///< [nnz(A)] position of each of the user's entries in that order
  std::vector<Offset> tile_begin;       ///< [tiles + 1]

  template <class Fronts>
  HostFrontEntries(const Fronts& fronts, const std::vector<std::int64_t>& first_tile,
                   const std::vector<Ordinal>& rows, const FrontEntries& entries,
                   const FrontPlanOptions& options)
      : position(entries.A.entries.extent(0)),
        target(position.size()),
        tile_begin(static_cast<std::size_t>(first_tile.back()) + 2, 0) {
    const auto row_position = inverse(entries.row_order), col_position = inverse(entries.col_order);
    std::vector<std::size_t> front_of(row_position.size());
    for (std::size_t f = 0; f < fronts.size(); ++f)
      std::fill_n(front_of.begin() + static_cast<std::ptrdiff_t>(fronts[f].first_pivot), fronts[f].pivots, f);
    std::vector<FrontPosition> by_user(position.size());
    for (Ordinal i = 0; i < entries.A.n_rows; ++i) {
      const Ordinal row = row_position[static_cast<std::size_t>(i)];
      for (Offset p = entries.A.row_map(i); p < entries.A.row_map(i + 1); ++p) {
        const auto e = static_cast<std::size_t>(p);
        const Ordinal column = col_position[static_cast<std::size_t>(entries.A.entries(p))];
        const std::size_t f = front_of[static_cast<std::size_t>(std::min(row, column))];
        by_user[e] = {position_in_front(fronts[f], rows.data(), row),
                      position_in_front(fronts[f], rows.data(), column)};
        target[e] = static_cast<Offset>(first_tile[f] + tile_in_front(fronts[f], options, by_user[e]));
        ++tile_begin[static_cast<std::size_t>(target[e]) + 2];
      }
    }
    for (std::size_t t = 2; t < tile_begin.size(); ++t) tile_begin[t] += tile_begin[t - 1];
    for (std::size_t e = 0; e < target.size(); ++e) {
      target[e] = tile_begin[static_cast<std::size_t>(target[e]) + 1]++;
      position[static_cast<std::size_t>(target[e])] = by_user[e];
    }
    tile_begin.pop_back();
  }

 private:
  static std::vector<Ordinal> inverse(const std::vector<Ordinal>& order) {
    std::vector<Ordinal> result(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      result[static_cast<std::size_t>(order[k])] = static_cast<Ordinal>(k);
    return result;
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTROWS_HPP
#define LUTRA_FRONTROWS_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <bit>
#include <cstdint>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_BinarySearch.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Computes the contribution rows of each front on all threads of an execution space.
///
/// Row w is a contribution row of the fronts on the tree paths from its neighbours v < w to w's own front.
/// With neighbours in ascending order, the path from one of them meets new fronts until it reaches a front
/// whose subtree contains the next neighbour (row subtrees: J. W. H. Liu, ACM Trans. Math. Software 12,
/// 1986).
///
///            front of w       w has neighbours a < b. The edge (w, a) visits f1 and f2 and stops below f3,
///             f3              whose subtree contains b; the edge (w, b) visits f4 and f3. Each front is
///          f2   f4 ∋ b        visited once per row, without marks, and edges are independent.
///       f1 ∋ a
///
/// Pairs of front and row are then sorted as 64-bit keys.
template <class ExecutionSpace>
struct FrontRowsMaker {
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using Keys = Kokkos::View<std::uint64_t*, Memory>;
  using OrdinalView = Kokkos::View<Ordinal*, Memory>;
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

  /// Tree as traversed from edges.
  struct FrontEdges {
    Keys edges;  ///< sorted 64-bit keys: larger vertex, smaller vertex
    Kokkos::View<const Ordinal*, Memory> front_of, pivot_begin, parent;
    std::int64_t n;
    int bits;

    /// Calls visit(front, row) for each front of the row that edge k reaches and no later edge does.
    template <class Visit>
    KOKKOS_FUNCTION void operator()(std::int64_t k, const Visit& visit) const {
      const std::uint64_t mask = (std::uint64_t(1) << bits) - 1;
      const auto row = static_cast<std::int64_t>(edges(k) >> bits);
      if (row >= n) return;  // no edge
      const auto n_edges = static_cast<std::int64_t>(edges.extent(0));
      const bool is_last = k + 1 == n_edges || static_cast<std::int64_t>(edges(k + 1) >> bits) != row;
      const auto next = is_last ? row : static_cast<std::int64_t>(edges(k + 1) & mask);
      Ordinal f = front_of(static_cast<std::int64_t>(edges(k) & mask));
      while (next >= pivot_begin(f + 1)) {
        visit(f, row);
        f = parent(f);
      }
    }
  };

  ExecutionSpace exec;
  MemoryBudget budget;
  MemoryReservation scratch;

  FrontRowsMaker(const ExecutionSpace& space, const MemoryBudget& of)
      : exec(space), budget(of), scratch(of) {}

  /// @param F    in its original order, before tree.order
  /// @param tree receives the rows
  void make(const Pattern& F, AssemblyTree& tree) {
    const FrontEdges paths = prepare(F, tree);
    const std::int64_t n_edges = static_cast<std::int64_t>(paths.edges.extent(0));
    std::int64_t total = 0;
    Kokkos::parallel_reduce(
        "lutra::trees::count_front_rows", Range(exec, 0, n_edges),
        KOKKOS_LAMBDA(const std::int64_t k, std::int64_t& sum) {
          paths(k, [&](Ordinal, std::int64_t) { ++sum; });
        },
        total);
    budget.require("lutra::trees::front_rows", 2 * sizeof(std::uint64_t) * static_cast<std::size_t>(total));
    const auto pairs = scratch.template allocate<Keys>(exec, "lutra::trees::front_rows", total);
    const int bits = paths.bits;
    Kokkos::parallel_scan(
        "lutra::trees::list_front_rows", Range(exec, 0, n_edges),
        KOKKOS_LAMBDA(const std::int64_t k, std::int64_t& sum, const bool final) {
          paths(k, [&](Ordinal f, std::int64_t row) {
            if (final) pairs(sum) = static_cast<std::uint64_t>(f) << bits | static_cast<std::uint64_t>(row);
            ++sum;
          });
        });
    check_launches_on<ExecutionSpace>();  // CUB would name another error
    Kokkos::sort(exec, pairs);
    split(pairs, bits, tree);
  }

  FrontEdges prepare(const Pattern& F, const AssemblyTree& tree) {
    FrontEdges paths;
    paths.n = static_cast<std::int64_t>(tree.n);
    paths.bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tree.n)));
    paths.pivot_begin = upload(exec, scratch, "lutra::trees::pivot_begin", tree.pivot_begin);
    paths.parent = upload(exec, scratch, "lutra::trees::front_parent", tree.parent);
    const auto order = upload(exec, scratch, "lutra::trees::tree_order", tree.order);
    const auto position = scratch.template allocate<OrdinalView>(exec, "lutra::trees::positions", tree.n);
    const auto front_of = scratch.template allocate<OrdinalView>(exec, "lutra::trees::front_of", tree.n);
    const auto pivot_begin = paths.pivot_begin;
    const Ordinal count = tree.count();
    Kokkos::parallel_for(
        "lutra::trees::positions", Range(exec, 0, paths.n), KOKKOS_LAMBDA(const std::int64_t k) {
          position(order(k)) = static_cast<Ordinal>(k);
          front_of(k) =
              first_not_before(Ordinal(1), count, [&](Ordinal f) { return pivot_begin(f) <= k; }) - 1;
        });
    paths.front_of = front_of;
    paths.edges = sorted_edges(F, position, paths.bits);
    return paths;
  }

  /// Sorted edges of the graph of F + Fᵀ, possibly with duplicates; diagonal entries come last, as row n.
  Keys sorted_edges(const Pattern& F, const OrdinalView& position, int bits) {
    const auto nnz = static_cast<std::size_t>(F.nnz());
    budget.require("lutra::trees::tree_edges", 2 * sizeof(std::uint64_t) * nnz);
    const auto edges = scratch.template allocate<Keys>(exec, "lutra::trees::tree_edges", nnz);
    const auto row_map = F.row_map;
    const auto entries = F.entries;
    const Ordinal n = F.n_rows;
    const auto none = static_cast<std::uint64_t>(n) << bits;
    Kokkos::parallel_for(
        "lutra::trees::tree_edges", Range(exec, 0, n), KOKKOS_LAMBDA(const std::int64_t i) {
          const auto row = static_cast<std::uint64_t>(position(i));
          for (Offset p = row_map(i); p < row_map(i + 1); ++p) {
            const auto column = static_cast<std::uint64_t>(position(entries(p)));
            edges(p) = row == column ? none : row > column ? row << bits | column : column << bits | row;
          }
        });
    check_launches_on<ExecutionSpace>();  // CUB would name another error
    Kokkos::sort(exec, edges);
    return edges;
  }

  /// Splits the sorted pairs into the tree's lists.
  void split(const Keys& pairs, int bits, AssemblyTree& tree) {
    const std::int64_t total = static_cast<std::int64_t>(pairs.extent(0)), count = tree.count();
    const auto rows = scratch.template allocate<OrdinalView>(exec, "lutra::trees::front_rows", total);
    const auto begin = scratch.template allocate<Kokkos::View<std::int64_t*, Memory>>(
        exec, "lutra::trees::row_begin", count + 1);
    const std::uint64_t mask = (std::uint64_t(1) << bits) - 1;
    Kokkos::parallel_for(
        "lutra::trees::front_rows", Range(exec, 0, total),
        KOKKOS_LAMBDA(const std::int64_t k) { rows(k) = static_cast<Ordinal>(pairs(k) & mask); });
    Kokkos::parallel_for(
        "lutra::trees::row_begin", Range(exec, 0, count + 1), KOKKOS_LAMBDA(const std::int64_t f) {
          const std::uint64_t first = static_cast<std::uint64_t>(f) << bits;
          begin(f) =
              first_not_before(std::int64_t(0), total, [&](std::int64_t k) { return pairs(k) < first; });
        });
    tree.rows = to_host(exec, rows);
    tree.row_begin = to_host(exec, begin);
  }
};

}  // namespace lutra::Impl

#endif

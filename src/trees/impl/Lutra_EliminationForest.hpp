// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ELIMINATIONFOREST_HPP
#define LUTRA_ELIMINATIONFOREST_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_CsrView.hpp"
#include "Lutra_ForestTop.hpp"
#include "Lutra_LiuTree.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PatternSymmetry.hpp"

namespace lutra::Impl {

/// The elimination forest of the graph of A + Aᵀ in the order given, made by all threads at once.
///
/// An edge (v, w), v < w, says that w is an ancestor of v. Each edge is a token that climbs: if the parent of
/// v is below w, w is an ancestor of that parent too and the token goes there; if it is above, w becomes the
/// parent and the token goes on to say that the old parent is an ancestor of w. Whatever the order, the end
/// is the one forest in which every edge of the graph joins an ancestor and a descendant and every parent
/// is an ancestor by some path of the graph. Tokens leave short cuts to the greatest ancestor known, as in
/// Liu's sequential algorithm (ACM Trans. Math. Software 12, 1986). On one thread this is his algorithm.
template <class Ordinal, class Offset, class ExecutionSpace>
struct ForestLinker {
  using Memory = typename ExecutionSpace::memory_space;
  CsrPattern<Ordinal, Offset, Memory> pattern;
  Kokkos::View<Ordinal*, Memory> parent;    ///< [n] n where there is none (yet)
  Kokkos::View<Ordinal*, Memory> shortcut;  ///< [n] an ancestor, the vertex itself where none is known
  Ordinal n_linked;                         ///< edges to vertices from here on are left out

  KOKKOS_FUNCTION void operator()(const Offset entry) const {
    const Ordinal r = row_of_entry(pattern.row_map, pattern.n_rows, entry), c = pattern.entries(entry);
    const Ordinal w = r < c ? c : r;
    if (r != c && w < n_linked) climb(r < c ? r : c, w);
  }

  KOKKOS_FUNCTION void climb(Ordinal v, Ordinal w) const {
    while (v != w) {
      const Ordinal above = load_relaxed(shortcut(v));
      if (above <= w) store_relaxed(shortcut(v), w);
      if (above > v && above <= w) {
        v = above;
        continue;
      }
      // Having left its own short cut here, the token must not come by again before the parent is set.
      const Ordinal old = Kokkos::atomic_fetch_min(&parent(v), w);
      if (old <= w) {
        v = old;
      } else if (old == pattern.n_rows) {
        return;
      } else {
        v = w;
        w = old;
      }
    }
  }
};

/// Where the rows begin that ForestTop is to link: n/32 rows or fewer, such that seven of eight have entries
/// before all of these, as those of large separators have, which are chains of the tree. n where there is no
/// such part. Looks at no more than 32 entries of a row.
template <class Ordinal, class Offset, class ExecutionSpace>
Ordinal first_of_top(const ExecutionSpace& exec,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                     MemoryReservation& scratch) {
  using Top = ForestTop<Ordinal, Offset, ExecutionSpace>;
  constexpr int candidates = 5, max_entries = 32;
  const Ordinal n = pattern.n_rows;
  const auto rows_of = [n](int k) { return n / (Ordinal(32) << k); };
  if (rows_of(0) < Top::panel) return n;
  const auto counts = scratch.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::symbolic::top_counts", candidates);
  Kokkos::deep_copy(exec, counts, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::symbolic::top_counts", Kokkos::RangePolicy<ExecutionSpace>(exec, n - rows_of(0), n),
      KOKKOS_LAMBDA(const std::int64_t row) {
        const auto w = static_cast<Ordinal>(row);
        const Offset begin = pattern.row_map(w), end = pattern.row_map(w + 1);
        Ordinal least = w;
        for (Offset p = begin; p < end && p < begin + max_entries; ++p) {
          if (pattern.entries(p) < least) least = pattern.entries(p);
        }
        for (int k = 0; k < candidates; ++k) {
          const Ordinal first = n - n / (Ordinal(32) << k);
          if (w >= first && least < first) add_shared<ExecutionSpace>(counts(k), Ordinal(1));
        }
      });
  const Kokkos::View<Ordinal*, Kokkos::HostSpace> known("lutra::symbolic::top_counts", candidates);
  Kokkos::deep_copy(exec, known, counts);
  exec.fence("lutra::symbolic: rows that reach down are counted");
  for (int k = 0; k < candidates; ++k) {
    const Ordinal rows = rows_of(k);
    if (rows >= Top::panel && rows <= Top::max_rows && known(k) >= rows - rows / 8) return n - rows;
  }
  return n;
}

/// The rows from `first` on; the forest of those before is complete.
template <class Ordinal, class Offset, class ExecutionSpace>
void link_top(const ExecutionSpace& exec,
              const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
              const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror, Ordinal first,
              const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
              const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& shortcut,
              MemoryReservation& scratch) {
  using Memory = typename ExecutionSpace::memory_space;
  using Top = ForestTop<Ordinal, Offset, ExecutionSpace>;
  const Ordinal n = pattern.n_rows;
  const auto above =
      scratch.allocate<Kokkos::View<std::uint64_t*, Memory>>(exec, "lutra::symbolic::above", n);
  const auto roots = scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::symbolic::roots", n);
  Kokkos::deep_copy(exec, above, std::uint64_t(0));
  Kokkos::parallel_for(
      "lutra::symbolic::forest_roots", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, first),
      KOKKOS_LAMBDA(const Ordinal v) { root_of(parent, shortcut, v, n); });
  const Top top{pattern, mirror, first, parent, shortcut, above, roots};
  const auto bytes = Kokkos::PerTeam(static_cast<int>(Top::scratch_bytes(n - first)));
  Kokkos::TeamPolicy<ExecutionSpace> policy(exec, 1, 32);
  policy.set_scratch_size(0, bytes);
  int threads = std::min(1024, policy.team_size_max(top, Kokkos::ParallelForTag()));
  Kokkos::TeamPolicy<ExecutionSpace> sized(exec, 1, threads - threads % 32);
  sized.set_scratch_size(0, bytes);
  Kokkos::parallel_for("lutra::symbolic::forest_top", sized, top);
}

/// parent [n] of each vertex, n for roots.
/// @param mirror entries of Aᵀ left of the diagonal, by rows; empty where the pattern is symmetric
template <class Ordinal, class Offset, class ExecutionSpace>
void link_forest(const ExecutionSpace& exec,
                 const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                 const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror,
                 const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                 const MemoryBudget& budget) {
  if constexpr (is_host_space<ExecutionSpace>) {
    exec.fence("lutra::symbolic: the pattern is complete");
    return grow_liu_tree(pattern, pattern.n_rows, parent.data(), budget);
  }
  MemoryReservation scratch(budget);
  const Ordinal n = pattern.n_rows;
  auto shortcut = scratch.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::symbolic::shortcuts", n);
  Kokkos::parallel_for(
      "lutra::symbolic::forest_init", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const Ordinal v) {
        parent(v) = n;
        shortcut(v) = v;
      });
  const Ordinal first = first_of_top<Ordinal, Offset>(exec, pattern, scratch);
  Kokkos::parallel_for("lutra::symbolic::forest",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(exec, 0, pattern.nnz()),
                       ForestLinker<Ordinal, Offset, ExecutionSpace>{pattern, parent, shortcut, first});
  if (first < n) link_top(exec, pattern, mirror, first, parent, shortcut, scratch);
  exec.fence("lutra::symbolic: short cuts are freed");
}

}  // namespace lutra::Impl

#endif

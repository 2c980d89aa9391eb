// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARALLELELIMINATIONTREE_HPP
#define LUTRA_PARALLELELIMINATIONTREE_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_CsrView.hpp"
#include "Lutra_LiuTree.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_RootSeparator.hpp"

namespace lutra::Impl {

/// The elimination tree of the graph of A + Aᵀ by all threads at once, an edge each.
///
/// An edge (v, w), v < w, says that w is an ancestor of v. It propagates up the tree as it is so far:
///
///     parent p of v   p < w:   continue with the edge (p, w), since w is an ancestor of p too
///                     p = w:   done
///                     p > w:   w becomes the parent of v; continue with the edge (w, p)
///                     none:    w becomes the parent of v; done
///
/// Whatever the order of the edges, the result is the elimination tree: every edge of the graph joins a
/// vertex and one of its ancestors, and every parent is an ancestor by some path of the graph. Each step
/// lowers a parent by an atomic minimum, so no step is lost. Shortcuts to the greatest ancestor known
/// compress paths as in Liu's sequential algorithm (ACM Trans. Math. Software 12, 1986), which this is on one
/// thread.
template <class Ordinal, class Offset, class ExecutionSpace>
struct EdgePropagation {
  using Memory = typename ExecutionSpace::memory_space;
  CsrPattern<Ordinal, Offset, Memory> pattern;
  Kokkos::View<Ordinal*, Memory> parent;    ///< [n] n where there is none (yet)
  Kokkos::View<Ordinal*, Memory> shortcut;  ///< [n] an ancestor, the vertex itself where none is known
  Ordinal end;                              ///< edges to vertices from here on are left out

  KOKKOS_FUNCTION void operator()(const Offset entry) const {
    const Ordinal r = row_of_entry(pattern.row_map, pattern.n_rows, entry), c = pattern.entries(entry);
    const Ordinal w = r < c ? c : r;
    if (r != c && w < end) propagate(r < c ? r : c, w);
  }

  KOKKOS_FUNCTION void propagate(Ordinal v, Ordinal w) const {
    while (v != w) {
      const Ordinal above = load_relaxed(shortcut(v));
      if (above <= w) store_relaxed(shortcut(v), w);
      if (above > v && above <= w) {
        v = above;
        continue;
      }
      // shortcut(v) may name w before parent(v) does: the edge must lower the parent before it reads the
      // shortcut again, or it would rely on itself.
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

/// The first row of the root separator that RootSeparator builds: the last n/32 rows or fewer, of which seven
/// in eight have entries before them all, as the rows of a large separator do; such rows form a chain of the
/// tree. n where there is no such part. Looks at no more than 32 entries of a row.
template <class Ordinal, class Offset, class ExecutionSpace>
Ordinal first_of_separator(const ExecutionSpace& exec,
                           const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                           MemoryReservation& scratch) {
  using Separator = RootSeparator<Ordinal, Offset, ExecutionSpace>;
  constexpr int candidates = 5, max_entries = 32;
  const Ordinal n = pattern.n_rows;
  const auto rows_of = [n](int k) { return n / (Ordinal(32) << k); };
  if (rows_of(0) < Separator::panel) return n;
  const auto counts = scratch.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trees::separator_counts", candidates);
  Kokkos::deep_copy(exec, counts, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::trees::separator_counts", Kokkos::RangePolicy<ExecutionSpace>(exec, n - rows_of(0), n),
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
  const Kokkos::View<Ordinal*, Kokkos::HostSpace> known("lutra::trees::separator_counts", candidates);
  Kokkos::deep_copy(exec, known, counts);
  exec.fence("lutra::trees: rows with entries before the separator are counted");
  for (int k = 0; k < candidates; ++k) {
    const Ordinal rows = rows_of(k);
    if (rows >= Separator::panel && rows <= Separator::max_rows && known(k) >= rows - rows / 8)
      return n - rows;
  }
  return n;
}

/// The rows from `first` on; the tree of those before is complete.
template <class Ordinal, class Offset, class ExecutionSpace>
void build_separator(const ExecutionSpace& exec,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror,
                     Ordinal first,
                     const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                     const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& shortcut,
                     MemoryReservation& scratch) {
  using Memory = typename ExecutionSpace::memory_space;
  using Separator = RootSeparator<Ordinal, Offset, ExecutionSpace>;
  const Ordinal n = pattern.n_rows;
  const auto above = scratch.allocate<Kokkos::View<std::uint64_t*, Memory>>(exec, "lutra::trees::above", n);
  const auto roots = scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::trees::roots", n);
  Kokkos::deep_copy(exec, above, std::uint64_t(0));
  Kokkos::parallel_for(
      "lutra::trees::roots", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, first),
      KOKKOS_LAMBDA(const Ordinal v) { root_of(parent, shortcut, v, n); });
  const Separator separator{pattern, mirror, first, parent, shortcut, above, roots};
  const auto bytes = Kokkos::PerTeam(static_cast<int>(Separator::scratch_bytes(n - first)));
  constexpr int warp = is_host_space<ExecutionSpace> ? 1 : 32;
  Kokkos::TeamPolicy<ExecutionSpace> policy(exec, 1, warp);
  policy.set_scratch_size(0, bytes);
  const int threads = std::min(1024, policy.team_size_max(separator, Kokkos::ParallelForTag()));
  Kokkos::TeamPolicy<ExecutionSpace> sized(exec, 1, threads - threads % warp);
  sized.set_scratch_size(0, bytes);
  Kokkos::parallel_for("lutra::trees::root_separator", sized, separator);
}

/// The elimination tree by all edges at once, but for those of a root separator.
template <class Ordinal, class Offset, class ExecutionSpace>
void propagate_edges(const ExecutionSpace& exec,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror,
                     const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                     const MemoryBudget& budget) {
  MemoryReservation scratch(budget);
  const Ordinal n = pattern.n_rows;
  auto shortcut = scratch.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trees::shortcuts", n);
  Kokkos::parallel_for(
      "lutra::trees::no_parents", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const Ordinal v) {
        parent(v) = n;
        shortcut(v) = v;
      });
  const Ordinal first = first_of_separator<Ordinal, Offset>(exec, pattern, scratch);
  Kokkos::parallel_for("lutra::trees::elimination_tree",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(exec, 0, pattern.nnz()),
                       EdgePropagation<Ordinal, Offset, ExecutionSpace>{pattern, parent, shortcut, first});
  if (first < n) build_separator(exec, pattern, mirror, first, parent, shortcut, scratch);
  exec.fence("lutra::trees: shortcuts are freed");
}

/// The elimination tree of A + Aᵀ: Liu's algorithm on hosts, all edges at once on devices. Fences.
/// @param parent [n] out; n for a root
/// @param mirror entries of Aᵀ left of the diagonal, by rows; empty where the pattern is symmetric
template <class Ordinal, class Offset, class ExecutionSpace>
void build_elimination_tree(const ExecutionSpace& exec,
                            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& mirror,
                            const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                            const MemoryBudget& budget) {
  if constexpr (is_host_space<ExecutionSpace>) {
    exec.fence("lutra::trees: the pattern is complete");
    grow_liu_tree(pattern, pattern.n_rows, parent.data(), budget);
  } else {
    propagate_edges<Ordinal, Offset, ExecutionSpace>(exec, pattern, mirror, parent, budget);
  }
}

}  // namespace lutra::Impl

#endif

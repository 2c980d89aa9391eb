// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARALLELELIMINATIONTREE_HPP
#define LUTRA_PARALLELELIMINATIONTREE_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_LiuTree.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_RelaxedAccess.hpp"

namespace lutra::Impl {

/// Elimination tree of the graph of A + Aᵀ with one thread per edge, all in parallel.
///
/// An edge (v, w), v < w, states that w is an ancestor of v. It propagates up the current tree:
///
///     parent p of v   p < w:   continue with the edge (p, w), since w is an ancestor of p too
///                     p = w:   done
///                     p > w:   w becomes the parent of v; continue with the edge (w, p)
///                     none:    w becomes the parent of v; done
///
/// The result is the elimination tree for any order of the edges: every edge of the graph joins a vertex and
/// one of its ancestors, and every parent is an ancestor by some path of the graph. Each step lowers a parent
/// by an atomic minimum, so no step is lost. Shortcuts to the greatest known ancestor compress paths as in
/// Liu's sequential algorithm (ACM Trans. Math. Software 12, 1986), to which this reduces on one thread.
template <class ExecutionSpace>
struct EdgePropagation {
  using Memory = typename ExecutionSpace::memory_space;
  CsrPattern<Ordinal, Offset, Memory> pattern;
  Kokkos::View<Ordinal*, Memory> parent;    ///< [n] current parent; n for none
  Kokkos::View<Ordinal*, Memory> shortcut;  ///< [n] a known ancestor, or the vertex itself

  KOKKOS_FUNCTION void operator()(const Offset entry) const {
    const Ordinal r = row_of_entry(pattern.row_map, pattern.n_rows, entry), c = pattern.entries(entry);
    const Ordinal w = r < c ? c : r;
    if (r != c) propagate(r < c ? r : c, w);
  }

  KOKKOS_FUNCTION void propagate(Ordinal v, Ordinal w) const {
    while (v != w) {
      const Ordinal above = load_relaxed(shortcut(v));
      if (above <= w) store_relaxed(shortcut(v), w);
      if (above > v && above <= w) {
        v = above;
        continue;
      }
      // shortcut(v) may be set to w before parent(v) is: the edge must lower the parent before it rereads the
      // shortcut, or it would rely on itself.
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

/// Elimination tree of A + Aᵀ by parallel propagation of all edges. Fences.
/// @param parent [n] out; n for a root
template <class ExecutionSpace>
static void propagate_edges(const ExecutionSpace& exec,
                            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
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
  check_launches_on<ExecutionSpace>();  // before parents are followed
  Kokkos::parallel_for("lutra::trees::elimination_tree",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(exec, 0, pattern.nnz()),
                       EdgePropagation<ExecutionSpace>{pattern, parent, shortcut});
  exec.fence("lutra::trees: shortcuts are freed");
}

/// Elimination tree of A + Aᵀ by the fastest method of a space. Fences.
/// @param parent [n] out; n for a root
template <class ExecutionSpace>
void build_elimination_tree(const ExecutionSpace& exec,
                            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                            const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                            const MemoryBudget& budget) {
  propagate_edges<ExecutionSpace>(exec, pattern, parent, budget);
}
/// On hosts Liu's algorithm.
template <HostExecution ExecutionSpace>
void build_elimination_tree(const ExecutionSpace& exec,
                            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                            const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& parent,
                            const MemoryBudget& budget) {
  exec.fence("lutra::trees: the pattern is complete");
  grow_liu_tree(pattern, pattern.n_rows, parent.data(), budget);
}

}  // namespace lutra::Impl

#endif

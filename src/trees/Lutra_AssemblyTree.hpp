// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASSEMBLYTREE_HPP
#define LUTRA_ASSEMBLYTREE_HPP

#include <cstdint>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// When a child is amalgamated with its parent. A front of k pivots and m contribution rows stores k² + 2·k·m
/// entries of L + U; its zeros are those that the factors of F + Fᵀ do not have. Shares are of the entries
/// that the merged front stores.
struct AssemblyTreeOptions {
  int always = 4;             ///< merged fronts of up to so many pivots may hold any zeros (see max_always)
  int narrow = 16;            ///< merged fronts of up to so many pivots may hold …
  double narrow_zeros = 0.5;  ///< … this share of zeros
  int wide = 64;              ///< merged fronts of up to so many pivots may hold …
  double wide_zeros = 0.15;   ///< … this share of zeros
  double zeros = 0.05;        ///< share of zeros that wider fronts may hold
  std::int64_t max_always = 256;  ///< entries that a front may store for `always` to hold
};

/// The assembly tree of a matrix F that is factorized by fronts: a front eliminates consecutive rows and
/// columns of F, its pivots, and passes the Schur complement on its contribution rows to its parent. Fronts
/// are numbered in postorder.
///
///     front f     pivots  contribution rows
///               ┌────────┬─────────┐         pivots: pivot_begin[f] … pivot_begin[f + 1] − 1
///       pivots  │ L \ U  │    U    │         rows:   rows[row_begin[f] … row_begin[f + 1] − 1]
///               ├────────┼─────────┤
///       rows    │   L    │ contri- │──► extend-add into the front parent[f], which has all of these rows,
///               │        │ bution  │    the first of them among its pivots
///               └────────┴─────────┘
struct AssemblyTree {
  Ordinal n = 0;
  std::vector<Ordinal> order;           ///< [n] row and column of F eliminated as k-th; the rest counts so
  std::vector<Ordinal> pivot_begin;     ///< [count + 1] first pivot of each front
  std::vector<Ordinal> parent;          ///< [count] −1 for a root
  std::vector<std::int64_t> row_begin;  ///< [count + 1] where each front's contribution rows start in `rows`
  std::vector<Ordinal> rows;            ///< contribution rows front by front, ascending in each
  double zeros = 0;                     ///< entries stored that the factors of F + Fᵀ do not have
  double flops = 0;                     ///< of the fronts' partial factorizations, counted for real scalars

  Ordinal count() const { return static_cast<Ordinal>(parent.size()); }
};

/// Fronts from elimination tree and column counts alone, without their contribution rows: amalgamation
/// (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983) relaxed to limits on the zeros (C. Ashcraft
/// and R. Grimes, ibid. 15, 1989): first chains of columns that add no zeros, then children in falling order
/// of their contribution rows where the options allow. A merged child need not be the last one; its pivots
/// move next to its parent's, as `order` says. O(n), on one host thread.
/// @return `rows` empty; sizes, flops and all else complete
template <class Index>
AssemblyTree make_assembly_tree(const Elimination<Index>& elimination,
                                const AssemblyTreeOptions& options = {});

/// Fills in the contribution rows of fronts. Time near linear in the edges and in `rows`, on one host thread.
/// @param tree of make_assembly_tree(elimination)
template <class Index>
void collect_front_rows(const SymmetricGraph<Index>& graph, const Elimination<Index>& elimination,
                        AssemblyTree& tree);

/// Fronts for F in the order given, on one host thread; the pattern of F + Fᵀ is taken for F's. Elimination
/// tree (Liu), column counts (Gilbert, Ng and Peyton), amalgamation and contribution rows.
/// @param pattern square; rows sorted, no entry twice
AssemblyTree make_assembly_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const AssemblyTreeOptions& options = {});

/// The same tree of F = A(row_order, col_order), with elimination tree, column counts and contribution rows
/// by all threads of an execution space and amalgamation on the host. Device memory: some 30 bytes an entry
/// of A and 24 an entry of `rows`, and what `column_counts` needs. Waits for the tree.
/// @param A         in the execution space's memory; rows sorted or not, no entry twice
/// @param row_order [n] row of A that is each row of F; n is less than 2³²
/// @param col_order [n] column of A that is each column of F
/// @throws OutOfMemoryError
template <class ExecutionSpace>
AssemblyTree make_assembly_tree(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                                const MemoryBudget& budget, const AssemblyTreeOptions& options = {});

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASSEMBLYTREE_HPP
#define LUTRA_ASSEMBLYTREE_HPP

#include <cstdint>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Limits for the amalgamation of a child with its parent. A front with k pivots and m contribution rows
/// stores k² + 2·k·m entries of L + U; its zeros are the entries that the factors of F + Fᵀ do not have.
/// Shares are relative to the entries of the merged front.
struct AssemblyTreeOptions {
  int always = 4;   ///< merged fronts of at most this many pivots may hold any zeros (see max_always)
  int narrow = 16;  ///< merged fronts of at most this many pivots may hold …
  double narrow_zeros = 0.5;      ///< … this share of zeros
  int wide = 64;                  ///< merged fronts of at most this many pivots may hold …
  double wide_zeros = 0.15;       ///< … this share of zeros
  double zeros = 0.05;            ///< share of zeros allowed in wider fronts
  std::int64_t max_always = 256;  ///< maximum entries of a front for `always` to apply
};

/// Pairs of rows of F to be pivots of one front, as candidates for 2 × 2 pivots: the partner of each row, or
/// the row itself if it is single. Empty if there are no pairs.
using RowPairs = std::vector<Ordinal>;

/// Assembly tree of a matrix F for multifrontal factorization: each front eliminates consecutive rows and
/// columns of F, its pivots, and passes the Schur complement of its contribution rows to its parent. Fronts
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
  std::vector<Ordinal> order;  ///< [n] row and column of F eliminated as k-th; all other members use this
                               ///< numbering
  std::vector<Ordinal> pivot_begin;     ///< [count + 1] first pivot of each front
  std::vector<Ordinal> parent;          ///< [count] −1 for a root
  std::vector<std::int64_t> row_begin;  ///< [count + 1] start of each front's contribution rows in `rows`
  std::vector<Ordinal> rows;            ///< contribution rows by front, ascending within each
  double zeros = 0;                     ///< stored entries that the factors of F + Fᵀ do not have
  double flops = 0;                     ///< flops of the fronts' partial factorizations, for real scalars

  Ordinal count() const { return static_cast<Ordinal>(parent.size()); }
};

/// Constructs fronts from elimination tree and column counts, without their contribution rows. Amalgamation
/// (I. S. Duff and J. K. Reid, ACM Trans. Math. Software 9, 1983) relaxed to limits on the zeros (C. Ashcraft
/// and R. Grimes, ibid. 15, 1989): first merges chains of columns that add no zeros, then children in
/// descending order of their contribution rows as far as the options allow. A merged child need not be the
/// last one; its pivots move next to its parent's, as recorded in `order`. O(n), on one host thread.
///
/// A column and its partner become pivots of one front, whatever zeros that adds, if one is the parent of the
/// other in the elimination tree. That is so for neighbours in F that are adjacent in its order. The pivots
/// of a front are its pairs, which thus begin at even offsets, followed by its single columns; both are in
/// postorder.
/// @param pairs [n] in the elimination order, or empty
/// @return the tree with empty `rows`, otherwise complete
template <class Index>
AssemblyTree make_assembly_tree(const Elimination<Index>& elimination,
                                const AssemblyTreeOptions& options = {}, const RowPairs& pairs = {});

/// Computes the contribution rows of fronts. Time nearly linear in the number of edges plus the length of
/// `rows`, on one host thread.
/// @param tree result of make_assembly_tree(elimination)
template <class Index>
void collect_front_rows(const SymmetricGraph<Index>& graph, const Elimination<Index>& elimination,
                        AssemblyTree& tree);

/// Assembly tree of F in the given order, on one host thread; the pattern of F is replaced by that of F + Fᵀ.
/// Elimination tree (Liu), column counts (Gilbert, Ng and Peyton), amalgamation and contribution rows.
/// @param pattern square; rows sorted, without duplicates
/// @param pairs   [n] as above
AssemblyTree make_assembly_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const AssemblyTreeOptions& options = {}, const RowPairs& pairs = {});

/// Assembly tree of F = A(row_order, col_order). Elimination tree, column counts and contribution rows run on
/// all threads of an execution space, amalgamation on the host. Device memory: about 30 bytes per entry of A
/// and 24 per entry of `rows`, plus that of `column_counts`. Waits for the tree.
/// @param A         in the execution space's memory; rows need not be sorted; without duplicates
/// @param row_order [n] row_order[i] is the row of A that becomes row i of F
/// @param col_order [n] col_order[j] is the column of A that becomes column j of F
/// @param pairs     [n] rows of F as above
/// @throws OutOfMemoryError
template <class ExecutionSpace>
AssemblyTree make_assembly_tree(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                                const MemoryBudget& budget, const AssemblyTreeOptions& options = {},
                                const RowPairs& pairs = {});

/// Overload for a known elimination tree: only the contribution rows run on the threads of the space. The
/// tree is the same.
/// @param elimination of the graph of F + Fᵀ in its row order
template <class ExecutionSpace, class Index>
AssemblyTree make_assembly_tree(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                                const Elimination<Index>& elimination, const MemoryBudget& budget,
                                const AssemblyTreeOptions& options = {}, const RowPairs& pairs = {});

}  // namespace lutra

#endif

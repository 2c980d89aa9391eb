// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASSEMBLYTREE_HPP
#define LUTRA_ASSEMBLYTREE_HPP

#include <cstdint>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// When a front takes a child in. A front of k pivots and m further rows stores k² + 2·k·m numbers; zeros are
/// those that F + Fᵀ's own factors do not have.
struct AssemblyTreeOptions {
  int always = 4;             ///< up to so many pivots together, whatever the zeros
  int narrow = 16;            ///< up to so many pivots together, …
  double narrow_zeros = 0.5;  ///< … this share of zeros may be stored
  int wide = 64;
  double wide_zeros = 0.15;
  double zeros = 0.05;            ///< share of zeros of wider fronts
  std::int64_t max_always = 256;  ///< numbers a front may store for `always` to hold
};

/// The assembly tree of a matrix F that is factorized in dense fronts: a front eliminates `pivots`
/// consecutive rows and columns and hands its Schur complement on to its parent. Fronts are numbered in
/// postorder.
template <class Ordinal>
struct AssemblyTree {
  Ordinal n = 0;
  std::vector<Ordinal> order;           ///< [n] place in F of each place of the reordered F
  std::vector<Ordinal> pivot_begin;     ///< [count + 1] first pivot of each front, a place of the reordered F
  std::vector<Ordinal> parent;          ///< [count] −1 for a root
  std::vector<std::int64_t> row_begin;  ///< [count + 1] where each front's further rows start in `rows`
  std::vector<Ordinal> rows;            ///< places of the reordered F beyond a front's pivots, ascending
  double zeros = 0;                     ///< numbers stored that F + Fᵀ's own factors do not have
  double flops = 0;                     ///< of the fronts' partial factorizations, real ones for real scalars

  Ordinal count() const { return static_cast<Ordinal>(parent.size()); }
};

/// Fronts for F in the order given, F + Fᵀ being taken for its pattern: elimination tree (Liu), column counts
/// (Gilbert, Ng and Peyton), then amalgamation (Duff and Reid, ACM Trans. Math. Software 9, 1983, relaxed to
/// limits on the zeros). A front first takes a child of which it is the next column of one chain; then,
/// largest first, children for which the options' limits hold. A child that is not the last one is taken in
/// as well, so that pivots move: `order` says where to. Near linear in the entries of F and of the lists of
/// rows.
/// @param pattern square; rows sorted, no entry twice
template <class Ordinal, class Offset>
AssemblyTree<Ordinal> make_assembly_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                         const AssemblyTreeOptions& options = {});

/// The same tree, with forest, column counts and rows of fronts found by all threads of an execution space;
/// amalgamation is on the host. Device memory: some 30 bytes an entry of A and 24 a row of all fronts beside
/// what symbolic factorization needs for its forest; less than 2³² rows and fronts.
/// @param A         rows sorted or not, no entry twice
/// @param row_order [n] user's row at each place of F, and user's columns
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
AssemblyTree<Ordinal> make_assembly_tree(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order, const MemoryBudget& budget,
    const AssemblyTreeOptions& options = {});

}  // namespace lutra

#endif

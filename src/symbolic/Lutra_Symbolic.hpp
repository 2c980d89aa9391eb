// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLIC_HPP
#define LUTRA_SYMBOLIC_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// The pattern of L + U by rows: each row sorted, the diagonal always there (it belongs to U; L's is a unit
/// one).
template <class Ordinal, class Offset, class MemorySpace>
struct LuPattern {
  Ordinal n = 0;
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [n + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(n)] columns
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [n] position of (i, i) in `entries`
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  Offset nnz_u = 0;                                   ///< entries on and right of the diagonal
  Charge charge;

  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
};

/// Pattern of the LU factors of a square matrix eliminated in its given order without pivoting.
///
/// fill2 of Rose and Tarjan as in "End-to-End LU Factorization of Large Matrices on GPUs", Algorithm 1, in
/// that paper's two stages (Algorithm 3): counts, prefix sum, positions. A team searches from one source row
/// at a time with its own workspace of 2·n ordinals and n bits; as many rows are in flight as the execution
/// space has teams and the budget has room for. Work: for each row the edges of A it can reach through
/// smaller rows, twice.
///
/// @param pattern square, in memory space of `exec`; rows need not be sorted, the diagonal need not be there
/// @throws InputError for a pattern that is not square
/// @throws OutOfMemoryError where not even one workspace fits, naming the bytes that would do
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

}  // namespace lutra

#endif

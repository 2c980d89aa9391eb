// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLIC_HPP
#define LUTRA_SYMBOLIC_HPP

#include <string>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymbolicOptions.hpp"

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
  SymbolicMethod method = SymbolicMethod::fill2;      ///< the method taken, never `automatic`
  bool exact = true;  ///< false: some entries are not those of A's own factors, but of A + Aᵀ's
  std::string why;    ///< why this method
  MemoryReservation reservation;

  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
};

/// Pattern of the LU factors of a square matrix eliminated in its given order without pivoting: (i, j) is an
/// entry if and only if A has a path from i to j through vertices smaller than both.
///
/// Three methods lead there (docs/symbolic.md): fill2, from each row on its own through A; fill1, row after
/// row on the host; etree, for symmetric patterns. A device pattern takes the host method through a copy
/// there. Where `automatic` chose a method that the budget does not suffice for, fill2 is taken, which needs
/// least.
///
/// @param pattern square, in memory space of `exec`; rows need not be sorted but hold no column twice, the
/// diagonal need not be there
/// @return its `method` and `why` say what was done
/// @throws InputError for a pattern that is not square
/// @throws OutOfMemoryError where the budget does not suffice, naming the bytes that would do where the
/// method is fill2
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

/// The same into host memory, for results that the memory of `exec` cannot hold: where the budget does not
/// suffice for the pattern there, rows go to the host in ranges, each while the next one is searched for.
/// The budget is that of the memory of `exec`; on hosts the result is not counted either.
/// @throws InputError; OutOfMemoryError where a workspace and two of the longest rows do not fit, with the
/// least that would do
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> factorize_symbolic_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

}  // namespace lutra

#endif

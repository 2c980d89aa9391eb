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
template <class MemorySpace>
struct LuPattern {
  Ordinal n = 0;
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [n + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(n)] columns
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [n] position of (i, i) in `entries`
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  Offset nnz_u = 0;                                   ///< entries on and right of the diagonal
  SymbolicMethod method = SymbolicMethod::fill2;      ///< the method taken, never `automatic`
  bool exact = true;   ///< false: a superset, the pattern of the factors of A + Aᵀ
  std::string reason;  ///< for this method
  MemoryReservation reservation;

  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
};

/// Pattern of the LU factors of a square matrix eliminated in its given order without pivoting: (i, j) is an
/// entry if and only if A has a path from i to j through vertices smaller than both.
///
/// `SymbolicMethod` lists the methods, docs/symbolic.md describes them. fill1 works on a copy on the host of
/// a pattern in device memory. If the budget does not suffice for the method that `automatic` chose, fill2 is
/// taken, which needs least.
///
/// @param pattern square, in memory space of `exec`; rows need not be sorted but hold no column twice, the
/// diagonal need not be there
/// @return the pattern; its `method` and `reason` name the method taken and why
/// @throws InputError for a pattern that is not square
/// @throws OutOfMemoryError where the budget does not suffice, naming the bytes that would do where the
/// method is fill2
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

/// The same into host memory, for patterns that do not fit in the memory of `exec`: fill2 then finds them in
/// ranges of rows, and each range is copied to the host while the next one is searched for. The budget is
/// that of the memory of `exec`; on hosts a pattern found in ranges is not counted.
/// @throws InputError; OutOfMemoryError where a workspace and two of the longest rows do not fit, with the
/// least that would do
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> factorize_symbolic_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICROWS_HPP
#define LUTRA_SYMBOLICROWS_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymbolicOptions.hpp"

namespace lutra {

/// Some rows of L + U, in the order they were asked for.
template <class Ordinal, class Offset, class MemorySpace>
struct SourceRows {
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [rows asked for + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(last)] columns, each row sorted
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [rows asked for] position of each row's diagonal
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  MemoryReservation reservation;
};

/// The rows of L + U of a list of sources, by fill2, which needs no other row for a row. So the rows of one
/// matrix can be found by several devices or processes, each with a list and a copy of A of its own; all
/// lists together give what `factorize_symbolic` gives.
///
/// @param pattern as for `factorize_symbolic`
/// @param sources [any number] rows of A in any order, none twice, in memory space of `exec`
/// @throws InputError for a pattern that is not square, or a source that is out of range or there twice;
/// OutOfMemoryError where the budget does not suffice, with the least that would do for a source
template <class Ordinal, class Offset, class ExecutionSpace>
SourceRows<Ordinal, Offset, typename ExecutionSpace::memory_space> factorize_symbolic_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

}  // namespace lutra

#endif

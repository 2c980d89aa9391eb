// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRANSPOSE_HPP
#define LUTRA_TRANSPOSE_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// The transpose of a pattern, with the way back: values of the transpose are `values(source(p))`.
template <class MemorySpace>
struct TransposedPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;  ///< rows of the transpose, sorted
  Kokkos::View<const Offset*, MemorySpace> source;   ///< [nnz] position in the original of each entry
  MemoryReservation reservation;
};

/// Transposes a pattern in memory space of `exec`: counts, prefix sum, scatter, sort of each row; O(nnz) work
/// and 2·nnz indices of memory, plus the sort. The result is the same from run to run.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
TransposedPattern<typename ExecutionSpace::memory_space> transpose(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

}  // namespace lutra

#endif

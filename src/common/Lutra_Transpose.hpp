// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRANSPOSE_HPP
#define LUTRA_TRANSPOSE_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Transpose of a pattern and the map of its entries: values of the transpose are `values(source(p))`.
template <class MemorySpace>
struct TransposedPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;  ///< transpose, with sorted rows
  Kokkos::View<const Offset*, MemorySpace> source;   ///< [nnz] position of each entry in the original
  MemoryReservation reservation;
};

/// Transposes a pattern in the memory space of `exec` by counting, prefix sum, scatter and a sort of each
/// row. Cost: O(nnz) work plus the sort, 2·nnz indices of memory. Deterministic.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
TransposedPattern<typename ExecutionSpace::memory_space> transpose(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

}  // namespace lutra

#endif

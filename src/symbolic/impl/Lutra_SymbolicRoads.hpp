// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICROADS_HPP
#define LUTRA_SYMBOLICROADS_HPP

#include <optional>

#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// fill2 on the device, from each row through A alone ("End-to-End LU Factorization of Large Matrices on
/// GPUs", Algorithms 1 and 3). Exact for every pattern.
/// @throws OutOfMemoryError where not even one workspace fits, naming the bytes that would do
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

/// Bounds of the work of the roads that are exact for every pattern.
struct RoadForecast {
  double nnz = 0;    ///< entries of L + U of A + Aᵀ
  double edges = 0;  ///< edges that searches from all rows walk over
};

/// The elimination-tree road on the device: forest, row subtrees, supernodes, rows. Exact where the pattern
/// is symmetric, else the pattern of the factors of A + Aᵀ.
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> etree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

/// The same where the pattern is symmetric; else nothing, and `forecast` is filled in.
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
std::optional<LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>> etree_if_exact(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, RoadForecast& forecast);

}  // namespace lutra::Impl

#endif

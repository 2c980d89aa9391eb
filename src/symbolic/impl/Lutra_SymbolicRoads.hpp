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

/// The elimination-tree road on the device: forest, row subtrees, supernodes, rows. Exact where the pattern
/// is symmetric; empty where it is not and `exact` is asked for, else the pattern of the factors of A + Aᵀ.
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
std::optional<LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>> etree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern, bool exact,
    const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif

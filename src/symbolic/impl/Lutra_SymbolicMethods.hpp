// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICMETHODS_HPP
#define LUTRA_SYMBOLICMETHODS_HPP

#include <optional>

#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// What is known of a pattern that is not symmetric before a method is chosen.
struct MethodForecast {
  double rows = 0;       ///< of A
  double entries = 0;    ///< of A
  double set_words = 0;  ///< words of 64 bits of the sets of ancestors, of one kind
  double height = 0;     ///< of the elimination tree of A + Aᵀ
  double nnz = 0;        ///< entries of L + U of A + Aᵀ
  double edges = 0;      ///< edges that searches from all rows walk over
};

/// The elimination-tree method on the device: forest, row subtrees, supernodes, rows. Exact where the pattern
/// is symmetric, else the pattern of the factors of A + Aᵀ.
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> etree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

/// The exact method through sets of ancestors in the elimination tree of A + Aᵀ.
/// @param portable no kernels made for the execution space
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> ancestors(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, bool portable);

/// etree where the pattern is symmetric; else ancestors where `ancestors_are_best`, asked with the first four
/// figures; else nothing, and all of `forecast` is filled in.
/// @throws OutOfMemoryError
template <class Ordinal, class Offset, class ExecutionSpace>
std::optional<LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>> tree_method_if_best(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, bool portable,
    bool (*ancestors_are_best)(const MethodForecast&, const MemoryBudget&), MethodForecast& forecast);

}  // namespace lutra::Impl

#endif

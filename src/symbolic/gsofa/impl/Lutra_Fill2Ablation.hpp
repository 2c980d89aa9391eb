// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2ABLATION_HPP
#define LUTRA_FILL2ABLATION_HPP

#include <cstddef>
#include <cstdint>

#include "Lutra_Gsofa.hpp"

namespace lutra::Impl {

/// Parts of fill2 that tests and benchmarks switch off to see what each brings. None changes the pattern.
struct Fill2Ablation {
  bool portable = false;       ///< the kernel for all execution spaces, also on CUDA
  bool shared_marks = true;    ///< on CUDA: marks in shared memory where enough fit
  bool groups = true;          ///< on CUDA: many sources at once, where marks are not in shared memory
  bool keep_rows = true;       ///< the fill pass copies rows that the count pass kept
  bool window_labels = true;   ///< portable: labels of older sources count as unset; else reset for each
  bool remove_bubbles = true;  ///< slots only as long as the sources of a range need
  bool last_first = true;      ///< rows that take longest are started first
};

/// What a run of fill2 did.
struct Fill2Statistics {
  std::uint64_t edges = 0;         ///< of A visited, both passes
  std::uint64_t revisits = 0;      ///< vertices expanded again
  std::size_t slots = 0;           ///< sources in flight, at most
  std::size_t slot_bytes = 0;      ///< of memory for each
  std::size_t searched_again = 0;  ///< rows that the fill pass had to search for
  std::size_t groups = 0;          ///< on CUDA: of sources searched from at once, both passes
  std::size_t groups_left = 0;     ///< on CUDA: groups given up, whose sources were searched from one by one
};

/// fill2 with parts switched off.
/// @param statistics what was done goes there, unless it is null
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Ablation& ablation, Fill2Statistics* statistics = nullptr);

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill2_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Ablation& ablation);

/// The same for a list of rows, of which none is there twice and there is at least one.
template <class Ordinal, class Offset, class ExecutionSpace>
SourceRows<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const Fill2Ablation& ablation);

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ColumnCounts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ParallelTree.hpp"
#include "Lutra_PatternSymmetry.hpp"

namespace lutra {
namespace {
struct ThisSource;
}  // namespace

template <class ExecutionSpace>
ColumnCounts<typename ExecutionSpace::memory_space> column_counts(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  // Limits the workspace to a few times the pattern, so that counting does not determine peak memory; this
  // allows some hundred concurrent rows, which a device counts in a few milliseconds.
  constexpr std::size_t bytes_an_entry = 40;
  const Impl::MirroredPattern<ExecutionSpace> both(exec, pattern, budget);
  Impl::ParallelTree<ExecutionSpace, ThisSource> tree(
      exec, pattern, budget, bytes_an_entry * static_cast<std::size_t>(pattern.nnz()));
  tree.build(both.mirror);
  tree.count();
  return {tree.m_parent, tree.m_column_counts, tree.m_scratch};
}

#define LUTRA_INSTANTIATE(Space)                                     \
  template ColumnCounts<typename Space::memory_space> column_counts( \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_INSTANTIATE)

}  // namespace lutra

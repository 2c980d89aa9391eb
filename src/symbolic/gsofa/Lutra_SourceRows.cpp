// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Gsofa.hpp"

#include <string>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

/// Throws for the first source that is not a row of A, or is a duplicate.
template <class Memory, class ExecutionSpace>
void check_sources(const ExecutionSpace& exec, const Kokkos::View<const Ordinal*, Memory>& sources,
                   Ordinal n) {
  exec.fence("lutra::symbolic: the sources are complete");
  const auto list = Impl::mirror_in<Kokkos::HostSpace>(sources);
  std::vector<bool> seen(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < list.extent(0); ++k) {
    const Ordinal source = list(k);
    const std::string which = "sources: number " + std::to_string(k) + " is row " + std::to_string(source);
    if (source < 0 || source >= n)
      throw InputError(which + ", of a pattern of " + std::to_string(n) + " rows");
    if (seen[static_cast<std::size_t>(source)]) throw InputError(which + ", which is there before");
    seen[static_cast<std::size_t>(source)] = true;
  }
}

}  // namespace

template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> factorize_symbolic_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  if (pattern.n_rows != pattern.n_cols) throw InputError("pattern: it is not square");
  SymbolicOptions of_fill2 = options;
  of_fill2.method = SymbolicMethod::fill2;
  const auto fill2 = Impl::fill2_options<ExecutionSpace>(of_fill2);
  check_sources(exec, sources, pattern.n_rows);
  if (sources.extent(0) == 0) {
    using Memory = typename ExecutionSpace::memory_space;
    return {
        Impl::make_uncounted<Kokkos::View<Offset*, Memory>>("lutra::symbolic::row_map", 1), {}, {}, 0, {}, 0};
  }
  return Impl::fill2_rows(exec, pattern, sources, budget, fill2);
}

#define LUTRA_SYMBOLIC_ROWS(Space)                                                            \
  template SourceRows<typename Space::memory_space> factorize_symbolic_rows(                  \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,         \
      const Kokkos::View<const Ordinal*, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_SYMBOLIC_ROWS)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill2Method.hpp"

#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {

template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Options& options, Fill2Statistics* statistics) {
  Fill2Method<ExecutionSpace> method(exec, pattern, budget, options);
  auto result = method.run();
  if (statistics != nullptr) *statistics = method.statistics();
  return result;
}

template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> fill2_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Options& options) {
  return Fill2Method<ExecutionSpace>(exec, pattern, budget, options).stream();
}

template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> fill2_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const Fill2Options& options, Fill2Statistics* statistics) {
  Fill2Method<ExecutionSpace> method(exec, pattern, budget, options);
  auto result = method.run(sources);
  if (statistics != nullptr) *statistics = method.statistics();
  return result;
}

#define LUTRA_FILL2(Space)                                                                                 \
  template LuPattern<typename Space::memory_space> fill2(                                                  \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const Fill2Options&, Fill2Statistics*);                                                              \
  template LuPattern<Kokkos::HostSpace> fill2_to_host(                                                     \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const Fill2Options&);                                                                                \
  template SourceRows<typename Space::memory_space> fill2_rows(                                            \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,                      \
      const Kokkos::View<const Ordinal*, typename Space::memory_space>&, const MemoryBudget&,              \
      const Fill2Options&, Fill2Statistics*);
LUTRA_FOR_EACH_SPACE(LUTRA_FILL2)

}  // namespace lutra::Impl

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill2Method.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_SymbolicMethods.hpp"

namespace lutra::Impl {

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Tuning& tuning, Fill2Facts* properties) {
  Fill2Method<Ordinal, Offset, ExecutionSpace> method(exec, pattern, budget, tuning);
  auto result = method.run();
  if (properties != nullptr) *properties = method.properties();
  return result;
}

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill2_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Tuning& tuning) {
  return Fill2Method<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget, tuning).stream();
}

template <class Ordinal, class Offset, class ExecutionSpace>
SourceRows<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const Fill2Tuning& tuning) {
  return Fill2Method<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget, tuning).run(sources);
}

#define LUTRA_FILL2(Ordinal, Offset, Space)                                                                \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> fill2(                                 \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const Fill2Tuning&, Fill2Facts*);                                                                    \
  template LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill2_to_host(                                    \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const Fill2Tuning&);                                                                                 \
  template SourceRows<Ordinal, Offset, typename Space::memory_space> fill2_rows(                           \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,                      \
      const Kokkos::View<const Ordinal*, typename Space::memory_space>&, const MemoryBudget&,              \
      const Fill2Tuning&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_FILL2)

}  // namespace lutra::Impl

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Levelization.hpp"

#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Kahn.hpp"
#include "Lutra_LevelizationAblation.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_KahnCuda.hpp"
#endif

namespace lutra {
namespace {

/// @throws InputError unless all nodes have been reached
void require_all_reached(Ordinal reached, Ordinal n) {
  if (reached == n) return;
  throw InputError("graph: " + std::to_string(n - reached) + " of its " + std::to_string(n) +
                   " nodes are on a cycle or reachable from one");
}

/// @throws InputError if the method needs kernels that are not there
template <class ExecutionSpace>
void require_kernels(const LevelizationOptions& options) {
  check_enumerator("options: method", options.method, LevelizationMethod::portable);
  if (options.method != LevelizationMethod::device_launches) return;
  if (!Impl::has_kahn_kernels<ExecutionSpace>)
    throw InputError("options: levels by device launches need CUDA (choose from cooperative, portable)");
  if (options.launches == nullptr)
    throw InputError(
        "levelization by device launches needs the kernels of Lutra::device_launches, which a build with "
        "Lutra_ENABLE_DEVICE_LAUNCHES has (docs/levelization.md)");
}

}  // namespace

template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> Impl::levelize_with(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options, int small_level) {
  using Memory = typename ExecutionSpace::memory_space;
  using NodeView = Kokkos::View<Ordinal*, Memory>;
  require_kernels<ExecutionSpace>(options);
  Levels<Memory> result;
  result.level_map = {0};
  if (graph.n == 0) return result;
  result.reservation = MemoryReservation(budget);
  auto order = result.reservation.template allocate<NodeView>(exec, "lutra::levelization::order", graph.n);
  auto level_of =
      result.reservation.template allocate<NodeView>(exec, "lutra::levelization::level_of", graph.n);
  const auto* const launches =
      options.method == LevelizationMethod::device_launches ? options.launches : nullptr;
  result.level_map = options.method == LevelizationMethod::portable
                         ? kahn_in_rounds(exec, graph, order, level_of, budget)
                         : kahn(exec, graph, order, level_of, budget, small_level, launches);
  require_all_reached(result.level_map.back(), graph.n);
  result.order = order;
  result.level_of = level_of;
  return result;
}

template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options) {
  return Impl::levelize_with(exec, graph, budget, options, Impl::default_small_level);
}

#define LUTRA_LEVELIZE(Space)                                                                  \
  template Levels<typename Space::memory_space> levelize(                                      \
      const Space&, const DependencyGraph<typename Space::memory_space>&, const MemoryBudget&, \
      const LevelizationOptions&);                                                             \
  template Levels<typename Space::memory_space> Impl::levelize_with(                           \
      const Space&, const DependencyGraph<typename Space::memory_space>&, const MemoryBudget&, \
      const LevelizationOptions&, int);
LUTRA_FOR_EACH_SPACE(LUTRA_LEVELIZE)

}  // namespace lutra

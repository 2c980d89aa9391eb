// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLEVELS_HPP
#define LUTRA_FRONTLEVELS_HPP

#include <Kokkos_Core.hpp>
#include <functional>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"

namespace lutra::Impl {

/// Calls body(team, f) for each front f, one Kokkos team per front: level by level, leaves first or last; on
/// the Serial backend in postorder or its reverse, where a parent finds its last child in cache. The order of
/// launches separates levels.
/// @param threads threads(first, width): threads of a team, for the level of `width` fronts that starts at
///                by_level(first)
template <class ExecutionSpace, class Body>
static void for_each_front(const ExecutionSpace& exec, const char* label,
                           const FrontPlan<typename ExecutionSpace::memory_space>& plan, bool leaves_first,
                           const std::function<int(Ordinal first, int width)>& threads, const Body& body) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Member = typename Policy::member_type;
  if constexpr (is_serial_space<ExecutionSpace>) {
    const auto count = static_cast<int>(plan.count);
    Kokkos::parallel_for(
        label, Policy(exec, count, 1), KOKKOS_LAMBDA(const Member& team) {
          const int k = team.league_rank();
          body(team, static_cast<Ordinal>(leaves_first ? k : count - 1 - k));
        });
  } else {
    const auto by_level = plan.by_level;
    const int lanes = vector_length_for<ExecutionSpace>(32);
    for (std::size_t k = 0; k < plan.levels(); ++k) {
      const std::size_t l = leaves_first ? k : plan.levels() - 1 - k;
      const Ordinal first = plan.layout.level_map[l];
      const auto width = static_cast<int>(plan.layout.level_map[l + 1] - first);
      Kokkos::parallel_for(
          label, Policy(exec, width, threads(first, width), lanes), KOKKOS_LAMBDA(const Member& team) {
            body(team, by_level(first + static_cast<Ordinal>(team.league_rank())));
          });
    }
  }
}

}  // namespace lutra::Impl

#endif

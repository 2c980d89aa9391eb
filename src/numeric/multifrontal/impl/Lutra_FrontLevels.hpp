// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLEVELS_HPP
#define LUTRA_FRONTLEVELS_HPP

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTeams.hpp"

namespace lutra::Impl {

/// Calls worker.work(team, f) for each front: level by level, one team per front; on the Serial backend in
/// postorder, where a parent finds its last child in cache.
template <class Scalar, class ExecutionSpace, class Worker>
static void for_each_front(const ExecutionSpace& exec, const char* label,
                           const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                           const Worker& worker) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Member = typename Policy::member_type;
  using Team = KokkosFrontTeam<Member, Scalar>;
  if constexpr (is_serial_space<ExecutionSpace>) {
    Kokkos::parallel_for(
        label, Policy(exec, static_cast<int>(plan.count), 1), KOKKOS_LAMBDA(const Member& team) {
          worker.work(Team{team}, static_cast<Ordinal>(team.league_rank()));
        });
  } else {
    const auto by_level = plan.by_level;
    const int threads = team_width<ExecutionSpace>(8), lanes = vector_length_for<ExecutionSpace>(32);
    for (std::size_t l = 0; l < plan.levels(); ++l) {
      const Ordinal first = plan.layout.level_map[l];
      const auto width = static_cast<int>(plan.layout.level_map[l + 1] - first);
      Kokkos::parallel_for(
          label, Policy(exec, width, threads, lanes), KOKKOS_LAMBDA(const Member& team) {
            worker.work(Team{team}, by_level(first + static_cast<Ordinal>(team.league_rank())));
          });
    }
  }
}

}  // namespace lutra::Impl

#endif

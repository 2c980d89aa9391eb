// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LevelSetSolve.hpp"

#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LevelSetKernel.hpp"

namespace lutra {
namespace {

constexpr int device_team_threads = 128;

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void solve_by_levels(
    const ExecutionSpace& exec,
    const Triangle<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& triangle,
    const Levels<Ordinal, typename ExecutionSpace::memory_space>& levels, bool reversed,
    const Kokkos::View<Scalar**, Kokkos::LayoutRight, typename ExecutionSpace::memory_space>& X) {
  const double mean_row = static_cast<double>(triangle.entries.extent(0)) /
                          (2.0 * static_cast<double>(std::max<Ordinal>(1, triangle.n)));
  const int vector_length = Impl::vector_length_for<ExecutionSpace>(mean_row);
  const int team_size =
      Impl::is_host_space<ExecutionSpace> ? 1 : std::max(1, device_team_threads / vector_length);
  Impl::LevelSetKernel<Scalar, Ordinal, Offset, ExecutionSpace> kernel{triangle, levels.order, X, 0, 0};
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const std::size_t l = reversed ? levels.size() - 1 - k : k;
    kernel.begin = levels.level_map[l];
    kernel.end = levels.level_map[l + 1];
    const auto teams = static_cast<int>((kernel.end - kernel.begin + team_size - 1) / team_size);
    Kokkos::parallel_for("lutra::trisolve::level",
                         Kokkos::TeamPolicy<ExecutionSpace>(exec, teams, team_size, vector_length), kernel);
  }
}

#define LUTRA_SOLVE_BY_LEVELS(Scalar, Ordinal, Offset, Space)                               \
  template void solve_by_levels<Scalar, Ordinal, Offset, Space>(                            \
      const Space&, const Triangle<Scalar, Ordinal, Offset, typename Space::memory_space>&, \
      const Levels<Ordinal, typename Space::memory_space>&, bool,                           \
      const Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_SOLVE_BY_LEVELS)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELSETKERNEL_HPP
#define LUTRA_LEVELSETKERNEL_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_LevelSetSolve.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Solves the rows order[begin, end) of a triangle, whose dependencies are all solved.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct LevelSetKernel {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  Triangle<Scalar, Ordinal, Offset, Memory> triangle;
  Kokkos::View<const Ordinal*, Memory> order;
  Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory> X;
  Ordinal begin, end;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Ordinal first =
        begin + static_cast<Ordinal>(team.league_rank()) * static_cast<Ordinal>(team.team_size());
    const Ordinal last = first + static_cast<Ordinal>(team.team_size());
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last < end ? last : end),
                         [&](const Ordinal position) { solve_row(team, order(position)); });
  }

  KOKKOS_FUNCTION void solve_row(const Team& team, Ordinal i) const {
    const auto n_rhs = static_cast<Ordinal>(X.extent(1));
    for (Ordinal c = 0; c < n_rhs; ++c) {
      Scalar sum{};
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, triangle.begin(i) + triangle.skip, triangle.end(i)),
          [&](const Offset p, Scalar& partial) { partial += value(p) * X(triangle.entries(p), c); }, sum);
      Kokkos::single(Kokkos::PerThread(team), [&]() {
        const Scalar rest = X(i, c) - sum;
        X(i, c) = triangle.diagonal.extent(0) == 0 ? rest : rest / value(triangle.diagonal(i));
      });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(Offset p) const {
    return triangle.conjugate ? ScalarTraits<Scalar>::conjugate(triangle.values(p)) : triangle.values(p);
  }
};

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEPORTABLE_HPP
#define LUTRA_FRONTSOLVEPORTABLE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_FrontSubstitution.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Forward and backward substitution of the multifrontal method (I. S. Duff and J. K. Reid, ACM Trans. Math.
// Software 9, 1983). A front has pivots p and contribution rows b:
//
//         p         b
//       +---------+-----+
//     p | L11\U11 | U12 |   forward:  y_p = L11^-1 (rhs_p + c_p),  contribution to the parent: c_b - L21 y_p,
//       +---------+-----+             where c is the sum of the children's contributions
//     b |   L21   |         backward: x_p = U11^-1 (y_p - U12 x_b),  x_b from the ancestors
//       +---------+
//
// Each row gathers the terms of its sum, so that sums follow one order.

/// Sweeps over fronts, one team per front. Vectors begin at the current group. Team barriers separate
/// gathering from solving, and solving from reading the solutions.
template <int Width, class Scalar>
struct FrontSolveWorker {
  FrontSolveData<Scalar> data;
  int first_column = 0;  ///< first column of the group

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team, Ordinal number) const {
    data.sweep.forward ? sweep_up(team, number) : sweep_down(team, number);
  }

 private:
  /// Forward: gathers right-hand sides and the children's contributions, solves for the pivots and stores
  /// contributions to the parent.
  template <class Member>
  KOKKOS_FUNCTION void sweep_up(const Member& team, Ordinal number) const {
    const Front front = data.fronts[number];
    const Scalar* const panels = data.panels + data.panels_begin[number];
    Scalar* const y = data.solved + static_cast<std::int64_t>(front.first_pivot) * Width;
    Scalar* const contributions = data.contributions + front.rows * Width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.size()), [&](const int p) {
      const bool is_pivot = p < front.pivots;
      Scalar* const to = is_pivot ? y + p * Width : contributions + (p - front.pivots) * Width;
      const std::int64_t index = is_pivot ? data.row_at(front.first_pivot + p) : front.first_pivot + p;
      const std::int64_t position = front.rows + index;
      for (int w = 0; w < Width; ++w) {
        const Scalar own = is_pivot ? data.right_side(index, first_column + w) : Scalar(0);
        to[w] = data.with_contributions(own, position, w, Width);
      }
    });
    team.team_barrier();
    FrontTriangle<Width, Scalar, Member>{team, data.sweep}.solve_down(pivot_part(panels, front, data.sweep),
                                                                      front.pivots, y);
    const FrontProduct<Width, Scalar, Member> subtract{team, data.sweep};
    subtract(off_diagonal_part(panels, front, data.sweep), front.cb_rows, front.pivots, y, contributions);
    team.team_barrier();
  }

  /// Backward: solves for the pivots with the solutions of the contribution rows; uses their slots in
  /// `contributions` as scratch. `solved` receives the solutions unless they are stored by permuted index.
  template <class Member>
  KOKKOS_FUNCTION void sweep_down(const Member& team, Ordinal number) const {
    const Front front = data.fronts[number];
    const Scalar* const panels = data.panels + data.panels_begin[number];
    Scalar* const x = data.solved + static_cast<std::int64_t>(front.first_pivot) * Width;
    Scalar* const known = data.contributions + front.rows * Width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.cb_rows), [&](const int r) {
      const auto index = static_cast<std::int64_t>(data.rows[front.rows + r]);
      for (int w = 0; w < Width; ++w) known[r * Width + w] = data.solution[index * Width + w];
    });
    team.team_barrier();
    const FrontProduct<Width, Scalar, Member> subtract{team, data.sweep};
    subtract(off_diagonal_part(panels, front, data.sweep), front.pivots, front.cb_rows, known, x);
    team.team_barrier();
    FrontTriangle<Width, Scalar, Member>{team, data.sweep}.solve_up(pivot_part(panels, front, data.sweep),
                                                                    front.pivots, x);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots), [&](const int p) {
      const std::int64_t index = data.row_at(front.first_pivot + p);
      for (int w = 0; w < Width; ++w) {
        data.write_solution(index, first_column + w, x[p * Width + w]);
        if (data.solution != data.solved) data.solution[index * Width + w] = x[p * Width + w];
      }
    });
  }
};

}  // namespace lutra::Impl

#endif

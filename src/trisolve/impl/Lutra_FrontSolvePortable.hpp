// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEPORTABLE_HPP
#define LUTRA_FRONTSOLVEPORTABLE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSolveData.hpp"

namespace lutra::Impl {

// Forward and backward substitution of the multifrontal method (I. S. Duff and J. K. Reid, ACM Trans. Math.
// Software 9, 1983). A front has its pivots p and its contribution rows b:
//
//         p         b
//       +---------+-----+
//     p | L11\U11 | U12 |   forward:  y_p = L11^-1 (rhs_p + c_p),  contribution to the parent: c_b - L21 y_p,
//       +---------+-----+             where c is the sum of the children's contributions
//     b |   L21   |         backward: x_p = U11^-1 (y_p - U12 x_b),  x_b from the ancestors
//       +---------+
//
// Each row gathers the terms of its sum, so that sums have one order.

/// Pivots that one thread solves before all threads multiply by their solutions.
inline constexpr int front_solve_block = 16;

/// v −= A·x for `Width` right-hand sides by a team; the values of an index are contiguous. v and x do not
/// overlap.
template <int Width, class Scalar, class Data, class Member>
struct FrontProduct {
  const Member& team;
  const Data& data;

  KOKKOS_FUNCTION void operator()(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
                                  Scalar* v) const {
    constexpr int together = 4;  // columns or rows taken at once, so that v or x is read a quarter as often
    if (A.by_columns()) {
      int c = 0;
      for (; c + together <= columns; c += together) subtract_columns<together>(A, rows, c, x, v);
      for (; c < columns; ++c) subtract_columns<1>(A, rows, c, x, v);
      return;
    }
    const int blocks = rows / together;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, blocks),
                         [&](const int b) { subtract_rows<together>(A, b * together, columns, x, v); });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, blocks * together, rows),
                         [&](const int r) { subtract_rows<1>(A, r, columns, x, v); });
  }

 private:
  template <int Together>
  KOKKOS_FUNCTION void subtract_columns(const PanelPart<Scalar>& A, int rows, int c, const Scalar* x,
                                        Scalar* v) const {
    const Scalar* from[Together];
    Scalar factor[Together][Width];
    for (int u = 0; u < Together; ++u) {
      from[u] = A.at(0, c + u);
      for (int w = 0; w < Width; ++w) factor[u][w] = x[(c + u) * Width + w];
    }
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows), [&](const int r) {
      for (int w = 0; w < Width; ++w) {
        Scalar sum(0);
        for (int u = 0; u < Together; ++u) sum += data.value(from[u][r]) * factor[u][w];
        v[r * Width + w] -= sum;
      }
    });
  }

  template <int Together>
  KOKKOS_FUNCTION void subtract_rows(const PanelPart<Scalar>& A, int r, int columns, const Scalar* x,
                                     Scalar* v) const {
    if constexpr (is_host_space<typename Member::execution_space>) {  // sums that do not wait for each other
      Scalar sum[Together][Width] = {};
      const Scalar* from[Together];
      for (int u = 0; u < Together; ++u) from[u] = A.at(r + u, 0);
      for (int c = 0; c < columns; ++c) {
        for (int u = 0; u < Together; ++u) {
          const Scalar a = data.value(from[u][c]);
          for (int w = 0; w < Width; ++w) sum[u][w] += a * x[c * Width + w];
        }
      }
      for (int u = 0; u < Together; ++u) {
        for (int w = 0; w < Width; ++w) v[(r + u) * Width + w] -= sum[u][w];
      }
    } else {
      for (int u = 0; u < Together; ++u) {
        for (int w = 0; w < Width; ++w) {
          Scalar sum(0);
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(team, columns),
              [&](const int c, Scalar& partial) {
                partial += data.value(*A.at(r + u, c)) * x[c * Width + w];
              },
              sum);
          Kokkos::single(Kokkos::PerThread(team), [&]() { v[(r + u) * Width + w] -= sum; });
        }
      }
    }
  }
};

/// Sweeps over fronts, a team each. Vectors begin at the group that is being solved. Barriers of the team
/// separate: gathering from solving; the solutions of a block of pivots from the products with them, and
/// those from the next block.
template <int Width, class Scalar, class Ordinal, class Offset>
struct FrontSolveWorker {
  FrontSolveData<Scalar, Ordinal, Offset> data;
  int first_column = 0;  ///< of the group

  template <class Member>
  KOKKOS_FUNCTION void sweep(const Member& team, Ordinal number) const {
    data.sweep.forward ? sweep_up(team, number) : sweep_down(team, number);
  }

 private:
  /// Forward: gathers right-hand sides and contributions of the children, solves for the pivots and leaves
  /// contributions to the parent.
  template <class Member>
  KOKKOS_FUNCTION void sweep_up(const Member& team, Ordinal number) const {
    const Front<Ordinal, Offset> front = data.fronts[number];
    Scalar* const y = data.solved + static_cast<std::int64_t>(front.first_pivot) * Width;
    Scalar* const contributions = data.contributions + front.rows * Width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.size()), [&](const int p) {
      const bool is_pivot = p < front.pivots;
      Scalar* const to = is_pivot ? y + p * Width : contributions + (p - front.pivots) * Width;
      const std::int64_t index = is_pivot ? data.row_at(front.first_pivot + p) : front.first_pivot + p;
      const std::int64_t position = front.rows + index;
      for (int w = 0; w < Width; ++w) {
        Scalar sum = is_pivot ? data.right_side(index, first_column + w) : Scalar(0);
        for (auto s = data.source_begin[position]; s < data.source_begin[position + 1]; ++s)
          sum += data.contributions[static_cast<std::int64_t>(data.source[s]) * Width + w];
        to[w] = sum;
      }
    });
    team.team_barrier();
    const FrontProduct<Width, Scalar, FrontSolveData<Scalar, Ordinal, Offset>, Member> subtract{team, data};
    const auto triangle = pivot_part(data.panels, front, data.sweep);
    for (int begin = 0; begin < front.pivots; begin += front_solve_block) {
      const int end = begin + front_solve_block < front.pivots ? begin + front_solve_block : front.pivots;
      Kokkos::single(Kokkos::PerTeam(team), [&]() { solve_down_block(triangle, begin, end, y); });
      team.team_barrier();
      subtract({triangle.at(end, begin), triangle.row, triangle.column}, front.pivots - end, end - begin,
               y + begin * Width, y + end * Width);
      team.team_barrier();
    }
    subtract(off_diagonal_part(data.panels, front, data.sweep), front.cb_rows, front.pivots, y,
             contributions);
    team.team_barrier();
  }

  /// Backward: solves for the pivots with the solutions of the contribution rows, for which `contributions`
  /// is scratch. `solved` receives the solutions where they are not stored by permuted index.
  template <class Member>
  KOKKOS_FUNCTION void sweep_down(const Member& team, Ordinal number) const {
    const Front<Ordinal, Offset> front = data.fronts[number];
    Scalar* const x = data.solved + static_cast<std::int64_t>(front.first_pivot) * Width;
    Scalar* const known = data.contributions + front.rows * Width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.cb_rows), [&](const int r) {
      const auto index = static_cast<std::int64_t>(data.rows[front.rows + r]);
      for (int w = 0; w < Width; ++w) known[r * Width + w] = data.solution[index * Width + w];
    });
    team.team_barrier();
    const FrontProduct<Width, Scalar, FrontSolveData<Scalar, Ordinal, Offset>, Member> subtract{team, data};
    subtract(off_diagonal_part(data.panels, front, data.sweep), front.pivots, front.cb_rows, known, x);
    team.team_barrier();
    const auto triangle = pivot_part(data.panels, front, data.sweep);
    const int blocks = (front.pivots + front_solve_block - 1) / front_solve_block;
    for (int b = blocks; b-- > 0;) {
      const int begin = b * front_solve_block;
      const int end = begin + front_solve_block < front.pivots ? begin + front_solve_block : front.pivots;
      Kokkos::single(Kokkos::PerTeam(team), [&]() { solve_up_block(triangle, begin, end, x); });
      team.team_barrier();
      subtract({triangle.at(0, begin), triangle.row, triangle.column}, begin, end - begin, x + begin * Width,
               x);
      team.team_barrier();
    }
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots), [&](const int p) {
      const std::int64_t index = data.row_at(front.first_pivot + p);
      for (int w = 0; w < Width; ++w) {
        data.write_solution(index, first_column + w, x[p * Width + w]);
        if (data.solution != data.solved) data.solution[index * Width + w] = x[p * Width + w];
      }
    });
  }

  KOKKOS_FUNCTION void divide(const PanelPart<Scalar>& T, int c, Scalar* v) const {
    if (data.sweep.unit()) return;
    const Scalar pivot = data.value(*T.at(c, c));
    for (int w = 0; w < Width; ++w) v[c * Width + w] /= pivot;
  }
  KOKKOS_FUNCTION void subtract_one(const PanelPart<Scalar>& T, int r, int c, Scalar* v) const {
    const Scalar a = data.value(*T.at(r, c));
    for (int w = 0; w < Width; ++w) v[r * Width + w] -= a * v[c * Width + w];
  }
  KOKKOS_FUNCTION void solve_down_block(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int c = begin; c < end; ++c) {
      divide(T, c, v);
      for (int r = c + 1; r < end; ++r) subtract_one(T, r, c, v);
    }
  }
  KOKKOS_FUNCTION void solve_up_block(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int c = end; c-- > begin;) {
      divide(T, c, v);
      for (int r = begin; r < c; ++r) subtract_one(T, r, c, v);
    }
  }
};

/// Threads of a team for each front of a level. On hosts one, unless the level has fewer fronts than there
/// are threads and its first, the largest, is worth the barriers.
template <class ExecutionSpace, class Plan, class Ordinal>
int threads_for_level(const ExecutionSpace& exec, const Plan& plan, Ordinal first, int width) {
  constexpr int worth_sharing = 256;  // rows
  if constexpr (is_host_space<ExecutionSpace>) {
    const int pool = exec.concurrency();
    const auto& largest = plan.layout.fronts[static_cast<std::size_t>(plan.by_level(first))];
    return width < pool && largest.size() >= worth_sharing ? pool / width : 1;
  } else {
    return 4;
  }
}

/// One sweep for the group of right-hand sides that begins at `first_column`: level by level, a team for
/// each front; on the Serial backend in postorder or its reverse. The order of launches separates levels.
template <int Width, class Plan, class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void sweep_fronts_portable(const ExecutionSpace& exec, const Plan& plan,
                           const FrontSolveData<Scalar, Ordinal, Offset>& data, int first_column) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Member = typename Policy::member_type;
  const FrontSolveWorker<Width, Scalar, Ordinal, Offset> worker{data, first_column};
  const bool forward = data.sweep.forward;
  if constexpr (is_serial_space<ExecutionSpace>) {
    const auto count = static_cast<int>(plan.count);
    Kokkos::parallel_for(
        "lutra::trisolve::sweep_fronts", Policy(exec, count, 1), KOKKOS_LAMBDA(const Member& team) {
          const int k = team.league_rank();
          worker.sweep(team, static_cast<Ordinal>(forward ? k : count - 1 - k));
        });
  } else {
    const int lanes = vector_length_for<ExecutionSpace>(32);
    const auto by_level = plan.by_level;
    for (std::size_t k = 0; k < plan.levels(); ++k) {
      const std::size_t l = forward ? k : plan.levels() - 1 - k;
      const Ordinal first = plan.layout.level_map[l];
      const auto width = static_cast<int>(plan.layout.level_map[l + 1] - first);
      Kokkos::parallel_for(
          "lutra::trisolve::sweep_level",
          Policy(exec, width, threads_for_level(exec, plan, first, width), lanes),
          KOKKOS_LAMBDA(const Member& team) {
            worker.sweep(team, by_level(first + static_cast<Ordinal>(team.league_rank())));
          });
    }
  }
}

}  // namespace lutra::Impl

#endif

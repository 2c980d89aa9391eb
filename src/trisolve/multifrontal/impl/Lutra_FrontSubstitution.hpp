// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSUBSTITUTION_HPP
#define LUTRA_FRONTSUBSTITUTION_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLevels.hpp"
#include "Lutra_FrontSolveData.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Pivots that one thread solves before all threads multiply by their solutions.
inline constexpr int front_solve_block = 16;

/// v −= A·x for `Width` right-hand sides by a team; the values of an index are contiguous. v and x must not
/// overlap.
template <int Width, class Scalar, class Member>
struct FrontProduct {
  const Member& team;
  const FrontSweep& sweep;

  KOKKOS_FUNCTION void operator()(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
                                  Scalar* v) const {
    constexpr int together = 4;  // columns or rows per pass, so that v or x is read a quarter as often
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
        for (int u = 0; u < Together; ++u) sum += sweep.value(from[u][r]) * factor[u][w];
        v[r * Width + w] -= sum;
      }
    });
  }

  template <int Together>
  KOKKOS_FUNCTION void subtract_rows(const PanelPart<Scalar>& A, int r, int columns, const Scalar* x,
                                     Scalar* v) const {
    if constexpr (is_host_space<typename Member::execution_space>) {  // independent sums
      Scalar sum[Together][Width] = {};
      const Scalar* from[Together];
      for (int u = 0; u < Together; ++u) from[u] = A.at(r + u, 0);
      for (int c = 0; c < columns; ++c) {
        for (int u = 0; u < Together; ++u) {
          const Scalar a = sweep.value(from[u][c]);
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
                partial += sweep.value(*A.at(r + u, c)) * x[c * Width + w];
              },
              sum);
          Kokkos::single(Kokkos::PerThread(team), [&]() { v[(r + u) * Width + w] -= sum; });
        }
      }
    }
  }
};

/// v = T⁻¹·v for a triangle T of order `n` by a team, in blocks of pivots. Team barriers separate the
/// solutions of a block from the products with them, and those from the next block.
/// @tparam Width values per index
/// @param down whether T is lower triangular
/// @param solve    called by one thread: solve(begin, end) solves with the diagonal block of these pivots
/// @param subtract subtract(A, rows, columns, x, v): v −= A·x by the team
template <int Width, class Scalar, class Member, class Solve, class Subtract>
KOKKOS_FUNCTION void substitute_by_blocks(const Member& team, const PanelPart<Scalar>& T, int n, int block,
                                          bool down, Scalar* v, const Solve& solve,
                                          const Subtract& subtract) {
  const int blocks = (n + block - 1) / block;
  for (int k = 0; k < blocks; ++k) {
    const int begin = (down ? k : blocks - 1 - k) * block;
    const int end = begin + block < n ? begin + block : n;
    Kokkos::single(Kokkos::PerTeam(team), [&]() { solve(begin, end); });
    team.team_barrier();
    if (k + 1 == blocks) return;
    const int first = down ? end : 0, rows = down ? n - end : begin;
    subtract({T.at(first, begin), T.row, T.column}, rows, end - begin, v + begin * Width, v + first * Width);
    team.team_barrier();
  }
}

/// Substitution with the triangle of a front's pivots for `Width` right-hand sides by a team.
template <int Width, class Scalar, class Member>
struct FrontTriangle {
  const Member& team;
  const FrontSweep& sweep;

  /// v = T⁻¹·v for a lower triangle of order `n`.
  KOKKOS_FUNCTION void solve_down(const PanelPart<Scalar>& T, int n, Scalar* v) const {
    const auto solve = [&](int begin, int end) {
      for (int c = begin; c < end; ++c) {
        divide(T, c, v);
        for (int r = c + 1; r < end; ++r) subtract_one(T, r, c, v);
      }
    };
    substitute_by_blocks<Width>(team, T, n, front_solve_block, true, v, solve,
                                FrontProduct<Width, Scalar, Member>{team, sweep});
  }
  /// v = T⁻¹·v for an upper triangle.
  KOKKOS_FUNCTION void solve_up(const PanelPart<Scalar>& T, int n, Scalar* v) const {
    const auto solve = [&](int begin, int end) {
      for (int c = end; c-- > begin;) {
        divide(T, c, v);
        for (int r = begin; r < c; ++r) subtract_one(T, r, c, v);
      }
    };
    substitute_by_blocks<Width>(team, T, n, front_solve_block, false, v, solve,
                                FrontProduct<Width, Scalar, Member>{team, sweep});
  }

 private:
  KOKKOS_FUNCTION void divide(const PanelPart<Scalar>& T, int c, Scalar* v) const {
    if (sweep.unit()) return;
    const Scalar pivot = sweep.value(*T.at(c, c));
    for (int w = 0; w < Width; ++w) v[c * Width + w] /= pivot;
  }
  KOKKOS_FUNCTION void subtract_one(const PanelPart<Scalar>& T, int r, int c, Scalar* v) const {
    const Scalar a = sweep.value(*T.at(r, c));
    for (int w = 0; w < Width; ++w) v[r * Width + w] -= a * v[c * Width + w];
  }
};

/// Threads of a team for each front of a level.
template <class ExecutionSpace, class Plan>
int threads_for_level(const ExecutionSpace&, const Plan&, Ordinal, int) {
  return 4;
}
/// Overload for hosts: one, unless the level has fewer fronts than threads and its first front, the largest,
/// is worth the barriers.
template <HostExecution ExecutionSpace, class Plan>
int threads_for_level(const ExecutionSpace& exec, const Plan& plan, Ordinal first, int width) {
  constexpr int worth_sharing = 256;  // rows
  const int pool = exec.concurrency();
  const auto& largest = plan.layout.fronts[static_cast<std::size_t>(plan.by_level(first))];
  return width < pool && largest.size() >= worth_sharing ? pool / width : 1;
}

/// Calls worker(team, f) for each front f, up or down the tree.
template <class Plan, class Worker, class ExecutionSpace>
void sweep_fronts(const ExecutionSpace& exec, const Plan& plan, bool forward, const Worker& worker) {
  for_each_front(
      exec, "lutra::trisolve::sweep_fronts", plan, forward,
      [&](Ordinal first, int width) { return threads_for_level(exec, plan, first, width); }, worker);
}

}  // namespace lutra::Impl

#endif

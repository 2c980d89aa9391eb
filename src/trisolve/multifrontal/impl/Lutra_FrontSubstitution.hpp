// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSUBSTITUTION_HPP
#define LUTRA_FRONTSUBSTITUTION_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLevels.hpp"
#include "Lutra_FrontSolveData.hpp"
#include "Lutra_HostProduct.hpp"
#include "Lutra_HostThreads.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Impl {

/// Calls body() on one thread of a team on hosts. Barriers precede and follow it. @returns whether the call
/// has to end, the same on all threads: one that left by itself would leave the others at the next barrier
template <class Member, class Body>
KOKKOS_FUNCTION bool team_must_stop(const Member& team, const RunControl::Query& query, const Body& body) {
  int stops = 0;
  if (team.team_size() == 1) {
    body();
    stops = query.must_stop() ? 1 : 0;
  } else {
    const auto body_and_query = [&](int& told) {
      body();
      told = query.must_stop() ? 1 : 0;
    };
    Kokkos::single(Kokkos::PerTeam(team), body_and_query, stops);
  }
  return stops != 0;
}

/// v −= A·x and v = T⁻¹·v for `Width` right-hand sides by a team; with `kernels`, on hosts and for one real
/// right-hand side, by the kernels of the factorization, T being a unit triangle. The values of an index are
/// contiguous; v and x must not overlap. The partition into blocks,
/// and hence each sum, is the same for any number of threads.
template <bool kernels, int Width, class Scalar, class Member>
struct FrontSubstitution {
  const Member& team;
  const FrontSweep& sweep;
  const ProductKernel<RealOf<Scalar>>* kernel;  ///< host kernel
  RunControl::Query query;                      ///< asked between blocks by teams of host threads
  static constexpr bool by_kernels = kernels && Width == 1 && !ScalarTraits<Scalar>::is_complex &&
                                     is_host_space<typename Member::execution_space>;

  KOKKOS_FUNCTION void subtract(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
                                Scalar* v) const {
    if constexpr (by_kernels) {
      KOKKOS_IF_ON_HOST((multiply(A, rows, columns, x, v);))
    } else {
      subtract_product(A, rows, columns, x, v);
    }
  }
  /// v = T⁻¹·v for a triangle of order n, lower if the sweep is forward, in blocks of pivots that one thread
  /// solves. Team barriers separate the solutions of a block from the products with them, and those from the
  /// next block. If the call has to end, v is undefined.
  KOKKOS_FUNCTION void solve(const PanelPart<Scalar>& T, int n, Scalar* v) const {
    constexpr int block = by_kernels ? 64 : 16;
    const bool down = sweep.forward;
    const int blocks = (n + block - 1) / block;
    for (int k = 0; k < blocks; ++k) {
      const int begin = (down ? k : blocks - 1 - k) * block;
      const int end = begin + block < n ? begin + block : n;
      const bool stops = on_one_thread([&] { solve_block(T, begin, end, v); });
      if (stops || k + 1 == blocks) return;
      const int first = down ? end : 0, rows = down ? n - end : begin;
      subtract({T.at(first, begin), T.row, T.column}, rows, end - begin, v + begin * Width,
               v + first * Width);
      team.team_barrier();
    }
  }

 private:
  static constexpr int in_turn = 4;  ///< pivots that kernels solve element by element

  /// Calls body() on one thread; a team barrier follows. @returns whether the call has to end
  template <class Body>
  KOKKOS_FUNCTION bool on_one_thread(const Body& body) const {
    if constexpr (is_host_space<typename Member::execution_space>) {
      return team_must_stop(team, query, body);
    } else {
      Kokkos::single(Kokkos::PerTeam(team), [&]() { body(); });
      team.team_barrier();
      return false;
    }
  }

  KOKKOS_FUNCTION void solve_block(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    if constexpr (by_kernels) {
      KOKKOS_IF_ON_HOST(
          (sweep.forward ? solve_block_down(T, begin, end, v) : solve_block_up(T, begin, end, v);))
    } else {
      for (int k = begin; k < end; ++k) {
        const int c = sweep.forward ? k : begin + end - 1 - k;
        if (!sweep.unit()) {
          const Scalar pivot = sweep.value(*T.at(c, c));
          for (int w = 0; w < Width; ++w) v[c * Width + w] /= pivot;
        }
        const int first = sweep.forward ? c + 1 : begin, last = sweep.forward ? end : c;
        for (int r = first; r < last; ++r) {
          const Scalar a = sweep.value(*T.at(r, c));
          for (int w = 0; w < Width; ++w) v[r * Width + w] -= a * v[c * Width + w];
        }
      }
    }
  }

  KOKKOS_FUNCTION void subtract_product(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
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

  /// The entries of `rows` are contiguous either by columns or by rows.
  void multiply_some(const PanelPart<Scalar>& A, int r, int rows, int columns, const Scalar* x,
                     Scalar* v) const {
    if (A.by_columns()) {
      kernel->column(rows, columns, v + r, A.at(r, 0), A.column, x, v + r);
    } else {
      kernel->transposed(columns, rows, A.at(r, 0), A.row, x, v + r);
    }
  }
  void multiply(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x, Scalar* v) const {
    if (rows == 0 || columns == 0) return;
    if (team.team_size() == 1) return multiply_some(A, 0, rows, columns, x, v);
    const int edge = A.by_columns() ? 128 : 8;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (rows + edge - 1) / edge), [&](const int b) {
      multiply_some(A, b * edge, std::min(edge, rows - b * edge), columns, x, v);
    });
  }

  void solve_block_down(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int b = begin; b < end; b += in_turn) {
      const int n = std::min(in_turn, end - b);
      for (int r = 1; r < n; ++r) {
        Scalar sum = v[b + r];
        for (int c = 0; c < r; ++c) sum -= *T.at(b + r, b + c) * v[b + c];
        v[b + r] = sum;
      }
      const int next = b + n;
      if (next < end) kernel->column(end - next, n, v + next, T.at(next, b), T.column, v + b, v + next);
    }
  }
  void solve_block_up(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int b = begin + (end - begin - 1) / in_turn * in_turn; b >= begin; b -= in_turn) {
      const int n = std::min(in_turn, end - b), next = b + n;
      if (next < end) kernel->transposed(end - next, n, T.at(b, next), T.row, v + next, v + b);
      for (int r = n - 1; r-- > 0;) {
        Scalar sum = v[b + r];
        for (int c = r + 1; c < n; ++c) sum -= *T.at(b + r, b + c) * v[b + c];
        v[b + r] = sum;
      }
    }
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
  const int pool = threads_of(exec);
  const auto& largest = plan.layout.fronts[static_cast<std::size_t>(plan.by_level(first))];
  return width < pool && largest.size() >= worth_sharing ? std::min(pool / width, largest_team_of(exec)) : 1;
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

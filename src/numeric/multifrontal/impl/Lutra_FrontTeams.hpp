// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTEAMS_HPP
#define LUTRA_FRONTTEAMS_HPP

#include <algorithm>

#include "Lutra_FrontLevels.hpp"
#include "Lutra_HostProducts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TeamProduct.hpp"

namespace lutra::Impl {

// Teams that assemble and factorize a front: a Kokkos team, or host threads. Team functions end with a
// barrier and return the same value to all threads:
//
//   team.ranges(n, flops, body)         body(begin, end) for ranges that partition [0, n)
//   team.columns(n, rows, body)         body(column, begin, end): ranges of [0, rows) of each of n columns
//   team.max(n, flops, value)           the greatest value(begin, end) ≥ 0
//   team.min(n, flops, none, value)     the least int value(begin, end) ≤ none
//   team.once(body)                     by one thread
//   team.barrier()
//   team.subtract(rows, columns, depth, A, lda, B, C, ldc)   C −= A·B
//   team.subtract_lower(…)                                   entries of C on and below the diagonal
//   team.must_stop()                    whether the running call has to end; only host threads have it
//
// `flops` is the cost of each of the n elements. The order of summation is independent of the ranges.

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void exchange(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

/// A Kokkos team, one index per thread.
template <class Member, class Scalar>
struct KokkosFrontTeam {
  using Real = RealOf<Scalar>;
  const Member& member;

  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](const int i) { body(i, i + 1); });
    member.team_barrier();
  }
  template <class Body>
  KOKKOS_FUNCTION void columns(int n, int rows, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](const int c) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, rows), [&](const int r) { body(c, r, r + 1); });
    });
    member.team_barrier();
  }
  template <class Value>
  KOKKOS_FUNCTION Real max(int n, double, const Value& value) const {
    Real result(0);
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, n),
        [&](const int i, Real& largest) {
          const Real size = value(i, i + 1);
          if (size > largest) largest = size;
        },
        Kokkos::Max<Real>(result));
    member.team_barrier();
    return result > Real(0) ? result : Real(0);  // an empty reduction returns the reducer's identity
  }
  template <class Value>
  KOKKOS_FUNCTION int min(int n, double, int none, const Value& value) const {
    int result = none;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, n),
        [&](const int i, int& smallest) {
          // a range of one: its value, or `none` for an empty element
          const int found = value(i, i + 1);
          if (found < smallest) smallest = found;
        },
        Kokkos::Min<int>(result));
    member.team_barrier();
    return result < none ? result : none;
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    Kokkos::single(Kokkos::PerTeam(member), [&]() { body(); });
    member.team_barrier();
  }
  KOKKOS_FUNCTION void subtract(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    subtract_product(member, rows, columns, depth, A, lda, B, C, ldc);
  }
  KOKKOS_FUNCTION void subtract_lower(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                      const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    // Smaller: less of the upper triangle is computed in vain, more and smaller products.
    constexpr int edge = 64;
    for (int c = 0; c < columns; c += edge)
      subtract(rows - c, columns - c < edge ? columns - c : edge, depth, A + c, lda,
               {&B(0, c), B.row, B.column}, C + c + c * ldc, ldc);
  }
};

/// A worker, called with Kokkos teams.
template <class Scalar, class Worker>
struct TeamsOfFronts {
  Worker worker;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, Ordinal f) const {
    worker.work(KokkosFrontTeam<Member, Scalar>{member}, f);
  }
};
/// Calls worker.work(team, f) for each front, after its children.
template <class Scalar, class ExecutionSpace, class Worker>
void work_by_levels(const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                    const Worker& worker) {
  for_each_front(
      exec, Worker::label, plan, true, [](Ordinal, int) { return team_width<ExecutionSpace>(8); },
      TeamsOfFronts<Scalar, Worker>{worker});
}

/// Whether the running call has to end, as far as a team can know.
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION bool must_stop(const Team& team) {
  if constexpr (requires { team.must_stop(); }) {
    return team.must_stop();
  } else {
    return false;
  }
}

/// Host threads. `Loop` distributes work: loop(n, chunk, body) calls body(begin, end, buffer) for ranges of
/// `chunk` that partition [0, n), on one thread or several, and returns when all calls have returned.
template <class Scalar, class Loop>
struct HostFrontTeam {
  using Real = RealOf<Scalar>;
  const HostProducts<Scalar, Loop>& products;

  KOKKOS_FUNCTION bool must_stop() const {
    KOKKOS_IF_ON_HOST((return products.must_stop();))
    KOKKOS_IF_ON_DEVICE((return false;))
  }
  KOKKOS_FUNCTION void barrier() const {}
  template <class Body>
  KOKKOS_FUNCTION void ranges(int n, double flops, const Body& body) const {
    KOKKOS_IF_ON_HOST((
        products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) { body(begin, end); });))
  }
  template <class Body>
  KOKKOS_FUNCTION void columns(int n, int rows, const Body& body) const {
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, 2.0 * rows), [&](int begin, int end, Real*) {
      for (int c = begin; c < end; ++c) body(c, 0, rows);
    });))
  }
  template <class Value>
  KOKKOS_FUNCTION Real max(int n, double flops, const Value& value) const {
    Real result(0);
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) {
      const Real size = value(begin, end);
      if (size > Real(0)) Kokkos::atomic_max(&result, size);
    });))
    return result;
  }
  template <class Value>
  KOKKOS_FUNCTION int min(int n, double flops, int none, const Value& value) const {
    int result = none;
    KOKKOS_IF_ON_HOST((products.loop(n, products.chunk_of(n, flops), [&](int begin, int end, Real*) {
      const int found = value(begin, end);
      if (found < none) Kokkos::atomic_min(&result, found);
    });))
    return result;
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    body();
  }
  KOKKOS_FUNCTION void subtract(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    KOKKOS_IF_ON_HOST((products.subtract(rows, columns, depth, A, lda, B, C, ldc);))
  }
  KOKKOS_FUNCTION void subtract_lower(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                      const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    KOKKOS_IF_ON_HOST((products.subtract_lower(rows, columns, depth, A, lda, B, C, ldc);))
  }
};

}  // namespace lutra::Impl

#endif

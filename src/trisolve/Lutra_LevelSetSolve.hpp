// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELSETSOLVE_HPP
#define LUTRA_LEVELSETSOLVE_HPP

#include "Lutra_Levelization.hpp"

namespace lutra {

/// A triangle by rows, in memory space `MemorySpace`. Row i's off-diagonal entries stand at begin(i) + skip …
/// end(i) − 1; entries may be those of a larger matrix that holds the triangle.
template <class Scalar, class Ordinal, class Offset, class MemorySpace>
struct Triangle {
  Ordinal n = 0;
  Kokkos::View<const Offset*, MemorySpace> begin;     ///< [n]
  Kokkos::View<const Offset*, MemorySpace> end;       ///< [n]
  Offset skip = 0;                                    ///< 1 leaves out a diagonal at `begin`
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< column of each entry
  Kokkos::View<const Scalar*, MemorySpace> values;    ///< value of each entry
  Kokkos::View<const Offset*, MemorySpace>
      diagonal;            ///< [n] position of (i, i) in `values`; empty: unit diagonal
  bool conjugate = false;  ///< take the conjugates of all values
};

/// Solves T·X = X in place, level by level: rows of one level in parallel, a thread (with its vector lanes) a
/// row, as in the classical level-set method (section 2 of "A Message-Driven, Multi-GPU Parallel Sparse
/// Triangular Solver").
///
/// @param levels   of T's dependency graph, or of its transpose's with `reversed`: the last level then comes
/// first
/// @param X        [n × k] right-hand sides in, solutions out; a row's k values lie together
/// Cost: one launch a level; each entry read once for each right-hand side. Does not fence.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void solve_by_levels(
    const ExecutionSpace& exec,
    const Triangle<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& triangle,
    const Levels<Ordinal, typename ExecutionSpace::memory_space>& levels, bool reversed,
    const Kokkos::View<Scalar**, Kokkos::LayoutRight, typename ExecutionSpace::memory_space>& X);

}  // namespace lutra

#endif

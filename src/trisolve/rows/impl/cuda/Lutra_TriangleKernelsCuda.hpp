// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEKERNELSCUDA_HPP
#define LUTRA_TRIANGLEKERNELSCUDA_HPP

#include "Lutra_BlockLevelsCuda.hpp"
#include "Lutra_BlockSolveCuda.hpp"
#include "Lutra_BlockSolveManyCuda.hpp"
#include "Lutra_LevelRunsCuda.hpp"
#include "Lutra_PackedTriangleEngine.hpp"
#include "Lutra_SortBlocksCuda.hpp"

// CUDA overloads of the portable kernels of triangular solves.

namespace lutra::Impl {

template <>
struct RecordedLaunches<Kokkos::Cuda> {
  KernelGraphs kernels;  ///< for data-flow solves
  LevelGraph levels;
};

/// The kernel for several right-hand sides polls one value at a time, which is faster if rows are long and
/// their entries scattered. The four values of a position are one sector of memory anyway.
template <class Triangle>
int columns_for_one(const Kokkos::Cuda&, const Triangle& triangle) {
  const TriangularReport& chosen = triangle.report;
  return chosen.method == TrisolveMethod::syncfree && chosen.nnz > 5 * chosen.n ? 4 : 1;
}

template <class Data>
void solve_levels(const Kokkos::Cuda& exec, const Data& data, const LevelRuns& runs,
                  const TriangularReport& chosen, RecordedLaunches<Kokkos::Cuda>& launches) {
  solve_levels_cuda(exec, data, chosen.n, runs, launches.levels);
}

template <int Stride, class Data>
void solve_blocks(const Kokkos::Cuda& exec, const Data& data, const TriangularReport& chosen,
                  RecordedLaunches<Kokkos::Cuda>& launches) {
  const auto levels = static_cast<int>(chosen.block_levels);
  if constexpr (Stride > 1) {
    solve_blocks_many_cuda<Stride>(exec, data, levels, launches.kernels);
  } else if (chosen.method == TrisolveMethod::supernodal) {
    solve_blocks_cuda<true>(exec, data, levels, launches.kernels);
  } else {
    solve_blocks_cuda<false>(exec, data, levels, launches.kernels);
  }
}

}  // namespace lutra::Impl

#endif

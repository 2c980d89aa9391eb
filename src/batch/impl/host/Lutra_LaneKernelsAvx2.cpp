// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for AVX2; nothing else belongs here.
#include "Lutra_LaneTasks.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include "Lutra_RunLanes.hpp"

namespace lutra::Impl {

struct Avx2Lanes {
  static constexpr int bytes = 32;
};

template <class Real>
LaneKernelTable<Real> avx2_lanes() {
  return lane_kernels<Avx2Lanes, Real>("AVX2");
}

#else

namespace lutra::Impl {

template <class Real>
LaneKernelTable<Real> avx2_lanes() {
  return {};
}

#endif

template LaneKernelTable<float> avx2_lanes();
template LaneKernelTable<double> avx2_lanes();

}  // namespace lutra::Impl

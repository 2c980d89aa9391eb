// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for AVX-512; nothing else belongs here.
#include "Lutra_LaneTasks.hpp"

#if defined(__AVX512F__) && defined(__FMA__)

#include "Lutra_RunLanes.hpp"

namespace lutra::Impl {

struct Avx512Lanes {
  static constexpr int bytes = 64;
};

template <class Real>
LaneKernelTable<Real> avx512_lanes() {
  return lane_kernels<Avx512Lanes, Real>("AVX-512");
}

#else

namespace lutra::Impl {

template <class Real>
LaneKernelTable<Real> avx512_lanes() {
  return {};
}

#endif

template LaneKernelTable<float> avx512_lanes();
template LaneKernelTable<double> avx512_lanes();

}  // namespace lutra::Impl

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string_view>

#include "Lutra_HostProduct.hpp"
#include "Lutra_RunLanes.hpp"

namespace lutra::Impl {

struct PlainLanes {
  static constexpr int bytes = 16;
};

template <class Real>
LaneKernelTable<Real> plain_lanes() {
  return lane_kernels<PlainLanes, Real>("plain");
}

/// Products of dense blocks and batches take the same instructions.
template <class Real>
LaneKernelTable<Real> best_lanes() {
  const char* const best = best_product<Real>().instructions;
  if (const auto kernels = avx512_lanes<Real>();
      kernels.solve[0] != nullptr && best == std::string_view("AVX-512"))
    return kernels;
  if (const auto kernels = avx2_lanes<Real>();
      kernels.solve[0] != nullptr && best != std::string_view("plain"))
    return kernels;
  return plain_lanes<Real>();
}

template LaneKernelTable<float> plain_lanes();
template LaneKernelTable<double> plain_lanes();
template LaneKernelTable<float> best_lanes();
template LaneKernelTable<double> best_lanes();

}  // namespace lutra::Impl

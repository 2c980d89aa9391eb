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

/// Products of dense blocks and batches take the same instructions. A function that was compiled for others
/// is not even called: it may use them to fill the table.
template <class Real>
LaneKernelTable<Real> best_lanes() {
  const std::string_view best = best_product<Real>().instructions;
  LaneKernelTable<Real> kernels;
  if (best == "AVX-512") kernels = avx512_lanes<Real>();
  if (best != "plain" && kernels.solve[0] == nullptr) kernels = avx2_lanes<Real>();
  return kernels.solve[0] != nullptr ? kernels : plain_lanes<Real>();
}

template LaneKernelTable<float> plain_lanes();
template LaneKernelTable<double> plain_lanes();
template LaneKernelTable<float> best_lanes();
template LaneKernelTable<double> best_lanes();

}  // namespace lutra::Impl

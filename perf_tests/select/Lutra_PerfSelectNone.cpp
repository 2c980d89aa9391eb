// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfSelectPeers.hpp"

namespace lutra::Perf {

const char* const device_sort_name = "";

Samples measure_device_sort(int, const SelectValues&, std::int64_t, double) {
  return {};
}

Samples measure_counting_pass(int, const SelectValues&, std::int64_t, const SelectOptions&) {
  return {};
}

}  // namespace lutra::Perf

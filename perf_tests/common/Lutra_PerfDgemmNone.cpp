// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfLimits.hpp"

namespace lutra::Perf {

double dgemm_flops_per_second() {
  return 0;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFSELECTPEERS_HPP
#define LUTRA_PERFSELECTPEERS_HPP

#include "Lutra_PerfMeasure.hpp"
#include "Lutra_Select.hpp"

namespace lutra::Perf {

using SelectValues = Kokkos::View<const double*, MemorySpace>;

/// Name of the library that sorts on the device; empty if there is none.
extern const char* const device_sort_name;

/// Times a sort of all values into another array, whose entry n − k must be `wanted`.
Samples measure_device_sort(int samples, const SelectValues& values, std::int64_t k, double wanted);

/// Times only one counting pass of the options' method and counters, with oracles unless approximate. Returns
/// no samples if the pass is not a separate launch.
Samples measure_counting_pass(int samples, const SelectValues& values, std::int64_t k,
                              const SelectOptions& options = {});

}  // namespace lutra::Perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFCONTEXT_HPP
#define LUTRA_PERFCONTEXT_HPP

#include <map>
#include <string>

#include "Lutra_PerfLimits.hpp"

namespace lutra::Perf {

/// Version, commit, Kokkos, threads, device, peers and hardware limits, by name.
std::map<std::string, std::string> perf_context(const Limits& limits);

}  // namespace lutra::Perf

#endif

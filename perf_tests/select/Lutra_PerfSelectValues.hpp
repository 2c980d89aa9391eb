// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFSELECTVALUES_HPP
#define LUTRA_PERFSELECTVALUES_HPP

#include "Lutra_PerfSelectPeers.hpp"

namespace lutra::Perf {

/// `repeated`: 64 different values, or the number given.
enum class Distribution { uniform, scales, repeated, equal };

/// Values that depend only on their index.
SelectValues make_values(Distribution distribution, std::int64_t n, std::uint64_t different = 64);

/// Counts the values above and between the bounds of a threshold. @returns those between
/// @throws std::runtime_error if it is not that of the k largest values
std::int64_t check_threshold(const SelectValues& values, std::int64_t k, const SelectOptions& options,
                             const Selection<double, ExecutionSpace>::Result& found);

}  // namespace lutra::Perf

#endif

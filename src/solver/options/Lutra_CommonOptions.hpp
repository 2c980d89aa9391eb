// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMONOPTIONS_HPP
#define LUTRA_COMMONOPTIONS_HPP

#include <cstddef>
#include <optional>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Options common to all solvers.
struct CommonOptions {
  /// Costs on which choices are based; empty: those of the execution space.
  std::optional<DeviceModel> device_model{};
  /// If false, factorize, solve and apply assume that the matrix has the analyzed pattern, is symmetric if
  /// the method is LDLᵀ, and contains no NaN or infinity.
  bool validate_input = true;
  /// Whether to wait for the device when a stage is timed. If false, the times of factorize and solve may
  /// include work that the instance queued before.
  bool time_stages = false;
  std::size_t memory_limit = 0;  ///< bytes in the memory of the execution space; 0: no limit

  bool operator==(const CommonOptions&) const = default;
};

}  // namespace lutra

#endif

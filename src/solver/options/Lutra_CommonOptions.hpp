// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMONOPTIONS_HPP
#define LUTRA_COMMONOPTIONS_HPP

#include <cstddef>
#include <optional>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// The options that all solvers share.
struct CommonOptions {
  std::optional<DeviceModel> device_model{};  ///< what choices are made by; none: the execution space's own
  bool validate_input = true;  ///< false: factorize, solve and apply take it for granted that the matrix has
                               ///< the pattern analyzed, is symmetric for LDLᵀ, and holds no NaN or infinity
  bool time_stages = false;      ///< wait for the device where a stage is timed; false: times of factorize
                                 ///< and solve may include what the instance did before
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit

  bool operator==(const CommonOptions&) const = default;
};

}  // namespace lutra

#endif

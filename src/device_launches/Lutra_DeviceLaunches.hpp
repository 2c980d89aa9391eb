// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICELAUNCHES_HPP
#define LUTRA_DEVICELAUNCHES_HPP

#include "Lutra_Levelization.hpp"

namespace lutra {

/// The kernels of LevelizationMethod::device_launches: Kahn's algorithm launched from the device
/// ("End-to-End LU Factorization of Large Matrices on GPUs", Algorithm 5). Programs that call it link
/// Lutra::device_launches (option Lutra_ENABLE_DEVICE_LAUNCHES).
///
///     SolverOptions options;
///     options.lu.columns.levels = LevelizationMethod::device_launches;
///     options.lu.columns.launches = &device_launches();
const DeviceLaunches& device_launches();

}  // namespace lutra

#endif

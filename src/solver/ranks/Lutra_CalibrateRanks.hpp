// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CALIBRATERANKS_HPP
#define LUTRA_CALIBRATERANKS_HPP

#include <cstddef>

#include "Lutra_Communicator.hpp"
#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Collective. Measures the costs of solves on several ranks. Latency and bandwidth are those of one put and
/// its arrival, between rank 0 and the last rank; the latency is then fitted to solves on all ranks. The
/// costs of blocks, of their bytes, and on devices of rows come from solves that all ranks run separately at
/// the same time; the slowest rank counts. Takes some seconds. Returns the same values on all ranks.
/// @param on_device measures the ranks' devices, with peer memory where they can map it
/// @tparam Scalar double
template <class Scalar>
DistributedCosts measure_distributed_costs(Communicator& comm, bool on_device = false);

/// Collective. Seconds of one put of `bytes` bytes and its arrival between rank 0 and the last rank, the
/// least of several hundred ping-pongs, on these ranks; at least two are needed.
/// @param by_devices by a thread block of each rank's device, which needs CommBackend::peer; `bytes` is then
///                   a multiple of 8
double measure_put_seconds(Communicator& comm, std::size_t bytes, bool by_devices = false);

}  // namespace lutra

#endif

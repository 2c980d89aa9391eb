// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CALIBRATERANKS_HPP
#define LUTRA_CALIBRATERANKS_HPP

#include "Lutra_Communicator.hpp"
#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Collective. What ranks on hosts measure of solves on several of them: latency and bandwidth of one put and
/// its arrival between rank 0 and the last rank, and the costs of blocks and of their bytes by solves that
/// each rank makes on its own, all at the same time; the slowest rank counts. A second or two. The same on
/// all ranks.
/// @tparam Scalar double
template <class Scalar>
DistributedCosts measure_distributed_costs(Communicator& comm);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NVSHMEM_HPP
#define LUTRA_NVSHMEM_HPP

#include "Lutra_Communicator.hpp"

namespace lutra {

/// Collective: makes CommBackend::nvshmem available to a communicator. Starts NVSHMEM, which then runs until
/// the process ends; PEs are the ranks, on the devices of Kokkos. Programs that call it link Lutra::nvshmem.
///
///     rank 0   unique id ──► broadcast by the communicator ──► all ranks: nvshmemx_init_attr
///
/// Where NVSHMEM runs already, it has to have the same ranks. What NVSHMEM cannot start with (no transport,
/// no network interface) ends the process, with a message of NVSHMEM.
/// @throws InputError on all ranks if two of them share a device, or NVSHMEM runs with other ranks
void use_nvshmem(Communicator& comm);

}  // namespace lutra

#endif

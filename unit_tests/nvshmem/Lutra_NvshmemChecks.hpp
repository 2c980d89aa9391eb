// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NVSHMEMCHECKS_HPP
#define LUTRA_NVSHMEMCHECKS_HPP

#include "Lutra_Communicator.hpp"

// The part of the tests that is compiled with relocatable device code.
namespace lutra::Test {

void check_nvshmem_puts(Communicator& comm);
/// @param comm with a watchdog of few seconds
void check_nvshmem_watchdog(Communicator& comm);
/// Signals that the memory has on each rank.
std::size_t count_nvshmem_signals(const SymmetricMemory& memory);

}  // namespace lutra::Test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STOPPEDSOLVE_HPP
#define LUTRA_STOPPEDSOLVE_HPP

#include <cstdint>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// @param call    name of the call for the message
/// @param factors any object with `consume_timeout`; it is usable again afterwards
/// @throws TimeoutError if the watchdog has stopped a solve with the factors
template <class ExecutionSpace, class Factors>
void throw_if_stopped(const ExecutionSpace& exec, const char* call, Factors& factors) {
  const std::int64_t row = factors.consume_timeout(exec);
  if (row < 0) return;
  throw TimeoutError(std::string(call) + ": row " + std::to_string(row) +
                     " of the factors waited too long in a triangular solve, which was given up");
}

}  // namespace lutra::Impl

#endif

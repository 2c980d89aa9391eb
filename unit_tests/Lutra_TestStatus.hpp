// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTSTATUS_HPP
#define LUTRA_TESTSTATUS_HPP

#include <catch2/catch_test_macros.hpp>

#include <source_location>

#include "Lutra_Error.hpp"

namespace lutra::Test {

/// Ends the test unless a solver's call has succeeded, and names the place of the call. A success allocates
/// nothing, and may be one of another thread.
inline void succeed(Status status, const std::source_location& place = std::source_location::current()) {
  if (status == Status::success) return;
  FAIL(place.file_name() << ":" << place.line() << ": " << to_string(status));
}

}  // namespace lutra::Test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Allocate.hpp"

#include <exception>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

void rethrow_as_out_of_memory(std::string_view label, std::size_t bytes) {
  try {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::exception& failure) {
    throw OutOfMemoryError(
        "'" + std::string(label) + "' needs " + std::to_string(bytes) + " bytes: " + failure.what(), bytes);
  }
}

void require_countable_bytes(std::string_view label, double bytes) {
  // Half the range of int64_t, so that a sum of two sizes does not overflow.
  constexpr double too_many = 0x1p62;
  if (bytes >= too_many)
    throw OutOfMemoryError("'" + std::string(label) + "' needs about " + std::to_string(bytes) + " bytes",
                           static_cast<std::size_t>(too_many));
}

}  // namespace lutra::Impl

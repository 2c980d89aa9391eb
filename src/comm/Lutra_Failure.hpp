// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILURE_HPP
#define LUTRA_FAILURE_HPP

#include <cstdint>
#include <string>

namespace lutra {

/// Kind of the exception that ended a rank; after `agree` all ranks throw the same kind.
enum class FailureKind : std::int32_t { input, file, call_order, out_of_memory, timeout, cancelled, other };

/// Which rank failed, and why.
struct Failure {
  int rank = 0;
  FailureKind kind = FailureKind::other;
  std::string what;   ///< text of the exception
  std::string where;  ///< activity of the rank
};

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INDEX_HPP
#define LUTRA_INDEX_HPP

#include <cstdint>

namespace lutra {

/// Rows and columns within the library. Solvers read the columns of a caller's matrix as int or std::int64_t.
using Ordinal = int;
/// Positions of entries within the library. Solvers read row maps of int, std::int64_t and std::size_t.
using Offset = std::int64_t;

}  // namespace lutra

#endif

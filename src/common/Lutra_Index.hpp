// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INDEX_HPP
#define LUTRA_INDEX_HPP

#include <cstdint>

namespace lutra {

/// Index of rows and columns within the library. Solvers accept columns of type int or std::int64_t.
using Ordinal = int;
/// Position of entries within the library. Solvers accept row maps of int, std::int64_t and std::size_t.
using Offset = std::int64_t;

}  // namespace lutra

#endif

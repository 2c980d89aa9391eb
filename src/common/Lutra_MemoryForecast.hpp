// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MEMORYFORECAST_HPP
#define LUTRA_MEMORYFORECAST_HPP

#include <cstddef>

namespace lutra {

/// Bytes by kind of memory.
struct SpaceBytes {
  std::size_t device = 0;  ///< memory of the execution space, on hosts too, as a MemoryBudget counts it
  std::size_t host = 0;    ///< host memory beside it, where factors are streamed from there
  bool operator==(const SpaceBytes&) const = default;
};

/// Bytes that an analysis and one `Numeric` object over it will hold, known before a factorization
/// (docs/memory.md). Delayed pivots, escalations, transposed solves and the caller's Views are not counted.
struct MemoryForecast {
  SpaceBytes factors;        ///< values of L and U, or of L and D, without index lists
  SpaceBytes factorization;  ///< peak of the first factorization, with the analysis
  SpaceBytes solve;          ///< peak of a solve after it, with the analysis and the factors
  bool operator==(const MemoryForecast&) const = default;
};

}  // namespace lutra

#endif

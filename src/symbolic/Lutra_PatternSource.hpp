// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PATTERNSOURCE_HPP
#define LUTRA_PATTERNSOURCE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CsrView.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// Finds the pattern of L + U in place of `factorize_symbolic`, for example together with other processes.
class PatternSource {
 public:
  virtual ~PatternSource() = default;

  /// @param pattern of the permuted matrix; its rows may be unsorted
  /// @param budget  of the memory in which the matrix will be factorized
  /// @returns what `factorize_symbolic` returns for this pattern
  /// @throws OutOfMemoryError
  virtual LuPattern<Kokkos::HostSpace> find(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                            const MemoryBudget& budget) = 0;
};

}  // namespace lutra

#endif

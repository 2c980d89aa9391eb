// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATCHINGPARTS_HPP
#define LUTRA_MATCHINGPARTS_HPP

#include <vector>

#include "Lutra_Assignment.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"

namespace lutra::Impl {

/// Costs of the entries, on the host; a maximum product matching minimises their sum.
struct MatchingCosts {
  std::vector<double> of_entry;    ///< [nnz] log(row maximum) − log|a| ≥ 0; infinity for a zero
  std::vector<double> row_origin;  ///< [n] log(row maximum); 0 for a row without nonzero entries
  bool has_zeros = false;          ///< whether any entry is zero
};

/// @throws InputError naming the sizes unless the matrix is square
void require_square(std::int64_t n_rows, std::int64_t n_cols);

/// Result for a perfect matching, with scales from the duals.
/// @param row_origin as in MatchingCosts
MatchingResult perfect_matching(Assignment&& assignment, const std::vector<double>& row_origin);

/// Result if the nonzero entries admit no perfect matching: a maximum cardinality matching, the unmatched
/// rows and columns, scales of 1.
MatchingResult deficient_matching(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const MatchingCosts& cost, const RunControl& run = {});

}  // namespace lutra::Impl

#endif

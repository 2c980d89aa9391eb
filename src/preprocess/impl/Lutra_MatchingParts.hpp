// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATCHINGPARTS_HPP
#define LUTRA_MATCHINGPARTS_HPP

#include <vector>

#include "Lutra_Assignment.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"

namespace lutra::Impl {

/// Costs of the entries, whose sum a maximum product matching minimises, on the host.
struct MatchingCosts {
  std::vector<double> of_entry;    ///< [nnz] log(largest of the row) − log|a| ≥ 0; infinity for a zero
  std::vector<double> row_origin;  ///< [n] log(largest of the row); 0 for a row without nonzero entry
  bool has_zeros = false;          ///< whether any entry has the value zero
};

/// @throws InputError naming the sizes unless the matrix is square
void require_square(std::int64_t n_rows, std::int64_t n_cols);

/// The result for a perfect matching: scales from the duals.
/// @param row_origin as in MatchingCosts
MatchingResult perfect_matching(Assignment&& assignment, const std::vector<double>& row_origin);

/// The result where the nonzero entries admit no perfect matching: one of maximum cardinality, the unmatched
/// rows and columns, scales of 1.
MatchingResult deficient_matching(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const MatchingCosts& cost);

}  // namespace lutra::Impl

#endif

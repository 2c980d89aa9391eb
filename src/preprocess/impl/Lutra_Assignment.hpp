// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASSIGNMENT_HPP
#define LUTRA_ASSIGNMENT_HPP

#include <functional>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Impl {

/// Perfect matching of minimum total cost, with the dual solution that proves it: cost(r, c) ≥ row_dual[r] +
/// col_dual[c] for every entry, with equality (to rounding) at matched entries.
struct Assignment {
  bool perfect = false;                ///< whether the entries of finite cost admit a perfect matching
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; valid if `perfect`
  std::vector<double> row_dual;        ///< [n]
  std::vector<double> col_dual;        ///< [n]
};

/// Solves the sparse linear assignment problem by shortest augmenting paths. Stops at the first row without
/// an augmenting path.
///
/// @param pattern square; rows need not be sorted
/// @param cost    [nnz] finite, or infinity to exclude an entry; never NaN
/// @param start   initial partial matching; empty: none. Its duals are feasible and matched entries are
/// tight; row_of_column is −1 for an unmatched column, row_dual infinite for a row without entries of finite
/// cost
/// @param complete_row called before a row's costs are read beyond its row minima, column minima and costs
/// equal to both; until then its other entries may have any larger finite cost
Assignment assign(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                  const std::vector<double>& cost, const Assignment& start = {},
                  const std::function<void(Ordinal)>& complete_row = {}, const RunControl& run = {});

}  // namespace lutra::Impl

#endif

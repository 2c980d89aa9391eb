// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASSIGNMENT_HPP
#define LUTRA_ASSIGNMENT_HPP

#include <functional>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Impl {

/// A perfect matching of least total cost and the dual that proves it:
/// cost(r, c) ≥ row_dual[r] + col_dual[c] for every entry, with equality (to rounding) at the matched ones.
struct Assignment {
  bool perfect = false;                ///< whether the entries of finite cost admit a perfect matching
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; meaningful where perfect
  std::vector<double> row_dual;        ///< [n]
  std::vector<double> col_dual;        ///< [n]
};

/// The sparse linear assignment problem by shortest augmenting paths. Stops at the first row without an
/// augmenting path.
///
/// @param pattern square, rows sorted or not
/// @param cost    [nnz] finite, or infinity for an entry to be ignored; never NaN
/// @param start   a matching of some rows to go on from; empty: none. Its duals are feasible, and matched
///                entries are tight; row_of_column is −1 for an unmatched column, and a row's dual is
///                infinite where it has no entry of finite cost
/// @param complete_row called before more of a row is read than row minima, column minima and costs equal to
///                both; until then its other entries may have any larger finite cost
Assignment assign(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                  const std::vector<double>& cost, const Assignment& start = {},
                  const std::function<void(Ordinal)>& complete_row = {});

}  // namespace lutra::Impl

#endif

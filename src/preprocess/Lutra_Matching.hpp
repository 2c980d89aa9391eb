// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATCHING_HPP
#define LUTRA_MATCHING_HPP

#include <cstdint>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Which entry of each row is brought to the diagonal.
enum class Matching {
  automatic,  ///< the library's choice: exact
  none,       ///< rows stay where they are, no scaling
  auction,    ///< nearly maximum product by an auction in the execution space, with its scaling
  exact       ///< maximum product (Duff and Koster), with the scaling its dual gives
};

/// A matching of rows and columns with scaling. For a perfect matching of nonzero entries, the matrix
/// B(r, c) = row_scale[r]·A(r, c)·col_scale[c] has |B| ≤ 1 with |B| = 1 at the matched entries (of an
/// auction, |B| ≥ e^−epsilon), up to rounding in double. Scales are finite and above zero also for entries
/// near the ends of the range of double; where no such scales would do, they are cut off at about 1e±307.
/// They need not fit into float: scale in double.
template <class Ordinal>
struct MatchingResult {
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; -1: none
  std::vector<double> row_scale;       ///< [n] factor of each row; powers of two are not enforced
  std::vector<double> col_scale;       ///< [n] factor of each column
  Ordinal structural_rank = 0;     ///< most entries of the pattern, zeros included, no two in a row or column
  Ordinal numeric_rank_bound = 0;  ///< the same over entries that are not zero: an upper bound on the rank
  std::vector<Ordinal> unmatched_rows;     ///< rows left over by a maximum matching of the nonzero entries
  std::vector<Ordinal> unmatched_columns;  ///< columns left over by it, as many
};

/// Maximum product matching of a square matrix with scaling, on the host.
///
/// Shortest augmenting paths with a heap over costs log(max of the row) − log|a|, after Duff and Koster,
/// SIAM J. Matrix Anal. Appl. 22 (2001), algorithm MC64 job 5. Worst case O(n·(nnz + n log n)), in practice
/// near linear. A zero value counts as no entry. Where the nonzero entries admit no perfect matching, the
/// result says so (rank below n), holds a matching of greatest cardinality, and both scales are 1.
///
/// @param matrix square, on the host, rows sorted or not; values finite
/// @throws InputError for a matrix that is not square
template <class Scalar, class Ordinal, class Offset>
MatchingResult<Ordinal> match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix);

/// Size of the largest set of entries of the pattern with no two in a row or a column (the structural rank),
/// by depth-first augmenting paths with look-ahead (Duff's MC21). Rectangular patterns too. `row_of_column`,
/// if given, receives the matching: [n_cols] row of each column, -1: none.
template <class Ordinal, class Offset>
Ordinal maximum_transversal(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                            std::vector<Ordinal>* row_of_column = nullptr);

}  // namespace lutra

#endif

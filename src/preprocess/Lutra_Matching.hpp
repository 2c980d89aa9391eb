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
  auction,    ///< nearly maximum product by an auction in the execution space, with scaling
  exact       ///< maximum product (Duff and Koster), with the scaling its dual gives
};

/// A matching of rows and columns with scaling. For a perfect matching of nonzero entries, the matrix
/// B(r, c) = row_scale[r]·A(r, c)·col_scale[c] has |B| ≤ 1 with |B| = 1 at the matched entries (|B| ≥
/// e^−epsilon after an auction), up to rounding in double. Scales are finite and positive; beyond the range
/// of double they are cut off at about 1e±307. They may exceed the range of float: scale in double.
struct MatchingResult {
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; -1: none
  std::vector<double> row_scale;       ///< [n] factor of each row; powers of two are not enforced
  std::vector<double> col_scale;       ///< [n] factor of each column
  Ordinal structural_rank = 0;         ///< of the pattern, stored zeros included
  Ordinal numeric_rank_bound = 0;      ///< structural rank of the nonzero entries: an upper bound on the rank
  std::vector<Ordinal> unmatched_rows;     ///< that a maximum matching of the nonzero entries leaves over
  std::vector<Ordinal> unmatched_columns;  ///< as many
};

/// Maximum product matching of a square matrix with scaling, on the host.
///
/// Shortest augmenting paths with a heap over costs log(max of the row) − log|a|, after Duff and Koster,
/// SIAM J. Matrix Anal. Appl. 22 (2001), algorithm MC64 job 5. Worst case O(n·(nnz + n log n)), in practice
/// near linear. A zero value counts as no entry. Where the nonzero entries admit no perfect matching
/// (rank below n), the result is a matching of maximum cardinality with scales of 1.
///
/// @param matrix square, on the host, rows sorted or not; values finite
/// @throws InputError for a matrix that is not square
template <class Scalar>
MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix);

/// A largest set of entries of a pattern with no two in a row or a column.
struct Transversal {
  Ordinal rank = 0;                    ///< entries of the set: the structural rank
  std::vector<Ordinal> row_of_column;  ///< [n_cols] row of each column's entry; −1: none
};

/// A maximum transversal by depth-first augmenting paths with look-ahead (Duff's MC21), on the host, of
/// rectangular patterns too. Worst case O(n·nnz), in practice a few passes over the pattern.
/// @param cost          [nnz] infinity for an entry to be ignored; empty: all count
/// @param row_of_column [n_cols] entries to start from, none of them ignored, −1 where there is none; empty:
///                      none
Transversal maximum_transversal(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const std::vector<double>& cost = {},
                                const std::vector<Ordinal>& row_of_column = {});

}  // namespace lutra

#endif

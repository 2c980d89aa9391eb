// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATCHING_HPP
#define LUTRA_MATCHING_HPP

#include <cstdint>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra {

/// Matching that permutes large entries to the diagonal.
enum class Matching {
  automatic,  ///< chosen by the library: exact, or an auction for LDLᵀ (`choose_scaling`)
  none,       ///< no row permutation, no scaling
  auction,    ///< nearly maximum product, by an auction in the execution space, with scaling
  exact       ///< maximum product (Duff and Koster), with scaling by its dual variables
};

/// Matching of rows and columns with scaling. For a perfect matching of nonzero entries, the matrix B(r, c) =
/// row_scale[r]·A(r, c)·col_scale[c] satisfies |B| ≤ 1, with |B| = 1 at the matched entries (≥ e^−epsilon
/// after an auction), up to rounding in double. Scales are finite and positive, clamped to about 1e±307. They
/// may exceed the range of float: scale in double.
struct MatchingResult {
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; −1: none
  std::vector<double> row_scale;       ///< [n] factor of each row; not necessarily a power of two
  std::vector<double> col_scale;       ///< [n] factor of each column
  Ordinal structural_rank = 0;         ///< structural rank of the pattern, including stored zeros
  Ordinal numeric_rank_bound = 0;      ///< structural rank of the nonzero entries, an upper bound on the rank
  std::vector<Ordinal> unmatched_rows;     ///< rows not covered by a maximum matching of the nonzero entries
  std::vector<Ordinal> unmatched_columns;  ///< columns not covered, equally many
};

/// Maximum product matching of a square matrix with scaling, on the host.
///
/// Shortest augmenting paths with a heap for the costs log(max of the row) − log|a|, after Duff and Koster,
/// SIAM J. Matrix Anal. Appl. 22 (2001), algorithm MC64 job 5. Worst case O(n·(nnz + n log n)), nearly linear
/// in practice. Zero values count as absent entries. If the nonzero entries admit no perfect matching (rank
/// below n), the result is a maximum cardinality matching with scales of 1.
///
/// @param matrix square, on the host; rows need not be sorted; values finite
/// @param run    limits in time
/// @throws InputError for a matrix that is not square; CancelledError
template <class Scalar>
MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix,
                           const RunControl& run = {});

/// Maximum set of entries of a pattern with no two in the same row or column.
struct Transversal {
  Ordinal rank = 0;                    ///< number of entries in the set: the structural rank
  std::vector<Ordinal> row_of_column;  ///< [n_cols] row of each column's entry; −1: none
};

/// Maximum transversal by depth-first augmenting paths with look-ahead (Duff's MC21), on the host; accepts
/// rectangular patterns. Worst case O(n·nnz), in practice a few passes over the pattern.
/// @param cost          [nnz] infinity excludes an entry; empty: all count
/// @param row_of_column [n_cols] initial entries, none of them excluded; −1: none; empty: no initial entries
/// @param run           limits in time
/// @throws CancelledError
Transversal maximum_transversal(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const std::vector<double>& cost = {},
                                const std::vector<Ordinal>& row_of_column = {}, const RunControl& run = {});

}  // namespace lutra

#endif

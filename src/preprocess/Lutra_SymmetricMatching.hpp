// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICMATCHING_HPP
#define LUTRA_SYMMETRICMATCHING_HPP

#include <vector>

#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra {

/// What a maximum product matching says of a symmetric matrix.
struct SymmetricMatching {
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; −1: none
  std::vector<double> scale;    ///< [n] positive and finite; |scale(i)·a(i, j)·scale(j)| ≤ 1 to rounding
                                ///< among matched rows
  Ordinal structural_rank = 0;  ///< of the nonzero entries: so many rows are matched, but by auction fewer
};

/// The matching of a symmetric matrix and one scaling for its rows and columns, the geometric mean of those
/// of the matching: as the transpose of a matching is one of the same product, matched entries keep magnitude
/// 1, after an auction at least e^−epsilon in their geometric mean (I. S. Duff and S. Pralet, SIAM J. Matrix
/// Anal. Appl. 27, 2005, section 2).
///
/// Where the nonzero entries admit no perfect matching, the rows R of a largest one are matched among
/// themselves: A(R, R) has a perfect matching (ibid.; Mendelsohn and Dulmage). A row i outside
/// R gets the scale 1 / max |a(i, k)·scale(k)| over k in R, or 1 where that is zero.
/// @param A        both triangles, on the host
/// @param matching of A, exact or by auction
template <class Scalar>
SymmetricMatching symmetrize(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                             MatchingResult&& matching);

/// Scales by which the largest magnitude of each row of S·A·S is near 1: ten rounds of s(i) ← s(i) / √(max
/// |s(i)·a(i, k)·s(k)|) (D. Ruiz, RAL-TR-2001-034). Rows of zeros keep 1.
/// @param A both triangles, on the host
template <class Scalar>
std::vector<double> equilibrate(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A);

/// The same scales as powers of two of an exponent of at most `max_exponent`: they round no entry.
void round_to_powers_of_two(std::vector<double>& scale, int max_exponent);

/// Candidates for 2 × 2 pivots: cycles of the matching's permutation, split into pairs of neighbours. Of the
/// two ways to split a cycle of even length that with the more similar patterns is taken; a cycle of odd
/// length leaves out the row with the largest scaled diagonal. Chains, which end at a row that is not
/// matched, are split from their beginning. Pairs of which both scaled diagonal entries
/// are at least 1/8 are left single (Duff and Pralet, section 3; MUMPS).
/// @param A both triangles, on the host; rows ascending
/// @returns [n] partner of each row; itself where it is single
template <class Scalar>
std::vector<Ordinal> pair_candidates(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                     const SymmetricMatching& matching);

/// Orders a graph in which the two vertices of a pair are one vertex of weight 2, which METIS balances by.
/// Pairs are neighbours in the result, the smaller number first.
/// @param partner as pair_candidates returns it
/// @throws as `order`
template <class Index>
std::vector<Index> order_pairs(const SymmetricGraph<Index>& graph, const std::vector<Index>& partner,
                               Ordering kind, const OrderingLimits& limits = {});
/// The same for the pattern of a symmetric matrix, rows ascending.
std::vector<Ordinal> order_pairs(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                 const std::vector<Ordinal>& partner, Ordering kind);

}  // namespace lutra

#endif

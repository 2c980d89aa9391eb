// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICMATCHING_HPP
#define LUTRA_SYMMETRICMATCHING_HPP

#include <vector>

#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_OrderGraph.hpp"

namespace lutra {

/// Maximum product matching and scaling of a symmetric matrix.
struct SymmetricMatching {
  std::vector<Ordinal> row_of_column;  ///< [n] row matched to each column; −1: none
  std::vector<double> scale;  ///< [n] positive and finite; |scale(i)·a(i, j)·scale(j)| ≤ 1 up to rounding
                              ///< among matched rows
  Ordinal structural_rank = 0;  ///< structural rank of the nonzero entries; number of matched rows, except
                                ///< that an auction may match fewer
};

/// Matching and symmetric scaling of a symmetric matrix. Scales are the geometric means of the matching's row
/// and column scales: since the transpose of a matching has the same product, matched entries keep magnitude
/// 1, after an auction at least e^−epsilon in their geometric mean (I. S. Duff and S. Pralet, SIAM J. Matrix
/// Anal. Appl. 27, 2005, section 2).
///
/// If the nonzero entries admit no perfect matching, the rows R of a maximum matching are matched among
/// themselves: A(R, R) has a perfect matching (ibid.; Mendelsohn and Dulmage). A row i outside R gets the
/// scale 1 / max |a(i, k)·scale(k)| over k in R, or 1 if that maximum is zero.
/// @param A        both triangles, on the host
/// @param matching of A, exact or by auction
template <class Scalar>
SymmetricMatching symmetrize(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                             MatchingResult&& matching);

/// Scales for which the largest magnitude in each row of S·A·S is near 1: ten rounds of s(i) ← s(i) / √(max
/// s(i)·a(i, k)·s(k)|) (D. Ruiz, RAL-TR-2001-034). Zero rows keep scale 1.
/// @param A both triangles, on the host
template <class Scalar>
std::vector<double> equilibrate(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A);

/// Rounds scales to powers of two with exponents of at most `max_exponent`, so that scaling is exact.
void round_to_powers_of_two(std::vector<double>& scale, int max_exponent);

/// Candidates for 2 × 2 pivots: cycles of the matching's permutation, split into pairs of neighbours. A cycle
/// of even length is split in the way that pairs more similar patterns; a cycle of odd length omits the row
/// with the largest scaled diagonal entry. Chains, which end at an unmatched row, are split from their start.
/// Pairs whose scaled diagonal entries are both at least 1/8 are left single (Duff and Pralet, section 3;
/// MUMPS).
/// @param A both triangles, on the host; rows ascending
/// @returns [n] partner of each row; the row itself if single
template <class Scalar>
std::vector<Ordinal> pair_candidates(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                     const SymmetricMatching& matching);

/// A graph with the two vertices of each pair merged into one vertex of weight 2.
template <class Index>
struct PairedGraph {
  SymmetricGraph<Index> graph;
  std::vector<Index> weight;          ///< [groups] 1 or 2
  std::vector<Index> first, partner;  ///< [groups] smaller and larger vertex of each group
};

/// @param partner result of pair_candidates
template <class Index>
PairedGraph<Index> compress_pairs(const SymmetricGraph<Index>& graph, const std::vector<Ordinal>& partner);

/// Order of the original vertices for an order of the groups. Pairs are adjacent, the smaller number first.
/// @param order [groups], or empty for an empty result
template <class Index>
std::vector<Index> expand_pairs(const PairedGraph<Index>& paired, const std::vector<Index>& order);

/// Orders a graph with pairs merged; METIS balances their weights.
/// @throws as `order`
template <class Index>
std::vector<Index> order_pairs(const SymmetricGraph<Index>& graph, const std::vector<Ordinal>& partner,
                               Ordering kind, const RunControl& run = {});
/// Overload for the pattern of a symmetric matrix with ascending rows.
std::vector<Ordinal> order_pairs(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                 const std::vector<Ordinal>& partner, Ordering kind);

}  // namespace lutra

#endif

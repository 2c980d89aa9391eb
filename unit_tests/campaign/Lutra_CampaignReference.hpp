// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNREFERENCE_HPP
#define LUTRA_CAMPAIGNREFERENCE_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include "Lutra_CampaignTransforms.hpp"
#include "Lutra_Reference_Ldlt.hpp"

// What is true of a matrix, found without the library by slow dense methods. Rows above which they are not
// used are constants below.

namespace lutra::Campaign {

constexpr std::size_t max_rows_of_rank = 400;       ///< exact singularity
constexpr std::size_t max_rows_of_condition = 600;  ///< condition number
constexpr std::size_t max_rows_of_inertia = 60;     ///< eigenvalues

/// Whether a matrix is singular to the last bit (Lutra_Reference_Singular.hpp).
bool is_exactly_singular(const HostMatrix<double>& A);

/// Spectral radius of |A⁻¹|·|A|, in long double: the least Skeel condition number that scaling of rows and
/// columns can reach (Bauer 1963). A change of the entries by less than its inverse, relative to each, leaves
/// A regular. Infinity if the elimination meets a zero pivot.
template <class Scalar>
double least_condition(const HostMatrix<Scalar>& A);

/// The relative change of A's entries, row by row, after which A·v = 0: maxᵢ |A·v|ᵢ / (|A||v|)ᵢ in long
/// double. It proves A to be that near to a singular matrix, whoever found v. Small entries of v may be
/// rounding errors of zeros, which leave large ratios in rows that the null vector does not touch. So the
/// least distance is taken of v and of copies without entries below a fraction of the largest, which are
/// compared as they are and multiplied by the maxima of their columns.
template <class Scalar>
double distance_to_singular(const HostMatrix<Scalar>& A, const std::vector<Scalar>& v);

/// The same in norms, of the matrix with rows and columns divided by powers of two so that their largest
/// entries are near 1: ‖Â·u‖∞ / (‖Â‖∞·‖u‖∞).
template <class Scalar>
double equilibrated_distance(const HostMatrix<Scalar>& A, const std::vector<Scalar>& v);

/// Inertia of a symmetric matrix from the eigenvalues of the equilibrated one; empty if one of them is below
/// 10⁻¹⁰ of the largest, or the matrix is too large.
std::optional<Reference::Inertia> separated_inertia(const HostMatrix<double>& A);

}  // namespace lutra::Campaign

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maximum product matching: I. S. Duff and J. Koster, SIAM J. Matrix Anal. Appl. 22 (2001), section 4. The
// product of the matched magnitudes is a maximum where the sum of the costs log(max of the row) − log|a| is a
// minimum, and the dual of that assignment problem gives the scaling.
#include "Lutra_Matching.hpp"

#include <cfloat>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "Lutra_EntryCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingParts.hpp"

namespace lutra {
namespace {

/// The matching of a matrix whose diagonal entries are the largest of their rows, which are scaled to 1.
/// Returns an empty optional for other matrices, and for numbers whose reciprocals lose digits; mostly after
/// a few rows.
template <class Scalar>
std::optional<MatchingResult> match_dominant_diagonal(
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<double> row_scale(n);
  for (Ordinal r = 0; r < matrix.n_rows; ++r) {
    double largest = 0, diagonal = 0;
    for (Offset k = matrix.row_map(r); k < matrix.row_map(r + 1); ++k) {
      const double size = Impl::magnitude_in_double(matrix.values(k));
      largest = size > largest ? size : largest;
      diagonal = matrix.entries(k) == r ? size : diagonal;
    }
    const double scale = 1 / largest;
    if (!(diagonal == largest && largest >= DBL_MIN && scale >= DBL_MIN)) return std::nullopt;
    row_scale[static_cast<std::size_t>(r)] = scale;
  }
  MatchingResult result;
  result.structural_rank = result.numeric_rank_bound = matrix.n_rows;
  result.row_of_column.resize(n);
  std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  result.row_scale = std::move(row_scale);
  result.col_scale.assign(n, 1.0);
  return result;
}

}  // namespace

template <class Scalar>
MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix,
                           const RunControl& run) {
  Impl::require_square(matrix.n_rows, matrix.n_cols);
  if (auto result = match_dominant_diagonal(matrix)) return *std::move(result);
  Impl::HostCosts cost(matrix);
  Impl::Assignment assignment = Impl::assign(
      matrix.pattern(), cost.of_entry, {}, [&](Ordinal r) { cost.complete(r); }, run);
  return assignment.perfect ? Impl::perfect_matching(std::move(assignment), cost.row_origin)
                            : Impl::deficient_matching(matrix.pattern(), cost, run);
}

#define LUTRA_MATCHING(Scalar)                                                                    \
  template MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, \
                                      const RunControl&);
LUTRA_FOR_EACH_SCALAR(LUTRA_MATCHING)

}  // namespace lutra

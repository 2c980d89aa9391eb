// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maximum product matching: I. S. Duff and J. Koster, SIAM J. Matrix Anal. Appl. 22 (2001), section 4. The
// product of the matched magnitudes is a maximum where the sum of the costs log(max of the row) − log|a| is a
// minimum, and the dual of that assignment problem gives the scaling.
#include "Lutra_Matching.hpp"

#include <utility>

#include "Lutra_EntryCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingParts.hpp"

namespace lutra {

template <class Scalar>
MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  Impl::require_square(matrix.n_rows, matrix.n_cols);
  Impl::HostCosts cost(matrix);
  Impl::Assignment assignment =
      Impl::assign(matrix.pattern(), cost.of_entry, {}, [&](Ordinal r) { cost.complete(r); });
  return assignment.perfect ? Impl::perfect_matching(std::move(assignment), cost.row_origin)
                            : Impl::deficient_matching(matrix.pattern(), cost);
}

#define LUTRA_MATCHING(Scalar) \
  template MatchingResult match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&);
LUTRA_FOR_EACH_SCALAR(LUTRA_MATCHING)

}  // namespace lutra

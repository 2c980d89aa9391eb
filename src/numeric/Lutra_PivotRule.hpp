// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTRULE_HPP
#define LUTRA_PIVOTRULE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Interchanges within fronts.
enum class Interchanges {
  rows,      ///< threshold partial pivoting
  pairs,     ///< symmetric: columns in order, one or two at a time
  symmetric  ///< symmetric: the best of all columns of a block (Lutra_SymmetricPivots.hpp)
};

/// Threshold pivoting within blocks of pivots, and static perturbation: small pivots are replaced by
/// a value of the threshold's magnitude and the same argument.
template <class Scalar>
struct PivotRule {
  RealOf<Scalar> threshold;
  RealOf<Scalar> keep = 0;  ///< a diagonal entry is accepted if it is at least this times the largest entry
                            ///< of its column in the block; 0: always
  int block = 0;            ///< number of pivots among which rows may be interchanged
  Interchanges kind = Interchanges::rows;

  /// A better column is searched if the diagonal entry is less than this times the largest other one.
  KOKKOS_FUNCTION RealOf<Scalar> strict() const { return Kokkos::sqrt(keep); }
  KOKKOS_FUNCTION bool interchanges() const { return keep > RealOf<Scalar>(0); }
  /// End of the block that contains pivot j of `pivots`.
  KOKKOS_FUNCTION int block_end(int j, int pivots) const {
    const int begin = j - j % block;
    return pivots - begin < block ? pivots : begin + block;
  }

  /// The pivot to use; sets `perturbed` if it differs from the given one.
  KOKKOS_FUNCTION Scalar operator()(const Scalar& pivot, bool& perturbed) const {
    const auto size = ScalarTraits<Scalar>::magnitude(pivot);
    perturbed = size < threshold;
    if (!perturbed) return pivot;
    return size > RealOf<Scalar>(0) ? pivot * (threshold / size) : Scalar(threshold);
  }
};

}  // namespace lutra::Impl

#endif

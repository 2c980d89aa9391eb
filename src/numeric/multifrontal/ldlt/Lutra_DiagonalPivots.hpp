// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALPIVOTS_HPP
#define LUTRA_DIAGONALPIVOTS_HPP

#include <limits>

#include "Lutra_FrontLu.hpp"

namespace lutra {

/// Diagonal of an LU factorization without interchanges of a symmetric or Hermitian matrix. U = D·Lᵀ (or
/// D·Lᴴ), so U's diagonal is D; all pivots are 1 × 1 and give the inertia.
struct DiagonalPivots {
  double largest_l = 0;  ///< max |entry of L| below its diagonal; infinity where one is not finite
  double largest_d = 0;  ///< max |entry of D|; likewise
  double smallest_d = std::numeric_limits<double>::infinity();  ///< min |entry of D|
  std::int64_t positive = 0;                                    ///< entries of D with positive real part
  std::int64_t negative = 0;                                    ///< entries of D with negative real part
};

/// Computes these values from the factors. Cost: one read of L. Fences.
/// @param factors of a factorization without interchanges
template <class Scalar, class ExecutionSpace>
DiagonalPivots inspect_diagonal_pivots(const ExecutionSpace& exec,
                                       const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                       const FrontFactors<Scalar, ExecutionSpace>& factors);

}  // namespace lutra

#endif

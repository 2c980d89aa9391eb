// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALPIVOTS_HPP
#define LUTRA_DIAGONALPIVOTS_HPP

#include <limits>

#include "Lutra_FrontLu.hpp"

namespace lutra {

/// Pivots of an LU factorization of a symmetric or Hermitian matrix without interchanges, or with symmetric
/// ones. U = D·Lᵀ (or D·Lᴴ) up to the interchanged rows of pivots of order two, so that D gives the inertia.
struct DiagonalPivots {
  double largest_l = 0;     ///< max |entry of L| below its diagonal; infinity where one is not finite
  double largest_term = 0;  ///< bound on the entries of L(:, k)·D(k, k)·L(:, k)ᵀ for all pivots k; likewise
  double largest_d = 0;     ///< max |entry of D|; likewise
  double smallest_d = std::numeric_limits<double>::infinity();  ///< min |pivot of U|
  std::int64_t positive = 0;                                    ///< positive eigenvalues of D
  std::int64_t negative = 0;                                    ///< negative eigenvalues of D
  std::int64_t pairs = 0;                                       ///< pivots of order two

  /// Adds those of other fronts.
  KOKKOS_FUNCTION void add(const DiagonalPivots& other) {
    largest_l = Kokkos::max(largest_l, other.largest_l);
    largest_term = Kokkos::max(largest_term, other.largest_term);
    largest_d = Kokkos::max(largest_d, other.largest_d);
    smallest_d = Kokkos::min(smallest_d, other.smallest_d);
    positive += other.positive;
    negative += other.negative;
    pairs += other.pairs;
  }
};

/// Computes these values from the factors; of a part of a tree, from its own pivots. Cost: one read of L.
/// Fences.
/// @param factors of a factorization without interchanges, or with symmetric ones
template <class Scalar, class ExecutionSpace>
DiagonalPivots inspect_diagonal_pivots(const ExecutionSpace& exec,
                                       const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                       const FrontFactors<Scalar, ExecutionSpace>& factors);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERING_HPP
#define LUTRA_ORDERING_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Fill-reducing orderings of a symmetric pattern.
enum class Ordering {
  automatic,  ///< AMD, or METIS where its factorization is forecast to be cheaper
  metis,      ///< nested dissection
  amd,        ///< approximate minimum degree
  natural,    ///< as the matrix comes
  user        ///< a permutation the caller hands over
};

/// An ordering and why it was taken.
template <class Ordinal>
struct OrderingResult {
  std::vector<Ordinal> permutation;   ///< [n] permutation[k] is the row and column eliminated as k-th
  Ordering kind = Ordering::natural;  ///< what was used; never `automatic`
  std::string why;                    ///< one sentence for the report
};

/// Orders the pattern of A + Aᵀ, diagonal ignored, on the host.
///
/// @param pattern square; rows sorted, no entry twice
/// @param kind    not `user`: a given permutation needs no computing (see `check_permutation`)
/// @throws InputError where the pattern is not square or is too large for the ordering's own index type
/// @throws OutOfMemoryError
template <class Ordinal, class Offset>
OrderingResult<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind);

/// Throws InputError naming the first place where `permutation` is not a permutation of 0 … n−1.
void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n);

}  // namespace lutra

#endif

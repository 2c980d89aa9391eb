// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERING_HPP
#define LUTRA_ORDERING_HPP

#include <cstdint>
#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra {

/// Fill-reducing orderings of a symmetric pattern.
enum class Ordering {
  automatic,  ///< AMD, or nested dissection if predicted to be cheaper overall (`Lutra_ChooseOrdering.hpp`)
  metis,      ///< nested dissection by METIS
  nd,         ///< nested dissection by Lutra (`Lutra_NestedDissection.hpp`), on the host or a device
  amd,        ///< approximate minimum degree, after reduction (`Lutra_MinimumDegree.hpp`)
  rcm,        ///< reverse Cuthill–McKee: small bandwidth, for incomplete factors
  natural,    ///< the given order of the matrix
  user        ///< a permutation given by the caller
};

/// Command-line name of an ordering.
std::string_view name_of(Ordering ordering);

/// Orders the pattern of A + Aᵀ without its diagonal, on the host. Equal patterns give equal orders.
/// @param pattern square; rows sorted, without duplicates
/// @param kind    metis, nd, amd, rcm or natural; for a user's permutation see `check_permutation`
/// @return [n] row and column eliminated as k-th
/// @throws InputError if the pattern is not square or too large for the ordering's index type, or `kind` is
/// none of these
/// @param run     limits in time, of amd and nd. METIS cannot be stopped
/// @throws OutOfMemoryError, CancelledError
std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind,
                           const RunControl& run = {});

/// Checks that `permutation` is a permutation of 0 … n − 1.
/// @throws InputError naming the first entry that violates this
void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n);

}  // namespace lutra

#endif

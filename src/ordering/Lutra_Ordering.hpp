// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERING_HPP
#define LUTRA_ORDERING_HPP

#include <cstdint>
#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MinimumDegree.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Fill-reducing orderings of a symmetric pattern.
enum class Ordering {
  automatic,  ///< AMD, or nested dissection where it is predicted to pay
              ///< (`Lutra_ChooseOrdering.hpp`)
  metis,      ///< nested dissection by METIS
  nd,         ///< nested dissection by Lutra (`Lutra_NestedDissection.hpp`), on the host or a device
  amd,        ///< approximate minimum degree, after reduction (`Lutra_MinimumDegree.hpp`)
  rcm,        ///< reverse Cuthill–McKee: narrow bands, for incomplete factors
  natural,    ///< as the matrix comes
  user        ///< a permutation the caller hands over
};

/// Whose threads dissect where `Ordering::nd` is asked for.
enum class Dissector {
  host,   ///< `Kokkos::DefaultHostExecutionSpace`
  device  ///< `Kokkos::DefaultExecutionSpace`; the host where the device has no room
};

/// How an order is made.
struct OrderingLimits {
  Dissector dissector = Dissector::host;
  DegreeWork* amd = nullptr;  ///< what `Ordering::amd` takes and may take; nothing: any
};

/// The name of an ordering as the command line has it.
std::string_view name_of(Ordering ordering);

/// Orders the pattern of A + Aᵀ, diagonal ignored, on the host. The same pattern gives the same order.
/// @param pattern square; rows sorted, no entry twice
/// @param kind    metis, nd, amd, rcm or natural: a user's permutation needs no computing, see
/// `check_permutation`
/// @return [n] the row and column eliminated as k-th
/// @throws InputError where the pattern is not square or too large for the ordering's own index type, or
///         `kind` is none of those
/// @throws OutOfMemoryError
std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind);

/// The same for a graph that is there already. Several threads may order at once; METIS is called by one
/// after the other, since it has one random number generator for the process. Empty where amd was given up.
/// @param weights [n] positive weights of vertices: METIS balances them, amd counts them; empty: all 1
template <class Index>
std::vector<Index> order(const SymmetricGraph<Index>& graph, Ordering kind,
                         const std::vector<Index>& weights = {}, const OrderingLimits& limits = {});

/// Whether METIS' index type counts the edges of a graph.
template <class Index>
bool metis_can_order(const SymmetricGraph<Index>& graph);

/// Throws InputError naming the first entry by which `permutation` is not a permutation of 0 … n−1.
void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n);

}  // namespace lutra

#endif

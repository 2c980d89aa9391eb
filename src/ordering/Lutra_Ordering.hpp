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
  automatic,  ///< AMD, or nested dissection if predicted to be cheaper overall (`Lutra_ChooseOrdering.hpp`)
  metis,      ///< nested dissection by METIS
  nd,         ///< nested dissection by Lutra (`Lutra_NestedDissection.hpp`), on the host or a device
  amd,        ///< approximate minimum degree, after reduction (`Lutra_MinimumDegree.hpp`)
  rcm,        ///< reverse Cuthill–McKee: small bandwidth, for incomplete factors
  natural,    ///< the given order of the matrix
  user        ///< a permutation given by the caller
};

/// Where `Ordering::nd` runs.
enum class Dissector {
  host,   ///< `Kokkos::DefaultHostExecutionSpace`
  device  ///< `Kokkos::DefaultExecutionSpace`; falls back to the host if the device lacks memory
};

/// Execution and limits of an ordering.
struct OrderingLimits {
  Dissector dissector = Dissector::host;
  DegreeWork* amd = nullptr;  ///< work counter and limit of `Ordering::amd`; nullptr: no limit
};

/// Command-line name of an ordering.
std::string_view name_of(Ordering ordering);

/// Orders the pattern of A + Aᵀ without its diagonal, on the host. Equal patterns give equal orders.
/// @param pattern square; rows sorted, without duplicates
/// @param kind    metis, nd, amd, rcm or natural; for a user's permutation see `check_permutation`
/// @return [n] row and column eliminated as k-th
/// @throws InputError if the pattern is not square or too large for the ordering's index type, or `kind` is
/// none of these
/// @throws OutOfMemoryError
std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind);

/// Overload for an existing graph. Thread-safe; calls of METIS are serialized because its random number
/// generator is global. The result is empty if `limits.amd` stopped amd.
/// @param weights [n] positive weights of vertices: METIS balances them, amd uses them in degrees; empty: all
/// 1
template <class Index>
std::vector<Index> order(const SymmetricGraph<Index>& graph, Ordering kind,
                         const std::vector<Index>& weights = {}, const OrderingLimits& limits = {});

/// Whether METIS' index type can count the edges of a graph.
template <class Index>
bool metis_can_order(const SymmetricGraph<Index>& graph);

/// Checks that `permutation` is a permutation of 0 … n − 1.
/// @throws InputError naming the first entry that violates this
void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n);

}  // namespace lutra

#endif

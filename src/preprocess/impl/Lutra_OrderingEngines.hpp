// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERINGENGINES_HPP
#define LUTRA_ORDERINGENGINES_HPP

#include <cstddef>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// Approximate minimum degree (AMD of SuiteSparse): [n] vertex eliminated as k-th.
template <class Index>
std::vector<Index> amd_permutation(const SymmetricGraph<Index>& graph);

/// The largest number of entries of `neighbours` that METIS' index type can count.
std::size_t max_metis_entries();

/// Nested dissection (METIS), seeded: the same graph gives the same answer. [n] vertex eliminated as k-th.
/// @throws InputError where METIS' index type is too narrow for the graph
template <class Index>
std::vector<Index> metis_permutation(const SymmetricGraph<Index>& graph);

}  // namespace lutra::Impl

#endif

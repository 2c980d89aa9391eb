// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERGRAPH_HPP
#define LUTRA_ORDERGRAPH_HPP

#include <vector>

#include "Lutra_Ordering.hpp"
#include "Lutra_RunControl.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Overload of `order` for an existing graph. `nd` uses all host threads. Thread-safe; calls of METIS are
/// serialized because its random number generator is global.
/// @param weights [n] positive weights of vertices: METIS balances them, amd uses them in degrees; empty: all
/// 1
/// @param run     limits in time of amd and nd. METIS cannot be stopped
/// @throws CancelledError by those limits
template <class Index>
std::vector<Index> order(const SymmetricGraph<Index>& graph, Ordering kind,
                         const std::vector<Index>& weights = {}, const RunControl& run = {});

/// Whether METIS' index type can count the edges of a graph.
template <class Index>
bool metis_can_order(const SymmetricGraph<Index>& graph);

}  // namespace lutra

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MinimumDegree.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_QuotientGraph.hpp"

namespace lutra {

template <class Index>
std::vector<Index> minimum_degree(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights,
                                  Index n_boundary) {
  const Index n = graph.size();
  if (!weights.empty() && weights.size() != static_cast<std::size_t>(n)) {
    throw InputError("weights: has " + std::to_string(weights.size()) + " entries for " + std::to_string(n) +
                     " vertices");
  }
  if (n_boundary < 0 || n_boundary > n) {
    throw InputError("n_boundary: is " + std::to_string(n_boundary) + " of " + std::to_string(n) +
                     " vertices");
  }
  std::vector<Index> permutation(static_cast<std::size_t>(n - n_boundary));
  Impl::QuotientGraph<Index> quotient;
  quotient.begin(n, n_boundary, graph.row_map.data(), graph.neighbours.data(),
                 weights.empty() ? nullptr : weights.data());
  quotient.advance();
  quotient.write(permutation.data());
  return permutation;
}

template std::vector<int> minimum_degree(const SymmetricGraph<int>&, const std::vector<int>&, int);
template std::vector<std::int64_t> minimum_degree(const SymmetricGraph<std::int64_t>&,
                                                  const std::vector<std::int64_t>&, std::int64_t);

}  // namespace lutra

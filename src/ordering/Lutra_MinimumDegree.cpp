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
                                  Index n_boundary, DegreeWork* work) {
  const Index n = graph.size();
  if (!weights.empty() && weights.size() != static_cast<std::size_t>(n)) {
    throw InputError("weights: has " + std::to_string(weights.size()) + " entries for " + std::to_string(n) +
                     " vertices");
  }
  if (n_boundary < 0 || n_boundary > n) {
    throw InputError("n_boundary: is " + std::to_string(n_boundary) + " of " + std::to_string(n) +
                     " vertices");
  }
  if (work != nullptr) {
    work->vertices = n;
    work->edges = static_cast<std::int64_t>(graph.neighbours.size());
  }
  std::vector<Index> permutation(static_cast<std::size_t>(n - n_boundary));
  const bool done = Impl::QuotientGraph<Index>().order(
      n, n_boundary, graph.row_map.data(), graph.neighbours.data(),
      weights.empty() ? nullptr : weights.data(), permutation.data(), work);
  if (!done) permutation.clear();
  return permutation;
}

template std::vector<int> minimum_degree(const SymmetricGraph<int>&, const std::vector<int>&, int,
                                         DegreeWork*);
template std::vector<std::int64_t> minimum_degree(const SymmetricGraph<std::int64_t>&,
                                                  const std::vector<std::int64_t>&, std::int64_t,
                                                  DegreeWork*);

}  // namespace lutra

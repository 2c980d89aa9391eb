// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Ordering.hpp"

#include <cstddef>
#include <numeric>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_OrderingEngines.hpp"

namespace lutra {
namespace {

template <class Index>
std::vector<Index> natural_order(Index n) {
  std::vector<Index> permutation(static_cast<std::size_t>(n));
  std::iota(permutation.begin(), permutation.end(), Index(0));
  return permutation;
}

template <class Ordinal, class Index, class Offset>
std::vector<Ordinal> order_with(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                Ordering kind) {
  const auto permutation = order(symmetric_graph<Index>(pattern), kind);
  return std::vector<Ordinal>(permutation.begin(), permutation.end());
}

}  // namespace

template <class Ordinal, class Offset>
std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind) {
  if (pattern.n_rows != pattern.n_cols) {
    throw InputError("pattern: only a square matrix is ordered, this one has " +
                     std::to_string(pattern.n_rows) + " rows and " + std::to_string(pattern.n_cols) +
                     " columns");
  }
  if (kind == Ordering::natural) return natural_order(pattern.n_rows);
  return graph_fits_int(pattern) ? order_with<Ordinal, int>(pattern, kind)
                                 : order_with<Ordinal, std::int64_t>(pattern, kind);
}

template <class Index>
std::vector<Index> order(const SymmetricGraph<Index>& graph, Ordering kind) {
  switch (kind) {
    case Ordering::amd:
      return Impl::amd_permutation(graph);
    case Ordering::metis:
      return Impl::metis_permutation(graph);
    case Ordering::natural:
      return natural_order(graph.size());
    case Ordering::user:
      throw InputError("kind: a user's permutation is not computed; hand it to the solver");
    default:
      throw InputError("kind: `automatic` is chosen before it is computed (order_automatically)");
  }
}

template <class Index>
bool metis_can_order(const SymmetricGraph<Index>& graph) {
  return graph.neighbours.size() <= Impl::max_metis_entries();
}

void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n) {
  if (static_cast<std::int64_t>(permutation.size()) != n) {
    throw InputError("permutation: has " + std::to_string(permutation.size()) + " entries for " +
                     std::to_string(n) + " rows");
  }
  std::vector<std::int64_t> position(permutation.size(), -1);  // of each number
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    const std::int64_t v = permutation[k];
    if (v < 0 || v >= n) {
      throw InputError("permutation: entry " + std::to_string(k) + " is " + std::to_string(v) +
                       ", outside 0 to " + std::to_string(n - 1));
    }
    std::int64_t& first = position[static_cast<std::size_t>(v)];
    if (first >= 0) {
      throw InputError("permutation: entries " + std::to_string(first) + " and " + std::to_string(k) +
                       " are both " + std::to_string(v));
    }
    first = static_cast<std::int64_t>(k);
  }
}

#define LUTRA_INSTANTIATE(Index)                                             \
  template std::vector<Index> order(const SymmetricGraph<Index>&, Ordering); \
  template bool metis_can_order(const SymmetricGraph<Index>&);
LUTRA_INSTANTIATE(int)
LUTRA_INSTANTIATE(std::int64_t)
#undef LUTRA_INSTANTIATE

#define LUTRA_INSTANTIATE(Ordinal, Offset) \
  template std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, Ordering);
LUTRA_FOR_EACH_PATTERN(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_OrderGraph.hpp"

#include <metis.h>

#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ReverseCuthillMcKee.hpp"
#include "Lutra_TwoOrders.hpp"

namespace lutra {
namespace {

template <class Index>
std::vector<Index> natural_order(Index n) {
  std::vector<Index> permutation(static_cast<std::size_t>(n));
  std::iota(permutation.begin(), permutation.end(), Index(0));
  return permutation;
}

constexpr idx_t metis_seed = 1;  // arbitrary but fixed, so that equal graphs give equal orders

// METIS removes vertices with more than 20 times the average degree and orders them last (its unit is 0.1). A
// vertex of very high degree belongs to every good separator, but METIS takes long to find that out.
constexpr idx_t metis_dense_factor = 200;

template <class To, class From>
std::vector<To> copy_as(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
  return to;
}

template <class Index>
std::size_t graph_bytes(const SymmetricGraph<Index>& graph) {
  return (graph.row_map.size() + graph.neighbours.size()) * sizeof(Index);
}

std::array<idx_t, METIS_NOPTIONS> metis_options() {
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = metis_seed;
  options[METIS_OPTION_PFACTOR] = metis_dense_factor;
  return options;
}

template <class Index>
std::vector<Index> metis_permutation(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights) {
  const Index n = graph.size();
  if (graph.neighbours.empty()) return natural_order(n);  // METIS needs an edge
  if (!metis_can_order(graph)) {
    throw InputError("pattern: " + std::to_string(graph.neighbours.size()) +
                     " edges are more than this METIS can count (" + std::to_string(8 * sizeof(idx_t)) +
                     "-bit indices); order by AMD");
  }
  std::vector<idx_t> row_map = copy_as<idx_t>(graph.row_map), neighbours = copy_as<idx_t>(graph.neighbours),
                     vertex_weights = copy_as<idx_t>(weights);
  std::vector<idx_t> permutation(static_cast<std::size_t>(n)), position(static_cast<std::size_t>(n));
  auto vertices = static_cast<idx_t>(n);
  auto options = metis_options();
  // METIS has a global random number generator: concurrent calls would disturb each other, and the
  // permutation would depend on timing.
  static std::mutex metis_mutex;
  const std::lock_guard lock(metis_mutex);
  // In METIS, `perm` holds the vertex eliminated as k-th, and `iperm` the position of each vertex.
  const int status = METIS_NodeND(&vertices, row_map.data(), neighbours.data(),
                                  weights.empty() ? nullptr : vertex_weights.data(), options.data(),
                                  permutation.data(), position.data());
  if (status == METIS_ERROR_MEMORY) {
    throw OutOfMemoryError("METIS found no memory to order " + std::to_string(n) + " rows",
                           graph_bytes(graph));
  }
  if (status != METIS_OK)
    throw InputError(
        "pattern: METIS gave up; are its rows sorted, without repetition? It also does so where the process "
        "is to end (SIGTERM)");
  return copy_as<Index>(permutation);
}

template <class Index, class Offset>
std::vector<Ordinal> order_with(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                Ordering kind) {
  const auto permutation = order(symmetric_graph<Index>(pattern), kind);
  return std::vector<Ordinal>(permutation.begin(), permutation.end());
}

}  // namespace

std::string_view name_of(Ordering ordering) {
  switch (ordering) {
    case Ordering::metis:
      return "metis";
    case Ordering::nd:
      return "nd";
    case Ordering::amd:
      return "amd";
    case Ordering::rcm:
      return "rcm";
    case Ordering::user:
      return "user";
    case Ordering::natural:
      return "natural";
    default:
      return "auto";
  }
}

std::vector<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind) {
  if (kind == Ordering::natural && pattern.n_rows == pattern.n_cols) return natural_order(pattern.n_rows);
  return graph_fits_int(pattern) ? order_with<int>(pattern, kind) : order_with<std::int64_t>(pattern, kind);
}

template <class Index>
std::vector<Index> order(const SymmetricGraph<Index>& graph, Ordering kind,
                         const std::vector<Index>& weights) {
  switch (kind) {
    case Ordering::amd: {
      TwoOrders<Index> orders(graph, weights);
      orders.advance_degree();
      return orders.degree_order();
    }
    case Ordering::metis:
      return metis_permutation(graph, weights);
    case Ordering::nd: {
      TwoOrders<Index> orders(graph, weights);
      orders.dissect();
      if (!orders.has_dissection())
        throw OutOfMemoryError(
            "there is not enough memory for nested dissection of " + std::to_string(graph.size()) + " rows",
            0);
      return orders.dissection_order();
    }
    case Ordering::rcm:
      return Impl::ReverseCuthillMcKee<Index>(graph).order();
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
  return graph.neighbours.size() <= static_cast<std::size_t>(std::numeric_limits<idx_t>::max());
}

void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n) {
  if (static_cast<std::int64_t>(permutation.size()) != n) {
    throw InputError("permutation: has " + std::to_string(permutation.size()) + " entries for " +
                     std::to_string(n) + " rows");
  }
  std::vector<std::int64_t> position(permutation.size(), -1);  // position of each number
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

#define LUTRA_ORDERING(Index)                                                                           \
  template std::vector<Index> order(const SymmetricGraph<Index>&, Ordering, const std::vector<Index>&); \
  template bool metis_can_order(const SymmetricGraph<Index>&);
LUTRA_ORDERING(int)
LUTRA_ORDERING(std::int64_t)
#undef LUTRA_ORDERING

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_OrderingEngines.hpp"

#include <amd.h>
#include <metis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <type_traits>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

constexpr idx_t metis_seed = 1;  // any fixed number, so that the same graph gives the same order

// METIS removes vertices of more than 20 times the average degree and orders them last (its unit is 0.1). A
// vertex of very high degree belongs to every good separator, and finding that out takes METIS long.
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

void call_amd(int n, const int* row_map, const int* neighbours, int* permutation, double* info) {
  amd_order(n, row_map, neighbours, permutation, nullptr, info);
}

void call_amd(SuiteSparse_long n, const SuiteSparse_long* row_map, const SuiteSparse_long* neighbours,
              SuiteSparse_long* permutation, double* info) {
  amd_l_order(n, row_map, neighbours, permutation, nullptr, info);
}

template <class Index>
std::vector<Index> identity(Index n) {
  std::vector<Index> permutation(static_cast<std::size_t>(n));
  std::iota(permutation.begin(), permutation.end(), Index(0));
  return permutation;
}

std::array<idx_t, METIS_NOPTIONS> metis_options() {
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = metis_seed;
  options[METIS_OPTION_PFACTOR] = metis_dense_factor;
  return options;
}

}  // namespace

std::size_t max_metis_entries() {
  return static_cast<std::size_t>(std::numeric_limits<idx_t>::max());
}

template <class Index>
std::vector<Index> amd_permutation(const SymmetricGraph<Index>& graph) {
  using AmdIndex = std::conditional_t<sizeof(Index) == sizeof(int), int, SuiteSparse_long>;
  const Index n = graph.size();
  if (graph.neighbours.empty()) return identity(n);
  std::vector<AmdIndex> permutation(static_cast<std::size_t>(n));
  std::array<double, AMD_INFO> info{};
  const std::vector<AmdIndex> row_map = copy_as<AmdIndex>(graph.row_map);
  const std::vector<AmdIndex> neighbours = copy_as<AmdIndex>(graph.neighbours);
  call_amd(static_cast<AmdIndex>(n), row_map.data(), neighbours.data(), permutation.data(), info.data());
  if (info[AMD_STATUS] == AMD_OUT_OF_MEMORY) {
    throw OutOfMemoryError("AMD found no memory to order " + std::to_string(n) + " rows", graph_bytes(graph));
  }
  if (info[AMD_STATUS] != AMD_OK)
    throw InputError("pattern: AMD refused it; are its rows sorted, without repetition?");
  return copy_as<Index>(permutation);
}

template <class Index>
std::vector<Index> metis_permutation(const SymmetricGraph<Index>& graph) {
  const Index n = graph.size();
  if (graph.neighbours.empty()) return identity(n);  // METIS needs an edge
  if (graph.neighbours.size() > max_metis_entries()) {
    throw InputError("pattern: " + std::to_string(graph.neighbours.size()) +
                     " edges are more than this METIS can count (" + std::to_string(8 * sizeof(idx_t)) +
                     "-bit indices); order by AMD");
  }
  std::vector<idx_t> row_map = copy_as<idx_t>(graph.row_map), neighbours = copy_as<idx_t>(graph.neighbours);
  std::vector<idx_t> permutation(static_cast<std::size_t>(n)), position(static_cast<std::size_t>(n));
  auto vertices = static_cast<idx_t>(n);
  auto options = metis_options();
  // METIS draws its random numbers from one generator for the process: calls of two threads would disturb
  // each other, and the permutation would depend on timing.
  static std::mutex metis_mutex;
  const std::lock_guard lock(metis_mutex);
  // METIS calls `perm` the array that tells which vertex comes k-th, and `iperm` the position of each vertex.
  const int status = METIS_NodeND(&vertices, row_map.data(), neighbours.data(), nullptr, options.data(),
                                  permutation.data(), position.data());
  if (status == METIS_ERROR_MEMORY) {
    throw OutOfMemoryError("METIS found no memory to order " + std::to_string(n) + " rows",
                           graph_bytes(graph));
  }
  if (status != METIS_OK)
    throw InputError("pattern: METIS refused it; are its rows sorted, without repetition?");
  return copy_as<Index>(permutation);
}

#define LUTRA_INSTANTIATE(Index)                                             \
  template std::vector<Index> amd_permutation(const SymmetricGraph<Index>&); \
  template std::vector<Index> metis_permutation(const SymmetricGraph<Index>&);
LUTRA_INSTANTIATE(int)
LUTRA_INSTANTIATE(std::int64_t)
#undef LUTRA_INSTANTIATE

}  // namespace lutra::Impl

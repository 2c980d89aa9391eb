// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfOrderings.hpp"

#include <metis.h>
#ifdef LUTRA_PERF_ORDERING_AMD
#include <amd.h>
#endif

#include <stdexcept>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_OrderGraph.hpp"
#include "Lutra_PerfMatched.hpp"

namespace lutra::Perf {
namespace {

/// METIS as the library calls it, with any seed.
std::vector<int> order_by_metis(const SymmetricGraph<int>& graph, int seed) {
  std::vector<idx_t> row_map(graph.row_map.begin(), graph.row_map.end()),
      neighbours(graph.neighbours.begin(), graph.neighbours.end());
  auto n = static_cast<idx_t>(graph.size());
  std::vector<idx_t> permutation(row_map.size()), position(row_map.size());
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = seed;
  options[METIS_OPTION_PFACTOR] = 200;  // vertices of more than 20 times the average degree come last
  if (METIS_NodeND(&n, row_map.data(), neighbours.data(), nullptr, options, permutation.data(),
                   position.data()) != METIS_OK)
    throw std::runtime_error("METIS_NodeND failed, or caught a SIGTERM that was meant for the program");
  return {permutation.begin(), permutation.end() - 1};
}

#ifdef LUTRA_PERF_ORDERING_AMD
std::vector<int> order_by_suitesparse(const SymmetricGraph<int>& graph) {
  std::vector<int> permutation(static_cast<std::size_t>(graph.size()));
  if (amd_order(graph.size(), graph.row_map.data(), graph.neighbours.data(), permutation.data(), nullptr,
                nullptr) != AMD_OK)
    throw std::runtime_error("amd_order failed");
  return permutation;
}
#endif

}  // namespace

OrderingProblem::OrderingProblem(const HostMatrix<double>& A)
    : matrix(A),
      matched(A),
      is_symmetric(A.n_rows == A.n_cols && matrix_properties(make_view(A)).value_symmetry == 1) {
  if (!is_symmetric) matched = matched_matrix(A);
  graph = symmetric_graph<int>(make_view(matched).pattern());
}

std::vector<OrderingKind> ordering_kinds() {
  std::vector<OrderingKind> kinds;
  const auto add = [&](std::string_view name, auto order) {
    kinds.push_back({std::string(name), [order](const OrderingProblem& problem) -> OrderBySeed {
                       return [order, &problem](int seed) { return order(problem, seed); };
                     }});
  };
  add("metis", [](const OrderingProblem& problem, int seed) { return order_by_metis(problem.graph, seed); });
  for (const Ordering ordering : {Ordering::nd, Ordering::amd})
    add(name_of(ordering),
        [ordering](const OrderingProblem& problem, int) { return order(problem.graph, ordering); });
  add("automatic", [](const OrderingProblem& problem, int) {
    return order_automatically(make_view(problem.matched).pattern(),
                               default_device_model<Kokkos::DefaultExecutionSpace>())
        .permutation;
  });
#ifdef LUTRA_PERF_ORDERING_AMD
  add("suitesparse amd",
      [](const OrderingProblem& problem, int) { return order_by_suitesparse(problem.graph); });
#endif
#ifdef LUTRA_PERF_ORDERING_SCOTCH
  add("scotch", [](const OrderingProblem& problem, int) { return order_by_scotch(problem.graph); });
#endif
#ifdef LUTRA_PERF_ORDERING_CUDSS
  kinds.push_back({"cudss", [](const OrderingProblem& problem) -> OrderBySeed {
                     return [order = cudss_ordering(problem)](int) { return order(); };
                   }});
#endif
  return kinds;
}

}  // namespace lutra::Perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFORDERINGS_HPP
#define LUTRA_PERFORDERINGS_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfMatrix.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Perf {

/// The matrix to order: a symmetric matrix unchanged, any other with matched entries on the diagonal.
struct OrderingProblem {
  HostMatrix<double> matrix;   ///< that of the user
  HostMatrix<double> matched;  ///< with rows in the order of the matching
  bool is_symmetric = false;
  SymmetricGraph<int> graph;  ///< of `matched` and its transpose

  /// @throws std::runtime_error for a structurally singular matrix
  explicit OrderingProblem(const HostMatrix<double>& A);
};

/// Finds the k-th vertex eliminated. Seeds start at 1; most methods ignore them.
using OrderBySeed = std::function<std::vector<int>(int seed)>;

/// An ordering method.
struct OrderingKind {
  std::string name;
  std::function<OrderBySeed(const OrderingProblem&)>
      prepare;  ///< untimed; the problem must outlive the result
};

/// METIS, then the methods of Lutra, then peers of this build.
std::vector<OrderingKind> ordering_kinds();

// Peers. Each is compiled if its library was found.
std::vector<int> order_by_scotch(const SymmetricGraph<int>& graph);
/// The reordering phase of cuDSS, on all cores if its threading layer was found, with the copy of the order
/// to the host.
std::function<std::vector<int>()> cudss_ordering(const OrderingProblem& problem);
/// cuDSS after analysis with a user permutation; its factorization is to be timed.
std::function<void()> cudss_factorization(const OrderingProblem& problem,
                                          const std::vector<int>& permutation);

}  // namespace lutra::Perf

#endif

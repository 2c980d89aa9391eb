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

/// What is ordered: a symmetric matrix as it is, another one with matched entries on the diagonal.
struct OrderingProblem {
  HostMatrix<double> matrix;   ///< the user's
  HostMatrix<double> matched;  ///< its rows in the order of the matching
  bool is_symmetric = false;
  SymmetricGraph<int> graph;  ///< of `matched` and its transpose

  /// @throws std::runtime_error for a structurally singular matrix
  explicit OrderingProblem(const HostMatrix<double>& A);
};

/// Finds the vertex eliminated as k-th. Seeds from 1 on, which most ignore.
using OrderBySeed = std::function<std::vector<int>(int seed)>;

/// One that orders.
struct OrderingKind {
  std::string name;
  std::function<OrderBySeed(const OrderingProblem&)>
      prepare;  ///< untimed; the problem must outlive the result
};

/// METIS first, Lutra's, peers of this build.
std::vector<OrderingKind> ordering_kinds();

// Peers, each in the build where its library was found.
std::vector<int> order_by_scotch(const SymmetricGraph<int>& graph);
/// By cuDSS's reordering phase, on all cores where its threading layer was found; with the copy of the order
/// to the host.
std::function<std::vector<int>()> cudss_ordering(const OrderingProblem& problem);
/// cuDSS with a user permutation, analyzed: the factorization to be timed.
std::function<void()> cudss_factorization(const OrderingProblem& problem,
                                          const std::vector<int>& permutation);

}  // namespace lutra::Perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TWOORDERS_HPP
#define LUTRA_TWOORDERS_HPP

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "Lutra_GraphReduction.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_OrderGraph.hpp"

namespace lutra {

namespace Impl {
template <class Index>
class QuotientGraph;
}

/// Minimum degree and nested dissection of one graph, after one reduction, one after the other or side by
/// side. Orders and visits depend only on the graph and on limits of visits, never on time or the number of
/// threads. Host memory: the reduced graph, the workspace of `minimum_degree` and that of
/// `nested_dissection`.
template <class Index>
class TwoOrders {
 public:
  /// Reduces the graph. Keeps no reference to it.
  /// @param weights [n] positive weights of vertices; empty: all 1
  /// @param budget  charged with the workspace of dissection; its control stops both orders by CancelledError
  explicit TwoOrders(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights = {},
                     const MemoryBudget& budget = {});
  ~TwoOrders();
  TwoOrders(const TwoOrders&) = delete;
  TwoOrders& operator=(const TwoOrders&) = delete;

  std::int64_t reduced_rows() const { return m_reduced.graph.size(); }
  std::int64_t reduced_edges() const {  ///< each edge is counted twice
    return static_cast<std::int64_t>(m_reduced.graph.neighbours.size());
  }

  /// Continues minimum degree on the calling thread until its visits exceed a limit.
  /// @return whether it is complete
  bool advance_degree(std::int64_t max_visits = std::numeric_limits<std::int64_t>::max());

  /// List entries that minimum degree has visited; locating a list counts as several. They dominate its time.
  std::int64_t visits() const { return m_visits; }

  /// Dissects with all host threads. Without memory for dissection there is none (`has_dissection`).
  /// @param goes_on called after the first bisection (`DissectionControl`); false stops dissection
  /// @throws as `nested_dissection`, except OutOfMemoryError; what `goes_on` throws
  void dissect(const std::function<bool(std::int64_t separator_weight)>& goes_on = {});

  /// One host thread continues minimum degree up to a limit, the others dissect meanwhile. It joins them
  /// unless minimum degree is complete and its order is enough. Then dissection stops, and its result is
  /// dropped even if it was complete, so that what follows does not depend on time.
  /// @param wants_dissection called at most once, by the thread that completed minimum degree; must not call
  /// Kokkos
  /// @throws what `wants_dissection` throws; as `dissect`, unless its result is not wanted
  void advance_both(std::int64_t max_visits, const std::function<bool()>& wants_dissection);

  bool has_degree() const { return m_has_degree; }
  bool has_dissection() const { return m_has_dissection; }

  /// [n] vertex eliminated as k-th; empty unless that order is complete.
  std::vector<Index> degree_order() const;
  std::vector<Index> dissection_order() const;

 private:
  ReducedGraph<Index> m_reduced;
  MemoryBudget m_budget;
  std::unique_ptr<Impl::QuotientGraph<Index>> m_quotient;  ///< while minimum degree is under way
  std::int64_t m_visits = 0;
  bool m_has_degree = false, m_has_dissection = false;
  std::vector<Index> m_degree, m_dissection;  ///< [reduced_rows] orders of the reduced graph
};

}  // namespace lutra

#endif

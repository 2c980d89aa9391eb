// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseOrdering.hpp"

#include <cstdio>
#include <utility>

#include "Lutra_Instantiate.hpp"
#include "Lutra_SymmetricMatching.hpp"

namespace lutra {
namespace {

double predicted_cost(const FillForecast& forecast, const OrderingCosts& costs) {
  return forecast.flops + costs.flops_per_step * static_cast<double>(forecast.height);
}

std::string in_words(const char* name, const FillForecast& forecast) {
  char text[128];
  std::snprintf(text, sizeof text, "%s (nnz(L) %.3g, %.3g flops, elimination tree of height %.3g)", name,
                static_cast<double>(forecast.nnz_l), forecast.flops, static_cast<double>(forecast.height));
  return text;
}

/// Orders a graph by AMD, and by METIS where the choice needs it.
template <class Ordinal, class Index, class Offset>
ChosenOrder<Ordinal> choose_with(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                 const OrderingCosts& costs, const std::vector<Ordinal>& partner) {
  const auto graph = symmetric_graph<Index>(pattern);
  const std::vector<Index> pairs(partner.begin(), partner.end());
  const auto order_by = [&](Ordering kind) {
    return pairs.empty() ? order(graph, kind) : order_pairs(graph, pairs, kind);
  };
  auto permutation = order_by(Ordering::amd);
  OrderingProperties properties;
  properties.rows = graph.size();
  properties.metis_can_order = metis_can_order(graph);
  properties.amd = forecast_fill(graph, permutation);
  OrderingChoice choice = choose_ordering(properties, costs);
  if (choice.ordering == Ordering::automatic) {
    auto metis = order_by(Ordering::metis);
    properties.metis = forecast_fill(graph, metis);
    choice = choose_ordering(properties, costs);
    if (choice.ordering == Ordering::metis) permutation = std::move(metis);
  }
  return {{permutation.begin(), permutation.end()}, choice.ordering, std::move(choice.reason)};
}

}  // namespace

OrderingChoice choose_ordering(const OrderingProperties& properties, const OrderingCosts& costs) {
  const std::string amd = in_words("AMD", properties.amd);
  const double amd_cost = predicted_cost(properties.amd, costs);
  if (properties.rows < costs.small_rows) return {Ordering::amd, amd + ": the matrix is small"};
  if (amd_cost < costs.low_cost_per_row * static_cast<double>(properties.rows))
    return {Ordering::amd, amd + ": its fill is so low that METIS was not tried"};
  if (!properties.metis_can_order) return {Ordering::amd, amd + ": the matrix is too large for METIS"};
  if (!properties.metis) return {Ordering::automatic, {}};
  const std::string metis = in_words("METIS", *properties.metis);
  const char* const than = " has lower predicted cost (flops and tree height) than ";
  if (predicted_cost(*properties.metis, costs) < amd_cost) return {Ordering::metis, metis + than + amd};
  return {Ordering::amd, amd + than + metis};
}

template <class Ordinal, class Offset>
ChosenOrder<Ordinal> order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                         const OrderingCosts& costs, const std::vector<Ordinal>& partner) {
  return graph_fits_int(pattern) ? choose_with<Ordinal, int>(pattern, costs, partner)
                                 : choose_with<Ordinal, std::int64_t>(pattern, costs, partner);
}

#define LUTRA_INSTANTIATE(Ordinal, Offset)                                                                 \
  template ChosenOrder<Ordinal> order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, \
                                                    const OrderingCosts&, const std::vector<Ordinal>&);
LUTRA_FOR_EACH_PATTERN(LUTRA_INSTANTIATE)

}  // namespace lutra

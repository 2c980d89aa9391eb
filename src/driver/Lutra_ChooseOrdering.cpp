// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseOrdering.hpp"

#include <cstdio>
#include <utility>

#include "Lutra_Instantiate.hpp"

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
                                 const OrderingCosts& costs) {
  const auto graph = symmetric_graph<Index>(pattern);
  auto permutation = order(graph, Ordering::amd);
  OrderingProperties properties;
  properties.rows = graph.size();
  properties.metis_can_order = metis_can_order(graph);
  properties.amd = forecast_fill(graph, permutation);
  OrderingChoice choice = choose_ordering(properties, costs);
  if (choice.ordering == Ordering::automatic) {
    auto metis = order(graph, Ordering::metis);
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
                                         const OrderingCosts& costs) {
  return graph_fits_int(pattern) ? choose_with<Ordinal, int>(pattern, costs)
                                 : choose_with<Ordinal, std::int64_t>(pattern, costs);
}

#define LUTRA_INSTANTIATE(Ordinal, Offset)                                                                 \
  template ChosenOrder<Ordinal> order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, \
                                                    const OrderingCosts&);
LUTRA_FOR_EACH_PATTERN(LUTRA_INSTANTIATE)

}  // namespace lutra

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseOrdering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_BlockTriangularForm.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SymmetricMatching.hpp"
#include "Lutra_TwoOrders.hpp"

namespace lutra {
namespace {

using Impl::formatted;

std::string in_words(const std::string& name, const FillForecast& forecast) {
  return formatted("%s (nnz(L) %.3g, %.3g flops, elimination tree of height %.3g and %.3g supernodes)",
                   name.c_str(), static_cast<double>(forecast.nnz_l), forecast.flops,
                   static_cast<double>(forecast.height), static_cast<double>(forecast.supernode_height));
}

/// Predicted seconds of nested dissection. Each level of its recursion processes the whole graph that remains
/// after reduction. The times of reduction and forecast are those of AMD.
double dissection_seconds(const OrderingProperties& properties, const OrderingCosts& costs) {
  OrderingProperties left;
  left.rows = properties.reduced ? properties.reduced->rows : properties.rows;
  left.edges = properties.reduced ? properties.reduced->edges : properties.edges;
  const int threads = properties.side_by_side ? properties.use.threads - 1 : properties.use.threads;
  const double levels = std::log2(static_cast<double>(std::max<std::int64_t>(left.rows, 2)));
  return predicted_seconds(costs.amd, properties, {}) +
         predicted_seconds(costs.dissection, left, {}) * levels *
             thread_share(costs.dissection_serial_share, threads);
}

/// Estimates the forecast of nested dissection from that of AMD.
FillForecast expected_dissection(const OrderingProperties& properties, const OrderingCosts& costs) {
  const FillForecast& amd = *properties.amd;
  const double rows = static_cast<double>(std::max<std::int64_t>(properties.rows, 1));
  const double tens = std::log10(std::max(amd.flops / rows / costs.saved_from_flops_per_row, 1.0));
  double share = 1 - std::min(costs.saved_share * tens, costs.max_saved_share);
  if (properties.first_separator) {
    // A dense matrix of the first separator takes 2 to 10 % of dissection's flops on meshes and at most about
    // a quarter elsewhere. Where nothing seems to be saved, a tenth may be.
    constexpr double max_separator_share = 0.25, min_saved_share = 0.1;
    const double separator = 2.0 / 3 * std::pow(static_cast<double>(*properties.first_separator), 3);
    const double expected = separator / std::max(max_separator_share * amd.flops, 1.0);
    share = std::max(share, std::min(expected, 1 - min_saved_share));
  }
  // The path of AMD may be a chain. The path of nested dissection is about as long as the number of rows r of
  // a dense matrix with the same flops, 2/3 r³; on meshes it is 0.5 to 0.9 of r.
  const double longest = 0.8 * std::cbrt(1.5 * amd.flops);
  const double height = static_cast<double>(amd.height);
  FillForecast expected = amd;
  expected.flops *= share;  // entries decrease as about the power 2/3 of flops
  expected.nnz_l = static_cast<std::int64_t>(static_cast<double>(amd.nnz_l) * std::pow(share, 2.0 / 3));
  expected.height = static_cast<std::int64_t>(std::min(height * (1 - costs.saved_height_share), longest));
  expected.supernode_height = static_cast<std::int64_t>(static_cast<double>(amd.supernode_height) *
                                                        std::min(longest / std::max(height, 1.0), 1.0));
  return expected;
}

/// Returns the seconds from the ordering to the last solution.
double total(const PredictedTimes& times, const OrderingUse& use) {
  return *times.analysis + use.factorizations * (*times.factorization + *times.solve);
}

template <class Index>
OrderingProperties properties_of(const SymmetricGraph<Index>& graph, const OrderingUse& use) {
  OrderingProperties properties;
  properties.rows = graph.size();
  properties.edges = static_cast<std::int64_t>(graph.neighbours.size());
  properties.use = use;
  return properties;
}

/// @param elimination elimination tree and counts for this permutation, or empty
template <class Index>
ChosenOrder chosen(SymmetricGraph<Index> graph, Elimination<Index> elimination, OrderingChoice choice,
                   const FillForecast& forecast) {
  std::vector<Ordinal> permutation(elimination.permutation.begin(), elimination.permutation.end());
  return {std::move(permutation), std::move(choice), forecast,
          OrderedGraph<Index>{std::move(graph), std::move(elimination)}, false};
}

/// Share of dissection's time until its first separator is known.
double share_of_first_bisection(const OrderingProperties& properties) {
  const double rows = static_cast<double>(properties.reduced ? properties.reduced->rows : properties.rows);
  constexpr double leaf_rows = 400;
  return 2 / (2 + std::max(std::log2(std::max(rows, 1.0) / leaf_rows), 1.0));
}

/// Seconds that dissection adds to those of AMD, or has left after its first separator. Side by side the
/// solver waits for dissection if it lasts longer, and forecasts a second order, which is half of AMD's time
/// apart from visits.
double extra_seconds(double dissection, const OrderingProperties& properties, const OrderingCosts& costs) {
  if (properties.first_separator && !properties.dissection)
    return dissection * (1 - share_of_first_bisection(properties));
  if (!properties.side_by_side) return dissection;
  return std::max(dissection - predicted_amd_seconds(properties, costs), 0.0) +
         0.5 * predicted_seconds(costs.amd, properties, {});
}

/// Number of list entries that AMD visits in the given time, by the model.
std::int64_t visits_within(double seconds, const OrderingProperties& properties, const OrderingCosts& costs) {
  if (!(costs.amd_visit_seconds > 0)) return std::numeric_limits<std::int64_t>::max();
  const double left = seconds - predicted_seconds(costs.amd, properties, {});
  return static_cast<std::int64_t>(std::clamp(left / costs.amd_visit_seconds, 0.0, 1e18));
}

/// Chooses the order of nested dissection after AMD was stopped.
OrderingChoice choose_without_amd(const OrderingProperties& properties, const DeviceModel& model,
                                  double dissection) {
  PredictedTimes times = predicted_times(properties, *properties.dissection, model);
  const double given_up = predicted_amd_seconds(properties, model.ordering);
  times.ordering = given_up + extra_seconds(dissection, properties, model.ordering);
  return {
      Ordering::nd,
      in_words("nested dissection", *properties.dissection) +
          formatted(", predicted to take %.2g s; AMD was given up, not done in %.2g s", dissection, given_up),
      times};
}

/// Sorts an order so that blocks follow one another. The order within each block is kept.
template <class Index>
std::vector<Index> sort_by_block(const std::vector<Index>& order, const BlockTriangularForm& blocks) {
  if (blocks.count < 2) return order;
  std::vector<Index> end(static_cast<std::size_t>(blocks.count) + 1, 0);
  for (const Ordinal block : blocks.block_of_column) ++Impl::at(end, block + 1);
  for (std::size_t block = 1; block < end.size(); ++block) end[block] += end[block - 1];
  std::vector<Index> sorted(order.size());
  for (const Index v : order) Impl::at(sorted, Impl::at(end, Impl::at(blocks.block_of_column, v))++) = v;
  return sorted;
}

/// Returns the graph with only the edges within blocks.
template <class Index>
SymmetricGraph<Index> within_blocks(const SymmetricGraph<Index>& graph, const BlockTriangularForm& blocks) {
  SymmetricGraph<Index> within;
  within.row_map.resize(graph.row_map.size());
  within.neighbours.resize(graph.neighbours.size());
  std::size_t out = 0;
  for (std::size_t v = 0; v + 1 < graph.row_map.size(); ++v) {
    for (Index k = graph.row_map[v]; k < graph.row_map[v + 1]; ++k) {
      const Index u = Impl::at(graph.neighbours, k);
      within.neighbours[out] = u;
      out += Impl::at(blocks.block_of_column, u) == blocks.block_of_column[v] ? 1 : 0;
    }
    within.row_map[v + 1] = static_cast<Index>(out);
  }
  within.neighbours.resize(out);
  return within;
}

/// Returns whether some row or column has only a diagonal entry. Otherwise there is rarely more than one
/// block.
bool has_singleton(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern) {
  std::vector<Ordinal> in_column(static_cast<std::size_t>(pattern.n_cols), 0);
  const Ordinal* const columns = pattern.entries.data();
  for (Offset k = 0; k < pattern.nnz(); ++k) ++Impl::at(in_column, columns[k]);
  for (Ordinal i = 0; i < pattern.n_rows; ++i)
    if (pattern.row_map(i + 1) - pattern.row_map(i) == 1 || Impl::at(in_column, i) == 1) return true;
  return false;
}

/// Orders a graph by AMD, and by nested dissection if the choice needs it.
/// @param blocks blocks to order one after another, with no edges of the graph between them; empty: any order
template <class Index>
ChosenOrder choose_with(SymmetricGraph<Index> graph, const DeviceModel& model, const OrderingUse& use,
                        const std::vector<Ordinal>& partner, const RunControl& run,
                        const BlockTriangularForm& blocks = {}) {
  OrderingProperties properties = properties_of(graph, use);
  const auto paired = partner.empty() ? PairedGraph<Index>() : compress_pairs(graph, partner);
  TwoOrders<Index> orders(partner.empty() ? graph : paired.graph, paired.weight,
                          MemoryBudget::unlimited(run));
  properties.reduced = GraphSize{orders.reduced_rows(), orders.reduced_edges()};
  properties.side_by_side = works_side_by_side(properties, model);
  const auto eliminated = [&](const std::vector<Index>& found) {
    run.poll();
    const auto order = sort_by_block(partner.empty() ? found : expand_pairs(paired, found), blocks);
    return order.empty() ? Elimination<Index>() : eliminate(graph, order);
  };
  Elimination<Index> elimination, dissection;
  const auto complete_amd = [&] {
    elimination = eliminated(orders.degree_order());
    properties.amd = forecast_fill(elimination);
    properties.amd_visits = orders.visits();
  };
  OrderingChoice choice;
  bool wanted = true;  // dissection, unless AMD is complete and enough: then `choice` is made
  const auto is_open = [&] {
    choice = choose_ordering(properties, model);
    return choice.ordering == Ordering::automatic;
  };
  const auto wants_dissection = [&] {
    complete_amd();
    return wanted = is_open();
  };
  const auto goes_on = [&](std::int64_t separator) {
    if (!orders.has_degree()) return true;
    properties.first_separator = separator;
    return wanted = is_open();
  };
  const std::int64_t limit = max_amd_visits(properties, model);
  if (properties.side_by_side) {
    orders.advance_both(limit, wants_dissection);
  } else if (!orders.advance_degree(limit) || wants_dissection()) {
    orders.dissect(goes_on);
  }
  if (orders.has_dissection()) {
    dissection = eliminated(orders.dissection_order());
    properties.dissection = forecast_fill(dissection);
    if (!orders.has_degree() && orders.advance_degree(max_amd_visits(properties, model))) complete_amd();
  } else if (wanted) {
    properties.dissection_lacks_memory = true;
    if (!orders.has_degree()) {
      orders.advance_degree();
      complete_amd();
    }
  }
  properties.amd_visits = orders.visits();
  if (wanted || properties.dissection) choice = choose_ordering(properties, model);
  if (choice.ordering == Ordering::nd) elimination = std::move(dissection);
  const FillForecast forecast = choice.ordering == Ordering::nd ? *properties.dissection : *properties.amd;
  return chosen(std::move(graph), std::move(elimination), std::move(choice), forecast);
}

/// Orders irreducible blocks one after another. Returns an empty optional unless this saves enough edges and
/// the blocks are sparse enough for elimination by rows.
template <class Index>
std::optional<ChosenOrder> choose_by_blocks(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                            const SymmetricGraph<Index>& graph, const DeviceModel& model,
                                            const OrderingUse& use, const std::vector<Ordinal>& row_order,
                                            const RunControl& run) {
  constexpr double max_share = 0.95;    // limit for the share of rows in the largest block
  constexpr double min_spared = 0.05;   // required share of edges that are saved
  constexpr double overestimate = 1.2;  // factor by which a symmetric pattern overestimates flops per entry
  const auto n = static_cast<std::int64_t>(pattern.n_rows);
  const bool is_symmetric = static_cast<std::int64_t>(graph.neighbours.size()) == pattern.nnz() - n;
  if (is_symmetric || !has_singleton(pattern)) return std::nullopt;
  run.poll();
  const auto blocks = block_triangular_form(pattern, row_order);
  if (static_cast<double>(blocks.largest) > max_share * static_cast<double>(n)) return std::nullopt;
  auto within = within_blocks(graph, blocks);
  if (static_cast<double>(within.neighbours.size()) >
      (1 - min_spared) * static_cast<double>(graph.neighbours.size()))
    return std::nullopt;
  auto chosen = choose_with(std::move(within), model, use, {}, run, blocks);
  const double entries = 2 * static_cast<double>(chosen.forecast.nnz_l) + static_cast<double>(n);
  if (chosen.forecast.flops > overestimate * model.numeric.min_flops_per_entry * entries) return std::nullopt;
  chosen.block_triangular = true;
  chosen.choice.reason +=
      formatted("; %lld irreducible blocks, the largest of %lld rows, are ordered one by one",
                static_cast<long long>(blocks.count), static_cast<long long>(blocks.largest));
  return chosen;
}

/// Calls function(graph) with the graph of the pattern, whose rows are permuted by row_order. The index type
/// of the graph can hold the number of its edges.
template <class Function>
ChosenOrder with_graph(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                       const std::vector<Ordinal>& row_order, const Function& function) {
  return graph_fits_int(pattern) ? function(symmetric_graph<int>(pattern, row_order))
                                 : function(symmetric_graph<std::int64_t>(pattern, row_order));
}

}  // namespace

double thread_share(double serial_share, int threads) {
  return serial_share + (1 - serial_share) / std::max(threads, 1);
}

double predicted_amd_seconds(const OrderingProperties& properties, const OrderingCosts& costs) {
  return predicted_seconds(costs.amd, properties, properties.amd.value_or(FillForecast())) +
         costs.amd_visit_seconds * static_cast<double>(properties.amd_visits);
}

double predicted_seconds(const StageCosts& costs, const OrderingProperties& properties,
                         const FillForecast& forecast) {
  return costs.start_seconds + costs.row_seconds * static_cast<double>(properties.rows) +
         costs.edge_seconds * static_cast<double>(properties.edges) +
         costs.entry_seconds * static_cast<double>(forecast.nnz_l) + costs.flop_seconds * forecast.flops +
         costs.step_seconds * static_cast<double>(forecast.height) +
         costs.supernode_seconds * static_cast<double>(forecast.supernode_height);
}

PredictedTimes predicted_times(const OrderingProperties& properties, const FillForecast& forecast,
                               const DeviceModel& model) {
  const double entries = static_cast<double>(2 * forecast.nnz_l + properties.rows);
  const bool fronts =
      properties.use.symmetric || forecast.flops >= model.numeric.min_flops_per_entry * entries;
  const EngineCosts& costs = fronts ? model.ordering.multifrontal : model.ordering.simplicial;
  const double ratio = properties.use.definite ? model.symmetric.cholesky : model.symmetric.ldlt;
  const double share = properties.use.symmetric && ratio > 0 ? ratio : 1;
  PredictedTimes times;
  times.analysis = predicted_seconds(costs.analysis, properties, forecast);
  times.factorization = share * predicted_seconds(costs.factorization, properties, forecast) *
                        thread_share(model.ordering.factorization_serial_share, properties.use.threads);
  times.solve = share * predicted_seconds(costs.solve, properties, forecast);
  return times;
}

bool works_side_by_side(const OrderingProperties& properties, const DeviceModel& model) {
  constexpr int min_threads = 4;  // with fewer, dissection is slowed more by the loss of one than it gains
  constexpr double min_seconds = 2e-3;  // of dissection; less is gained than threads take to start
  // Beyond this the workspaces of both are too large to have at once.
  constexpr std::int64_t max_edges = std::numeric_limits<int>::max() / 2;
  const double seconds = dissection_seconds(properties, model.ordering);
  return properties.use.threads >= min_threads && properties.edges <= max_edges &&
         seconds - predicted_seconds(model.ordering.amd, properties, {}) >= min_seconds;
}

std::int64_t max_amd_visits(const OrderingProperties& properties, const DeviceModel& model) {
  const OrderingCosts& costs = model.ordering;
  // Dissection is predicted at 0.6 to 1.0 of its time, and AMD's order is often the better one.
  constexpr double patience_alone = 1.5, patience_beside = 1.25;
  double patience =
      (properties.side_by_side ? patience_beside : patience_alone) * dissection_seconds(properties, costs);
  if (properties.dissection) {
    const PredictedTimes times = predicted_times(properties, *properties.dissection, model);
    patience += costs.max_saved_share * properties.use.factorizations * (*times.factorization + *times.solve);
  }
  return visits_within(patience, properties, costs);
}

OrderingChoice choose_ordering(const OrderingProperties& properties, const DeviceModel& model) {
  const OrderingCosts& costs = model.ordering;
  const OrderingUse& use = properties.use;
  const double dissected = dissection_seconds(properties, costs);
  const double extra = extra_seconds(dissected, properties, costs);
  if (!properties.amd) return choose_without_amd(properties, model, dissected);
  const std::string amd = in_words("AMD", *properties.amd);
  PredictedTimes with_amd = predicted_times(properties, *properties.amd, model);
  with_amd.ordering = predicted_amd_seconds(properties, costs);
  if (properties.dissection_lacks_memory)
    return {Ordering::amd, amd + ": there was not enough memory for nested dissection", with_amd};
  if (!properties.dissection) {
    const double spared =
        total(with_amd, use) -
        total(predicted_times(properties, expected_dissection(properties, costs), model), use);
    if (spared > extra) return {Ordering::automatic, {}, {}};
    if (properties.first_separator) {
      with_amd.ordering = *with_amd.ordering + dissected - extra;
      return {Ordering::amd,
              amd + formatted(": nested dissection was given up after its first separator, of %lld vertices",
                              static_cast<long long>(*properties.first_separator)),
              with_amd};
    }
    return {Ordering::amd,
            amd + formatted(": nested dissection was not tried, predicted to take %.2g s and to spare %.2g s "
                            "of %.2g s in "
                            "%g factorization%s",
                            extra, std::max(spared, 0.0), total(with_amd, use), use.factorizations,
                            use.factorizations == 1 ? "" : "s"),
            with_amd};
  }
  const std::string dissection = in_words("nested dissection", *properties.dissection);
  PredictedTimes with_dissection = predicted_times(properties, *properties.dissection, model);
  with_dissection.ordering = *with_amd.ordering += extra;
  const double by_amd = total(with_amd, use), by_dissection = total(with_dissection, use);
  const auto because = [&](double less, double more) {
    return formatted(" is predicted to take %.2g s in %g factorization%s, and not the %.2g s of ", less,
                     use.factorizations, use.factorizations == 1 ? "" : "s", more);
  };
  if (by_dissection < by_amd)
    return {Ordering::nd, dissection + because(by_dissection, by_amd) + amd, with_dissection};
  return {Ordering::amd, amd + because(by_amd, by_dissection) + dissection, with_amd};
}

ChosenOrder order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const DeviceModel& model, const OrderingUse& use,
                                const std::vector<Ordinal>& partner, const std::vector<Ordinal>& row_order,
                                const RunControl& run) {
  return with_graph(pattern, row_order, [&](auto graph) {
    run.poll();
    if (use.by_blocks) {
      if (auto chosen = choose_by_blocks(pattern, graph, model, use, row_order, run))
        return *std::move(chosen);
    }
    return choose_with(std::move(graph), model, use, partner, run);
  });
}

ChosenOrder order_matched(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind,
                          const std::vector<Ordinal>& partner, const std::vector<Ordinal>& row_order,
                          const RunControl& run) {
  return with_graph(pattern, row_order, [&]<class Index>(SymmetricGraph<Index> graph) {
    Elimination<Index> elimination{
        partner.empty() ? order(graph, kind, {}, run) : order_pairs(graph, partner, kind, run), {}, {}};
    return chosen(std::move(graph), std::move(elimination), {kind, {}, {}}, {});
  });
}

BackendChoice choose_backend(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                             const OrderingUse& use, const DeviceModel& host, const DeviceModel& device) {
  const double start = device.ordering.device_start_seconds;
  OrderingProperties known;
  known.rows = pattern.n_rows;
  known.edges = 2 * pattern.nnz();  // at most; the graph takes time
  known.use = use;
  constexpr std::int64_t visits_of_edge = 10;  // median over matrices
  known.amd_visits = visits_of_edge * known.edges;
  if (predicted_amd_seconds(known, host.ordering) > start) return BackendChoice::device;
  const auto graph = symmetric_graph<std::int64_t>(pattern);
  known.edges = static_cast<std::int64_t>(graph.neighbours.size());
  TwoOrders<std::int64_t> orders(graph);
  if (!orders.advance_degree(visits_within(start, known, host.ordering))) return BackendChoice::device;
  // AMD runs on the host in either case.
  const FillForecast amd = forecast_fill(graph, orders.degree_order());
  const double on_host = total(predicted_times(known, amd, host), use);
  const double on_device = total(predicted_times(known, amd, device), use);
  return on_host <= start + on_device ? BackendChoice::host : BackendChoice::device;
}

}  // namespace lutra

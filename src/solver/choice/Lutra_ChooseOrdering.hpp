// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEORDERING_HPP
#define LUTRA_CHOOSEORDERING_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_OrderGraph.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Purpose of an ordering.
struct OrderingUse {
  double factorizations = 1;  ///< factorizations per analysis, each followed by one solve
  /// Whether LDLᵀ uses the ordering. Its times are those of LU on fronts multiplied by `SymmetricCosts`.
  bool symmetric = false;
  /// Whether irreducible blocks may be ordered separately. This suits LU by rows, whose pattern is exact, so
  /// that no block causes fill in another.
  bool by_blocks = false;
  int threads = 1;        ///< host threads that dissect and, if there is no device, factorize
  bool definite = false;  ///< with `symmetric`: Cholesky uses the ordering; it has a cost ratio of its own
};

/// Returns the number of host threads assumed when choosing an ordering for an execution space. It is one for
/// Serial, so that the choice is the same on any machine, although more threads may dissect.
template <class ExecutionSpace>
int host_threads() {
  return Impl::is_serial_space<ExecutionSpace> ? 1 : Kokkos::DefaultHostExecutionSpace().concurrency();
}

struct GraphSize {
  std::int64_t rows = 0, edges = 0;  ///< each edge is counted twice
};

/// Properties on which the choice of an ordering depends.
struct OrderingProperties {
  std::int64_t rows = 0;
  std::int64_t edges = 0;  ///< edges of the graph of A + Aᵀ, each counted twice
  OrderingUse use;
  std::optional<GraphSize> reduced;        ///< size of the graph after reduction; empty if unknown
  std::optional<FillForecast> amd;         ///< forecast for the AMD order; empty if AMD was stopped
  std::int64_t amd_visits = 0;             ///< list entries that AMD visited
  std::optional<FillForecast> dissection;  ///< forecast for nested dissection, if it has been computed
  /// Vertices of the first separator of a dissection that has begun; empty: none has.
  std::optional<std::int64_t> first_separator;
  /// Whether one host thread runs AMD while the others dissect (`works_side_by_side`).
  bool side_by_side = false;
  bool dissection_lacks_memory = false;  ///< AMD's order is chosen
};

/// An ordering and the reason for choosing it.
struct OrderingChoice {
  /// `amd` or `nd`, or `automatic` if the choice needs a forecast for nested dissection.
  Ordering ordering = Ordering::amd;
  std::string reason;        ///< one sentence for the report; empty if the choice needs that forecast
  PredictedTimes predicted;  ///< predicted times with the chosen ordering
};

/// Returns the time with `threads` threads relative to one thread, if all work except a serial share is
/// divided among them.
double thread_share(double serial_share, int threads);

/// Predicts the seconds of AMD from its visits and, if it was not stopped, from its forecast.
double predicted_amd_seconds(const OrderingProperties& properties, const OrderingCosts& costs);

/// Predicts the seconds of a stage by the model.
double predicted_seconds(const StageCosts& costs, const OrderingProperties& properties,
                         const FillForecast& forecast);

/// Predicts the times that follow an ordering with this forecast, for the engine that `choose_engine` is
/// expected to choose. The time of the ordering itself is left empty.
PredictedTimes predicted_times(const OrderingProperties& properties, const FillForecast& forecast,
                               const DeviceModel& model);

/// Chooses the order with the least predicted time for analysis, factorizations and solves. The AMD order has
/// already been computed. Nested dissection is requested if its expected savings exceed its time with the
/// available threads, or, side by side, the time by which it outlasts AMD; the model gives the expected
/// savings as shares of the flops and of the height of the AMD tree. Once the first separator is known,
/// dissection goes on only if what is then expected still exceeds its remaining time. If both forecasts are
/// known, time already spent on ordering no longer counts. If there is no forecast for AMD, the order of
/// nested dissection is chosen.
OrderingChoice choose_ordering(const OrderingProperties& properties, const DeviceModel& model);

/// Decides whether AMD and nested dissection run side by side: on four host threads or more, unless
/// dissection takes no longer than it takes to start threads.
bool works_side_by_side(const OrderingProperties& properties, const DeviceModel& model);

/// Returns the number of list entries that AMD may visit before it is stopped: as many as it visits in 1.5
/// times the time predicted for dissection, or 1.25 times that side by side. If the forecast for dissection
/// is known, AMD may continue for as long as a better order might save in factorizations and solves. The
/// model gives the largest share of their time that can be saved.
std::int64_t max_amd_visits(const OrderingProperties& properties, const DeviceModel& model);

/// An order chosen by `choose_ordering`.
struct ChosenOrder {
  std::vector<Ordinal> permutation;  ///< [n] row and column that is eliminated k-th
  OrderingChoice choice;
  FillForecast forecast;
  AnyOrderedGraph ordered{};      ///< graph that was ordered, from which the assembly tree is built
  bool block_triangular = false;  ///< blocks were ordered separately; `ordered` has no edges between them
};

/// Orders the pattern of A + Aᵀ on the host as `choose_ordering` decides.
/// @param pattern square pattern with sorted rows and no repeated entries
/// @param partner pairs that must remain adjacent (pair_candidates); empty: none
/// @param row_order [n] row of the pattern matched to each column; empty: rows keep their order
/// @param run limits in time
/// @throws InputError if the pattern is not square; OutOfMemoryError; CancelledError
ChosenOrder order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const DeviceModel& model, const OrderingUse& use = {},
                                const std::vector<Ordinal>& partner = {},
                                const std::vector<Ordinal>& row_order = {}, const RunControl& run = {});

/// Orders the pattern of A + Aᵀ with one given kind of ordering, without a forecast.
ChosenOrder order_matched(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind,
                          const std::vector<Ordinal>& partner, const std::vector<Ordinal>& row_order,
                          const RunControl& run = {});

enum class BackendChoice { host, device };

/// Chooses the host if it is predicted to complete everything from ordering to solution before a device has
/// started and reached the solution, and the device otherwise. Orders the pattern of A + Aᵀ by AMD unless
/// ordering alone is predicted to take the host longer than the device takes to start; AMD is stopped when it
/// has taken as long.
/// @param pattern square pattern with sorted rows and no repeated entries
BackendChoice choose_backend(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                             const OrderingUse& use, const DeviceModel& host, const DeviceModel& device);

}  // namespace lutra

#endif

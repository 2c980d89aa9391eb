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
#include "Lutra_Ordering.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// What an ordering is for.
struct OrderingUse {
  double factorizations = 1;  ///< with one analysis, and one solve after each
  bool symmetric = false;     ///< by LDLᵀ, whose times are those of LU's fronts times `SymmetricCosts`
  bool by_blocks = false;     ///< irreducible blocks may be ordered one by one: for LU by rows, whose pattern
                              ///< is exact, so that no block fills another
  int threads = 1;            ///< of the host: they dissect and, where there is no device, factorize
  bool definite = false;      ///< of `symmetric`: by Cholesky, which has a ratio of its own
};

/// Threads of the host by which orderings for an execution space are chosen. One for Serial, whose choices
/// are the same on any machine, though more may dissect.
template <class ExecutionSpace>
int host_threads() {
  return Impl::is_serial_space<ExecutionSpace> ? 1 : Kokkos::DefaultHostExecutionSpace().concurrency();
}

struct GraphSize {
  std::int64_t rows = 0, edges = 0;  ///< edges are counted twice
};

/// What the choice of an ordering depends on.
struct OrderingProperties {
  std::int64_t rows = 0;
  std::int64_t edges = 0;  ///< of the graph of A + Aᵀ, each counted twice
  OrderingUse use;
  std::optional<GraphSize> reduced;  ///< what is left of the graph after its reduction; empty: not known
  std::optional<FillForecast> amd;   ///< of AMD's order; empty: it was given up
  std::int64_t amd_visits = 0;       ///< list entries that AMD has visited
  std::optional<FillForecast> dissection;  ///< of nested dissection, where it has been computed
};

/// An ordering and why.
struct OrderingChoice {
  Ordering ordering = Ordering::amd;  ///< amd or nd; automatic: the forecast of nested dissection is needed
  std::string reason;                 ///< one sentence for the report; empty where that is needed
  PredictedTimes predicted;           ///< with the ordering chosen
};

/// Of the time that one thread takes, where so many share all but a serial share of the work.
double thread_share(double serial_share, int threads);

/// Seconds of AMD by its visits and, where it was not given up, its forecast.
double predicted_amd_seconds(const OrderingProperties& properties, const OrderingCosts& costs);

/// Seconds of a stage by the model.
double predicted_seconds(const StageCosts& costs, const OrderingProperties& properties,
                         const FillForecast& forecast);

/// Times after an ordering of this forecast, with the engine that `choose_engine` is expected to take; the
/// time of the ordering itself is left empty.
PredictedTimes predicted_times(const OrderingProperties& properties, const FillForecast& forecast,
                               const DeviceModel& model);

/// The order with the least predicted time of analysis, factorizations and solves. AMD's order is there
/// already. Nested dissection is asked for where the time it is expected to spare exceeds the time it takes
/// by the threads there are: of flops and height of AMD's tree the shares that the model says. Where both
/// forecasts are known, the times spent on ordering no longer count; without AMD's, dissection's order is
/// taken.
OrderingChoice choose_ordering(const OrderingProperties& properties, const DeviceModel& model);

/// Who dissects: the device where the model says that it takes less time than the threads of the host.
Dissector choose_dissector(const OrderingProperties& properties, const DeviceModel& model);

/// List entries that AMD visits before it is given up: as many as it visits in the time that dissection is
/// predicted to take. Where dissection's forecast is known, it may go on for the time that a better order
/// might spare in factorizations and solves: the share of theirs that the model has as the most.
std::int64_t max_amd_visits(const OrderingProperties& properties, const DeviceModel& model);

/// An order that was chosen by `choose_ordering`.
struct ChosenOrder {
  std::vector<Ordinal> permutation;  ///< [n] the row and column eliminated as k-th
  OrderingChoice choice;
  FillForecast forecast;
  AnyOrderedGraph ordered{};      ///< what was ordered, from which an assembly tree goes on
  bool block_triangular = false;  ///< blocks were ordered one by one; `ordered` has no edges between them
};

/// Orders the pattern of A + Aᵀ on the host as `choose_ordering` says.
/// @param pattern square; rows sorted, no entry twice
/// @param partner pairs that stay neighbours (pair_candidates); empty: none
/// @param row_order [n] row of the pattern that is matched to each column; empty: they are as they come
/// @throws InputError where the pattern is not square; OutOfMemoryError
ChosenOrder order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const DeviceModel& model, const OrderingUse& use = {},
                                const std::vector<Ordinal>& partner = {},
                                const std::vector<Ordinal>& row_order = {});

/// The same by one kind of ordering, without a forecast.
ChosenOrder order_matched(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind,
                          const std::vector<Ordinal>& partner, const std::vector<Ordinal>& row_order,
                          const DeviceModel& model);

/// What the choice between host and device depends on.
struct BackendProperties {
  std::int64_t rows = 0, edges = 0;
  OrderingUse use;
  std::optional<FillForecast> amd;  ///< of AMD's order on the host; empty: not computed
};

enum class BackendChoice { host, device, needs_forecast };

/// The host for a matrix that it is predicted to solve, from ordering to solution, before a device has begun
/// and come to the solution itself, else the device. AMD's forecast is needed only where ordering alone does
/// not take the host longer than the device takes to begin.
BackendChoice choose_backend(const BackendProperties& properties, const DeviceModel& host,
                             const DeviceModel& device);

}  // namespace lutra

#endif

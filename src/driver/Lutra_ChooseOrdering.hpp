// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEORDERING_HPP
#define LUTRA_CHOOSEORDERING_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra {

/// What the choice of an ordering depends on.
struct OrderingProperties {
  std::int64_t rows = 0;
  bool metis_can_order = true;        ///< whether METIS' index type counts the edges
  FillForecast amd;                   ///< of AMD's order
  std::optional<FillForecast> metis;  ///< of METIS' order, where it has been computed
};

/// An ordering and why.
struct OrderingChoice {
  Ordering ordering = Ordering::amd;  ///< amd or metis; automatic: METIS' forecast is needed for the choice
  std::string reason;                 ///< one sentence for the report; empty where METIS' forecast is needed
};

/// AMD for matrices that are small, fill in little or have too many edges for METIS; else the order whose
/// predicted cost is lower, flops and tree height. METIS takes about ten times as long as AMD, so its order
/// is asked for only where it may pay.
OrderingChoice choose_ordering(const OrderingProperties& properties, const OrderingCosts& costs);

/// An order that was chosen by `choose_ordering`.
template <class Ordinal>
struct ChosenOrder {
  std::vector<Ordinal> permutation;  ///< [n] the row and column eliminated as k-th
  Ordering ordering = Ordering::amd;
  std::string reason;
};

/// Orders the pattern of A + Aᵀ on the host as `choose_ordering` says.
/// @param pattern square; rows sorted, no entry twice
/// @param partner pairs that stay neighbours (pair_candidates); empty: none
/// @throws InputError where the pattern is not square; OutOfMemoryError
template <class Ordinal, class Offset>
ChosenOrder<Ordinal> order_automatically(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                         const OrderingCosts& costs = {},
                                         const std::vector<Ordinal>& partner = {});

}  // namespace lutra

#endif

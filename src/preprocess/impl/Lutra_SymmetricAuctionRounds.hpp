// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICAUCTIONROUNDS_HPP
#define LUTRA_SYMMETRICAUCTIONROUNDS_HPP

#include "Lutra_AuctionPhases.hpp"
#include "Lutra_EntryCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SymmetricAuction.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Auction for a symmetric matrix, in rounds in the execution space. Does not set the structural rank.
template <class Scalar, class ExecutionSpace>
static SymmetricAuction symmetric_auction_by_rounds(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const MemoryBudget& budget, double epsilon) {
  using Memory = typename ExecutionSpace::memory_space;
  using DoubleView = Kokkos::View<double*, Memory>;
  // Below the limits of match_auction (50, 2000), because up to n / 128 rows may stay unmatched.
  constexpr int patience = 32, max_rounds = 200;
  const Ordinal enough = A.n_rows / 128;
  // e^±700 is finite and normal: double overflows at e^709.8, subnormals start at e^−708.4.
  constexpr double max_exponent = 700;
  MemoryReservation reservation(budget);
  const auto n = static_cast<std::size_t>(A.n_rows);
  const auto allocate = [&](const char* label, std::size_t extent) {
    return reservation.allocate<DoubleView>(exec, label, extent);
  };
  const auto cost = allocate("lutra::preprocess::cost", A.entries.extent(0));
  const auto origin = allocate("lutra::preprocess::row_origin", n);
  const auto dual = allocate("lutra::preprocess::row_dual", n);
  const auto slack = allocate("lutra::preprocess::slack", n);
  find_costs(exec, A, cost, origin);
  AuctionPhases<ExecutionSpace> phases(exec, A.pattern(), cost, budget, {epsilon, patience, max_rounds},
                                       enough);
  SymmetricAuction result;
  AuctionStatistics& statistics = result.statistics;
  statistics.phases = 1;
  if (phases.run(epsilon) > enough) {
    for (const double step : {8.0, 1.0}) phases.run(step * epsilon);
    statistics.phases += 2;
  }
  phases.find_duals(dual, slack);
  const auto price = phases.state().price;
  const auto entry_of_row = phases.state().entry_of_row;
  Kokkos::parallel_reduce(
      "lutra::preprocess::symmetric_scales", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const std::size_t i, double& sum, std::int64_t& unmatched) {
        const bool is_zero = dual(i) == Kokkos::Experimental::infinity_v<double>;  // whether row i is zero
        const double exponent = is_zero ? 0.0 : (dual(i) - origin(i) - price(i)) / 2;
        sum += slack(i);
        unmatched += entry_of_row(i) < 0 ? 1 : 0;
        dual(i) = Kokkos::exp(exponent < -max_exponent  ? -max_exponent
                              : exponent > max_exponent ? max_exponent
                                                        : exponent);
      },
      statistics.log_loss_bound, statistics.left_to_paths);
  statistics.rounds = phases.rounds();
  result.matching.row_of_column = to_host(exec, phases.state().row_of_column);
  result.matching.scale = to_host(exec, dual);
  return result;
}

}  // namespace lutra::Impl

#endif

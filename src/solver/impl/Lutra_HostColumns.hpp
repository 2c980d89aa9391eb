// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTCOLUMNS_HPP
#define LUTRA_HOSTCOLUMNS_HPP

#include <span>
#include <string>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Calls solve(B, X) with copies on the device. X is copied to the device too, since a solve may leave it
/// unchanged or use it as initial guess. Fences.
/// @throws OutOfMemoryError if the copies do not fit in memory
template <class ExecutionSpace, class BView, class XView, class Solve>
auto solve_where_it_runs(const ExecutionSpace& exec, const MemoryBudget& budget, const BView& host_B,
                         const XView& host_X, const Solve& solve) {
  using Columns =
      Kokkos::View<typename XView::value_type**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  const std::size_t n = host_B.extent(0), k = host_B.extent(1);
  MemoryReservation reservation(budget);
  const auto device_B = reservation.template allocate<Columns>(exec, "lutra::solver::B", n, k);
  const auto device_X = reservation.template allocate<Columns>(exec, "lutra::solver::X", n, k);
  Kokkos::deep_copy(exec, device_B, host_B);
  Kokkos::deep_copy(exec, device_X, host_X);
  const auto result = solve(device_B, device_X);
  Kokkos::deep_copy(exec, host_X, device_X);
  wait_for(exec, "lutra::solver: X is complete on the host");
  return result;
}
/// Overload for host spaces, which solve in place.
template <HostExecution ExecutionSpace, class BView, class XView, class Solve>
auto solve_where_it_runs(const ExecutionSpace& exec, const MemoryBudget&, const BView& host_B,
                         const XView& host_X, const Solve& solve) {
  const auto result = solve(host_B, host_X);
  wait_for(exec, "lutra::solver: X is complete on the host");
  return result;
}

/// Calls solve(B, X) for host arrays of n·k values stored by columns, in place or with copies on the device.
/// Fences.
/// @throws InputError if the lengths do not match; OutOfMemoryError if the copies do not fit in memory
template <class Scalar, class ExecutionSpace, class Solve>
auto solve_host_columns(const ExecutionSpace& exec, const MemoryBudget& budget, std::size_t n,
                        std::span<const Scalar> B, std::span<Scalar> X, const Solve& solve) {
  if (B.size() != X.size()) {
    throw InputError("X: it has " + std::to_string(X.size()) + " values, but B has " +
                     std::to_string(B.size()));
  }
  if (n == 0 || B.size() % n != 0) {
    throw InputError("B: its " + std::to_string(B.size()) + " values are no multiple of the matrix' " +
                     std::to_string(n) + " rows");
  }
  const std::size_t k = B.size() / n;
  const Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> host_B(B.data(), n, k);
  const Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> host_X(X.data(), n, k);
  return solve_where_it_runs(exec, budget, host_B, host_X, solve);
}

}  // namespace lutra::Impl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INSPECTFACTORS_HPP
#define LUTRA_INSPECTFACTORS_HPP

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Workspace of `inspect_factors`, allocated once for matrices of order n.
template <class Scalar, class ExecutionSpace>
struct InspectWorkspace {
  using Memory = typename ExecutionSpace::memory_space;
  InspectWorkspace() = default;
  /// @throws OutOfMemoryError
  InspectWorkspace(const ExecutionSpace& exec, MemoryReservation& reservation, std::size_t n)
      : row_size(reservation.template allocate<decltype(row_size)>(exec, "lutra::ilu::row_sizes", n)),
        outcome(exec, reservation, "lutra::ilu::inspection", 1) {}

  Kokkos::View<RealOf<Scalar>*, Memory> row_size;                ///< [n] largest magnitude of each row of A
  Impl::AsyncResult<IncompleteOutcome, ExecutionSpace> outcome;  ///< [1]
};

/// Detects growth, zero pivots, NaN and infinities in incomplete factors of A. Cost: two kernels over all
/// values, one wait. Ignores entries beyond row_map(n).
/// @param symmetric treat a pivot that is not real and positive like a zero pivot
template <class Scalar, class ExecutionSpace>
IncompleteOutcome inspect_factors(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors, bool symmetric,
    const InspectWorkspace<Scalar, ExecutionSpace>& work);

}  // namespace lutra

#endif

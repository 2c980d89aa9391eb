// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONVARIANTS_HPP
#define LUTRA_SELECTIONVARIANTS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>

#include "Lutra_Select.hpp"

namespace lutra::Impl {

/// Input and output of a selection on CUDA.
template <class Real>
struct SelectionCall {
  const Kokkos::Cuda& exec;
  const SelectionWorkspace<Real, Kokkos::CudaSpace>& work;
  Kokkos::View<const Real*, Kokkos::CudaSpace> values;
  std::int64_t k;
  Kokkos::View<SelectionThreshold<Real>, Kokkos::CudaSpace> result;
};

/// Selects with counters other than the default (`SelectCounters::shared` or `global`).
/// @param left () → candidate values after a level of quickselect
template <class Real>
void select_variant(const SelectionCall<Real>& call, const SelectOptions& options,
                    const std::function<std::int64_t()>& left);

/// Queues only the first level's counting pass, for benchmarks; any counters.
template <class Real>
void count_buckets_once(const SelectionCall<Real>& call, const SelectOptions& options);

}  // namespace lutra::Impl

#endif

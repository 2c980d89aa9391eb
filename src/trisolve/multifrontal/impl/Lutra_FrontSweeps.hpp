// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSWEEPS_HPP
#define LUTRA_FRONTSWEEPS_HPP

#include <memory>

#include "Lutra_PortableFrontSweeps.hpp"

namespace lutra::Impl {

/// Sweeps of an execution space without specialized kernels.
template <class Scalar, class ExecutionSpace>
class FrontSweeps : public PortableFrontSweeps<Scalar, ExecutionSpace> {
 public:
  using PortableFrontSweeps<Scalar, ExecutionSpace>::PortableFrontSweeps;

  std::shared_ptr<FrontSweeps> with_own_vectors(const ExecutionSpace&, const MemoryBudget& budget) const {
    return std::make_shared<FrontSweeps>(this->lists(), budget);
  }
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_FrontSweepsCuda.hpp"
#endif

#endif

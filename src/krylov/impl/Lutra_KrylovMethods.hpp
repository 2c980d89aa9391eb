// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVMETHODS_HPP
#define LUTRA_KRYLOVMETHODS_HPP

#include "Lutra_KrylovCycles.hpp"

// The methods created by make_krylov_iteration, each in its own source file.

namespace lutra::Impl {

template <class Scalar, class ExecutionSpace>
using KrylovIterationPointer = std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>>;

template <class Scalar, class ExecutionSpace>
KrylovIterationPointer<Scalar, ExecutionSpace> make_cg(const ExecutionSpace& exec, std::size_t n,
                                                       std::size_t columns, const MemoryBudget& budget,
                                                       const BatchedColumns& batch);

template <class Scalar, class ExecutionSpace>
KrylovIterationPointer<Scalar, ExecutionSpace> make_bicgstab(const ExecutionSpace& exec, std::size_t n,
                                                             std::size_t columns, const MemoryBudget& budget,
                                                             const BatchedColumns& batch);

template <class Scalar, class ExecutionSpace>
KrylovIterationPointer<Scalar, ExecutionSpace> make_gmres(const ExecutionSpace& exec, std::size_t n,
                                                          std::size_t columns, int restart,
                                                          const MemoryBudget& budget,
                                                          const BatchedColumns& batch);

/// As make_krylov_iteration; the columns may be the systems of a batch.
template <class Scalar, class ExecutionSpace>
KrylovIterationPointer<Scalar, ExecutionSpace> make_batched_iteration(const ExecutionSpace& exec,
                                                                      KrylovMethod method, std::size_t n,
                                                                      std::size_t columns, int restart,
                                                                      const MemoryBudget& budget,
                                                                      const BatchedColumns& batch);

}  // namespace lutra::Impl

#endif

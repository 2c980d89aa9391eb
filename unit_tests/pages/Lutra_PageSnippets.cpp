// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that pages print in part, with what they take for granted. Compiled, not run.
#include <Lutra.hpp>
#include <Lutra_Batch.hpp>
#include <Lutra_Distributed.hpp>
#include <iostream>
#include <string_view>

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Matrix = lutra::SparseLU<double>::matrix_type;
using Vector = Kokkos::View<double*>;

}  // namespace

void page_batch(const Matrix& A, const lutra::BatchedLU<double>::values_type& values,
                const lutra::BatchedLU<double>::const_block_type& B,
                const lutra::BatchedLU<double>::block_type& X) {
  using lutra::BatchedLU, lutra::Status;
#include "batch_1.inc"
}

void page_end_to_end(const lutra::DeviceLaunches& kernels) {
#include "end-to-end_1.inc"
  lutra::check_options(options);
}

void page_memory(lutra::SparseLU<double>& solver, const Matrix& A, std::size_t most) {
#include "memory_1.inc"
}

void page_solver(const lutra::SparseLU<double>& solver, const lutra::LuOptions& options,
                 const Space& instance, const Matrix& A2, const Vector& B2, const Vector& X2) {
#include "solver_1.inc"
}

void page_ldlt(const Matrix& A, const Vector& B, const Vector& X) {
#include "ldlt_1.inc"
  (void)signs;
}

void page_cancel(const Matrix& A, void (*show)(std::string_view, double, double)) {
#include "cancel_1.inc"
  (void)status;
}

void page_supernodes(const Matrix& L, const Kokkos::View<const int*>& partition) {
#include "supernodes_1.inc"
}

void page_tracing(lutra::LuOptions options) {
#include "tracing_1.inc"
}

void page_trisolve(const Matrix& L, const Vector& b, const Vector& x) {
#include "trisolve_1.inc"
}

void page_distributed(const lutra::DistributedRows<double>& A, const Vector& values,
                      const lutra::DistributedLU<double>::DeviceColumns<double>& B,
                      const lutra::DistributedLU<double>::DeviceColumns<double>& X) {
#include "distributed_1.inc"
  (void)status;
}

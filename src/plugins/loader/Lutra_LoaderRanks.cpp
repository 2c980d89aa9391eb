// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of lutra_mpi.h, as Lutra_Loader.cpp has those of lutra.h.
#include "Lutra_Loader.hpp"
#include "lutra_mpi.h"

using lutra::Loader::Call;

lutra_status lutra_mpi_create(lutra_solver** solver, MPI_Comm ranks, int scalar, int index,
                              const char* backend) {
  if (solver != nullptr) *solver = nullptr;
  static const Call<decltype(lutra_mpi_create)> call("lutra_mpi_create");
  return call(solver, ranks, scalar, index, backend);
}
lutra_status lutra_mpi_factorize(lutra_solver* solver, const lutra_rows* A) {
  static const Call<decltype(lutra_mpi_factorize)> call("lutra_mpi_factorize");
  return call(solver, A);
}
lutra_status lutra_mpi_refactorize(lutra_solver* solver, int64_t nnz, const void* values) {
  static const Call<decltype(lutra_mpi_refactorize)> call("lutra_mpi_refactorize");
  return call(solver, nnz, values);
}

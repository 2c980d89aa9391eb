// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PetscFactor.hpp"
#include "lutra_mpi.h"

// LU of a MATMPIAIJ on all its ranks. The analysis is part of the first factorization, and used again while
// the pattern stays. All calls are collective, and all ranks get the same status.

namespace lutra::Petsc {
namespace {

/// Indices of this rank's rows in the whole matrix; PetscFree frees them.
PetscErrorCode list_rows(Mat A, PetscInt** rows) {
  PetscFunctionBegin;
  PetscInt first = 0, last = 0;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc1(last - first, rows));
  for (PetscInt i = first; i < last; ++i) (*rows)[i - first] = i;
  PetscFunctionReturn(ok);
}

PetscErrorCode factorize(Mat F, Mat A, const Rows& rows) {
  PetscFunctionBegin;
  PetscInt* indices = nullptr;
  PetscCall(list_rows(A, &indices));
  const lutra_matrix local = view(rows);
  const lutra_rows matrix = {A->rmap->N,    local.n_rows,  local.nnz,    indices,
                             local.row_map, local.columns, local.values, local.row_map_type};
  const lutra_status status = lutra_mpi_factorize(factor_of(F)->solver, &matrix);
  ++factor_of(F)->factorizations;
  PetscCall(PetscFree(indices));
  PetscCall(judge_factorization(F, status, rows));
  PetscFunctionReturn(ok);
}

PetscErrorCode ranks_numeric(Mat F, Mat A, const MatFactorInfo*) {
  PetscFunctionBegin;
  Mat local = nullptr;
  Rows rows;
  factor_of(F)->fails_by_error = A->erroriffailure;
  F->factorerrortype = MAT_FACTOR_NOERROR;
  PetscCall(MatMPIAIJGetLocalMat(A, MAT_INITIAL_MATRIX, &local));
  PetscCall(borrow_rows(local, rows));
  const PetscErrorCode error = factorize(F, A, rows);
  PetscCall(return_rows(rows));
  PetscCall(MatDestroy(&local));
  F->assembled = PETSC_TRUE;
  F->preallocated = PETSC_TRUE;
  PetscFunctionReturn(error);
}

}  // namespace

PetscErrorCode ranks_symbolic(Mat F, Mat A, IS, IS, const MatFactorInfo*) {
  PetscFunctionBegin;
  Factor& factor = *factor_of(F);
  lutra_destroy(factor.solver);
  factor = Factor{};
  factor.over_ranks = true;
  factor.fails_by_error = A->erroriffailure;
  F->ops->lufactornumeric = ranks_numeric;
  PetscCall(create_solver(F, A, &factor.solver));
  PetscFunctionReturn(ok);
}

lutra_status create_on_ranks(Mat F, int scalar, int index, const char* backend, lutra_solver** solver) {
  return lutra_mpi_create(solver, PetscObjectComm(reinterpret_cast<PetscObject>(F)), scalar, index, backend);
}

}  // namespace lutra::Petsc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_PetscFactor.hpp"

// Rows of SeqAIJ and SeqSBAIJ as arrays.

namespace lutra::Petsc {
namespace {

PetscErrorCode is_symmetric_block(Mat A, PetscBool* is_one) {
  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATSEQSBAIJ, is_one));
  PetscFunctionReturn(ok);
}

}  // namespace

PetscErrorCode borrow_rows(Mat A, Rows& rows) {
  PetscFunctionBegin;
  PetscBool is_triangle = PETSC_FALSE, done = PETSC_FALSE;
  PetscInt block = 1;
  PetscScalar* values = nullptr;
  PetscCall(is_symmetric_block(A, &is_triangle));
  PetscCall(MatGetBlockSize(A, &block));
  rows.matrix = A;
  rows.is_triangle = is_triangle && block == 1;
  rows.is_copy = is_triangle && block > 1;  // blocks are stored by columns
  if (rows.is_copy) PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &rows.matrix));
  PetscCall(
      MatGetRowIJ(rows.matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.row_map, &rows.columns, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Lutra: PETSc gives no access to the rows of a %s",
             reinterpret_cast<PetscObject>(A)->type_name);
  if (rows.is_triangle) {
    PetscCall(MatSeqSBAIJGetArray(rows.matrix, &values));
    rows.values = values;
  } else {
    PetscCall(MatSeqAIJGetArrayRead(rows.matrix, &rows.values));
  }
  PetscFunctionReturn(ok);
}

PetscErrorCode return_rows(Rows& rows) {
  PetscFunctionBegin;
  PetscBool done = PETSC_FALSE;
  if (rows.is_triangle) {
    auto* values = const_cast<PetscScalar*>(rows.values);  // PETSc lends this type for writing only
    PetscCall(MatSeqSBAIJRestoreArray(rows.matrix, &values));
  } else {
    PetscCall(MatSeqAIJRestoreArrayRead(rows.matrix, &rows.values));
  }
  PetscCall(MatRestoreRowIJ(rows.matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.row_map, &rows.columns,
                            &done));
  if (rows.is_copy) PetscCall(MatDestroy(&rows.matrix));
  PetscFunctionReturn(ok);
}

lutra_matrix view(const Rows& rows) {
  const PetscInt nnz = rows.n > 0 ? rows.row_map[rows.n] : 0;
  return {rows.n,
          rows.n,
          nnz,
          rows.row_map,
          rows.columns,
          rows.values,
          sizeof(PetscInt) == 8 ? LUTRA_INT64 : LUTRA_INT32};
}

bool has_nonfinite(const PetscScalar* values, PetscInt count) {
  return std::any_of(values, values + count, [](PetscScalar v) { return PetscIsInfOrNanScalar(v); });
}

}  // namespace lutra::Petsc

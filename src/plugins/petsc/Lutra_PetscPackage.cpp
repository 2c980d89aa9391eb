// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PetscFactor.hpp"

// Registration: PETSc calls PetscDLLibraryRegister_lutra_petsc when it loads the library.

namespace lutra::Petsc {
namespace {

PetscErrorCode solver_type(Mat, MatSolverType* type) {
  PetscFunctionBegin;
  *type = package;
  PetscFunctionReturn(ok);
}

void set_operations(Mat F, MatFactorType type, bool over_ranks) {
  if (type == MAT_FACTOR_LU)
    F->ops->lufactorsymbolic = over_ranks ? ranks_symbolic : lu_symbolic;
  else
    F->ops->choleskyfactorsymbolic = cholesky_symbolic;
  F->ops->solve = solve;
  F->ops->solvetranspose = solve_transpose;
  F->ops->matsolve = mat_solve;
  F->ops->matsolvetranspose = mat_solve_transpose;
  F->ops->view = view;
  F->ops->getinfo = info;
  F->ops->destroy = destroy;
  if (type == MAT_FACTOR_CHOLESKY) F->ops->getinertia = inertia;
}

/// MatGetFactor of the package.
PetscErrorCode get_factor(Mat A, MatFactorType type, Mat* F) {
  PetscFunctionBegin;
  PetscCheck(A->rmap->N == A->cmap->N, PetscObjectComm(reinterpret_cast<PetscObject>(A)), PETSC_ERR_ARG_SIZ,
             "Lutra: the matrix has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns; it must be square",
             A->rmap->N, A->cmap->N);
  PetscCall(MatCreate(PetscObjectComm(reinterpret_cast<PetscObject>(A)), F));
  PetscCall(MatSetSizes(*F, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(PetscStrallocpy(package, &reinterpret_cast<PetscObject>(*F)->type_name));
  PetscCall(MatSetUp(*F));
  PetscCall(
      PetscObjectComposeFunction(reinterpret_cast<PetscObject>(*F), "MatFactorGetSolverType_C", solver_type));
  Factor* factor = nullptr;
  PetscCall(PetscNew(&factor));
  (*F)->data = factor;
  (*F)->factortype = type;
  (*F)->canuseordering = PETSC_FALSE;  // Lutra orders by itself
  PetscCall(PetscFree((*F)->solvertype));
  PetscCall(PetscStrallocpy(package, &(*F)->solvertype));
  PetscBool over_ranks = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATMPIAIJ, &over_ranks));
  (*F)->trivialsymbolic = over_ranks;
  set_operations(*F, type, over_ranks);
  PetscFunctionReturn(ok);
}

/// The layout of a Mat differs between minor versions of PETSc.
PetscErrorCode check_version() {
  PetscFunctionBegin;
  PetscInt major = 0, minor = 0;
  PetscCall(PetscGetVersionNumber(&major, &minor, nullptr, nullptr));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "liblutra_petsc was built for PETSc %d.%d, and this is PETSc %" PetscInt_FMT ".%" PetscInt_FMT,
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscFunctionReturn(ok);
}

/// Loads liblutra_c now, rather than in the first call of a solver.
PetscErrorCode load_library() {
  PetscFunctionBegin;
  PetscCheck(lutra_version() != nullptr, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Lutra: %s", lutra_message());
  PetscFunctionReturn(ok);
}

}  // namespace
}  // namespace lutra::Petsc

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_lutra_petsc() {
  using namespace lutra::Petsc;
  PetscFunctionBegin;
  PetscCall(check_version());
  PetscCall(load_library());
  // Otherwise the first call of MatSolverTypeRegister hides PETSc's own solvers.
  PetscCall(MatInitializePackage());
  PetscCall(MatSolverTypeRegister(package, MATSEQAIJ, MAT_FACTOR_LU, get_factor));
  PetscCall(MatSolverTypeRegister(package, MATSEQAIJ, MAT_FACTOR_CHOLESKY, get_factor));
  PetscCall(MatSolverTypeRegister(package, MATMPIAIJ, MAT_FACTOR_LU, get_factor));
  PetscCall(MatSolverTypeRegister(package, MATSEQSBAIJ, MAT_FACTOR_CHOLESKY, get_factor));
  PetscFunctionReturn(ok);
}

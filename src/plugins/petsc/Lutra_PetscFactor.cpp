// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PetscFactor.hpp"

#include <limits>

// The phases of PETSc's factored matrices. The analysis reads values, as matching and scaling do. PETSc
// calls the symbolic phase once for a nonzero pattern, and the numeric phase for each set of values.

namespace lutra::Petsc {
namespace {

MPI_Comm comm_of(Mat F) {
  return PetscObjectComm(reinterpret_cast<PetscObject>(F));
}

/// Whether something is true on all ranks of F. Collective.
PetscErrorCode all_ranks(Mat F, bool here, bool& everywhere) {
  PetscFunctionBegin;
  const int mine = here ? 1 : 0;
  int least = mine;
  PetscCallMPI(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm_of(F)));
  everywhere = least == 1;
  PetscFunctionReturn(ok);
}

/// Marks F as unusable, so that a KSP ends with KSP_DIVERGED_PC_FAILED; or gives an error, if the user has
/// asked for that.
PetscErrorCode mark_failed(Mat F, MatFactorError kind, PetscErrorCode code) {
  PetscFunctionBegin;
  PetscCheck(!factor_of(F)->fails_by_error, comm_of(F), code, "Lutra: %s", lutra_message());
  PetscCall(PetscInfo(F, "Lutra: %s\n", lutra_message()));
  F->factorerrortype = kind;
  PetscFunctionReturn(ok);
}

}  // namespace

PetscErrorCode judge_factorization(Mat F, lutra_status status, const Rows& rows) {
  PetscFunctionBegin;
  bool is_finite = true;
  if (status == LUTRA_INPUT_ERROR)
    PetscCall(all_ranks(F, !has_nonfinite(rows.values, rows.n > 0 ? rows.row_map[rows.n] : 0), is_finite));
  const PetscErrorCode pivot =
      F->factortype == MAT_FACTOR_LU ? PETSC_ERR_MAT_LU_ZRPVT : PETSC_ERR_MAT_CH_ZRPVT;
  if (status == LUTRA_OUT_OF_MEMORY) {
    PetscCall(mark_failed(F, MAT_FACTOR_OUTMEMORY, PETSC_ERR_MEM));
  } else if (status == LUTRA_CANCELLED) {
    PetscCall(mark_failed(F, MAT_FACTOR_OTHER, PETSC_ERR_LIB));
  } else if (status == LUTRA_NUMERICALLY_SINGULAR && factor_of(F)->solves_singular) {
    PetscCall(PetscInfo(F, "Lutra: %s\n", lutra_message()));
  } else if (status > 0) {  // another factorization of the same pattern may succeed
    PetscCall(mark_failed(F, MAT_FACTOR_NUMERIC_ZEROPIVOT, pivot));
  } else if (!is_finite) {
    PetscCall(mark_failed(F, MAT_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_FP));
  } else if (status != LUTRA_SUCCESS) {
    SETERRQ(comm_of(F), status == LUTRA_INPUT_ERROR ? PETSC_ERR_ARG_WRONG : PETSC_ERR_LIB, "Lutra: %s",
            lutra_message());
  }
  PetscFunctionReturn(ok);
}

namespace {

/// The analysis. What fails for these values only, as a singular matrix does, is left to the numeric phase.
PetscErrorCode analyze(Mat F, const Rows& rows) {
  PetscFunctionBegin;
  Factor& factor = *factor_of(F);
  const lutra_matrix matrix = view(rows);
  const lutra_status status = lutra_analyze(factor.solver, &matrix);
  factor.analyzed = status == LUTRA_SUCCESS;
  factor.factorizations = 0;
  if (status < 0) PetscCall(judge_factorization(F, status, rows));
  PetscFunctionReturn(ok);
}

PetscErrorCode factorize(Mat F, const Rows& rows) {
  PetscFunctionBegin;
  Factor& factor = *factor_of(F);
  const lutra_matrix matrix = view(rows);
  lutra_status status = LUTRA_SUCCESS;
  if (!factor.analyzed) {  // the values of the symbolic phase were singular or not finite
    status = lutra_analyze(factor.solver, &matrix);
    factor.analyzed = status == LUTRA_SUCCESS;
  }
  if (factor.analyzed) {
    status = lutra_factorize(factor.solver, &matrix);
    ++factor.factorizations;
  }
  PetscCall(judge_factorization(F, status, rows));
  PetscFunctionReturn(ok);
}

/// Runs a phase on the rows of A, and gives them back whether or not it fails.
PetscErrorCode with_rows(Mat F, Mat A, PetscErrorCode (*phase)(Mat, const Rows&)) {
  PetscFunctionBegin;
  Rows rows;
  PetscCall(borrow_rows(A, rows));
  const PetscErrorCode error = phase(F, rows);
  PetscCall(return_rows(rows));
  PetscFunctionReturn(error);
}

PetscErrorCode read_solves_singular(Factor& factor) {
  PetscFunctionBegin;
  const char* value = nullptr;
  PetscBool is_true = PETSC_FALSE;
  PetscCheck(lutra_get_option(factor.solver, "solve_singular", &value) == LUTRA_SUCCESS, PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "Lutra: %s", lutra_message());
  PetscCall(PetscStrcmp(value, "true", &is_true));
  factor.solves_singular = is_true;
  PetscFunctionReturn(ok);
}

PetscErrorCode symbolic(Mat F, Mat A) {
  PetscFunctionBegin;
  Factor& factor = *factor_of(F);
  lutra_destroy(factor.solver);
  factor = Factor{};
  factor.fails_by_error = A->erroriffailure;
  if (A->rmap->n == 0) PetscFunctionReturn(ok);
  PetscCall(create_solver(F, A, &factor.solver));
  PetscCall(read_solves_singular(factor));
  PetscCall(with_rows(F, A, analyze));
  PetscFunctionReturn(ok);
}

// ---- solves

/// Columns of right-hand sides and solutions.
struct Columns {
  const PetscScalar* B;
  PetscScalar* X;
  PetscInt n, count, ldb, ldx;
};

/// Infinity in all solutions: PETSc's sign for a solve that failed. Krylov methods and SNES react to it.
void set_infinite(const Columns& c) {
  for (PetscInt j = 0; j < c.count; ++j)
    for (PetscInt i = 0; i < c.n; ++i) c.X[i + j * c.ldx] = std::numeric_limits<PetscReal>::infinity();
}

bool has_nonfinite_right_side(const Columns& c) {
  for (PetscInt j = 0; j < c.count; ++j)
    if (has_nonfinite(c.B + j * c.ldb, c.n)) return true;
  return false;
}

/// What a status of lutra_solve means to PETSc. A solution whose error is above the tolerance is not passed
/// on, since some users, such as KSPPREONLY, do not look at the residual.
PetscErrorCode judge_solution(Mat F, lutra_status status, const Columns& c, bool is_finite) {
  PetscFunctionBegin;
  const bool is_solved = status == LUTRA_SUCCESS || status == LUTRA_UNCHECKED ||
                         (status == LUTRA_NUMERICALLY_SINGULAR && factor_of(F)->solves_singular);
  if (is_solved) PetscFunctionReturn(ok);
  if (status == LUTRA_INPUT_ERROR && is_finite)
    SETERRQ(comm_of(F), PETSC_ERR_ARG_WRONG, "Lutra: %s", lutra_message());
  if (status < 0 && status != LUTRA_INPUT_ERROR && status != LUTRA_OUT_OF_MEMORY && status != LUTRA_CANCELLED)
    SETERRQ(comm_of(F), status == LUTRA_CALL_ORDER_ERROR ? PETSC_ERR_ORDER : PETSC_ERR_LIB, "Lutra: %s",
            lutra_message());
  if (status == LUTRA_NUMERICALLY_SINGULAR) {
    PetscCall(mark_failed(F, MAT_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT));
  } else if (status == LUTRA_OUT_OF_MEMORY) {
    PetscCall(mark_failed(F, MAT_FACTOR_OUTMEMORY, PETSC_ERR_MEM));
  } else {
    PetscCheck(!factor_of(F)->fails_by_error, comm_of(F), PETSC_ERR_NOT_CONVERGED, "Lutra: %s",
               lutra_message());
    PetscCall(PetscInfo(F, "Lutra: %s\n", lutra_message()));
  }
  set_infinite(c);
  PetscFunctionReturn(ok);
}

PetscErrorCode solve_columns(Mat F, int operation, const Columns& c) {
  PetscFunctionBegin;
  if (F->factorerrortype != MAT_FACTOR_NOERROR) {  // MatMatSolve does not ask
    PetscCall(PetscInfo(F, "Lutra: there are no factors, MatFactorError %d\n", F->factorerrortype));
    set_infinite(c);
    PetscFunctionReturn(ok);
  }
  const lutra_status status = lutra_solve(factor_of(F)->solver, operation, c.count, c.B, c.ldb, c.X, c.ldx);
  bool is_finite = true;
  if (status == LUTRA_INPUT_ERROR) PetscCall(all_ranks(F, !has_nonfinite_right_side(c), is_finite));
  PetscCall(judge_solution(F, status, c, is_finite));
  PetscFunctionReturn(ok);
}

PetscErrorCode solve_vector(Mat F, int operation, Vec b, Vec x) {
  PetscFunctionBegin;
  const PetscInt n = F->rmap->n;
  const PetscScalar* right_side = nullptr;
  PetscScalar* solution = nullptr;
  PetscCall(VecGetArrayRead(b, &right_side));
  PetscCall(VecGetArrayWrite(x, &solution));
  const PetscErrorCode error = solve_columns(F, operation, {right_side, solution, n, 1, n, n});
  PetscCall(VecRestoreArrayWrite(x, &solution));
  PetscCall(VecRestoreArrayRead(b, &right_side));
  PetscFunctionReturn(error);
}

PetscErrorCode check_dense(Mat B, const char* name) {
  PetscFunctionBegin;
  PetscBool is_dense = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompareAny(reinterpret_cast<PetscObject>(B), &is_dense, MATSEQDENSE,
                                          MATMPIDENSE, ""));
  PetscCheck(is_dense, comm_of(B), PETSC_ERR_ARG_WRONG, "Lutra: %s is a %s; MatMatSolve takes MATDENSE", name,
             reinterpret_cast<PetscObject>(B)->type_name);
  PetscFunctionReturn(ok);
}

PetscErrorCode solve_matrix(Mat F, int operation, Mat B, Mat X) {
  PetscFunctionBegin;
  const PetscInt n = F->rmap->n;
  const PetscScalar* right_sides = nullptr;
  PetscScalar* solutions = nullptr;
  PetscInt ldb = 0, ldx = 0;
  PetscCall(check_dense(B, "B"));
  PetscCall(check_dense(X, "X"));
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArray(X, &solutions));
  if (B != X) PetscCall(MatDenseGetArrayRead(B, &right_sides));
  const PetscScalar* read = B == X ? solutions : right_sides;
  const PetscErrorCode error = solve_columns(F, operation, {read, solutions, n, B->cmap->N, ldb, ldx});
  if (B != X) PetscCall(MatDenseRestoreArrayRead(B, &right_sides));
  PetscCall(MatDenseRestoreArray(X, &solutions));
  PetscFunctionReturn(error);
}

}  // namespace

PetscErrorCode lu_symbolic(Mat F, Mat A, IS, IS, const MatFactorInfo*) {
  PetscFunctionBegin;
  F->ops->lufactornumeric = numeric;
  PetscCall(symbolic(F, A));
  PetscFunctionReturn(ok);
}

PetscErrorCode cholesky_symbolic(Mat F, Mat A, IS, const MatFactorInfo*) {
  PetscFunctionBegin;
  F->ops->choleskyfactornumeric = numeric;
  PetscCall(symbolic(F, A));
  PetscFunctionReturn(ok);
}

PetscErrorCode numeric(Mat F, Mat A, const MatFactorInfo*) {
  PetscFunctionBegin;
  factor_of(F)->fails_by_error = A->erroriffailure;
  F->factorerrortype = MAT_FACTOR_NOERROR;
  if (A->rmap->n > 0) PetscCall(with_rows(F, A, factorize));
  F->assembled = PETSC_TRUE;
  F->preallocated = PETSC_TRUE;
  PetscFunctionReturn(ok);
}

PetscErrorCode solve(Mat F, Vec b, Vec x) {
  PetscFunctionBegin;
  PetscCall(solve_vector(F, LUTRA_NONE, b, x));
  PetscFunctionReturn(ok);
}

PetscErrorCode solve_transpose(Mat F, Vec b, Vec x) {
  PetscFunctionBegin;
  PetscCall(solve_vector(F, LUTRA_TRANSPOSED, b, x));
  PetscFunctionReturn(ok);
}

PetscErrorCode mat_solve(Mat F, Mat B, Mat X) {
  PetscFunctionBegin;
  PetscCall(solve_matrix(F, LUTRA_NONE, B, X));
  PetscFunctionReturn(ok);
}

PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X) {
  PetscFunctionBegin;
  PetscCall(solve_matrix(F, LUTRA_TRANSPOSED, B, X));
  PetscFunctionReturn(ok);
}

PetscErrorCode destroy(Mat F) {
  PetscFunctionBegin;
  if (F->data != nullptr) lutra_destroy(factor_of(F)->solver);
  PetscCall(PetscFree(F->data));
  PetscCall(
      PetscObjectComposeFunction(reinterpret_cast<PetscObject>(F), "MatFactorGetSolverType_C", nullptr));
  PetscFunctionReturn(ok);
}

}  // namespace lutra::Petsc

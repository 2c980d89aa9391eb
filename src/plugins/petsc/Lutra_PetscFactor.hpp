// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PETSCFACTOR_HPP
#define LUTRA_PETSCFACTOR_HPP

#include <petsc/private/matimpl.h>

#include "lutra.h"

/// Lutra as a solver package of PETSc, for matrices of one process. A factored Mat of this package holds a
/// `Factor` in its data. Functions return PETSc's error codes; none throws.
namespace lutra::Petsc {

inline constexpr auto ok = static_cast<PetscErrorCode>(0);
inline constexpr const char* package = "lutra";  ///< MATSOLVERLUTRA

/// What a factored Mat holds.
struct Factor {
  lutra_solver* solver = nullptr;
  bool analyzed = false;         ///< the solver has an analysis that allows a factorization
  bool solves_singular = false;  ///< option solve_singular: factors of singular matrices are used
  bool fails_by_error = false;   ///< -ksp_error_if_not_converged: failures are PETSc errors
  bool over_ranks = false;       ///< the solver is one of lutra_mpi.h
  PetscInt factorizations = 0;   ///< with this analysis
};

inline Factor* factor_of(Mat F) {
  return static_cast<Factor*>(F->data);
}

/// Rows of a matrix of PETSc, read in place between `borrow_rows` and `return_rows`.
struct Rows {
  Mat matrix = nullptr;      ///< the user's, or for blocks a copy by entries
  bool is_copy = false;      ///< matrix is to be destroyed
  bool is_triangle = false;  ///< SeqSBAIJ: the upper triangle alone is stored
  PetscInt n = 0;
  const PetscInt* row_map = nullptr;
  const PetscInt* columns = nullptr;
  const PetscScalar* values = nullptr;
};

PetscErrorCode borrow_rows(Mat A, Rows& rows);
PetscErrorCode return_rows(Rows& rows);
lutra_matrix view(const Rows& rows);
/// Whether an array holds an infinity or NaN.
bool has_nonfinite(const PetscScalar* values, PetscInt count);

/// Creates the solver for factors F of A, with the options -<prefix>mat_lutra_<option> of the database.
PetscErrorCode create_solver(Mat F, Mat A, lutra_solver** solver);

/// Makes the solver of a MATMPIAIJ on all its ranks.
lutra_status create_on_ranks(Mat F, int scalar, int index, const char* backend, lutra_solver** solver);
/// What a status of an analysis or a factorization means to PETSc. Collective, as they are.
PetscErrorCode judge_factorization(Mat F, lutra_status status, const Rows& rows);

// The operations of a factored Mat, in PETSc's signatures.
PetscErrorCode lu_symbolic(Mat F, Mat A, IS rows, IS columns, const MatFactorInfo* info);
PetscErrorCode ranks_symbolic(Mat F, Mat A, IS rows, IS columns, const MatFactorInfo* info);
PetscErrorCode cholesky_symbolic(Mat F, Mat A, IS permutation, const MatFactorInfo* info);
PetscErrorCode numeric(Mat F, Mat A, const MatFactorInfo* info);
PetscErrorCode solve(Mat F, Vec b, Vec x);
PetscErrorCode solve_transpose(Mat F, Vec b, Vec x);
PetscErrorCode mat_solve(Mat F, Mat B, Mat X);
PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X);
PetscErrorCode inertia(Mat F, PetscInt* negative, PetscInt* zero, PetscInt* positive);
PetscErrorCode info(Mat F, MatInfoType type, MatInfo* info);
PetscErrorCode view(Mat F, PetscViewer viewer);
PetscErrorCode destroy(Mat F);

}  // namespace lutra::Petsc

#endif

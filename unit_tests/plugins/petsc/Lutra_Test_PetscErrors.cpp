// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "Lutra_PetscTest.hpp"

using namespace lutra::Test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// Failures: what KSP makes of them, and errors with their messages. PETSc goes on after each.

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Entries diagonal(std::vector<PetscScalar> values) {
  Entries A{static_cast<PetscInt>(values.size())};
  for (PetscInt i = 0; i < A.n; ++i) A.add(i, i, values[static_cast<std::size_t>(i)]);
  return A;
}

/// [1 1; 1 c]
Entries pair(PetscScalar c) {
  Entries A{2};
  A.add(0, 0, 1);
  A.add(0, 1, 1);
  A.add(1, 0, 1);
  A.add(1, 1, c);
  return A;
}

/// Factorizes by KSP, and returns its reason.
KSPConvergedReason solve_once(Solver& solver, PetscInt n) {
  solver.solve(ramp(n));
  return solver.reason();
}

}  // namespace

TEST_CASE("A singular matrix ends KSP with KSP_DIVERGED_PC_FAILED; other values are solved again") {
  for (const char* type : {PCLU, PCCHOLESKY}) {
    Matrix matrix(pair(1));
    Solver solver(matrix, KSPPREONLY, type);
    CHECK(solve_once(solver, 2) == KSP_DIVERGED_PC_FAILED);
    CHECK(solver.failure() == PC_FACTOR_NUMERIC_ZEROPIVOT);
    CHECK_THAT(viewed(solver.factor()), ContainsSubstring("numerically_singular"));
    matrix.set(pair(2));
    CHECK(solve_once(solver, 2) == KSP_CONVERGED_ITS);
    matrix.set(pair(1));
    CHECK(solve_once(solver, 2) == KSP_DIVERGED_PC_FAILED);
  }
}

TEST_CASE("Stored zeros that make a matrix singular are no matter of its pattern") {
  Matrix matrix(diagonal({1, 0, 3}));
  Solver solver(matrix);
  CHECK(solve_once(solver, 3) == KSP_DIVERGED_PC_FAILED);
  CHECK(solver.failure() == PC_FACTOR_NUMERIC_ZEROPIVOT);
  matrix.set(diagonal({1, 2, 3}));
  CHECK(solver.solve({1, 2, 3}) == std::vector<PetscScalar>{1, 1, 1});
}

TEST_CASE("With -ksp_error_if_not_converged a singular matrix is an error with Lutra's reason") {
  const Option option("-ksp_error_if_not_converged", nullptr);
  const Matrix matrix(pair(1));
  Solver solver(matrix);
  const Vector b(2), x(2);
  Errors errors;
  CHECK(KSPSolve(solver, b, x) == PETSC_ERR_MAT_LU_ZRPVT);
  CHECK_THAT(errors.message, StartsWith("Lutra: ") && ContainsSubstring("singular"));
}

TEST_CASE("A matrix that is not positive definite fails where PETSc was told that it is") {
  const Matrix matrix(pair(-1));
  done(MatSetOption(matrix, MAT_SPD, PETSC_TRUE));
  Solver solver(matrix, KSPPREONLY, PCCHOLESKY);
  CHECK(solve_once(solver, 2) == KSP_DIVERGED_PC_FAILED);
  CHECK(solver.failure() == PC_FACTOR_NUMERIC_ZEROPIVOT);
}

TEST_CASE("Option solve_singular: solutions of consistent singular systems") {
  const Option option("-mat_lutra_solve_singular", nullptr);  // a flag
  const Matrix matrix(pair(1));
  Solver solver(matrix);
  const auto x = solver.solve({3, 3});
  CHECK(solver.reason() == KSP_CONVERGED_ITS);
  CHECK(std::abs(x[0] + x[1] - 3.) < 1e-12);
}

TEST_CASE("NaN in the matrix fails the preconditioner, NaN in the right-hand side makes x infinite") {
  Matrix matrix(diagonal({1, not_a_number, 3}));
  Solver solver(matrix);
  CHECK(solve_once(solver, 3) == KSP_DIVERGED_PC_FAILED);
  matrix.set(diagonal({1, 2, 3}));
  CHECK(solver.solve({1, not_a_number, 3}) == std::vector<PetscScalar>(3, infinity));
  CHECK(solver.solve({1, 2, 3}) == std::vector<PetscScalar>(3, 1));
}

TEST_CASE("A solution above the tolerance does not pass as one") {
  const Entries A = convection_diffusion(10, 0.3);
  const Matrix matrix(A);
  const Option tolerance("-mat_lutra_tolerance", "1e-30");
  {
    Solver solver(matrix);
    CHECK(solver.solve(ramp(100)) == std::vector<PetscScalar>(100, infinity));
    CHECK(solver.reason() == KSP_CONVERGED_ITS);  // KSPPREONLY cannot know
    CHECK_THAT(viewed(solver.factor()), ContainsSubstring("status: error_above_tolerance: "));
    Solver iterative(matrix, KSPGMRES);
    CHECK(solve_once(iterative, 100) == KSP_DIVERGED_NANORINF);
  }
  {
    const Option strict("-ksp_error_if_not_converged", nullptr);
    Solver solver(matrix);
    const Vector b(ramp(100)), x(100);
    Errors errors;
    CHECK(KSPSolve(solver, b, x) == PETSC_ERR_NOT_CONVERGED);
    CHECK_THAT(errors.message, StartsWith("Lutra: ") && ContainsSubstring("tolerance"));
  }
  const Option check("-mat_lutra_check", "never");
  Solver unchecked(matrix);
  CHECK(backward_error(A, unchecked.solve(ramp(100)), ramp(100)) < 1e-13);
  CHECK_THAT(viewed(unchecked.factor()), ContainsSubstring("status: unchecked"));
}

TEST_CASE("A memory limit that is too small fails as PC_FACTOR_OUTMEMORY") {
  const Option limit("-mat_lutra_memory_limit", "1000");
  const Matrix matrix(convection_diffusion(20, 0.3));
  Solver solver(matrix);
  CHECK(solve_once(solver, 400) == KSP_DIVERGED_PC_FAILED);
  CHECK(solver.failure() == PC_FACTOR_OUTMEMORY);
}

TEST_CASE("Wrong options are errors that name them and the choices") {
  const Matrix matrix(pair(2));
  const auto message_with = [&](const char* key, const char* value) {
    const Option option(key, value);
    Factored F(matrix, MAT_FACTOR_LU);
    Errors errors;
    CHECK(F.symbolic(matrix) == PETSC_ERR_USER_INPUT);
    return errors.message;
  };
  CHECK_THAT(message_with("-mat_lutra_orderin", "amd"), StartsWith("-mat_lutra_orderin: ") &&
                                                            ContainsSubstring("orderin") &&
                                                            ContainsSubstring("ordering"));
  CHECK_THAT(message_with("-mat_lutra_ordering", "best"),
             StartsWith("-mat_lutra_ordering: ") && ContainsSubstring("best") && ContainsSubstring("metis"));
  CHECK_THAT(message_with("-mat_lutra_tolerance", "-1"), StartsWith("-mat_lutra_tolerance: "));
  CHECK(message_with("-mat_lutra_threads", "-2") == "-mat_lutra_threads: -2 is not between 0 and 4096");
  const Option backend("-mat_lutra_backend", "abacus");
  Factored F(matrix, MAT_FACTOR_LU);
  Errors errors;
  CHECK(F.symbolic(matrix) == PETSC_ERR_SUP);
  CHECK_THAT(errors.message, StartsWith("Lutra: backend: 'abacus' was not built (choose from auto, "));
}

TEST_CASE("Options that contradict each other are an error of the symbolic phase") {
  const Option engine("-mat_lutra_lu.engine", "simplicial"), pivoting("-mat_lutra_pivoting", "threshold");
  const Matrix matrix(pair(2));
  Factored F(matrix, MAT_FACTOR_LU);
  Errors errors;
  CHECK(F.symbolic(matrix) == PETSC_ERR_ARG_WRONG);
  CHECK_THAT(errors.message, StartsWith("Lutra: ") && ContainsSubstring("simplicial"));
}

TEST_CASE("A matrix of another pattern, a rectangle, unsorted rows are errors that name the place") {
  const Matrix matrix(pair(2)), other(diagonal({1, 2}));
  Errors errors;
  Factored F(matrix, MAT_FACTOR_LU);
  F.factorize(matrix);
  CHECK(F.numeric(other) == PETSC_ERR_ARG_WRONG);
  CHECK(errors.message ==
        "Lutra: matrix: its pattern is not the one that was analyzed; call analyze for a new pattern");

  Mat rectangle = nullptr, G = nullptr;
  done(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 3, 1, nullptr, &rectangle));
  done(MatAssemblyBegin(rectangle, MAT_FINAL_ASSEMBLY));
  done(MatAssemblyEnd(rectangle, MAT_FINAL_ASSEMBLY));
  CHECK(MatGetFactor(rectangle, "lutra", MAT_FACTOR_LU, &G) == PETSC_ERR_ARG_SIZ);
  CHECK(errors.message == "Lutra: the matrix has 2 rows and 3 columns; it must be square");
  done(MatDestroy(&rectangle));

  PetscInt row_map[] = {0, 1, 3}, columns[] = {0, 1, 0};
  PetscScalar values[] = {1, 2, 3};
  Mat unsorted = nullptr;
  done(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 2, 2, row_map, columns, values, &unsorted));
  {
    Factored H(unsorted, MAT_FACTOR_LU);
    CHECK(H.symbolic(unsorted) == PETSC_ERR_ARG_WRONG);
    CHECK_THAT(errors.message, StartsWith("Lutra: ") && ContainsSubstring("row 1"));
  }
  done(MatDestroy(&unsorted));
}

TEST_CASE("Calls in the wrong order are errors, an empty matrix is none") {
  const Matrix matrix(pair(2));
  const Vector b(2), x(2);
  Factored F(matrix, MAT_FACTOR_LU);
  done(F.symbolic(matrix));
  {
    Errors errors;
    CHECK(MatSolve(F, b, x) == PETSC_ERR_ORDER);
    CHECK_THAT(errors.message, StartsWith("Lutra: ") && ContainsSubstring("factorize"));
  }
  const Matrix empty(Entries{0});
  Factored G(empty, MAT_FACTOR_LU);
  G.factorize(empty);
  CHECK(G.error() == MAT_FACTOR_NOERROR);
  Factored H(empty, MAT_FACTOR_CHOLESKY);
  H.factorize(empty);
  PetscInt negative = -1, zero = -1, positive = -1;
  done(MatGetInertia(H, &negative, &zero, &positive));
  CHECK(std::vector<PetscInt>{negative, zero, positive} == std::vector<PetscInt>{0, 0, 0});
}
